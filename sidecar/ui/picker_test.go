package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// hall returns panes of which some can be picked.
func hall(here string) Panes {
	return Panes{
		Here: Pane{ID: "%0", Name: "claude", Agent: "claude", State: "idle", Window: "work:1 api", Why: here},
		Last: "The plan has three steps:\n\n1. measure\n2. cut \x1b[2J\n3. done",
		Others: []Pane{
			{ID: "%1", Name: "codex", Agent: "codex", State: "idle", Window: "work:1 api"},
			{ID: "%12", Agent: "gemini", State: "working", Window: "work:2 \x1b]0;x\x07 web 日本語"},
			{ID: "%5", Name: "qa", Agent: "line", State: "idle", Window: "work:4 qa"},
			{ID: "%3", State: "unknown", Why: "python3 is in front, which is not a known agent", Lines: true, Window: "work:3 sh"},
			{ID: "%4", State: "idle", Name: "opencode", Agent: "opencode", Why: "opencode is in a chat with aider", Window: "work:5"},
		},
	}
}

// picks returns a picker over panes, and what was begun.
func picks(question bool, panes Panes) (model, *[]Picked) {
	var begun []Picked
	m := begin(Start{Pick: &Picking{
		Question: question,
		Find:     func(context.Context) (Panes, error) { return panes, nil },
		Last:     func(context.Context) (string, error) { return panes.Last, nil },
		Begin: func(_ context.Context, p Picked) (string, error) {
			begun = append(begun, p)
			return "begun", nil
		},
	}}, true, noon).size(80, 24)
	return m, &begun
}

// typed presses keys, and applies all effects of each.
func (m model) typed(names string) model {
	for _, name := range strings.Fields(names) {
		var effects []effect
		if name == "open" {
			effects = m.top().open(m)
		} else {
			m, effects = m.update(noon, pressed(name))
		}
		for len(effects) > 0 {
			var more []effect
			m, more = m.update(noon, effects[0](edge{}))
			effects = append(effects[1:], more...)
		}
	}
	return m
}

// What is picked, and with which options, by each way to press it. Keys typed before the list was there count.
func TestU23_Picked(t *testing.T) {
	for _, c := range []struct {
		question bool
		here     string
		keys     string
		want     *Picked // nil: nothing begins
	}{
		{false, "", "open 1", &Picked{Panes: []string{"%0", "%1"}}},
		{false, "", "2 open", &Picked{Panes: []string{"%0", "%12"}}},
		{false, "", "open down enter", &Picked{Panes: []string{"%0", "%12"}}},
		{false, "", "open space space enter", &Picked{Panes: []string{"%0", "%1", "%12"}}},
		{false, "", "open space space space enter", &Picked{Panes: []string{"%0", "%1", "%12", "%5"}}},
		{false, "", "open space end enter", &Picked{Panes: []string{"%0", "%1"}}},
		{false, "no agent", "open space space space enter", &Picked{Panes: []string{"%1", "%12", "%5"}}},
		{false, "no agent", "open space end enter 1", &Picked{Panes: []string{"%1", "%12"}}},
		{false, "", "open space space 3", &Picked{Panes: []string{"%0", "%1", "%12", "%5"}}},
		{false, "", "open space 1", &Picked{Panes: []string{"%0", "%1"}}},
		{false, "no agent", "open space space 3", &Picked{Panes: []string{"%1", "%12", "%5"}}},
		{false, "no agent", "open space 3", &Picked{Panes: []string{"%1", "%5"}}},
		{false, "", "open space up space enter", &Picked{Panes: []string{"%0", "%12"}}},
		{false, "", "open w + + + - 1", &Picked{Panes: []string{"%0", "%1"}, OneWay: true, Turns: 2}},
		{false, "", "open i 1", &Picked{Panes: []string{"%0", "%1"}, IncludeLast: true}},
		{false, "", "open i i 1", &Picked{Panes: []string{"%0", "%1"}}},
		{false, "", "open s h i enter 1", &Picked{Panes: []string{"%0", "%1"}, Say: "hi"}},
		{false, "", "open s h i esc 1", &Picked{Panes: []string{"%0", "%1"}}},
		{false, "", "open 4", nil},
		{false, "", "open end enter", nil},
		{false, "", "open end space enter", nil},
		{false, "", "open q", nil},
		{false, "", "esc open 1", nil},
		{false, "no agent", "open 1 1", &Picked{Panes: []string{"%1", "%12"}}},
		{false, "no agent", "open 1 + 2", &Picked{Panes: []string{"%1", "%5"}, Turns: 1}},
		{false, "no agent", "open space space enter", &Picked{Panes: []string{"%1", "%12"}}},
		{true, "", "open 1 enter", &Picked{Panes: []string{"%1"}}},
		{true, "", "open + down enter o k enter", &Picked{Panes: []string{"%12"}, Say: "ok", Turns: 2}},
		{true, "", "open 1 x esc", nil},
		{true, "", "open w i s space 3 enter", &Picked{Panes: []string{"%5"}}},
	} {
		m, begun := picks(c.question, hall(c.here))
		m = m.typed(c.keys)
		name := fmt.Sprintf("%v %q %s", c.question, c.here, c.keys)
		if c.want == nil {
			assert.Empty(t, *begun, name)
			continue
		}
		require.Equal(t, []Picked{*c.want}, *begun, name)
		assert.True(t, m.leaving, name)
		assert.Equal(t, "begun", m.farewell, name)
	}
}

