package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// stage is the test that is under way: a lab's test, or one of its subtests, which share the agents that were started
// before them.
type stage struct {
	*testing.T
	failed func() // logs what is known after a test has failed
}

// Run runs a subtest on this stage. A failure in its helpers ends only the subtest.
func (s *stage) Run(name string, test func(t *testing.T)) bool {
	was := s.T
	return was.Run(name, func(t *testing.T) {
		s.T = t
		defer func() {
			if t.Failed() {
				s.failed()
			}
			s.T = was
		}()
		test(t)
	})
}

// labRig is a rig whose panes hold real agents; their models are the lab's.
type labRig struct {
	*rig
	*stage
	lab    *labtest.Lab
	agents []*labAgent
	told   bool // tell has run for a failed test
}

// newLab makes a lab, a tmux server and a sidecar for it, if the lab is on and has agents of
// those kinds.
func newLab(t *testing.T, kinds []labtest.Kind, opts ...option) *labRig {
	t.Helper()
	l := &labRig{stage: &stage{T: t}}
	l.failed = l.tell
	l.lab = labtest.New(l.stage, kinds...)
	// The sidecar logs at any time: never to a subtest, which may be over.
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	l.rig = newRigOn(l.stage, tmuxtest.Versions(t)[0], append([]option{func(c *daemon.Config) { c.Log, c.Transport = log, os.Getenv("INTERCOM_LAB_TRANSPORT") }}, opts...)...)
	l.rig.ByProcess = strings.Contains(t.Name(), "_Q11_") // its floor is the time that tmux processes take
	return l
}

// eachLabKind runs test once for each agent that the sidecar knows, in parallel with each other and with other tests:
// most of the time they wait.
func eachLabKind(t *testing.T, test func(t *testing.T, kind labtest.Kind)) {
	t.Helper()
	eachOf(t, labtest.Kinds, test)
}

// eachOf is eachLabKind for some kinds of agents.
func eachOf(t *testing.T, kinds []labtest.Kind, test func(t *testing.T, kind labtest.Kind)) {
	t.Helper()
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// eachLab is eachLabKind with an agent that was started by hand in a shell, in a lab of its own.
func eachLab(t *testing.T, test func(t *testing.T, l *labRig, a *labAgent), options ...labtest.Option) {
	t.Helper()
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind})
		test(t, l, l.agent(kind, options...))
	})
}

// labAgent is a real agent in a pane of the rig's server.
type labAgent struct {
	*labtest.Agent
	l *labRig
}

// agent starts an agent by hand in a shell, and waits for its composer. It is not adopted
// yet.
func (l *labRig) agent(kind labtest.Kind, options ...labtest.Option) *labAgent {
	l.Helper()
	a := l.launch(kind, options...)
	a.WaitForIdle()
	return a
}

// launch is agent, but does not wait.
func (l *labRig) launch(kind labtest.Kind, options ...labtest.Option) *labAgent {
	l.Helper()
	a := &labAgent{l: l, Agent: l.lab.Launch(l.Server, kind, append([]labtest.Option{labtest.InShell()}, options...)...)}
	l.agents = append(l.agents, a)
	l.Cleanup(func() { // before the agents end
		if l.Failed() && !l.told {
			l.told = true
			l.tell()
		}
	})
	return a
}

// begin starts an unlimited chat among panes, which adopts the agents in them. set is a list
// of KEY=VALUE.
func (l *labRig) begin(say string, panes []string, set ...string) message.Chat {
	l.Helper()
	req := api.StartChatRequest{Panes: panes, Say: say, Set: map[string]string{}}
	for _, pair := range append(slices.Clone(unlimited), set...) {
		key, value, _ := strings.Cut(pair, "=")
		req.Set[key] = value
	}
	chat, err := l.client.StartChat(l.Context(), req)
	require.NoError(l, err, "start chat")
	return chat
}

// alone starts a chat of an agent and a persona that reads pastes byte for byte and never answers. It returns the
// persona too.
func (l *labRig) alone(a *labAgent, set ...string) (message.Chat, *agent) {
	l.Helper()
	ben := l.adopted(fmt.Sprintf("Ben%d", len(l.panes())), bracketed...)
	return l.begin("", []string{a.Pane, ben.pane}, set...), ben
}

