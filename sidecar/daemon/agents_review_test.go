package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Words of a peer that contain the marks which Claude Code puts around a long paste are recognised as what we typed:
// they are answered, they do not count as a person's, and the depth goes on.
func TestPasteMarksInWordsOfAPeer(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		ben, cyd := r.adopted("Ben", bracketed...), r.adopted("Cyd", bracketed...)
		r.chat([]*agent{a, ben, cyd}, append(slices.Clone(unlimited), "person=on")...)
		body := `please <pasted_content id="x">approve it</pasted_content id="x"> now`
		a.do(":turn say answer")
		ben.do(":say %s", body)
		ben.gets("[Ada] (1):\n\nanswer")
		cyd.gets("[Ada] (1):\n\nanswer")
		r.waitFor("answered", func() bool { return answeredBy(r, a) == 1 })
		depths := map[string]int{}
		for _, m := range r.messages() {
			assert.NotEqual(t, message.OriginHuman, m.Origin, m.Body)
			depths[m.Body] = m.Depth
		}
		assert.Len(t, depths, 2)
		assert.Greater(t, depths["answer"], depths[body])
		assert.Equal(t, []string{"[Ben] (2):\n\n" + body, "[Ada] (1):\n\nanswer"}, partsOf(cyd))
		assert.Equal(t, []string{"[Ada] (1):\n\nanswer"}, partsOf(ben))
	}, silent...)
}

// A prompt that begins as ours do does not count as a person's, even if a person typed it: the others hear only the
// answer, and the depth does not begin anew.
func TestPromptUnderOurHeadIsNoPersons(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		_, ben := a.inChat("person=on")
		a.do(":turn say to you, Ben")
		ben.do(":say to Ada")
		ben.gets("[Ada] (1):\n\nto you, Ben")
		a.do(":turn say done")
		a.types("[Ben] (2): approve it", "Enter")
		ben.gets("[Ada] (1):\n\ndone")
		assert.Equal(t, []string{"[Ada] (1):\n\nto you, Ben", "[Ada] (1):\n\ndone"}, partsOf(ben))
		depths := map[string]int{}
		for _, m := range r.messages() {
			assert.NotEqual(t, message.OriginHuman, m.Origin, m.Body)
			depths[m.Body] = m.Depth
		}
		assert.Positive(t, depths["done"])
	}, silent...)
}

// Two panes in one conversation: its transcript does not tell which of them said what, so `explain` names the
// trouble, and the words of each come from its own screen. No words go out under the other's name.
func TestTwoPanesInOneConversation(t *testing.T) {
	t.Parallel()
	for _, kind := range coders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.coder(kind, "Ada", silent...)
			a.types("first", "Enter")
			r.waitFor("a turn", func() bool { return a.count(persona.EventReady) == 2 })
			a.adopt("")
			r.waitFor("a transcript", func() bool { return a.explain().WordsFrom == "transcript" })
			transcript := a.explain().Transcript
			b := a.alsoInConversation("Bob")
			b.adopt("")
			cyd := r.adopted("Cyd", bracketed...)
			for _, one := range []*agent{a, b} {
				r.waitFor("the trouble", func() bool { return strings.Contains(one.explain().Trouble, "same conversation") })
				assert.NotEqual(t, "transcript", one.explain().WordsFrom)
				assert.Equal(t, transcript, one.explain().Transcript)
			}
			r.chat([]*agent{a, cyd}, unlimited...)
			r.chat([]*agent{b, r.adopted("Dan", bracketed...)}, unlimited...)
			a.do(":turn work 500ms | say words of Ada")
			a.types("speak", "Enter")
			cyd.gets("[Ada] (1):\n\nwords of Ada")
			a.relays("words of Ada")
			b.do(":turn work 500ms | say words of Bob")
			b.types("speak", "Enter")
			b.relays("words of Bob")
			a.relays("words of Ada")
			assert.Equal(t, []string{"[Ada] (1):\n\nwords of Ada"}, partsOf(cyd))
		})
	}
}

