package labtest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Talk returns the n-th text, from 1, that an agent says in a conversation. It depends only on its arguments, so a test
// knows every word beforehand, and it takes nothing from what the agent received: whatever comes back is a real echo.
// It begins with the agent's name and the number, "claude-3: ", which appear nowhere else.
//
// The answers rotate through several forms: from one line to more than a screen, with lists, code, tables, wide
// characters, and text that looks like a dialog, a command or an attribution.
func Talk(seed, agent string, n int) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s\x00%s", seed, agent)
	v := voice{rand.New(rand.NewPCG(h.Sum64(), uint64(n)))}
	head := fmt.Sprintf("%s-%d: %s", agent, n, v.sentence())
	form := forms[(n-1)%len(forms)]
	if rest := form(v); rest != "" {
		return head + "\n\n" + rest
	}
	return head
}

// forms are the texts that may follow the first sentence.
var forms = []func(v voice) string{
	func(voice) string { return "" },
	func(v voice) string { return v.sentence() + " " + v.sentence() + "\n\n" + v.sentence() },
	func(v voice) string {
		return fmt.Sprintf("* %s\n* %s\n\n```go\nfunc %s() int {\n\tif ready { // %s\n\t\treturn %d\n\t}\n\treturn 0\n}\n```\n\n%s",
			v.sentence(), v.sentence(), v.word(), v.sentence(), v.IntN(5000), v.sentence())
	},
	func(v voice) string {
		return fmt.Sprintf("| what | how many |\n|---|---|\n| %s | %d |\n| %s | %d |\n\n%s", v.word(), v.IntN(99999), v.word(), v.IntN(99999), v.sentence())
	},
	func(v voice) string {
		return "漢字とかな 한글 Ελληνικά naïve café 🧑‍🔬 🇳🇿 ❤️ — " + v.sentence()
	},
	func(v voice) string { // looks like a dialog of an agent, quoted
		return "In the other pane I saw this:\n\n```\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n```\n\n" + v.sentence()
	},
	func(v voice) string {
		lines := make([]string, 60)
		for i := range lines {
			lines[i] = fmt.Sprintf("%d. %s", i+1, v.sentence())
		}
		return strings.Join(lines, "\n")
	},
	func(v voice) string {
		return "! is no command here, nor is /exit\n\n`$HOME` 'one' \"two\" #{pane_id} %3 ; \\\\ [Alice] (7): so she said, as README.md has it. " + v.sentence()
	},
	func(v voice) string {
		sentences := make([]string, 14)
		for i := range sentences {
			sentences[i] = v.sentence()
		}
		return strings.Join(sentences, " ")
	},
}

// voice makes sentences that hardly ever repeat: some clients take repetition for a loop.
type voice struct{ *rand.Rand }

func (v voice) word() string { return vocabulary[v.IntN(len(vocabulary))] }

func (v voice) sentence() string {
	words := make([]string, 4+v.IntN(9))
	for i := range words {
		words[i] = v.word()
	}
	s := strings.Join(words, " ")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

var vocabulary = strings.Fields(`
	apple barley basket bell birch boat bread brick brook button candle carpet chalk cherry clay clock cloud coal coin
	copper corn cotton cup desk door drum dust eagle engine feather fence field flint flute fog forest fox garden gate
	glass glove gold grain grass gravel hammer harbour hazel heron hill honey horn ice ink iron island ivy jar kettle key
	ladder lake lamp leaf lemon linen lock maple map marble meadow mill mint mirror moss mountain nail needle nest oak oar
	orchard owl paint paper path pear pebble pepper pine plum pond quill rain raven reed ribbon river robin rope rose rye
	sail salt sand saddle seed shell silk silver slate snow spoon spring spruce stone straw street sugar table thread tin
	tower tulip valley velvet violet wagon wall walnut water wax wheat wheel willow window wire wool yard`)