// panes are all panes of the server.
func (l *labRig) panes() []string {
	return strings.Fields(l.rig.Run("list-panes", "-a", "-F", "#{pane_id}"))
}

// over ends a chat.
func (l *labRig) over(chat message.Chat) {
	l.Helper()
	_, err := l.client.StopChat(l.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(l, err, "stop chat")
}

// mute keeps an agent's words from the others of its chat; unmute lets them pass again.
func (l *labRig) mute(chat message.Chat, pane string) { l.Helper(); l.muting(chat, pane, false) }

func (l *labRig) unmute(chat message.Chat, pane string) { l.Helper(); l.muting(chat, pane, true) }

func (l *labRig) muting(chat message.Chat, pane string, off bool) {
	l.Helper()
	_, err := l.client.MuteMember(l.Context(), api.MemberRequest{Chat: string(chat.ID), Pane: pane, Off: off})
	require.NoError(l, err, "mute")
}

// tellAll puts a person's words into a chat, and returns the message.
func (l *labRig) tellAll(chat message.Chat, text string) message.ID {
	l.Helper()
	said, err := l.client.Say(l.Context(), api.SayRequest{Chat: string(chat.ID), Text: text})
	require.NoError(l, err, "say")
	return said.Message
}

// mail sends a person's message to one agent, and does not wait for anything.
func (l *labRig) mail(to *labAgent, text string) message.ID {
	l.Helper()
	sent, err := l.client.Send(l.Context(), api.SendRequest{To: to.Pane, Text: text})
	require.NoError(l, err, "send")
	return sent.Message
}

// trailTo are the receipts of a message on its way to an agent, in order, as text: "held: …".
func (l *labRig) trailTo(id message.ID, to *labAgent) (all []string) {
	l.Helper()
	session := to.session().ID
	for _, r := range l.receiptsOf(id) {
		if r.Target == session || session == "" {
			all = append(all, told(r))
		}
	}
	return all
}

// waitTold waits until the last receipt of a message on its way to an agent begins with want. Answered counts as
// submitted too.
func (l *labRig) waitTold(id message.ID, to *labAgent, want string) {
	l.Helper()
	var trail []string
	l.until(fmt.Sprintf("%s at %s", want, to.Name), func() bool {
		trail = l.trailTo(id, to)
		if len(trail) == 0 {
			return false
		}
		last := trail[len(trail)-1]
		return strings.HasPrefix(last, want) || want == "submitted" && last == "answered"
	}, func() any { return trail })
}

// until waits for a condition with an agent's patience. If the wait is in vain, it fails with what state returns.
func (l *labRig) until(what string, cond func() bool, state ...func() any) {
	l.Helper()
	for deadline := time.Now().Add(labtest.Patience); !cond(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			var is []any
			for _, f := range state {
				is = append(is, f())
			}
			require.Failf(l, "waited in vain", "%v for %s; there is %q", labtest.Patience, what, is)
		}
	}
}

// session is the agent's session; it is empty if the agent was not adopted.
func (a *labAgent) session() message.Peer {
	a.l.Helper()
	all, err := a.l.client.Sessions(a.l.Context())
	require.NoError(a.l, err)
	for _, s := range all {
		if s.Pane == a.Pane && s.Ended == nil {
			return s
		}
	}
	return message.Peer{}
}

// explain is the sidecar's explanation of the agent's pane.
func (a *labAgent) explain() message.Explanation {
	a.l.Helper()
	e, err := a.l.client.Explain(a.l.Context(), api.ExplainRequest{Pane: a.Pane})
	require.NoError(a.l, err, "explain")
	return e
}

// screen is what an agent shows: the facts of its pane, and its rows with their attributes.
func (a *labAgent) screen() labtest.Screen {
	a.l.Helper()
	return a.l.lab.Capture(a.Agent)
}

// hears waits until the model has received n texts in all, and returns them.
func (a *labAgent) hears(n int) []string {
	a.l.Helper()
	a.l.until(fmt.Sprintf("%s to hear %d texts", a.Name, n), func() bool { return len(a.Received()) >= n }, func() any { return a.Received() })
	return a.Received()
}

