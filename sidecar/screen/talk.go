package screen

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Talk is what a screen shows of an agent's last turn. It is approximate, since an agent draws its words as
// Markdown and wraps them by itself.
type Talk struct {
	Prompt string // the prompt, as far as it is shown
	Words  string // its words after its last call of a tool, in rows as shown
	Whole  bool   // the words begin on the screen; otherwise, rows above them have left it
	Cut    bool   // a person interrupted it, or its service failed
	Short  bool   // only the beginning of the prompt is shown, as a reminder at the top of the screen
}

// Converse reads the last turn above the composer of an agent, if it is live:
//
//	❯ text        a prompt, its glyph followed by a plain blank
//	● text        words, indented by two; or a call, with rows that begin with ⎿ below it
//	✻ Cooked …    whatever else stands in column 0 ends them
//
// The agent's words never stand in column 0, whatever they quote.
func Converse(v View, a profile.Agent) (t Talk, ok bool) {
	if v.InMode || !v.sound() || v.Height != len(v.Rows) || v.Width <= 0 {
		return Talk{}, false
	}
	p, ok := newPicture(v, a)
	if !ok {
		return Talk{}, false
	}
	return p.talk(p)
}

// shortened ends a prompt that is too long for the reminder row.
const shortened = "…"

// converse reads the last turn above a row, drawn as in Converse.
func (p picture) converse(top int) (t Talk, ok bool) {
	begin := top - 1
	for begin >= 0 && !p.prompts(begin) {
		begin--
	}
	said := talk{Talk: Talk{Whole: true}}
	if begin <= 0 { // its prompt has left the screen, or stands at its top as a reminder
		said.in, said.Whole = true, false
	}
	if begin >= 0 {
		first := words(from(p.row(begin), p.a.Composer.Text))
		said.prompt = append(said.prompt, first)
		said.Short = begin == 0 && strings.HasSuffix(first, shortened)
	}
	for y := begin + 1; y < top; y++ {
		said.row(p, y)
	}
	return said.end(), true
}

// prompts reports whether a row is the first of a prompt that the agent took.
func (p picture) prompts(y int) bool {
	c, ok := at(p.row(y), 0)
	gap, found := at(p.row(y), 1)
	return ok && c.text == p.a.Composer.Glyph && (!found || gap.text == " ")
}

// talk collects the words of a turn, row by row.
type talk struct {
	Talk
	prompt, text []string
	in           bool // the rows belong to words
	began        bool // a first row of the answer was seen
}

func (t *talk) row(p picture, y int) {
	row, plain := p.row(y), p.plain(y)
	first, _ := at(row, 0)
	inner := strings.TrimSpace(plain)
	switch {
	case first.text == p.a.Speech.Bullet && !first.bold:
		t.in, t.began = true, true
		if p.called(y) {
			t.in, t.text, t.Whole = false, nil, true
			return
		}
		t.text = append(t.text, words(from(row, p.a.Composer.Text)))
	case first.text != "" && !first.blank():
		t.Cut = t.Cut || profile.Has(plain, p.a.Speech.Cut)
		t.in, t.began = false, true
		if first.bold && first.text == p.a.Speech.Bullet {
			t.text, t.Whole = nil, true
		}
	case profile.Has(inner, p.a.Speech.Cut) && dimmed(row):
		t.in, t.Cut = false, true
	case strings.HasPrefix(inner, p.a.Speech.Result):
		t.in, t.text, t.Whole = false, nil, true
	case inner != "" && dimmed(row): // remarks of the program, not words
		t.in = false
	case t.in:
		t.text = append(t.text, words(from(row, p.a.Composer.Text)))
	case !t.began:
		t.prompt = append(t.prompt, words(from(row, p.a.Composer.Text)))
	}
}

// called reports whether the row names a call of a tool: its result stands right below it.
func (p picture) called(y int) bool {
	return y+1 < p.Height && strings.HasPrefix(strings.TrimSpace(p.plain(y+1)), p.a.Speech.Result)
}

func (t *talk) end() Talk {
	t.Prompt = strings.TrimSpace(strings.Join(t.prompt, "\n"))
	t.Words = strings.Trim(strings.Join(t.text, "\n"), "\n")
	return t.Talk
}

// Took reports whether the last prompt shown is this text, as a whole or as the agent's placeholder for it.
func (t Talk) Took(text string) bool {
	return shown.Same(shown.Ink(text), shown.Ink(t.Prompt)) || strings.HasPrefix(t.Prompt, "[Pasted ") && strings.HasSuffix(t.Prompt, "]")
}