// Picking a pane shows why it cannot be picked; a failure stays on the screen; and if the panes cannot be
// found, the error is told when the screen has closed.
func TestU23_NotPicked(t *testing.T) {
	m, _ := picks(false, hall(""))
	m = m.typed("open end enter")
	assert.Contains(t, sees(m), "%4 cannot be picked: opencode is in a chat with aider")
	m = m.typed("up")
	assert.Contains(t, sees(m), "l adopt as a line program (--as line)")
	m, _ = m.update(noon, pressed("l"))
	assert.Contains(t, sees(m), "Adopt it as a line program?")

	// The presser's own pane can be adopted as a line program if it lacks nothing else.
	alone := Panes{Here: Pane{ID: "%0", Why: "ada is in front, which is not a known agent", Lines: true}, Others: []Pane{{ID: "%1", Name: "ben", Agent: "line"}}}
	m, _ = picks(false, alone)
	m = m.typed("open")
	assert.Contains(t, sees(m), "l adopt as a line program (--as line)", "one begins there")
	assert.Contains(t, sees(m), "%0 cannot be picked: ada is in front, which is not a known agent\n")
	m, _ = m.update(noon, pressed("l"))
	assert.Contains(t, sees(m), "Adopt it as a line program?")
	m, _ = picks(false, alone)
	assert.NotContains(t, sees(m.typed("open 1")), "there is no other pane")

	panes := hall("")
	m = begin(Start{Pick: &Picking{
		Question: true, Find: func(context.Context) (Panes, error) { return panes, nil },
		Begin: func(context.Context, Picked) (string, error) { return "", errors.New("everything is stopped") },
	}}, true, noon).size(80, 24).typed("open 1 h o enter")
	assert.Contains(t, sees(m), "everything is stopped")
	assert.Contains(t, sees(m), "> ho", "the line stays")

	m = begin(Start{Pick: &Picking{Find: func(context.Context) (Panes, error) { return Panes{}, errors.New("gone") }}}, true, noon).size(80, 24).typed("open")
	assert.True(t, m.leaving)
	assert.EqualError(t, m.failure, "gone")
}

// If the chat that a number begins with the marked panes does not begin, the number's pane is not marked for the next one.
func TestPicker_aNumberMarksNothing(t *testing.T) {
	var begun []Picked
	m := begin(Start{Pick: &Picking{
		Find: func(context.Context) (Panes, error) { return hall(""), nil },
		Begin: func(_ context.Context, p Picked) (string, error) {
			if begun = append(begun, p); len(begun) == 1 {
				return "", errors.New("gemini is in a chat")
			}
			return "begun", nil
		},
	}}, true, noon).size(80, 24).typed("open space 2")
	assert.Contains(t, sees(m), "gemini is in a chat")
	m = m.typed("3")
	assert.Equal(t, []Picked{{Panes: []string{"%0", "%1", "%12"}}, {Panes: []string{"%0", "%1", "%5"}}}, begun)
	assert.True(t, m.leaving)
}