// says prompts the agent by hand, and waits until the turn is over.
func (a *labAgent) says(prompt string) {
	a.l.Helper()
	n := len(a.Conversation())
	a.Prompt(prompt)
	a.l.until(a.Name+" to answer", func() bool {
		all := a.Conversation()
		return len(all) > n && all[len(all)-1].Over && all[len(all)-1].Call == nil
	})
	a.WaitForIdle()
}

// drawn waits until the agent waits for its user and shows the last words of its model: some agents show an empty
// composer before that.
func (a *labAgent) drawn() {
	a.l.Helper()
	said := a.Answers()
	if len(said) == 0 {
		return
	}
	a.WaitFor("its last words", func(s labtest.Screen) bool {
		return slices.ContainsFunc(s.Plain, func(row string) bool {
			return strings.Contains(row, said[len(said)-1]) && !strings.Contains(row, "[[") // this is the prompt
		})
	})
	a.WaitForIdle()
}

// command types a command of the agent's own by hand; opencode takes no pasted text for a command.
func (a *labAgent) command(text string) {
	a.l.Helper()
	was := a.screen().Plain
	if a.Kind == labtest.Opencode {
		a.Keys("-l", text)
	} else {
		a.Paste(text)
	}
	a.WaitFor(strconv.Quote(text), func(s labtest.Screen) bool { return s.Contains(text) && !slices.Equal(s.Plain, was) })
	if a.Kind == labtest.Opencode || a.Kind == labtest.Gemini { // they take an Enter for a part of the text for longer
		a.WaitForStill(3 * labtest.Stillness)
	}
	a.Enter()
}

// home goes back to the composer: Escape until it is there and empty.
func (a *labAgent) home() {
	a.l.Helper()
	for range 4 {
		a.WaitForStill(labtest.Stillness)
		if a.Idle() {
			return
		}
		a.Keys("Escape")
	}
	a.Keys("C-u")
	a.WaitForIdle()
}

// typed is what an agent's model receives of a text: Claude Code makes blanks of tabs, and all agents cut blanks at
// the ends.
func (a *labAgent) typed(text string) string {
	if a.Kind == labtest.Claude {
		text = strings.ReplaceAll(text, "\t", "    ")
	}
	return strings.TrimSpace(text)
}

// noted is what an agent writes down of its model's words: Gemini CLI drops the joiners of emoji and of letters.
func (a *labAgent) noted(text string) string {
	if a.Kind == labtest.Gemini {
		text = strings.NewReplacer("\u200d", "", "\u200c", "").Replace(text)
	}
	return text
}

// heard are the texts that the model received, without the marks in which Claude Code wraps a long paste.
func (a *labAgent) heard() []string {
	var all []string
	for _, text := range a.Received() {
		all = append(all, unwrapped(text))
	}
	return all
}

var pastedContent = regexp.MustCompile(`(?s)\s*<pasted_content id="([^"]*)">\n?(.*?)\n?</pasted_content id="([^"]*)">\s*`)

func unwrapped(text string) string {
	return strings.TrimSpace(pastedContent.ReplaceAllString(text, "$2"))
}

// relayed are the words that were taken from an agent's turns for its chat, in order.
func (a *labAgent) relayed() (all []string) {
	a.l.Helper()
	session := a.session().ID
	for _, m := range a.l.turns() {
		if m.From.Peer == session {
			all = append(all, m.Body)
		}
	}
	return all
}

// relays waits until n turns of the agent were relayed in all, and returns the last.
func (a *labAgent) relays(n int) string {
	a.l.Helper()
	a.l.until(fmt.Sprintf("%d turns of %s", n, a.Name), func() bool { return len(a.relayed()) >= n }, func() any { return a.relayed() })
	all := a.relayed()
	require.Len(a.l, all, n, "turns of %s", a.Name)
	return all[n-1]
}

