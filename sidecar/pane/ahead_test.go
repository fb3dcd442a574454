package pane

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What comes to a screen while nothing is written is what somebody types. Each line of the table is a screen, with the cursor
// at |, how much was written by then, and what is found. The looks are stillFor apart, unless the line says soon.
func TestAhead(t *testing.T) {
	const unknown, erased, none, whole, half = keysUnknown, keysErased, keysNone, keysWhole, keysHalf
	type look struct {
		screen string
		writes uint64
		want   keys
		soon   bool
		set    func(*sight)
	}
	waits := 0
	sends := func(*sight) { waits = 3 }
	wider := func(s *sight) { s.look.Facts.Width++ }
	for name, looks := range map[string][]look{
		"a line is begun":               {{"works\n|", 1, unknown, false, nil}, {"works\n|", 1, unknown, false, nil}, {"works\nrm -rf |", 1, half, false, nil}, {"works\nrm -rf x|", 1, half, true, nil}},
		"behind words":                  {{"50 % |", 1, unknown, false, nil}, {"50 % |", 1, unknown, false, nil}, {"50 % rm|", 1, half, true, nil}},
		"over words":                    {{"|50 %", 1, unknown, false, nil}, {"|50 %", 1, unknown, false, nil}, {"rm| %", 1, half, true, nil}},
		"taken back":                    {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"rm|", 1, half, true, nil}, {"|", 1, none, true, nil}},
		"a line that wraps":             {{"abc|", 1, unknown, false, nil}, {"abc|", 1, unknown, false, nil}, {"abc12345\n6|", 1, half, true, nil}},
		"a whole line, and half of one": {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"ls\n|", 1, whole, true, sends}, {"ls\nrm|", 1, half, true, nil}},
		"erased to where it wraps":      {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"12345678\n9|", 1, half, true, nil}, {"12345678\n|", 1, half, true, nil}},
		"C-c":                           {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"rm^C|", 1, none, true, nil}, {"rm^C|", 1, none, true, nil}, {"rm^Cls|", 1, half, true, nil}},
		"written":                       {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"done|", 2, unknown, false, nil}},
		"written after a while":         {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"done|", 2, unknown, false, nil}, {"done|", 2, unknown, false, nil}, {"done|", 2, none, false, nil}},
		"drawn late":                    {{"|", 1, unknown, true, nil}, {"done|", 1, unknown, false, nil}, {"done|", 1, unknown, false, nil}, {"done|", 1, none, false, nil}},
		"erased by tmux":                {{"ab\ncd|", 1, unknown, false, nil}, {"ab\ncd|", 1, unknown, false, nil}, {"|", 1, erased, false, nil}},
		"another width":                 {{"ab|", 1, unknown, false, nil}, {"ab|", 1, unknown, false, nil}, {"abc|", 1, unknown, false, wider}, {"abc|", 1, unknown, false, nil}, {"abc|", 1, none, false, nil}},
		"copy mode":                     {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"abc|", 1, unknown, false, func(s *sight) { s.look.Facts.InMode = true }}, {"abc|", 1, half, false, nil}},
		"another screen":                {{"|", 1, unknown, false, nil}, {"|", 1, unknown, false, nil}, {"abc|", 1, unknown, false, func(s *sight) { s.look.Facts.Alternate = true }}},
	} {
		t.Run(name, func(t *testing.T) {
			var a ahead
			now := time.Unix(1_800_000_000, 0)
			waits = 0
			for i, one := range looks {
				s := drawn(one.screen)
				if one.set != nil {
					one.set(&s)
				}
				used := calls{reads: 1, writes: one.writes, nameless: 1, exact: true, unread: waits}
				assert.Equal(t, one.want, a.see(s.look, used, used, now), "look %d", i)
				if now = now.Add(stillFor); one.soon {
					now = now.Add(-stillFor + time.Millisecond)
				}
			}
		})
	}
}