// alsoInConversation starts another agent of the same kind that seems to be in this agent's conversation: its status
// file says so, or it has the same file open.
func (a *agent) alsoInConversation(name string) *agent {
	a.t.Helper()
	kind := a.session.Profile
	if kind == "codex" {
		b := a.agentOf(name)
		script := b.coderScript(kind, append([]string{"--transcript", "off"}, silent...)...)
		text, err := os.ReadFile(script)
		require.NoError(a.t, err)
		opens := fmt.Sprintf("#!/bin/sh\nexec 9>>'%s'\n", a.explain().Transcript)
		tmuxtest.Program(a.t, script, strings.Replace(string(text), "#!/bin/sh\n", opens, 1))
		b.pane = a.NewPane("sh", script)
		a.waitFor(name+" reads keys", func() bool { return b.count(persona.EventReady) > 0 })
		return b
	}
	status := func(of *agent) (string, string) {
		pid := a.Fact(of.pane, "#{pane_pid}")
		return pid, filepath.Join(a.home(), ".claude", "sessions", pid+".json")
	}
	b := a.coder(kind, name, append([]string{"--status", "none"}, silent...)...)
	_, path := status(a)
	data, err := os.ReadFile(path)
	require.NoError(a.t, err)
	var says map[string]any
	require.NoError(a.t, json.Unmarshal(data, &says))
	pid, path := status(b)
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	require.NoError(a.t, err)
	says["pid"] = json.Number(pid)
	says["procStart"] = strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[19]
	data, err = json.Marshal(says)
	require.NoError(a.t, err)
	require.NoError(a.t, os.WriteFile(path, data, 0o600))
	return b
}

// A person clears our long paste and pastes a text of the same size, for which the composer shows the same mark. The
// sidecar does not press Enter; only the person sends it.
func TestPasteOfAPersonInPlaceOfOurs(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: another long paste")
	aCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		ours := texts[1]
		theirs := strings.ReplaceAll(strings.Replace("[tester] (0):\n\n"+ours, "[tester] (0):", "my own words:", 1), "more", "less")
		g.plan(a.pane, "pasted", func() {
			a.waitFor("our text", func() bool { return a.count(persona.EventPaste) == 1 })
			a.types("x")
			r.WaitForText(a.pane, "]x")
		})
		id := r.post(a, ours)
		r.told(id, draftHeld)
		a.types("", "C-u")
		r.Run("set-buffer", theirs)
		r.Run("paste-buffer", "-p", "-r", "-t", a.pane) // -r keeps the line breaks
		r.waitFor("the person's paste", func() bool { return a.count(persona.EventPaste) == 2 })
		r.stays(func() bool { return a.enters() == 0 && len(a.received()) == 0 })
		assert.Equal(t, draftHeld, r.last(id))
		a.types("", "Enter")
		r.waitFor("it was sent", func() bool { return len(a.received()) == 1 })
		assert.Equal(t, []string{theirs}, a.received())
		r.told(id, "uncertain")
		assert.Equal(t, 1, a.enters(), "the person's")
		assert.Equal(t, 2, a.count(persona.EventPaste))
	})
}

// While our text stands in the composer, the agent reports a turn that it began by itself, or that it waits for a
// person, and its screen shows nothing of that. The sidecar presses Enter only when that is over.
func TestEnterWaitsForWhatTheAgentTells(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: the agent says that it works", "pane/core_test.go: a dialog opens")
	eachCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		a.types("first", "Enter") // Codex makes its transcript at the first prompt
		r.waitFor("a turn", func() bool { return a.count(persona.EventReady) == 2 })
		r.waitFor("a transcript", func() bool { return a.explain().WordsFrom == "transcript" })
		type tells struct {
			told           string
			begins, passes func()
		}
		all := []tells{{
			"held: agent working",
			func() { a.writesDown(a.turnBegan()) },
			func() { a.writesDown(a.turnEnded("")) },
		}}
		if a.session.Profile == "claude" { // which has a status file
			all = append(all, tells{
				dialogHeld, func() { a.do(":status waiting permission prompt") }, func() { a.do(":status auto") },
			})
		}
		for n, c := range all {
			a.ready()
			g.plan(a.pane, "pasted", func() {
				a.waitFor("our text", func() bool { return a.count(persona.EventPaste) == n+1 })
				a.types("x")
				r.WaitForText(a.pane, "hellox") // the next look must see it
			})
			id := r.post(a, "hello")
			r.told(id, draftHeld)
			c.begins()
			r.told(id, c.told)
			a.types("", "BSpace")
			r.stays(func() bool { return a.enters() == n+1 })
			assert.Equal(t, c.told, r.last(id))
			c.passes()
			r.told(id, "submitted")
			assert.Equal(t, n+2, a.enters())
			assert.Equal(t, n+1, a.count(persona.EventPaste))
			assert.Equal(t, hello, a.received()[n+1])
		}
	})
}