// Enter in the line prompt of a chat sends nothing yet, and does not say that it does; in that of a question it
// sends.
func TestPicker_whatEnterDoesWithALine(t *testing.T) {
	m, begun := picks(false, hall(""))
	m = m.typed("open s h o")
	assert.Contains(t, sees(m), "Enter keep it: it is sent once a pane is picked")
	assert.NotContains(t, sees(m), "Enter send")
	m = m.typed("enter")
	assert.Empty(t, *begun)
	assert.Contains(t, sees(m), "your line for codex: ho")
	m, _ = picks(true, hall(""))
	assert.Contains(t, sees(m.typed("open 1 h o")), "Enter send")
}

// A line for a chat that is looked up when it is sent: after a failure the prompt stays, with the line.
func TestU23_SayInto(t *testing.T) {
	m := begin(Start{About: "claude (1) ↔ codex (2)", Say: func(context.Context) (message.Chat, error) {
		return message.Chat{}, errors.New("pane %0 is in no chat")
	}}, true, noon).size(80, 24).typed("h o enter")
	assert.Contains(t, sees(m), "to claude (1) ↔ codex (2)")
	assert.Contains(t, sees(m), "is in no chat")
	assert.Contains(t, sees(m), "> ho")
	m, _ = m.update(noon, taken{m.serial, "said"})
	assert.True(t, m.leaving)
	assert.Equal(t, "said", m.farewell)
}

// A sheet is rendered for the width of the screen, and again by its keys.
func TestU5_Sheet(t *testing.T) {
	m := begin(Start{Sheet: &Sheet{Title: "doctor", Keys: []string{"", "f fixes"}, Render: func(_ context.Context, width int, key string) (string, string) {
		return "doctor " + key, fmt.Sprint(width, " columns\n", strings.Repeat("line\n", 50))
	}}}, true, noon)
	m, effects := m.update(noon, resized{80, 24})
	require.Len(t, effects, 1)
	m, _ = m.update(noon, effects[0](edge{}))
	assert.Contains(t, sees(m), "78 columns")
	assert.Contains(t, sees(m), "f fixes")
	m = m.typed("end")
	assert.NotContains(t, sees(m), "78 columns")
	m = m.typed("x f")
	assert.Contains(t, sees(m), "── doctor f ")
	assert.True(t, m.typed("q").leaving)
}

func TestU23_pickerFrames(t *testing.T) {
	for _, c := range []struct {
		name     string
		question bool
		here     string
		keys     string
	}{
		{"pick", false, "", "open"},
		{"pick-options", false, "", "open w + + i s h i enter"},
		{"pick-several", false, "", "open space space"},
		{"pick-marked-all", false, "", "open space space space"},
		{"pick-refused", false, "", "open end up"},
		{"pick-two", false, "no agent", "open"},
		{"pick-ask", true, "", "open"},
		{"pick-ask-line", true, "", "open 2 i s"},
	} {
		m, _ := picks(c.question, hall(c.here))
		golden(t, c.name+"-80x24", m.typed(c.keys))
	}
	linked := hall("")
	linked.Others = slices.Insert(linked.Others, 3, Pane{ID: "raspi/codex", Name: "codex.raspi", Agent: "codex", Window: "on raspi"})
	m, _ := picks(false, linked)
	golden(t, "pick-elsewhere-80x24", m.typed("open down down down"))
	rapid.Check(t, func(t *rapid.T) {
		m, _ := picks(rapid.Bool().Draw(t, "question"), hall(rapid.SampledFrom([]string{"", "no agent"}).Draw(t, "here")))
		m = m.size(rapid.IntRange(10, 100).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height")).typed("open")
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{"up", "down", "space", "w", "i", "+", "s", "end", "1", "x", "esc"}), 0, 6).Draw(t, "keys")
		m = m.typed(strings.Join(keys, " "))
		if m.leaving {
			return
		}
		frame, _ := m.frame()
		rows := strings.Split(frame, "\n")
		require.Len(t, rows, m.height)
		for _, row := range rows {
			require.LessOrEqual(t, ansi.StringWidth(row), m.width, "%q", row)
		}
	})
}