// A line that was begun while a program works is hidden by its prompt until the terminal is read, or unless it was taken back
// before anything was written. Whole lines that were typed before it are read first.
func TestAhead_hides(t *testing.T) {
	type look struct {
		screen        string
		state         message.PaneState
		reads, writes uint64
		unread        int
		want          message.Reason
	}
	const works, idle, draft = message.Working, message.Idle, message.Draft
	rest := []look{{"|", works, 1, 1, 0, ""}, {"|", works, 1, 1, 0, ""}}
	for name, looks := range map[string][]look{
		"hidden":              {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm\n> |", idle, 1, 2, 0, message.NotEmpty}, {"rm\n> \n> |", idle, 2, 3, 0, ""}},
		"and more is typed":   {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm\n> x|", draft, 1, 2, 0, message.NotEmpty}, {"rm\n> |", idle, 1, 2, 0, message.NotEmpty}},
		"taken back":          {{"rm|", works, 1, 1, 0, message.InComposer}, {"|", works, 1, 1, 0, ""}},
		"erased":              {{"rm|", works, 1, 1, 0, message.InComposer}, {"|", works, 1, 2, 0, message.InComposer}, {"|", works, 1, 2, 0, message.InComposer}, {"|", works, 1, 2, 0, message.InComposer}},
		"sent":                {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm\n|", works, 1, 1, 3, ""}},
		"read":                {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm\n> |", idle, 2, 2, 0, ""}},
		"behind a line":       {{"ls\n|", works, 1, 1, 3, ""}, {"ls\nrm|", works, 1, 1, 3, message.InComposer}, {"ls\nrm\n> |", idle, 2, 2, 0, message.NotEmpty}, {"> |", idle, 3, 3, 0, ""}},
		"behind two lines":    {{"ls\nrm|", works, 1, 1, 6, message.InComposer}, {"ls\nrm> |", idle, 2, 2, 3, message.NotEmpty}, {"> |", idle, 3, 3, 0, message.NotEmpty}, {"> |", idle, 4, 4, 0, ""}},
		"C-d":                 {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm|", works, 1, 1, 2, message.InComposer}, {"rm|", works, 1, 1, 2, message.InComposer}, {"rm> |", idle, 2, 2, 0, message.NotEmpty}, {"> |", idle, 3, 3, 0, ""}},
		"C-d, and it is read": {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm|", works, 2, 1, 0, message.InComposer}, {"rm|", works, 2, 1, 0, message.InComposer}, {"rm> |", idle, 2, 2, 0, message.NotEmpty}, {"> |", idle, 3, 3, 0, ""}},
		"behind an Enter":     {{"> |", idle, 2, 2, 0, ""}, {"> ls\nrm|", works, 2, 2, 0, message.InComposer}, {"> ls\nrmok\n> |", idle, 2, 3, 0, message.NotEmpty}, {"> |", idle, 3, 4, 0, ""}},
		"an Enter alone":      {{"> |", idle, 1, 2, 0, ""}, {"> ls\n|", works, 2, 2, 0, ""}, {"> ls\nok\n> |", idle, 2, 3, 0, ""}},
		"an Enter, and words": {{"> |", idle, 1, 2, 0, ""}, {"> ls\nok|", works, 2, 3, 0, ""}, {"> ls\nok\n> |", idle, 2, 4, 0, ""}},
		"sent, drawn late":    {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm|", works, 1, 1, 3, message.InComposer}, {"rm\n> |", idle, 2, 2, 0, ""}},
		"read, drawn late":    {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm|", works, 2, 1, 0, message.InComposer}, {"rm\n> |", idle, 2, 2, 0, ""}},
		"sent, and another":   {{"ls|", works, 1, 1, 0, message.InComposer}, {"ls\nrm|", works, 1, 1, 3, message.InComposer}, {"ls\nrm> |", idle, 2, 2, 0, message.NotEmpty}, {"> |", idle, 3, 3, 0, ""}},
		"C-c":                 {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm^C\n> |", idle, 1, 2, 0, ""}},
		"C-c behind C-d":      {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm|", works, 1, 1, 2, message.InComposer}, {"rm|", works, 1, 1, 2, message.InComposer}, {"rm^C\n> |", idle, 1, 2, 2, message.NotEmpty}},
		"C-c, and no prompt":  {{"rm|", works, 1, 1, 0, message.InComposer}, {"rm^C|", works, 1, 2, 0, message.InComposer}, {"rm^C\n> |", idle, 1, 3, 0, ""}},
		"erased to a wrap":    {{"12345678\n9|", works, 1, 1, 0, message.InComposer}, {"12345678\n|", works, 1, 1, 0, message.InComposer}, {"12345678\n> |", idle, 1, 2, 0, message.NotEmpty}, {"> |", idle, 2, 3, 0, ""}},
		"the same, behind a line": {
			{"ls\n|", works, 1, 1, 3, ""},
			{"ls\n12345678\n9|", works, 1, 1, 3, message.InComposer},
			{"ls\n12345678\n|", works, 1, 1, 3, message.InComposer},
			{"ls\n12345678\n|", works, 2, 1, 0, message.InComposer},
			{"> |", idle, 2, 2, 0, message.NotEmpty},
		},
		"C-d at the prompt": {
			{"rm|", works, 1, 1, 0, message.InComposer},
			{"rm\n> |", idle, 1, 2, 0, message.NotEmpty},
			{"rm\n> |", idle, 2, 2, 0, message.NotEmpty},
			{"rm\n> |", idle, 2, 2, 0, message.NotEmpty},
			{"rm\n> |", idle, 2, 2, 0, message.NotEmpty},
			{"rm\n> \n> |", idle, 3, 3, 0, ""},
		},
		"an Enter, drawn late": {{"> |", idle, 1, 2, 0, ""}, {"> ls|", draft, 2, 2, 0, message.InComposer}, {"> ls\n|", works, 2, 2, 0, ""}, {"> |", idle, 2, 3, 0, ""}},
		"ahead, drawn late":    {{"ls|", works, 1, 1, 0, message.InComposer}, {"ls|", works, 1, 1, 3, message.InComposer}, {"ls\n|", works, 1, 1, 3, ""}, {"> |", idle, 2, 2, 0, ""}},
		"Enter at the prompt, drawn late": {
			{"rm|", works, 1, 1, 0, message.InComposer},
			{"rm\n> |", idle, 1, 2, 0, message.NotEmpty},
			{"rm\n> |", idle, 2, 2, 0, message.NotEmpty},
			{"rm\n> \n|", works, 2, 2, 0, ""},
		},
		"the same between two looks": {
			{"ls\n|", works, 1, 1, 3, ""},
			{"ls\n12345678\n|", works, 1, 1, 3, message.InComposer},
			{"> |", idle, 2, 2, 0, message.NotEmpty},
		},
		"a program that asks": {
			{"name? |", works, 1, 2, 0, ""},
			{"name? |", works, 1, 2, 0, ""},
			{"name? Al|", works, 1, 2, 0, message.InComposer},
			{"name? Al\n> |", idle, 2, 3, 0, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pane{}
			now := time.Unix(1_800_000_000, 0)
			p.clock = func() time.Time { return now }
			for i, one := range append(rest[:2:2], looks...) {
				s := drawn(one.screen)
				s.reading.State, s.front.Unread = one.state, one.unread
				used := calls{reads: one.reads, writes: one.writes, nameless: 1, exact: true, unread: one.unread}
				before := used // what was read, and what waits, may have come while the look was taken
				if i > 0 {
					before.reads, before.unread = p.calls.reads, p.calls.unread
				}
				if old := p.typedAhead(s, before, used); !old {
					p.half.see(s, before, used)
				}
				p.calls = used
				why, _, _ := p.closure()
				assert.Equal(t, one.want, why, "look %d", i)
				now = now.Add(stillFor)
			}
		})
	}
}

// A write under the name /dev/tty, which may have been to another terminal, hides no keys that are typed right behind an
// Enter: nothing stood there when the line was sent.
func TestAhead_behindAnEnterWhileOthersWrite(t *testing.T) {
	type look struct {
		screen   string
		state    message.PaneState
		reads    uint64
		nameless uint64
		want     message.Reason
	}
	for name, looks := range map[string][]look{
		"seen before the keys":   {{"> |", message.Idle, 1, 1, ""}, {"> ls\n|", message.Working, 2, 2, ""}, {"> ls\nx|", message.Working, 2, 2, message.InComposer}},
		"its words, or the keys": {{"> |", message.Idle, 1, 1, ""}, {"> ls\nx|", message.Working, 2, 2, ""}, {"> ls\nx|", message.Working, 2, 2, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pane{}
			now := time.Unix(1_800_000_000, 0)
			p.clock = func() time.Time { return now }
			for i, one := range looks {
				s := drawn(one.screen)
				s.reading.State = one.state
				used := calls{reads: one.reads, writes: 1, nameless: one.nameless, exact: true}
				before := used
				if i > 0 {
					before.reads = p.calls.reads
				}
				if old := p.typedAhead(s, before, used); !old {
					p.half.see(s, before, used)
				}
				p.calls = used
				why, _, _ := p.closure()
				assert.Equal(t, one.want, why, "look %d", i)
				now = now.Add(stillFor / 2)
			}
		})
	}
}

// drawn is a look at a line program at work, eight cells wide; the cursor stands at the bar.
func drawn(screen string) sight {
	s := fine()
	s.frontOK, s.front.Canonical, s.front.Echo, s.front.Discards, s.reading.State = true, true, true, true, message.Working
	before, _, _ := strings.Cut(screen, "|")
	rows := strings.Split(before, "\n")
	f := &s.look.Facts
	f.Width, f.Height, f.CursorY, f.CursorX = 8, 5, len(rows)-1, len(rows[len(rows)-1])
	s.look.Rows = strings.Split(strings.Replace(screen, "|", "", 1), "\n")
	return s
}

// A line that was begun does not count as the program's words because its pane was resized since, or was in copy mode.
func TestAhead_drawnAnew(t *testing.T) {
	for name, set := range map[string]func(*sight){
		"wider":        func(s *sight) { s.look.Facts.Width++ },
		"lower":        func(s *sight) { s.look.Facts.Height-- },
		"copy mode":    func(s *sight) { s.look.Facts.InMode = true },
		"other screen": func(s *sight) { s.look.Facts.Alternate = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pane{}
			now := time.Unix(1_800_000_000, 0)
			p.clock = func() time.Time { return now }
			look := func(screen string, state message.PaneState, writes uint64, set func(*sight)) message.Reason {
				s := drawn(screen)
				s.reading.State = state
				if set != nil {
					set(&s)
				}
				used := calls{reads: 1, writes: writes, nameless: 1, exact: true}
				p.typedAhead(s, used, used)
				p.half.see(s, used, used)
				now = now.Add(stillFor)
				why, _, _ := p.closure()
				return why
			}
			for range 2 {
				look("|", message.Working, 1, nil)
			}
			assert.Equal(t, message.InComposer, look("rm|", message.Working, 1, nil))
			for range 3 {
				assert.Equal(t, message.InComposer, look("rm|", message.Working, 1, set))
			}
			for range 3 {
				assert.Equal(t, message.InComposer, look("rm|", message.Working, 1, nil))
			}
			assert.Equal(t, message.NotEmpty, look("rm\n> |", message.Idle, 2, nil))
		})
	}
}

// A line that was typed ahead is still there after a restart, though the prompt has come back in that very row meanwhile: only
// a read ends it. A draft at the prompt is taken back if the prompt is empty.
func TestAhead_afterARestart(t *testing.T) {
	for ahead, want := range map[bool]message.Reason{true: message.NotEmpty, false: ""} {
		p := &Pane{half: half{begun: true, ahead: ahead}}
		why, lost, place := p.closure()
		assert.Equal(t, message.InComposer, why)
		p = &Pane{session: message.Peer{PaneOf: message.PaneOf{Closed: why, Lost: lost, Draft: place}}}
		p.reopen(nil)
		s := drawn("> |")
		s.reading.State = message.Idle
		used := calls{reads: 1, writes: 1, nameless: 1, exact: true}
		p.half.since = used
		p.half.see(s, used, used)
		why, _, _ = p.closure()
		assert.Equal(t, want, why, "typed ahead: %v", ahead)
		used.reads++
		used.writes++
		p.half.see(s, used, used)
		why, _, _ = p.closure()
		assert.Empty(t, why)
	}
}

// Whole lines that waited before it are read first, even after a restart: a read of those is no read of it.
func TestAhead_behindALineAfterARestart(t *testing.T) {
	p := &Pane{half: half{begun: true, ahead: true, behind: true}}
	why, lost, place := p.closure()
	p = &Pane{session: message.Peer{PaneOf: message.PaneOf{Closed: why, Lost: lost, Draft: place}}}
	p.reopen(nil)
	for reads, want := range []message.Reason{message.NotEmpty, message.NotEmpty, ""} {
		s := drawn("> |")
		s.reading.State = message.Idle
		s.look.Facts.HistorySize = reads
		used := calls{reads: 1 + uint64(reads), writes: 1 + uint64(reads), nameless: 1, exact: true}
		if reads == 0 {
			used.unread = 3
		}
		p.half.resume(used, used)
		p.half.see(s, used, used)
		why, _, _ = p.closure()
		assert.Equal(t, want, why, "%d reads", reads)
	}
}

// A draft at the prompt is taken back where it stood, whatever the screen showed in between: an unknown screen, or copy mode.
func TestAhead_aDraftAtThePrompt(t *testing.T) {
	type look struct {
		screen string
		state  message.PaneState
		want   message.Reason
	}
	const idle, draft, unknown, history = message.Idle, message.Draft, message.Unknown, message.History
	for name, looks := range map[string][]look{
		"not recognised":        {{"> abc|", draft, message.InComposer}, {"> abc|", unknown, message.InComposer}, {"> abc|", unknown, message.InComposer}, {"> a|", unknown, message.InComposer}, {"> |", idle, ""}},
		"copy mode before":      {{"> |", idle, ""}, {"> |", history, ""}, {"> ab|", draft, message.InComposer}, {"> |", idle, ""}},
		"not recognised before": {{"> |", idle, ""}, {"> |", unknown, ""}, {"> |", unknown, ""}, {"> ab|", draft, message.InComposer}, {"> |", idle, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Pane{}
			now := time.Unix(1_800_000_000, 0)
			p.clock = func() time.Time { return now }
			for i, one := range looks {
				s := drawn(one.screen)
				s.reading.State, s.look.Facts.InMode = one.state, one.state == history
				used := calls{reads: 1, writes: 1, nameless: 1, exact: true}
				p.typedAhead(s, used, used)
				p.half.see(s, used, used)
				why, _, _ := p.closure()
				assert.Equal(t, one.want, why, "look %d", i)
				now = now.Add(stillFor)
			}
		})
	}
}
