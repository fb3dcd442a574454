package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const (
	claude   = "claude-2.1.329/"
	codex    = "codex-0.169.0/"
	gemini   = "gemini-0.61.0/"
	opencode = "opencode-1.18.33/"
)

// A turn that called a tool has acted; a turn of words alone has not.
func TestB3_Machine_Acted(t *testing.T) {
	for name, acted := range map[string]bool{
		claude + "plain/transcript": false, codex + "plain/transcript": false, gemini + "plain/transcript": false,
		claude + "permission-granted/transcript": true, codex + "permission-granted/transcript": true,
	} {
		turns, _ := turnsOf(t, name+".jsonl")
		require.NotEmpty(t, turns, name)
		assert.Equal(t, acted, turns[0].Acted, name)
	}
}

// Transcripts of real agents, turn by turn: the prompts, the words after the last call of a tool, and the end.
func TestMachine_recordedTurns(t *testing.T) {
	ask := `[[tool AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,` +
		`"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}]] ask`
	tests := []struct {
		from string
		want []string
	}{
		{claude + "plain/transcript", []string{"one plain question é 日本 → MOCK-ANSWER 5: I received 30 bytes: one plain question é 日本"}},
		{codex + "plain/transcript", []string{"plain question é 日本 → MOCK-ANSWER 1: I received 24 bytes: plain question é 日本"}},
		{"claude-2.1.197/two-turns/transcript", []string{
			"plain question é 日本 → MOCK-ANSWER 2: I received 27 bytes: plain question é 日本",
			"[[bash touch xx]] do it → MOCK-DONE 5 tool said: (Bash completed with no output)",
		}},

		// A dialog is a call of a tool without a result; any answer of a person is its result.
		{claude + "permission-granted/transcript", []string{"[[bash touch made-by-tool]] do it → MOCK-DONE 8 tool said: (Bash completed with no output)"}},
		{claude + "permission-denied/transcript", []string{
			"[[bash touch made-by-tool2]] do it → interrupted",
			"go on then → MOCK-ANSWER 10: I received 10 bytes: go on then",
		}},
		{codex + "permission-granted/transcript", []string{
			"[[bash touch made]] do it → MOCK-DONE 10 tool said: Chunk ID: 762385\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 0\nOutput:",
		}},
		{codex + "permission-denied/transcript", []string{
			"[[bash touch made2]] do it → interrupted",
			"go on then → MOCK-ANSWER 13: I received 10 bytes: go on then",
		}},
		{claude + "ask-answered/transcript", []string{
			ask + " → MOCK-DONE 28 tool said: Your questions have been answered: \"Which colour?\"=\"Red\". You can now continue with these answers in mind.",
		}},
		{claude + "ask-declined/transcript", []string{ask + " → interrupted"}},

		// Commands to the program are not prompts. Claude Code answers a person's shell line, Codex does not.
		{claude + "commands/transcript", []string{
			"!echo from-shell → MOCK-ANSWER 32: I received 108 bytes: <bash-input>echo from-shell</bash-input>\n\n<bash-stdout>from-shell</bash-stdout><bash-stderr></bash-stderr>",
			"after the commands → MOCK-ANSWER 33: I received 237 bytes: …",
		}},
		{codex + "commands/transcript", []string{"after commands → MOCK-ANSWER 36: I received 14 bytes: after commands"}},

		// Prompts typed while it works: Claude Code answers all queued ones in one turn, and passes on those that
		// come while a tool runs in the middle of the turn. Codex always does the latter.
		{claude + "queue/transcript", []string{
			"[[slow 5]] [[lines 10]] one → " + strings.TrimSuffix(lines(10), "\n\n") + "\n\n",
			"queued while busy A + queued while busy B → MOCK-ANSWER 35: I received 40 bytes: queued while busy A\n\nqueued while busy B",
		}},
		{claude + "queue-tool/transcript", []string{"[[bash sleep 4]] tool + queued during tool → MOCK-ANSWER 37: I received 302 bytes: …"}},
		{codex + "steer/transcript", []string{"[[slow 6]] [[lines 12]] one + typed while busy → MOCK-ANSWER 34: I received 16 bytes: typed while busy"}},

		// Gemini CLI and opencode.
		{gemini + "plain/transcript", []string{"plain question é 日本\nsecond `line` → Answer 1: 38 bytes have arrived."}},
		{opencode + "plain/transcript", []string{"plain question é 日本\nsecond `line` → Answer 2: 38 bytes have arrived."}},
		{gemini + "permission-denied/transcript", []string{
			"before [[say all that was said before]] → all that was said before",
			"please [[before I will do it.]] [[bash touch made]] [[say It is done.]] → interrupted",
			"go on then [[say I went on]] → I went on", // everything stands there twice
		}},
		{opencode + "permission-denied/transcript", []string{
			"before [[say all that was said before]] → all that was said before",
			"please [[before I will do it.]] [[bash touch made]] [[say It is done.]] → interrupted",
			"go on then [[say I went on]] → I went on",
		}},
		{gemini + "queue/transcript", []string{
			"[[slow 5]] [[say a slow answer]] one → a slow answer",
			"queued A [[say answer to A]] → answer to A",
			"queued B [[say answer to B]] → answer to B",
		}},
		{opencode + "queue/transcript", []string{
			"[[slow 5]] [[say a slow answer]] one → a slow answer",
			"queued A [[say answer to A]]queued B [[say answer to B]] → answer to B", // two Enters, one prompt
		}},
		{gemini + "queue-tool/transcript", []string{
			"[[bash sleep 4; echo slept]] [[say It has slept.]] tool → It has slept.",
			"queued during tool [[say answer to the queued]] → answer to the queued",
		}},
		{opencode + "queue-tool/transcript", []string{
			"[[bash sleep 4; echo slept]] [[say It has slept.]] tool → It has slept.",
			"queued during tool [[say answer to the queued]] → answer to the queued",
		}},
		{gemini + "commands/transcript", []string{"after the commands [[say here I am]] → here I am"}},
		{opencode + "commands/transcript", []string{"after the commands [[say here I am]] → here I am"}},

		// Resumed, in the same file and in a copy.
		{claude + "resumed/transcript", []string{
			"no hooks and no duration → MOCK-ANSWER 52: I received 26 bytes: no hooks and no duration",
			"[[bash echo x]] tool → MOCK-DONE 54 tool said: x",
			"after continue → MOCK-ANSWER 55: I received 14 bytes: after continue",
			"after resume → MOCK-ANSWER 58: I received 12 bytes: after resume",
		}},
		{claude + "forked/transcript", []string{
			"no hooks and no duration → MOCK-ANSWER 52: I received 26 bytes: no hooks and no duration",
			"[[bash echo x]] tool → MOCK-DONE 54 tool said: x",
			"after continue → MOCK-ANSWER 55: I received 14 bytes: after continue",
			"after fork → MOCK-ANSWER 56: I received 10 bytes: after fork",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.from, func(t *testing.T) {
			turns, open := turnsOf(t, tt.from+".jsonl")
			assert.False(t, open)
			require.Len(t, turns, len(tt.want))
			for i, want := range tt.want {
				got := story(turns[i])
				if short, cut := strings.CutSuffix(want, "…"); cut {
					assert.True(t, strings.HasPrefix(got, short), "%s", got)
				} else {
					assert.Equal(t, want, got)
				}
				assert.Empty(t, turns[i].OpenTools, "of a turn that ended well, or was ended")
				assert.False(t, turns[i].Began.IsZero())
				assert.False(t, turns[i].Ended.Before(turns[i].Began))
				assert.NotEqual(t, "", turns[i].Thread)
			}
		})
	}
}

func TestMachine_400Lines_areWholeAndExact(t *testing.T) {
	for _, from := range []string{claude, codex} {
		turns, _ := turnsOf(t, from+"lines-400/transcript.jsonl")
		require.Len(t, turns, 1)
		assert.Equal(t, lines(400), turns[0].Words, from)
		assert.True(t, turns[0].Whole())
	}
	for _, from := range []string{gemini, opencode} {
		turns, _ := turnsOf(t, from+"lines-400/transcript.jsonl")
		require.Len(t, turns, 1)
		assert.Equal(t, counted(400), turns[0].Words, from)
		assert.True(t, turns[0].Whole())
	}
}

func TestMachine_wordsAreTheTextAfterTheLastToolCall(t *testing.T) {
	for _, from := range []string{claude + "permission-granted", codex + "text-tool-text"} {
		turns, _ := turnsOf(t, from+"/transcript.jsonl")
		require.Len(t, turns, 1, from)
		turn := turns[0]
		assert.True(t, strings.HasPrefix(turn.Words, "MOCK-DONE "), "%s: %q", from, turn.Words)
		require.Len(t, turn.Texts, 2, "words=\"all\" has what was said before the call too")
		assert.Contains(t, turn.Texts[0], "I will ")
		assert.Equal(t, turn.Texts[0]+"\n\n"+turn.Words, turn.All())
	}
	for _, from := range []string{gemini, opencode} {
		turns, _ := turnsOf(t, from+"text-tool-text/transcript.jsonl")
		require.Len(t, turns, 1, from)
		assert.Equal(t, "It is done.", turns[0].Words)
		assert.Equal(t, []string{"I will do it.", "It is done."}, turns[0].Texts)
	}
}

// While a tool waits for a person's permission, the turn is open and the call has no result.
func TestMachine_aToolWithoutResultKeepsTheTurnOpen(t *testing.T) {
	for _, tt := range []struct{ from, tool string }{
		{claude + "permission-granted", "Bash"},
		{claude + "ask-answered", "AskUserQuestion"},
		{codex + "permission-granted", "exec_command"},
	} {
		var m Machine
		for _, e := range eventsOf(t, tt.from+"/transcript.jsonl") {
			if e.Kind == ToolEnded {
				turn, open := m.Turn()
				require.True(t, open)
				require.Len(t, turn.OpenTools, 1, tt.from)
				assert.Equal(t, tt.tool, turn.OpenTools[0].Name)
				assert.Equal(t, e.Tool.ID, turn.OpenTools[0].ID)
				assert.False(t, turn.OpenTools[0].Began.IsZero())
				assert.Empty(t, turn.Words, "what was said before the call is not the answer")
			}
			m.Feed(e)
		}
	}
}

// A conversation continues in another file, is compacted, or has a sub-agent: each turn of the agent itself is
// reported once, and nothing else is.
func TestMachine_oneTurnIsOneMessage(t *testing.T) {
	for _, tt := range []struct {
		from []string
		want []string
	}{
		{[]string{claude + "clear/before", claude + "clear/after"}, []string{"first in file one", "first in file two"}},
		{[]string{codex + "new/before", codex + "new/after"}, []string{"first in file one", "first in file two"}},
		{[]string{claude + "compact/transcript"}, []string{"before compaction", "more before compaction", "after compaction"}},
		{[]string{codex + "compact/transcript"}, []string{"before compaction", "after compaction"}},
		{[]string{opencode + "new/before", opencode + "new/after"}, []string{"first in file one [[say one]]", "first in file two [[say two]]"}},
		{[]string{opencode + "compact/transcript"}, []string{
			"before compaction 0 [[lines 300]]", "before compaction 1 [[lines 301]]", "before compaction 2 [[lines 302]]",
			"after compaction [[say it goes on]]",
		}},
	} {
		var m Machine
		var prompts []string
		for _, from := range tt.from {
			for _, e := range eventsOf(t, from+".jsonl") {
				for _, turn := range m.Feed(e).Ended {
					assert.True(t, turn.Whole())
					require.Len(t, turn.Prompts, 1)
					prompts = append(prompts, turn.Prompts[0].Text)
				}
			}
		}
		assert.Equal(t, tt.want, prompts)
	}
}

// In Claude Code, the end of a sub-agent is a prompt of the program: a turn of its own, which no person and no peer
// asked for. In Codex it begins no turn.
func TestMachine_subAgents(t *testing.T) {
	assert.Empty(t, eventsOf(t, claude+"sub-agent/side.jsonl"))
	assert.Empty(t, eventsOf(t, codex+"sub-agent/side.jsonl"))
	assert.Empty(t, eventsOf(t, opencode+"sub-agent/side.jsonl"))

	turns, _ := turnsOf(t, claude+"sub-agent/transcript.jsonl")
	require.Len(t, turns, 2)
	assert.True(t, strings.HasPrefix(turns[0].Words, "MOCK-DONE 41"))
	require.Len(t, turns[1].Prompts, 1)
	assert.Equal(t, BySystem, turns[1].Prompts[0].By)
	assert.False(t, turns[1].ByHand())
	assert.NotEqual(t, turns[0].ID, turns[1].ID)

	turns, _ = turnsOf(t, codex+"sub-agent/transcript.jsonl")
	require.Len(t, turns, 1)
	assert.True(t, strings.HasPrefix(turns[0].Words, "MOCK-DONE 6"))
}

func TestMachine_interruptedAndFailedTurnsAreMarked(t *testing.T) {
	for _, from := range []string{claude, codex} {
		turns, open := turnsOf(t, from+"esc-in-answer/transcript.jsonl")
		assert.False(t, open)
		require.Len(t, turns, 2)
		assert.True(t, turns[0].Interrupted, from)
		assert.False(t, turns[0].Whole())
		assert.True(t, turns[1].Whole(), "the next turn is none the worse")

		turns, open = turnsOf(t, from+"error-529/transcript.jsonl")
		assert.False(t, open, "an error ends a turn")
		require.Len(t, turns, 1)
		assert.True(t, turns[0].Failed, from)
		assert.Contains(t, turns[0].Why, "529")
		assert.Empty(t, turns[0].Words, "an error is not what the agent said")
	}
	for _, from := range []string{gemini, opencode} {
		for _, how := range []string{"esc-in-answer", "esc-early", "error-400"} {
			turns, open := turnsOf(t, from+how+"/transcript.jsonl")
			assert.False(t, open)
			require.Len(t, turns, 2, "%s %s", from, how)
			assert.Equal(t, how == "error-400", turns[0].Failed)
			assert.Equal(t, how != "error-400", turns[0].Interrupted)
			assert.Empty(t, turns[0].Words)
			assert.Equal(t, "the next answer", turns[1].Words)
		}
	}
	turns, _ := turnsOf(t, "claude-2.1.197/esc-in-answer/transcript.jsonl")
	require.Len(t, turns, 1)
	assert.True(t, turns[0].Interrupted)
}

// If interrupted before the first word, Codex writes it down. Claude Code puts the prompt back into its composer
// and writes nothing: only its status file shows it.
func TestMachine_interruptedBeforeTheFirstWord(t *testing.T) {
	turns, open := turnsOf(t, codex+"esc-early/transcript.jsonl")
	assert.False(t, open)
	require.Len(t, turns, 1)
	assert.True(t, turns[0].Interrupted)

	var m Machine
	for _, e := range eventsOf(t, claude+"esc-early/transcript.jsonl") {
		m.Feed(e)
	}
	turn, open := m.Turn()
	require.True(t, open)
	idle := Status{State: StatusIdle, Since: turn.Began.Add(2 * time.Second)}

	out := m.Status(Status{State: StatusBusy, Since: turn.Began}, turn.Began.Add(time.Hour))
	assert.Empty(t, out.Ended, "busy for an hour: the service may be slow")
	out = m.Status(Status{State: StatusIdle, Since: turn.Began.Add(-time.Second)}, turn.Began.Add(time.Hour))
	assert.Empty(t, out.Ended, "idle before the prompt says nothing")
	out = m.Status(idle, idle.Since.Add(idleGrace-time.Millisecond))
	assert.Empty(t, out.Ended, "the transcript may be behind")
	due, ok := m.Due()
	require.True(t, ok)
	assert.Equal(t, idle.Since.Add(idleGrace), due)
	assert.Empty(t, m.Tick(due).Ended, "the computer may have stood still, and the transcript not been read since")
	again, ok := m.Due()
	require.True(t, ok)
	assert.Equal(t, due.Add(againGrace), again)
	assert.Empty(t, m.Tick(again.Add(-1)).Ended)
	out = m.Tick(again)
	require.Len(t, out.Ended, 1)
	assert.True(t, out.Ended[0].Interrupted)
	assert.True(t, out.Ended[0].Unmarked)
	_, open = m.Turn()
	assert.False(t, open)
	_, ok = m.Due()
	assert.False(t, ok)
}

// A computer that stands still for longer than idleGrace, while Claude Code ends a turn, makes no interrupted turn: what it
// wrote, or will only now write, comes before the second look.
func TestMachine_theComputerStoodStill(t *testing.T) {
	began := time.Date(2026, 12, 3, 2, 38, 19, 0, time.UTC)
	idle := Status{State: StatusIdle, Since: began.Add(time.Second)}
	for name, first := range map[string]func(m *Machine, woke time.Time) Outcome{
		"the status was read before":  func(m *Machine, woke time.Time) Outcome { m.Status(idle, idle.Since); return m.Tick(woke) },
		"the status is read only now": func(m *Machine, woke time.Time) Outcome { return m.Status(idle, woke) },
		"the status was busy meanwhile": func(m *Machine, woke time.Time) Outcome {
			m.Status(Status{State: StatusBusy, Since: began}, began)
			return m.Status(idle, woke)
		},
		"the clock is set back thereafter": func(m *Machine, woke time.Time) Outcome { m.Status(idle, woke.Add(time.Hour)); return m.Tick(woke) },
	} {
		var m Machine
		m.Feed(Event{Kind: Prompted, Text: "hello", By: ByKeys, At: began})
		woke := began.Add(time.Minute)
		assert.Empty(t, first(&m, woke).Ended, name)
		assert.Empty(t, m.Tick(woke.Add(againGrace-1)).Ended, name)
		assert.Empty(t, m.Tick(woke.Add(time.Minute)).Ended, "%s, and once more", name)
		m.Feed(Event{Kind: Spoke, Text: "the answer", At: began.Add(time.Second)})
		out := m.Feed(Event{Kind: TurnEnded, At: began.Add(time.Second)})
		require.Len(t, out.Ended, 1, name)
		assert.False(t, out.Ended[0].Interrupted, name)
		assert.Equal(t, "the answer", out.Ended[0].Words, name)
	}
}

// If the same prompt is sent again, or another one, the turn before it is over, too.
func TestMachine_aTypedPromptEndsATurnWithoutAnEnd(t *testing.T) {
	var m Machine
	m.Feed(Event{Kind: Prompted, Text: "one", By: ByKeys})
	out := m.Feed(Event{Kind: Prompted, Text: "two", By: ByKeys})
	require.Len(t, out.Ended, 1)
	assert.True(t, out.Ended[0].Interrupted)
	assert.True(t, out.Ended[0].Unmarked)

	m.Feed(Event{Kind: Spoke, Text: "an answer"})
	out = m.Feed(Event{Kind: Prompted, Text: "three", By: ByQueue})
	require.Len(t, out.Ended, 1)
	assert.False(t, out.Ended[0].Interrupted, "it had said something and no tool was at work")
	assert.Equal(t, "an answer", out.Ended[0].Words)

	m.Feed(Event{Kind: ToolBegan, Tool: Tool{ID: "1"}})
	out = m.Feed(Event{Kind: Prompted, Text: "four", By: ByUnknown})
	require.Len(t, out.Ended, 1)
	assert.True(t, out.Ended[0].Interrupted, "a tool was at work")
}

// An agent may try again by itself after an error: that is still the same turn, which then succeeds.
func TestMachine_aTurnThatGoesOnAfterAnErrorKeepsItsPrompts(t *testing.T) {
	var m Machine
	m.Feed(Event{Kind: Prompted, Turn: "t", Text: "one", By: ByKeys})
	out := m.Feed(Event{Kind: Failed, Text: "overloaded"})
	require.Len(t, out.Ended, 1)
	assert.True(t, out.Ended[0].Failed)
	m.Feed(Event{Kind: Spoke, Text: "after all"})
	out = m.Feed(Event{Kind: TurnEnded})
	require.Len(t, out.Ended, 1)
	assert.Equal(t, "t", out.Ended[0].ID)
	assert.Equal(t, "one", out.Ended[0].Prompts[0].Text)
	assert.True(t, out.Ended[0].Whole())
}

func TestMachine_whatAPersonTypedIsToldFromOurs(t *testing.T) {
	long := "AI[vm:peer] | long paste\n\nline two\nline three\nline four\n\tTab and é\nlast  "
	for _, tt := range []struct {
		from, typed string
	}{
		{claude + "long-paste", long}, // comes wrapped, with blanks for the tab
		{codex + "long-paste", strings.Replace(long, "line four\n", "", 1)},
		{gemini + "long-paste", long}, // without the tab
		{opencode + "long-paste", long},
		{claude + "queue-tool", "queued during tool"},
	} {
		var m Machine
		m.Expect(tt.typed)
		var ours, hand int
		for _, e := range eventsOf(t, tt.from+"/transcript.jsonl") {
			if p := m.Feed(e).Prompt; p != nil {
				if p.Ours {
					ours++
				} else {
					hand++
				}
				assert.NotEqual(t, p.Ours, p.ByHand())
				assert.False(t, p.Mixed)
			}
		}
		assert.Equal(t, 1, ours, tt.from)
		assert.LessOrEqual(t, hand, 1, "the one that began the turn in which ours came")
	}
}

func TestMachine_anExpectedTextIsTakenOnce(t *testing.T) {
	var m Machine
	m.Expect("hello")
	m.Expect("not typed")
	m.Unexpect("not typed")
	take := func(text string) Prompt {
		out := m.Feed(Event{Kind: Prompted, Text: text, By: ByKeys})
		require.NotNil(t, out.Prompt)
		m.Feed(Event{Kind: TurnEnded})
		return *out.Prompt
	}
	assert.False(t, take("something else").Ours)
	assert.True(t, take(" hello\n").Ours)
	assert.False(t, take("hello").Ours, "a person typed the same")
	assert.False(t, take("not typed").Ours)
	m.Expect("ours")
	mixed := take("a draft and ours")
	assert.True(t, mixed.Ours)
	assert.True(t, mixed.Mixed)
	assert.True(t, mixed.ByHand())

	m.Expect("go on")
	m.Expect("please go on")
	m.Expect("go on")
	queued := take("go on\n\nplease go on\n\ngo on") // by an agent that takes all queued prompts as one
	assert.True(t, queued.Ours)
	assert.False(t, queued.ByHand())
	assert.False(t, take("go on").Ours)
	m.Expect("one")
	m.Expect("two")
	mixed = take("one\n\nand two")
	assert.True(t, mixed.Mixed)
	assert.False(t, take("two").Ours)
}

func TestMachine_whatIsPastIsNotTold(t *testing.T) {
	var m Machine
	m.Expect("old")
	out := m.Feed(Event{Kind: Prompted, Text: "old", By: ByKeys, Past: true})
	assert.Nil(t, out.Prompt)
	m.Feed(Event{Kind: Spoke, Text: "old words", Past: true})
	assert.Empty(t, m.Feed(Event{Kind: TurnEnded, Past: true}).Ended)
	last, ok := m.Last()
	require.True(t, ok, "it can be asked for")
	assert.Equal(t, "old words", last.Words)
	assert.True(t, m.Feed(Event{Kind: Prompted, Text: "old", By: ByKeys}).Prompt.Ours, "an old prompt is not what we typed now")
	m.Feed(Event{Kind: TurnEnded})

	m.Feed(Event{Kind: Prompted, Text: "begun before", By: ByKeys, Past: true})
	turn, open := m.Turn()
	assert.True(t, open)
	assert.True(t, turn.Past)
	m.Feed(Event{Kind: Prompted, Text: "typed into it now", By: BySteer})
	m.Feed(Event{Kind: Spoke, Text: "and answered now"})
	ended := m.Feed(Event{Kind: TurnEnded}).Ended
	require.Len(t, ended, 1)
	assert.True(t, ended[0].Past)
	require.Len(t, ended[0].Prompts, 2)
	assert.True(t, ended[0].Prompts[0].Past)
	assert.False(t, ended[0].Prompts[1].Past)

	m.Feed(Event{Kind: Prompted, Text: "of a process that died", By: ByKeys, Past: true})
	assert.Empty(t, m.Feed(Event{Kind: Fresh, Past: true}).Ended)
	_, open = m.Turn()
	assert.False(t, open)

	m.Feed(Event{Kind: Prompted, Text: "withdrawn long ago", By: ByKeys, Past: true, At: time.Unix(100, 0)})
	out = m.Status(Status{State: StatusIdle, Since: time.Unix(101, 0)}, time.Unix(1000, 0))
	assert.Empty(t, out.Ended)
	_, open = m.Turn()
	assert.True(t, open)
	assert.Empty(t, m.Tick(time.Unix(1000, 0).Add(againGrace)).Ended)
	_, open = m.Turn()
	assert.False(t, open)
}

// Whatever comes, in any order: each prompt is reported as taken once and belongs to one turn, each text belongs to
// one turn, no reported turn is open, and a reported turn does not change.
func TestMachine_anyEvents(t *testing.T) {
	kinds := []EventKind{Prompted, Queued, Spoke, ToolBegan, ToolEnded, TurnBegan, TurnEnded, Interrupted, Stopped, Compacted, "new"}
	sources := []Source{ByKeys, ByQueue, BySteer, BySystem, ByUnknown}
	rapid.Check(t, func(t *rapid.T) {
		var m Machine
		var told []Turn
		var shown []string
		taken, prompts, texts, said := 0, 0, 0, 0
		for i := range rapid.IntRange(0, 60).Draw(t, "n") {
			e := Event{
				Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), By: rapid.SampledFrom(sources).Draw(t, "by"),
				Text: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "text"), At: time.Unix(int64(i), 0),
				Tool: Tool{ID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "tool")},
			}
			if e.Kind == TurnEnded {
				e.Text = ""
			}
			if rapid.Bool().Draw(t, "expected") {
				m.Expect(e.Text)
			}
			if e.Kind == Prompted {
				prompts++
			}
			if e.Kind == Spoke {
				texts++
			}
			out := m.Feed(e)
			if out.Prompt != nil {
				taken++
			}
			assert.LessOrEqual(t, len(out.Ended), 2)
			for _, turn := range out.Ended {
				told, shown = append(told, turn), append(shown, fmt.Sprint(turn))
			}
		}
		if turn, open := m.Turn(); open {
			told, shown = append(told, turn), append(shown, fmt.Sprint(turn))
		}
		assert.Equal(t, prompts, taken)
		for i, turn := range told {
			assert.Equal(t, shown[i], fmt.Sprint(turn))
			assert.True(t, !turn.Open || i == len(told)-1)
			prompts -= len(turn.Prompts)
			said += len(turn.Texts)
		}
		assert.Zero(t, prompts)
		assert.Equal(t, texts, said)
	})
}