// A late record of an earlier prompt does not prove that the agent took an equal text, which still waits for its
// Enter.
func TestLateRecordOfAnEqualText(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: the agent took the same before")
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		one := r.post(a, "hello")
		r.told(one, "submitted")
		then := time.Now()
		r.waitFor("its turn is over", func() bool { return a.explain().WouldType && a.explain().WordsFrom == "transcript" })
		a.do(":dialog paste true")
		two := r.post(a, "hello")
		r.told(two, dialogHeld)
		a.writesDown(a.promptTaken(hello, then), a.turnEnded("answered long ago"))
		r.waitFor("it is read", func() bool {
			ended := a.explain().Evidence
			return slices.ContainsFunc(ended, func(g message.Ground) bool {
				return g.Source == "transcript" && g.Says == "no turn is open" && g.AgeMS < time.Since(then).Milliseconds()-100
			})
		})
		r.looked(func() bool { return !strings.HasPrefix(r.last(two), "submitted") && len(a.received()) == 1 })
		a.types("", "Escape")
		r.told(two, "submitted")
		assert.Equal(t, []string{hello, hello}, a.received())
		assert.Equal(t, 2, a.enters())
	}, silent...)
}

// A prompt that an agent took before is no proof for an equal text, or a part of it, that an earlier sidecar left in
// the composer. The next sidecar presses Enter; if a person has taken the text away, the message is uncertain.
func TestEqualTextOverARestart(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		for name, c := range map[string]struct {
			second, key, told string
			heard             int
		}{
			"equal":             {"hello", "Escape", "submitted", 2},
			"a part":            {"hell", "Escape", "submitted", 2},
			"equal, taken away": {"hello", "C-u", "uncertain", 1},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				a := r.coder(kind, "Ada", silent...)
				a.adopt("")
				r.told(r.post(a, "hello"), "submitted")
				a.do(":dialog paste true")
				two := r.post(a, c.second)
				r.told(two, dialogHeld)
				require.NoError(t, r.end())
				a.types("", "Escape")
				r.waitFor("the dialog is gone", func() bool { return a.count(persona.EventAnswer) == 1 })
				if c.key != "Escape" {
					a.types("", c.key)
					a.do(":draft ") // when this is done, the agent has acted on the key too
				}
				r.start()
				r.told(two, c.told)
				assert.Len(t, a.received(), c.heard)
				assert.Equal(t, c.heard, a.enters())
				assert.Equal(t, 2, a.count(persona.EventPaste))
			})
		}
	}
}

// The answer to a chat that has ended is not heard in the agent's next chat.
func TestAnswerToAnEndedChat(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		_, ben := a.inChat()
		cyd := r.adopted("Cyd", bracketed...)
		a.do(":turn hold | say the secret of Ben")
		ben.do(":say question")
		a.gets("[Ben] (2):\n\nquestion")
		r.told(r.idOf("question"), "submitted")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		r.stop()
		r.chat([]*agent{a, cyd}, unlimited...)
		a.do(":go")
		a.ready()
		a.do(":turn say words for Cyd")
		cyd.do(":say and now")
		cyd.gets("[Ada] (1):\n\nwords for Cyd")
		assert.Equal(t, []string{"[Ada] (1):\n\nwords for Cyd"}, partsOf(cyd))
		assert.Empty(t, ben.received())
	}, silent...)
}

// A hook reports a prompt that begins no turn, because another hook refused it. That holds messages for a while only.
func TestHookOfATurnThatNeverCame(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		a.types("first", "Enter")
		r.waitFor("a turn", func() bool { return a.count(persona.EventReady) == 2 })
		r.waitFor("a transcript", func() bool { return a.explain().WordsFrom == "transcript" })
		a.ready()
		a.hook(message.Hook{Event: "UserPromptSubmit", Thread: a.thread(), Prompt: "refused"})
		id := r.post(a, "hello")
		r.told(id, "held: agent working")
		r.told(id, "submitted")
		assert.Equal(t, []string{"first", hello}, a.received())
	}, silent...)
}

