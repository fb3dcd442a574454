package screen

import (
	"fmt"
	"strconv"
	"strings"
)

// Colours says how characters are painted, one by one. Its text form is stored with a Frame, so all later versions
// must read every form that was ever written.
type Colours []pen

// attributes lists the letters of the text form, in order.
var attributes = []struct {
	letter string
	of     func(*pen) *bool
}{
	{"d", func(p *pen) *bool { return &p.dim }},
	{"b", func(p *pen) *bool { return &p.bold }},
	{"r", func(p *pen) *bool { return &p.reverse }},
	{"g", func(p *pen) *bool { return &p.grey }},
}

// MarshalText writes one word per character: its attributes and the number of its colour. A bold character in the
// default colour is "b0".
func (c Colours) MarshalText() ([]byte, error) {
	words := make([]string, len(c))
	for i, p := range c {
		for _, a := range attributes {
			if *a.of(&p) {
				words[i] += a.letter
			}
		}
		words[i] += strconv.Itoa(p.colour)
	}
	return []byte(strings.Join(words, " ")), nil
}

// UnmarshalText reads what MarshalText writes, and the older form.
func (c *Colours) UnmarshalText(text []byte) error {
	words, parse := strings.Fields(string(text)), parsePen
	if strings.HasPrefix(string(text), "{") {
		words, parse = strings.SplitAfter(strings.TrimSuffix(string(text), "}"), "}"), parseOldPen
	}
	all := make(Colours, len(words))
	for i, word := range words {
		var err error
		if all[i], err = parse(word); err != nil {
			return fmt.Errorf("colours %q: %w", clip(string(text)), err)
		}
	}
	*c = all
	return nil
}

func parsePen(word string) (p pen, err error) {
	for _, a := range attributes {
		word, *a.of(&p) = strings.CutPrefix(word, a.letter)
	}
	p.colour, err = strconv.Atoi(word)
	return p, err
}

func parseOldPen(word string) (p pen, err error) {
	_, err = fmt.Sscanf(strings.TrimSuffix(word, "}"), "{dim:%t bold:%t reverse:%t grey:%t colour:%d", &p.dim, &p.bold, &p.reverse, &p.grey, &p.colour)
	return p, err
}

// colours returns how the characters left of a column are painted. Frame.Lit covers backgrounds.
func colours(row []cell, column int) (all Colours) {
	for _, c := range row {
		if c.column < column && !c.blank() {
			c.ground = false
			all = append(all, c.pen)
		}
	}
	return all
}