func TestMachine_aTurnOfTooMuchTextKeepsTheNewest(t *testing.T) {
	var m Machine
	piece := strings.Repeat("x", maxTurn/4)
	for range 9 {
		m.Feed(Event{Kind: Spoke, Text: piece})
	}
	turn, _ := m.Turn()
	assert.True(t, turn.Truncated)
	assert.LessOrEqual(t, len(turn.All()), maxTurn+100)
	m.Feed(Event{Kind: ToolBegan, Tool: Tool{ID: "1"}})
	m.Feed(Event{Kind: Spoke, Text: "the last"})
	assert.Equal(t, "the last", m.Feed(Event{Kind: TurnEnded}).Ended[0].Words)
}

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		typed, taken string
		same         bool
	}{
		{"a", "a", true},
		{"a\n\nb  ", "a\n\nb", true},
		{"a\tb", "a    b", true},
		{"a\n\tb", "a\nb", true},
		{"a\tb", "a b", false},
		{"a\r\nb", "a\nb", true},
		{"a\u200bb\u202e", "ab", true},
		{"❤️ 👨‍👩‍👧", "❤ 👨👩👧", true},
		{"a b", "a  b", false},
		{"a", "A", false},
		{"a", "", false},
	} {
		assert.Equal(t, tt.same, Same(tt.typed, tt.taken), "%q %q", tt.typed, tt.taken)
	}
	assert.Equal(t, "x\nbody\ny", unwrapPasted("x\nbody\ny"))
	assert.Equal(t, "one</pasted_content id=\"b\">two",
		unwrapPasted("\n\n<pasted_content id=\"a\">\none</pasted_content id=\"b\">two\n</pasted_content id=\"a\">\n"))
	assert.Equal(t, "<pasted_content id=\"a\">open", unwrapPasted("<pasted_content id=\"a\">open"))
}