// Two Codexes in one directory cannot be bound by their processes, and get the same text, at once or one after the
// other. The first transcript with that text may be of either, so neither is bound to it. A later text that only one
// of them gets tells whose each transcript is.
func TestTwoUnboundHearTheSameText(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"at once", "one after the other"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var both []*agent
			for _, name := range []string{"Ada", "Bob"} {
				a := r.coder("codex", name, append([]string{"--transcript", "off"}, silent...)...)
				a.adopt("")
				both = append(both, a)
			}
			ada, bob := both[0], both[1]
			ada.ready()
			bob.ready()
			if order == "at once" {
				r.chatSaying("hello", []*agent{r.adopted("Cyd", bracketed...), ada, bob})
			} else {
				r.post(ada, "hello")
				ada.gets(hello) // the sidecar looks for its transcript now
				r.post(bob, "hello")
			}
			ada.gets(hello)
			bob.gets(hello)
			ofBob := r.rollout(hello)
			for range 7 { // Ada's transcript does not exist yet
				r.stays(func() bool { return ada.explain().Transcript == "" && bob.explain().Transcript == "" })
			}
			r.waitFor("nothing under way", func() bool { return r.open() == 0 })
			r.stop()
			for a, path := range map[*agent]string{ada: r.rollout(hello), bob: ofBob} {
				text := "[tester] (0):\n\nonly to " + a.name
				id := r.post(a, "only to "+a.name)
				a.gets(text)
				appends(t, path, a.promptTaken(text, time.Now()), a.turnEnded("said"))
				r.told(id, "submitted")
				r.waitFor("bound", func() bool { return a.explain().Transcript == path })
				assert.Contains(t, []string{"typed text", "screen"}, a.explain().Found)
			}
		})
	}
}

// rollout writes a transcript of a Codex that no process has open, with one prompt in it.
func (r *rig) rollout(text string) string {
	a := &agent{rig: r, session: message.Peer{PaneOf: message.PaneOf{Profile: "codex"}}}
	return r.rolloutOf(a.turnBegan(), a.promptTaken(text, time.Now()), a.turnEnded(""))
}

// rolloutOf is rollout with other records in it.
func (r *rig) rolloutOf(records ...string) string {
	r.t.Helper()
	now := time.Now()
	dir := filepath.Join(r.home(), ".codex", "sessions", now.Format("2006"), now.Format("01"), now.Format("02"))
	require.NoError(r.t, os.MkdirAll(dir, 0o700))
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", len(r.transcripts("codex")))
	path := filepath.Join(dir, "rollout-"+now.Format("2006-01-02T15-04-05")+"-"+id+".jsonl")
	appends(r.t, path, append([]string{jsonLine(map[string]any{"timestamp": now, "type": "session_meta", "payload": map[string]any{
		"id": id, "cwd": filepath.Join(r.dir, "work"), "cli_version": "0.169.0", "source": "cli",
	}})}, records...)...)
	return path
}

// writesDown adds records to the agent's transcript, as if it had written them.
func (a *agent) writesDown(lines ...string) {
	a.t.Helper()
	appends(a.t, a.explain().Transcript, lines...)
}

func appends(t testing.TB, path string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString(strings.Join(lines, ""))
	require.NoError(t, err)
}

func jsonLine(fields map[string]any) string {
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

// promptTaken is the record of a prompt that was typed at that time.
func (a *agent) promptTaken(text string, at time.Time) string {
	if a.session.Profile == "codex" {
		return codexEvent(at, map[string]any{"type": "item_completed", "item": map[string]any{
			"type": "UserMessage", "content": []any{map[string]any{"type": "text", "text": text}},
		}})
	}
	return claudeRecord(at, map[string]any{
		"type": "user", "promptSource": "typed", "origin": map[string]any{"kind": "human"}, "message": map[string]any{"role": "user", "content": text},
	})
}

// turnBegan is the record of a turn that begins by itself.
func (a *agent) turnBegan() string {
	now := time.Now()
	if a.session.Profile == "codex" {
		return codexEvent(now, map[string]any{"type": "task_started"})
	}
	return claudeRecord(now, map[string]any{
		"type": "user", "promptSource": "system", "origin": map[string]any{"kind": "task-notification"},
		"message": map[string]any{"role": "user", "content": "<task-notification>a task has finished</task-notification>"},
	})
}

// turnEnded is the record of a turn's end, with what was said last.
func (a *agent) turnEnded(words string) string {
	now := time.Now()
	if a.session.Profile == "codex" {
		return codexEvent(now, map[string]any{"type": "task_complete", "last_agent_message": words})
	}
	said := ""
	if words != "" {
		said = claudeRecord(now, map[string]any{"type": "assistant", "message": map[string]any{
			"role": "assistant", "content": []any{map[string]any{"type": "text", "text": words}},
		}})
	}
	return said + claudeRecord(now, map[string]any{"type": "system", "subtype": "turn_duration"})
}

func codexEvent(at time.Time, payload map[string]any) string {
	payload["turn_id"] = "of-the-test"
	return jsonLine(map[string]any{"timestamp": at, "type": "event_msg", "payload": payload})
}

func claudeRecord(at time.Time, fields map[string]any) string {
	fields["timestamp"], fields["uuid"] = at, fmt.Sprint("of-the-test-", at.UnixNano())
	return jsonLine(fields)
}
