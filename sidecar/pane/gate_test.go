package pane

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// adopted is a session of the program 8 in the pane that was started with 7.
var adopted = message.Peer{PaneOf: message.PaneOf{
	PaneProc: message.Process{PID: 7, Start: 70}, Foreground: message.Process{PID: 8, Start: 80, Name: "talker"},
}}

// fine is a sight at which nothing stands against typing.
func fine() sight {
	self := process.Process{PID: 8, Start: 80, Name: "talker"}
	return sight{
		look: tmux.Look{Facts: tmux.Facts{PID: 7}}, self: process.Identity{Process: self, Group: 8},
		front: process.FrontGroup{Leader: self, Members: []process.Process{self}, Echo: true, Canonical: true}, frontOK: true,
		reading: screen.Reading{State: message.Idle, MayType: true},
	}
}

// Each known fact about a terminal and its processes, changed alone: what is done about it.
func TestGate_eachFact(t *testing.T) {
	for _, tt := range []struct {
		name   string
		prof   profile.Profile
		change func(*sight)
		why    message.Reason
		gone   bool
	}{
		{"nothing", profile.Line(), func(*sight) {}, "", false},
		{"the pane is dead", profile.Line(), func(s *sight) { s.look.Facts.Dead = true }, message.PaneDead, true},
		{"its terminal is closed, and tmux has not heard of its end", profile.Line(), func(s *sight) { s.look.Facts.PID = 0 }, message.PaneDead, true},
		{"another process in the pane", profile.Line(), func(s *sight) { s.look.Facts.PID = 9 }, message.PaneReplaced, true},
		{"another of the same number", profile.Line(), func(s *sight) { s.below = became }, message.PaneReplaced, true},
		{"its process ended, and tmux has not heard of it", profile.Line(), func(s *sight) { s.below = ended }, message.PaneDead, true},
		{"another one in its place", profile.Line(), func(s *sight) { s.below, s.look.Facts.PID = ended, 9 }, message.PaneReplaced, true},
		{"the agent has ended", profile.Line(), func(s *sight) { s.is = ended }, message.AgentGone, true},
		{"it is another program", profile.Line(), func(s *sight) { s.is = became }, message.AgentGone, true},
		{"it starts itself anew", profile.Line(), func(s *sight) { s.is = parting }, message.NotInFront, false},
		{"a mode", profile.Line(), func(s *sight) { s.look.Facts.InMode = true }, message.CopyMode, false},
		{"input is off", profile.Line(), func(s *sight) { s.look.Facts.InputOff = true }, message.InputOff, false},
		{"synchronised", profile.Line(), func(s *sight) { s.look.Facts.Synchronised = true }, message.Synchronised, false},
		{"another group in front", profile.Line(), func(s *sight) { s.front.Leader.PID = 9 }, message.NotInFront, false},
		{"its group is not known", profile.Line(), func(s *sight) { s.self.Group, s.front.Leader.PID = 0, 0 }, message.NotInFront, false},
		{"it calls itself a shell", profile.Line(), func(s *sight) { s.self.Name = "bash" }, message.NotInFront, false},
		{"a shell in its group", profile.Line(), func(s *sight) {
			s.front.Members = append(s.front.Members, process.Process{PID: 9, Name: "bash"})
		}, message.NotInFront, false},
		{"a helper in its group", profile.Line(), func(s *sight) {
			s.front.Members = append(s.front.Members, process.Process{PID: 9, Name: "helper"})
		}, "", false},
		{"who is in front is not told", profile.Line(), func(s *sight) { s.frontOK, s.front = false, process.FrontGroup{} }, "", false},
		{"no echo", profile.Line(), func(s *sight) { s.front.Echo = false }, message.PasswordPrompt, false},
		{"no echo, of a program that echoes itself", profile.Line(), func(s *sight) { s.front.Echo, s.front.Canonical = false, false }, "", false},
		{"the terminal gathers lines, for one that pastes", profile.LinePaste(), func(*sight) {}, message.UnknownScreen, false},
		{"it does not", profile.LinePaste(), func(s *sight) { s.front.Canonical = false }, "", false},
		{"a full screen", profile.Line(), func(s *sight) { s.look.Facts.Alternate = true }, message.AlternateScreen, false},
		{"a full screen, of one that has it", profile.TUI(), func(s *sight) { s.look.Facts.Alternate, s.front.Canonical = true, false }, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fine()
			tt.change(&s)
			why, gone := bar(s, adopted, tt.prof)
			assert.Equal(t, tt.why, why)
			assert.Equal(t, tt.gone, gone)
			why, _ = mayType(s, adopted, tt.prof)
			assert.Equal(t, tt.why, why, "its composer is live and empty")
		})
	}
}

// A program draws for the size that its terminal has.
func TestGate_size(t *testing.T) {
	for name, tt := range map[string]struct {
		columns, rows int
		why           message.Reason
	}{
		"as its pane":           {80, 24, ""},
		"not told the width":    {500, 24, message.SizeUntold},
		"not told the height":   {80, 23, message.SizeUntold},
		"its size is not known": {0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := fine()
			s.look.Facts.Width, s.look.Facts.Height, s.front.Columns, s.front.Rows = 80, 24, tt.columns, tt.rows
			why, gone := mayType(s, adopted, profile.Line())
			assert.Equal(t, tt.why, why)
			assert.False(t, gone)
		})
	}
}

