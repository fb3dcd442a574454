package screen

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func init() {
	register("fifth", dialect{
		judge: picture.fifth,
		field: func(p picture) (field, bool) {
			first, last, ok := p.fifthComposer()
			return field{picture: p, first: first, last: last, foot: last + 1}, ok
		},
		talk:   func(picture) (Talk, bool) { return Talk{}, false },
		partly: func(field) bool { return false },
		clear:  func(f field) bool { return f.fifthSays(f.last, f.a.Marks.Live) },
		counts: func(profile.Agent, string, []int) bool { return false },
	})
}

// fifth judges a screen:
//
//	───────────────
//	▷ text
//	the fifth waits
func (p picture) fifth() Verdict {
	first, last, ok := p.fifthComposer()
	if !ok {
		return p.noComposer("no composer: the cursor stands behind no glyph below a rule")
	}
	c := Composer{Live: true, Text: p.text(first, last)}
	c.Empty = c.Text == "" && p.CursorX == p.a.Composer.Text && first == last
	switch {
	case p.fifthSays(last, p.a.Marks.Working):
		return composing(message.Working, message.AgentWorking, "below the composer it says that it works", c)
	case !p.fifthSays(last, p.a.Marks.Live):
		c.Empty = false
		return composing(message.Unknown, message.NotEmpty, "something unknown below the composer", c)
	case !c.Empty:
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer holds %q", clip(c.Text)), c)
	}
	v := composing(message.Idle, "", "an empty composer that waits", c)
	v.MayType = true
	return v
}

func (p picture) fifthComposer() (first, last int, ok bool) {
	for first = p.CursorY; first > 0; first-- {
		if _, _, found := p.glyph(first); found {
			break
		}
	}
	for last = p.CursorY; last+1 < p.Height && !p.fifthSays(last, p.a.Marks.Live) && !p.fifthSays(last, p.a.Marks.Working); last++ {
	}
	return first, last, p.CursorVisible && p.CursorX >= p.a.Composer.Text && p.rule(first-1) && last+1 < p.Height
}

// fifthSays reports whether the row below a composer says one of those.
func (p picture) fifthSays(last int, marks []string) bool {
	_, ok := p.marked(last+1, last+1, marks)
	return ok
}
