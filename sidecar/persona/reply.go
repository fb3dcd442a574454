package persona

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// reply says how a persona answers.
type reply struct {
	name  string
	mode  string // echo, numbered, none, or a template
	lines int
	quote bool
	limit int // answers before it falls silent; 0: no limit
	count int
}

// to returns the answer to message n; ok is false if there is none.
func (r *reply) to(n int, text string) (words string, ok bool) {
	if r.mode == "none" || r.limit > 0 && r.count >= r.limit {
		return "", false
	}
	r.count++
	switch r.mode {
	case "echo":
		words = text
	case "numbered":
		words = r.numbered(n)
	default:
		words = fill(r.mode, r.name, n, text)
	}
	if r.quote {
		words += fmt.Sprintf("\n%s-%d heard: %s", r.name, n, clip(text, 80))
	}
	return words, true
}

// numbered returns an answer in which every line differs from every line of all other answers, so that losses,
// duplicates, echoes and damage all show.
func (r *reply) numbered(n int) string {
	lines := make([]string, 0, max(r.lines, 1))
	lines = append(lines, fmt.Sprintf("%s-%d: %s", r.name, n, words(r.name, n, 1)))
	for i := 2; i <= r.lines; i++ {
		lines = append(lines, fmt.Sprintf("%s-%d.%d: %s", r.name, n, i, words(r.name, n, i)))
	}
	return strings.Join(lines, "\n")
}

// fill replaces {n}, {name}, {text} and {words} in a template.
func fill(template, name string, n int, text string) string {
	return strings.NewReplacer("{n}", strconv.Itoa(n), "{name}", name, "{text}", text,
		"{words}", words(name, n, 1)).Replace(template)
}

// words returns four words that depend only on the arguments.
func words(name string, n, line int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", name, n, line)
	sum := h.Sum64()
	picked := make([]string, 4)
	for i := range picked {
		picked[i] = vocabulary[sum%uint64(len(vocabulary))]
		sum /= uint64(len(vocabulary))
	}
	return strings.Join(picked, " ")
}

// clip cuts text to one line of at most n characters.
func clip(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return string(runes)
}

// unescape expands the escapes of Go strings (\n, \x1b, \u23ce) in a flag. A text without escapes, or with wrong ones,
// stays as it is.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	if plain, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`); err == nil {
		return plain
	}
	return s
}

var vocabulary = strings.Fields(`acorn amber anchor apple arrow autumn badge bamboo basil beacon berry birch
blanket bramble breeze bridge bronze button candle canvas cedar cellar cherry cinder clover cobalt comet copper
coral cotton cradle cricket crystal daisy dawn delta dune eagle ember falcon feather fern fiddle flint forest
garden garnet ginger glacier granite harbour hazel heather heron hollow honey indigo island ivory jasmine juniper
kettle lantern lark laurel lemon lilac linen lotus maple marble meadow mellow mint mirror mosaic nectar nettle
north nutmeg oasis ochre olive onyx orchard otter paper pebble pepper pillar plum poplar prairie quartz quill
rabbit raven reed ribbon river robin saffron sage sail shadow silver slate sparrow spruce stone summer sunset
thistle thunder timber topaz tulip tundra umber valley velvet violet walnut willow winter wren yarrow zephyr`)