// tell logs all that is known, for a test that has failed.
func (l *labRig) tell() {
	ctx := context.Background()
	if l.rig == nil {
		return
	}
	l.tellIfFailed()
	if events, err := l.client.Log(ctx, api.LogQuery{Limit: 100_000}); err == nil {
		for _, e := range events {
			l.Logf("%s", inShort(e))
		}
	}
	for _, a := range l.agents {
		if s, err := l.Try("capture-pane", "-p", "-t", a.Pane); err == nil {
			l.Logf("%s:\n%s", a.Name, strings.TrimRight(s, "\n"))
		}
		if e, err := l.client.Explain(ctx, api.ExplainRequest{Pane: a.Pane}); err == nil {
			data, _ := json.MarshalIndent(e, "", " ")
			l.Logf("explain %s: %s", a.Name, data)
		}
		for i, text := range a.Received() {
			l.Logf("%s heard %d: %.300q", a.Name, i, text)
		}
	}
}

// inShort is an event in a line.
func inShort(e message.Event) string {
	at := e.At.Format("05.000")
	switch {
	case e.Message != nil:
		return fmt.Sprintf("%s message %s of %s: %s %.100q", at, e.Message.ID.Short(), e.Message.From.Name, e.Message.Type, e.Message.Body)
	case e.Receipt != nil:
		line := fmt.Sprintf("%s receipt of %s to %s: %s", at, e.Receipt.Message.Short(), e.Receipt.Target.Short(), told(*e.Receipt))
		for _, g := range e.Receipt.Evidence {
			line += fmt.Sprintf("; %s: %s", g.Source, g.Says)
		}
		return line
	case e.Peer != nil:
		return fmt.Sprintf("%s session %s %s in %s: %s %s", at, e.Peer.ID.Short(), e.Peer.Name, e.Peer.Pane, e.Peer.State, e.Peer.StateWhy)
	case e.Change != nil:
		return fmt.Sprintf("%s chat %s: %s %s", at, e.Change.ID.Short(), e.Change.State, e.Change.Why)
	}
	return fmt.Sprintf("%s %s %s", at, e.Kind, e.Notice)
}

// keeps asserts for a while that a screen stays as it was: rows, attributes and cursor. Above a permission, opencode
// redraws the chat when the machine has time for it.
func (a *labAgent) keeps(was labtest.Screen, why ...any) {
	a.l.Helper()
	top := 0
	for y, row := range was.Plain {
		if a.Kind == labtest.Opencode && strings.Contains(row, "△ Permission required") {
			top = y
		}
	}
	for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		now := a.screen()
		for y := top; y < len(was.Rows); y++ {
			if both := was.Rows[y] + now.Rows[y]; strings.ContainsAny(both, "█▛▜▝") || strings.Contains(both, "/effort") || strings.Contains(both, "Ripgrep is not available") || strings.Contains(both, "shell command…") {
				continue // Claude Code changes its mark, its hints and its word for a running command, and Gemini CLI logs its findings
			}
			still := strings.NewReplacer("●", " ", " · ← for agents", "") // one blinks while a tool waits, one comes and goes
			require.Equal(a.l, still.Replace(was.Rows[y]), still.Replace(now.Rows[y]), "row %d of %s: %s", y, a.Name, fmt.Sprint(why...))
		}
		require.Equal(a.l, [3]any{was.CursorX, was.CursorY, was.CursorVisible}, [3]any{now.CursorX, now.CursorY, now.CursorVisible}, "cursor of %s", a.Name)
	}
}

// dialog is what an agent shows from the frame of its dialog on: the rows above may be redrawn while the agent still
// starts. If there is no frame, it is the whole screen.
func (a *labAgent) dialog() (rows []string) {
	a.l.Helper()
	s := a.screen()
	top := 0
	for y, row := range s.Plain {
		if strings.HasPrefix(strings.TrimSpace(row), "╭") {
			top = y
		}
	}
	for _, row := range s.Rows[top:] {
		if strings.TrimSpace(row) != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

// keepsDialog is keeps for a dialog.
func (a *labAgent) keepsDialog(was []string) {
	a.l.Helper()
	for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		require.Equal(a.l, was, a.dialog(), "dialog of %s", a.Name)
	}
}

// exists reports whether there is such a file.
func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