// story is a turn in one line.
func story(t Turn) string {
	var prompts []string
	for _, p := range t.Prompts {
		prompts = append(prompts, p.Text)
	}
	end := t.Words
	switch {
	case t.Interrupted:
		end = "interrupted"
	case t.Failed:
		end = "failed"
	}
	return strings.Join(prompts, " + ") + " → " + end
}

// lines returns the answer of the recordings' model to "[[lines N]]".
func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d of %d from the mock model\n\n", i, n)
	}
	return b.String()
}

// counted returns the answer of the lab's model to "[[lines N]]".
func counted(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("Line %d of %d, which the mock has counted.", i+1, n)
	}
	return strings.Join(all, "\n\n")
}

func turnsOf(t *testing.T, from string) (turns []Turn, open bool) {
	t.Helper()
	var m Machine
	var last time.Time
	for _, e := range eventsOf(t, from) {
		turns = append(turns, m.Feed(e).Ended...)
		last = later(last, e.At)
	}
	if kindOfRecording(from) == Gemini { // the screen shows when the last one is over
		last = last.Add(10 * time.Millisecond)
		assert.Empty(t, m.Rests(last, last).Ended)
		turns = append(turns, m.Tick(last.Add(restGrace)).Ended...)
	}
	_, open = m.Turn()
	return turns, open
}

func eventsOf(t *testing.T, from string) []Event {
	t.Helper()
	return NewReader(kindOfRecording(from), 0).Feed(recording(t, from))
}

func recording(t *testing.T, from string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(from)))
	require.NoError(t, err)
	return data
}

func kindOfRecording(from string) Kind {
	for _, k := range []Kind{Codex, Gemini, OpenCode} {
		if strings.Contains(from, string(k)+"-") {
			return k
		}
	}
	return Claude
}
