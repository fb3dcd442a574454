package pane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// An unknown program is a full-screen program without a profile of its own, adopted --as tui. It
// is looked at as a line program, once its frame has made out its composer (screen.Frame): the rows
// above the composer are its lines, and the text in the composer is what stands behind the prompt.
// If the frame makes out no composer, nothing is read and nothing is typed. The program's words are
// approximate: they are the new rows, as they were drawn.

// generic is what is known of an unknown program.
type generic struct {
	frame screen.Frame
	above []string // what stood above its composer when a text was pasted
	typed []string // texts that were submitted since its last turn
	asked bool     // a dialog was open since: its result stands above the composer, too
	vigil vigil
}

const (
	silentFor = time.Minute // for so long a program may show no words before it counts as having none to say
	aside     = 8           // cells of a row that frame and prompt may take
)

// newGeneric returns what the adoption of a session has learned, and the prompt that stands for its composer.
func newGeneric(session message.Peer) (*generic, screen.Prompt, error) {
	frame, err := screen.ParseFrame(session.Prompt)
	if err != nil {
		return nil, screen.Prompt{}, err
	}
	prompt, err := frame.Prompt()
	return &generic{frame: frame, vigil: vigil{known: frame.Seen}}, prompt, err
}

// screen converts a look into the screen from which the program is read.
func (p *Pane) screen(look tmux.Look) screen.Screen {
	if p.generic == nil {
		return screenOf(look)
	}
	return p.generic.frame.View(screenOf(look)).Line
}

// remember notes what stands above the composer when a text has come to stand in it.
func (p *Pane) remember(look tmux.Look) {
	if p.generic != nil {
		p.generic.above, p.generic.asked = p.generic.lines(look), false
		p.generic.vigil.pasted(p.generic.view(look), look.Facts)
	}
}

// covered returns what keeps Enter from a text that the composer holds, or "".
func (p *Pane) covered(s sight) message.Reason {
	switch {
	case p.generic == nil:
		return ""
	case s.reading.State == message.Blocked:
		p.generic.asked = true
	case s.reading.State == message.Working:
		return message.AgentWorking
	}
	if _, found := p.generic.vigil.covers(p.generic.view(s.look), s.look.Facts, p.generic.asked); found && gate.Stands("pane:news") {
		return screen.DialogOpen
	}
	return ""
}

// submitted notes a text that was submitted.
func (p *Pane) submitted(text string) {
	if p.generic != nil {
		p.generic.typed = append(p.generic.typed, text)
	}
}

// view returns a look as the frame makes it out.
func (g *generic) view(look tmux.Look) screen.FrameView { return g.frame.View(screenOf(look)) }

// judge tells what the screen of a look shows.
func (g *generic) judge(look tmux.Look) screen.Reading {
	v := g.view(look)
	if !v.Reading.MayType || !gate.Stands("pane:news") {
		return v.Reading
	}
	return g.vigil.judge(v, look.Facts)
}

// room reports whether the text can be seen as a whole in the composer: whether it takes at most half
// of the pane's rows.
func (g *generic) room(f tmux.Facts, text string) bool {
	return len(text) <= (f.Width-aside)*f.Height/2
}

// unselected returns head and body without the characters that ask for another picture of the one
// before them (see screen.Unselected), and how many of those there were.
func unselected(f message.Form, body string) (message.Form, string, int) {
	head, n := 0, 0
	f.Head, head = screen.Unselected(f.Head)
	body, n = screen.Unselected(body)
	return f, body, head + n
}

// emptied reports whether the composer of a program that tells nothing has let go of a text. A
// program that is just drawing the text, row by row, has not, though a row may not look like a
// composer.
func (p *Pane) emptied(s sight) bool {
	switch {
	case p.account != nil:
		return false
	case p.generic != nil:
		return s.reading.Composer.Live && s.reading.Composer.Empty
	}
	return s.reading.State != message.Draft && p.lines.tracker.Unfinished() == 0
}

// reply ends the turn in which an unknown program answers: the new rows above its composer are its
// words. If the program was given nothing, changes there concern its person, or nobody.
func (p *Pane) reply(ctx context.Context, look tmux.Look) {
	if len(p.answers) == 0 {
		return
	}
	words, whole := p.generic.said(look)
	if words == "" && p.clock.now().Sub(p.answers[0].at) < silentFor {
		return
	}
	turn := message.Turn{
		ID: message.NewID(), Peer: p.session.ID, Words: words, Answers: ids(p.answers), Source: "screen", Skipped: !whole, Ended: p.wrote(),
	}
	p.answers, p.generic.typed = nil, nil
	p.generic.vigil.rest(p.generic.view(look), look.Facts)
	p.tell(ctx, turn)
}

// said returns what is new above the composer since the text was pasted, without that text itself,
// and whether that is all that was said.
func (g *generic) said(look tmux.Look) (words string, whole bool) {
	lines, whole := newer(g.above, g.lines(look))
	for _, text := range g.typed {
		lines = without(lines, text)
	}
	words = strings.TrimRight(strings.Trim(strings.Join(lines, "\n"), "\n"), " \n")
	if !whole && words != "" {
		words = notCaptured + words
	}
	return words, whole
}

// lines returns the lines above the composer, with those that have left the main screen.
func (g *generic) lines(look tmux.Look) []string {
	all := g.frame.View(screenOf(look)).Line.Lines
	return trimmed(all[:max(0, len(all)-1)])
}

// trimmed cuts the blank lines at the end.
func trimmed(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// newer returns the lines that were not there before. They stand below all others, which may have
// moved up under a head that stays. If none of those is left, some of the new lines may be missing,
// and whole is false.
func newer(before, now []string) (lines []string, whole bool) {
	head := 0
	for head < min(len(before), len(now)) && before[head] == now[head] {
		head++
	}
	before, now = before[head:], now[head:]
	if len(before) == 0 {
		return now, true
	}
	for up := 1; up < len(before); up++ {
		if left := before[up:]; len(left) <= len(now) && slices.Equal(left, now[:len(left)]) {
			return now[len(left):], true
		}
	}
	return now, false
}

// without takes out the fewest lines that, together, show the text.
func without(lines []string, text string) []string {
	text = unspaced(text)
	for n := 1; n <= len(lines); n++ {
		for i := 0; i+n <= len(lines); i++ {
			var shown strings.Builder
			for _, line := range lines[i : i+n] {
				shown.WriteString(strings.TrimFunc(unspaced(line), func(r rune) bool { return r >= 0x2500 && r <= 0x259f || r == '|' }))
			}
			if strings.Contains(shown.String(), text) {
				return slices.Concat(lines[:i], lines[i+n:])
			}
		}
	}
	return lines
}

// isTUI reports whether the profile is that of an unknown full-screen program.
func isTUI(prof profile.Profile) bool { return prof.Name == profile.TUI().Name }

// adoptTUI learns what stands around the composer of an unknown program.
func adoptTUI(session message.Peer, look tmux.Look) (message.Peer, error) {
	if known, err := agent.Recognise(session.Foreground); err == nil {
		return message.Peer{}, &Refusal{session.Pane, fmt.Sprintf("%s is in front; it is a known agent", known.Kind), "intercom adopt " + session.Pane}
	}
	frame, err := screen.LearnFrame(screenOf(look))
	if err != nil {
		return message.Peer{}, &Refusal{session.Pane, err.Error(), "bring the program to its empty composer, with nothing else open, then try again"}
	}
	session.Prompt = frame.String()
	return session, nil
}