// A prompt whose terminal nobody reads is no composer: what is typed there goes to the shell, if the program
// ends.
func TestGate_nobodyReads(t *testing.T) {
	s := fine()
	s.ear = nobodys
	why, gone := mayType(s, adopted, profile.Line())
	assert.Equal(t, message.AgentWorking, why)
	assert.False(t, gone)
	why, _ = bar(s, adopted, profile.Line())
	assert.Empty(t, why, "it has begun to work on what it was given, and that proves something")
	assert.Equal(t, message.AgentWorking, ours().obstacle(found{sight: s, unheard: unheard(s, profile.Line())}, noon, true), "nor is Enter pressed")
	s.ear, s.front.Canonical = anothers, false
	why, _ = mayType(s, adopted, profile.TUI())
	assert.Equal(t, message.NotInFront, why)
	why, _ = mayType(s, adopted, profile.Claude().Profile)
	assert.Empty(t, why, "an agent tells more by itself")
}

// A program that has drawn its composer and does not take pastes, or not yet, gets none. Where only one line is typed,
// tmux's word on pastes does not matter.
func TestGate_pastesOff(t *testing.T) {
	for _, tt := range []struct {
		name string
		prof profile.Profile
		off  bool
		why  message.Reason
	}{
		{"an agent that takes pastes", profile.Gemini().Profile, false, ""},
		{"not yet", profile.Gemini().Profile, true, message.UnknownScreen},
		{"a line program", profile.Line(), true, ""},
		{"one that is said to take pastes", profile.LinePaste(), true, message.UnknownScreen},
		{"a program that nobody knows", profile.TUI(), true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fine()
			s.front.Canonical = tt.prof.Reads == profile.Joined
			s.look.Facts.Unbracketed = tt.off
			why, gone := mayType(s, adopted, tt.prof)
			assert.Equal(t, tt.why, why)
			assert.False(t, gone)
			why, _ = bar(s, adopted, tt.prof)
			assert.Empty(t, why, "what stands in its composer already is judged as ever")
		})
	}
}

// A composer that is not proven live and empty, and what is said of it.
func TestGate_composer(t *testing.T) {
	for _, tt := range []struct {
		reading screen.Reading
		why     message.Reason
	}{
		{screen.Reading{State: message.Idle, MayType: true}, ""},
		{screen.Reading{State: message.Idle}, message.UnknownScreen},
		{screen.Reading{State: message.Draft}, message.InComposer},
		{screen.Reading{State: message.Working}, message.AgentWorking},
		{screen.Reading{State: message.Blocked, Why: screen.DialogOpen}, screen.DialogOpen},
		{screen.Reading{State: message.Unknown}, message.UnknownScreen},
		{screen.Reading{}, message.UnknownScreen},
	} {
		s := fine()
		s.reading = tt.reading
		why, gone := mayType(s, adopted, profile.Line())
		assert.Equal(t, tt.why, why, "%+v", tt.reading)
		assert.False(t, gone)
	}
}

// A text that a terminal would cut off is never typed into it.
func TestGate_lineLimit(t *testing.T) {
	gathers, tells, unknown := fine(), fine(), fine()
	tells.front.Canonical = false
	unknown.frontOK = false
	prof := profile.LinePaste()
	for _, tt := range []struct {
		s     sight
		bytes int
		why   message.Reason
	}{
		{gathers, canonicalMax, ""},
		{gathers, canonicalMax + 1, message.LineTooLong},
		{unknown, canonicalLeast, ""},
		{unknown, canonicalLeast + 1, message.LineTooLong},
		{tells, prof.InlineMax, ""},
		{tells, prof.InlineMax + 1, message.BodyTooLong},
	} {
		assert.Equal(t, tt.why, tooLong(tt.bytes, tt.s, prof), "%d bytes", tt.bytes)
	}
}

// A text with more rows than a line program's pane keeps is never typed into it: the more of its
// history is free, the more it keeps. An agent draws its composer itself.
func TestGate_rows(t *testing.T) {
	s := fine()
	f := &s.look.Facts
	f.Width, f.Height, f.HistoryLimit = 80, 24, 2000
	rows := func(n int) string { return strings.Repeat("x\n", n-1) + "x" }
	claude, _ := profile.Known("claude")
	for _, tt := range []struct {
		history int
		prof    profile.Profile
		text    string
		why     message.Reason
	}{
		{0, profile.LinePaste(), rows(2024), ""},
		{0, profile.LinePaste(), rows(2025), message.TooManyRows},
		{2000, profile.LinePaste(), rows(1824), ""},
		{2000, profile.LinePaste(), rows(1825), message.TooManyRows},
		{2000, profile.Line(), strings.Repeat("x", 80*1824), ""},
		{2000, profile.Line(), strings.Repeat("x", 80*1824+1), message.TooManyRows},
		{2000, claude, rows(3000), ""},
	} {
		f.HistorySize = tt.history
		assert.Equal(t, tt.why, tooTall(tt.text, s, tt.prof), "%d rows", screen.Rows(tt.text, f.Width))
	}
}
