package ui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var update = flag.Bool("update", false, "write the golden frames")

// Each tab, at 80x24 and wide, with people and agents whose names and words are wide, long, or meant to act on
// a terminal.
func TestU8_frames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {132, 40}} {
		for _, c := range []struct {
			name string
			keys string
		}{
			{"waits", "1"},
			{"waits-dialog", "1 down"},
			{"waits-approve", "1 down down"},
			{"waits-paused", "1 end"},
			{"chats", "2"},
			{"chats-ended", "2 down down"},
			{"chats-again", "2 down down a"},
			{"chats-pane", "2 down down down"},
			{"inbox", "3"},
			{"inbox-held", "3 down"},
			{"inbox-read", "3 enter"},
			{"inbox-filter", "3 / b e n"},
			{"log", "4"},
			{"computers", "5"},
			{"computers-away", "5 down down"},
			{"watch", "2 enter"},
			{"say", "2 s h i space 日 left x"},
			{"mute", "2 m"},
			{"keys", "2 ?"},
		} {
			t.Run(fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1]), func(t *testing.T) {
				m := world().size(size[0], size[1]).keys(c.keys)
				golden(t, fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1]), m)
			})
		}
	}
	for _, c := range []struct {
		name string
		ev   any
	}{
		{"question", opened{question{text: "ada to ben:\n\n" + strings.Repeat("rm -rf everything 日本語 \x1b[2J\n", 30), ask: "Approve it?", yes: none}}},
		{"failure", failed{api.Errorf(api.CodeRefused, "approve a held message: only a person may, and this runs inside \"ada\"").WithHint("do it from a pane that is not adopted")}},
		{"gone", broken{errors.New("no sidecar listens at \"/run/x.sock\"")}},
	} {
		m, _ := world().size(80, 24).update(noon, c.ev)
		golden(t, c.name+"-80x24", m)
	}
	empty := begin(Start{}, false, noon).size(80, 24)
	golden(t, "nothing-yet-80x24", empty)
	empty, _ = empty.update(noon, loaded{known{ready: true}})
	golden(t, "nothing-80x24", empty)
}

// Whatever is shown, no row is wider than the screen, the number of rows is right, and nothing that somebody
// else wrote acts on the terminal.
func TestU8_framesFit(t *testing.T) {
	keys := []string{"1", "2", "3", "4", "up", "down", "enter", "esc", "/", "a", "s", "m", "tab", "w", "end", "space", "日", "left", "ctrl+u"}
	ours := strings.NewReplacer(faint, "", bold, "", picked, "", urgent, "", wrong, "", reset, "")
	rapid.Check(t, func(t *rapid.T) {
		m := world().size(rapid.IntRange(1, 100).Draw(t, "width"), rapid.IntRange(1, 40).Draw(t, "height"))
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 6).Draw(t, "keys") {
			m = m.keys(k)
			if m.leaving {
				return
			}
			frame, cursor := m.frame()
			rows := strings.Split(frame, "\n")
			if len(rows) != m.height {
				t.Fatalf("%d rows of %d", len(rows), m.height)
			}
			for _, row := range rows {
				bare := ours.Replace(row)
				if strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x9b || r == 0x202e }) {
					t.Fatalf("acts on a terminal: %q", row)
				}
				if m.width > 9 && ansi.StringWidth(bare) > m.width {
					t.Fatalf("wider than %d: %q", m.width, bare)
				}
			}
			if cursor != nil && (cursor.x < 0 || cursor.x >= m.width || cursor.y < 0 || cursor.y >= m.height) {
				t.Fatalf("cursor at %+v of %dx%d", *cursor, m.width, m.height)
			}
		}
	})
}

// An opened message that is decided about meanwhile takes no more keys: there is nothing left that they could
// change.
func TestU8_DecidedWhileItIsRead(t *testing.T) {
	for _, key := range []string{"a", "x", "e", "r", "g", "l"} {
		m := world().size(80, 24).keys("3 enter")
		gone := m.known
		gone.held = nil
		m, _ = m.update(noon, loaded{gone})
		require.Contains(t, sees(m), "it is no longer waiting")
		m, effects := m.update(noon, pressed(key))
		assert.Empty(t, effects, key)
		assert.Contains(t, sees(m), "it is no longer waiting", key)
	}
}

// Each footer names the key that shows all keys, and these can be read in full in a popup of a small terminal.
func TestU8_KeysAreShown(t *testing.T) {
	for _, at := range []string{"1", "2", "3", "4", "2 enter"} {
		m := world().size(70, 24).keys(at)
		require.Contains(t, sees(m), "? keys", at)
		m = m.keys("?")
		for _, words := range []string{"in the log, Enter searches all that", "was said", "recognised"} {
			assert.Contains(t, sees(m.size(70, 40)), words, at)
		}
		assert.NotContains(t, sees(m.size(70, 40)), "…", at)
	}
}

// A yes counts once all that it agrees to was on the screen, and the question for a moment.
func TestS12_AYesIsToWhatWasRead(t *testing.T) {
	long := strings.Repeat("line\n", 100)
	for _, c := range []struct {
		text, keys string
		yes        bool
	}{
		{"short", "y", false}, // typed before the question came
		{"short", "armed y", true},
		{"short", "armed Y", true},
		{"short", "armed paste", false},
		{"short", "armed alt+y", false},
		{"short", "armed enter space a", false},
		{long, "armed y", false},
		{long, "armed space y", false},
		{long, "armed end y", true},
		{long, "end armed y", false},
		{long, "armed end home y", true},
		{long, "armed end n y", false},
	} {
		said := false
		m, _ := world().size(80, 24).update(noon, opened{question{text: c.text, ask: "Approve it?", yes: func(edge) any { said = true; return nil }}})
		for _, k := range strings.Fields(c.keys) {
			var effects []effect
			switch k {
			case "armed":
				m, _ = m.update(noon, armed{m.serial})
				continue
			case "paste":
				m, effects = m.update(noon, pasted{"y"})
			default:
				m, effects = m.update(noon, pressed(k))
			}
			for _, ef := range effects {
				ef(edge{})
			}
		}
		assert.Equal(t, c.yes, said, "%+v", c)
	}
	m, _ := world().size(80, 24).update(noon, opened{question{text: "first", yes: none}})
	first := m.serial
	m = m.pop()
	m, _ = m.update(noon, opened{question{text: "second", yes: none}})
	m, _ = m.update(noon, armed{first})
	assert.False(t, m.top().(question).drawn, "the moment of another question")
}

// The line that a person typed stays until it is sent, whatever question is asked about it meanwhile.
func TestU23_NoLineIsLostInTheScreen(t *testing.T) {
	m := world().size(80, 24).keys("2 s h o")
	m, _ = m.update(noon, pasted{"\x1b[2Jw\nmany"})
	m, effects := m.update(noon, pressed("enter"))
	require.Len(t, effects, 1)
	m, _ = m.update(noon, opened{askResume(message.Chat{}, "depth limit reached")})
	m, _ = m.update(noon, armed{m.serial})
	assert.Contains(t, sees(m), "resume? y")
	m, effects = m.update(noon, pressed("n"))
	require.Len(t, effects, 1)
	assert.Contains(t, sees(m), "> ho[2Jw many", "it stays until it is known what became of it")
	m, _ = m.update(noon, effects[0](edge{}))
	assert.Contains(t, sees(m), "held: depth limit reached")
	assert.NotContains(t, sees(m), "w many")

	m = m.keys("s x")
	m, _ = m.update(noon, pressed("enter"))
	m, _ = m.update(noon, refused{m.serial, errors.New("chat has ended")})
	assert.Contains(t, sees(m), "chat has ended")
	assert.Contains(t, sees(m), "> x")
	m = m.keys("y")
	assert.Contains(t, sees(m), "> xy", "it can be mended")

	// The text that a person edited is saved if it was not used, whatever the reason.
	var keeps []string
	e := edge{Host: Host{Keep: func(text string) (string, error) { keeps = append(keeps, text); return "/tmp/kept.md", nil }}, ctx: t.Context()}
	held := world().known.held[0]
	d := api.Decided{Message: held.Message, Waiting: []api.Held{held}}
	edited := func() model {
		m, _ := world().size(80, 24).update(noon, changed(api.DecideRequest{ID: string(held.Delivery), Choice: api.ChoiceApprove}, d)("ls -l", nil)(e))
		m, _ = m.update(noon, armed{m.serial})
		require.Contains(t, sees(m), "Approve it as you changed it?")
		return m
	}
	for n, key := range []string{"n", "esc", "ctrl+c"} {
		m, effects = edited().update(noon, pressed(key))
		require.Len(t, effects, 1, key)
		m, _ = m.update(noon, effects[0](e))
		assert.Contains(t, sees(m), "your text is saved in /tmp/kept.md; nothing was done", key)
		require.Len(t, keeps, n+1, key)
		assert.Equal(t, "ls -l", keeps[n], key)
	}
	m, effects = edited().keys("end").update(noon, pressed("y"))
	require.Len(t, effects, 1)
	e.Client = &api.Client{Socket: filepath.Join(t.TempDir(), "none.sock")}
	m, _ = m.update(noon, effects[0](e))
	assert.Contains(t, sees(m), "your text is saved in /tmp/kept.md; no sidecar listens", "a yes that is refused")
	m, _ = m.update(noon, changed(api.DecideRequest{}, d)("too long", errors.New("too long"))(e))
	assert.Contains(t, sees(m), "your text is saved in /tmp/kept.md; too long")
	assert.Equal(t, []string{"ls -l", "ls -l", "ls -l", "ls -l", "too long"}, keeps)
}

// The current item of a list stays current while others come and go.
func TestU8_selectionStays(t *testing.T) {
	m := world().size(80, 24).keys("3 down")
	_, _, id := m.shown()
	k := m.known
	k.held = append([]api.Held{{Waiting: api.Waiting{Delivery: "new", From: "x", To: "y"}}}, k.held...)
	m, _ = m.update(noon, loaded{k})
	_, _, now := m.shown()
	assert.Equal(t, id, now)
	k.held = k.held[:1]
	m, _ = m.update(noon, loaded{k})
	_, _, now = m.shown()
	assert.Equal(t, "new", now)

	// This holds before the first move, too, and if the current item is gone: a second x ends nothing else.
	for _, tab := range []string{"1", "2", "3"} {
		m = world().size(80, 24).keys(tab)
		_, _, id = m.shown()
		require.NotEmpty(t, id, tab)
		m, _ = m.update(noon, loaded{before(m.known)})
		_, _, now = m.shown()
		assert.Equal(t, id, now, tab)
	}
	m = world().size(80, 24).keys("3")
	k = m.known
	rest := k.held[1:]
	require.NotEmpty(t, rest)
	k.held = rest
	m, _ = m.update(noon, loaded{k})
	_, _, id = m.shown()
	m, _ = m.update(noon, loaded{before(k)})
	_, _, now = m.shown()
	assert.Equal(t, id, now)

	m = world().size(80, 24).keys("4") // the log stays at the latest
	m, _ = m.update(noon, loaded{before(m.known)})
	_, at, _ := m.shown()
	assert.Zero(t, at)
}

// before returns known with a new entry before all others.
func before(k known) known {
	k.held = append([]api.Held{{Waiting: api.Waiting{Delivery: "newest", From: "x", To: "y"}}}, k.held...)
	k.waits = append([]message.Wait{{ID: "newest", Kind: message.WaitApprove}}, k.waits...)
	chat := message.Chat{ID: "00000000-0000-7000-8000-00000000c000", Name: "newest", State: message.ChatOn}
	k.chats = append([]api.ChatDetail{{Chat: chat}}, k.chats...)
	said := message.Envelope{ID: "newest", From: message.Address{Name: "x"}, Body: "hi"}
	k.events = append(slices.Clip(k.events), message.Event{Seq: k.last() + 1, At: noon, Message: &said})
	return k
}

// A pane is released only on a yes. It then leaves its chat, as the question says.
func TestU8_ReleaseAsks(t *testing.T) {
	var released []string
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	l, err := api.Listen(dir, "ui")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	s, done := &api.Server{Logger: slog.New(slog.DiscardHandler)}, make(chan error, 1)
	api.Handle(s, api.Release, func(_ context.Context, _ api.Caller, req api.ReleaseRequest) (message.Peer, error) {
		released = append(released, req.Pane)
		return message.Peer{}, nil
	})
	var would api.Losses
	api.Handle(s, api.MayRelease, func(_ context.Context, _ api.Caller, req api.MayReleaseRequest) (api.Losses, error) {
		assert.Equal(t, "%1", req.Pane)
		return would, nil
	})
	joined := message.Chat{ID: message.NewID(), Name: "joined"}
	api.Handle(s, api.Chats, func(context.Context, api.Caller, api.ChatsQuery) ([]message.Chat, error) {
		return []message.Chat{joined}, nil
	})
	go func() { done <- s.Serve(ctx, l) }()
	defer func() {
		stop()
		assert.NoError(t, <-done)
		assert.NoError(t, l.Release())
	}()
	e := edge{Host: Host{Client: &api.Client{Socket: filepath.Join(dir, "ui.sock")}}, ctx: ctx}
	e.Left = func(context.Context, message.Peer, []message.ID) string { return "our text stands there" }

	pair := message.Chat{ID: message.NewID(), Name: "pair"}
	e.Unsent = func(_ context.Context, which api.ChatRef, chats []message.Chat) []string {
		assert.Equal(t, api.ChatRef{Chat: string(pair.ID)}, which)
		assert.Equal(t, message.ChatOver, chats[0].State)
		return []string{"and in the other's"}
	}

	asks := func() model {
		m, effects := world().size(80, 24).keys("2 down down down").update(noon, pressed("R"))
		require.Len(t, effects, 1)
		m, _ = m.update(noon, effects[0](e))
		require.Contains(t, sees(m), "Release it?")
		m, effects = m.update(noon, pressed("y"))
		require.Empty(t, effects, "typed before the question could be read")
		m, _ = m.update(noon, armed{m.serial})
		return m
	}
	says := func(m model) string { return strings.Join(strings.Fields(strings.ReplaceAll(sees(m), "│", "")), " ") }
	for n, waits := range []string{"typed into from then on.", "1 message that waits is not delivered", "2 messages that wait are not delivered"} {
		would = api.Losses{ID: "ada's", Messages: slices.Repeat([]message.ID{"m"}, n)}
		assert.Contains(t, says(asks()), waits)
		assert.Contains(t, says(asks()), "It leaves its chat.")
	}
	would.Chats = []message.Chat{joined, pair}
	assert.Contains(t, says(asks()), "It ends the chat pair: .")
	m, effects := asks().update(noon, pressed("n"))
	assert.Empty(t, effects)
	assert.NotContains(t, sees(m), "Release it?")
	m, effects = asks().update(noon, pressed("y"))
	require.Len(t, effects, 1)
	assert.Empty(t, released)
	m, effects = m.update(noon, effects[0](e))
	assert.Equal(t, []string{"ada's"}, released, "whoever is in its pane by then")
	m, _ = m.update(noon, effects[len(effects)-1](e))
	assert.Contains(t, says(m), "ada is released: it is neither read nor typed into; our text stands there; and in the other's")
}

// An addition stands behind the outcome that it belongs to, or alone if something else is shown by then.
func TestAdds(t *testing.T) {
	m, _ := world().size(80, 24).update(noon, toldAnd{text: "paused", also: func(edge) any { return nil }})
	assert.Contains(t, sees(m), "paused")
	now, _ := m.update(noon, adds{"paused", "our text stands there"})
	assert.Contains(t, sees(now), "paused; our text stands there")
	now, _ = m.tell("resumed").update(noon, adds{"paused", "our text stands there"})
	assert.NotContains(t, sees(now), "resumed")
	assert.Contains(t, sees(now), "our text stands there")
}

// A person who ends a chat is told what waits in it.
func TestU8_EndingTellsOfWhatWaits(t *testing.T) {
	d := world().known.chats[0]
	for want, waiting := range map[string][]api.Waiting{
		"ended; nothing more is relayed":                                  {{Delivery: "a", State: message.Submitted}},
		"ended; nothing more is relayed, 2 that waited are not delivered": {{Delivery: "a", State: message.Submitted}, {Delivery: "b", State: message.Held}, {Delivery: "c", State: message.Queued}},
	} {
		d.Waiting = waiting
		assert.Equal(t, want, howEnded(d))
	}
}

// Helpers.

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.Local)

func none(edge) any { return nil }

func pressed(name string) key {
	switch {
	case name == "space":
		return key{name, " "}
	case len([]rune(name)) == 1:
		return key{name, name}
	}
	return key{name, ""}
}

func (m model) keys(names string) model {
	for _, name := range strings.Fields(names) {
		m, _ = m.update(noon, pressed(name))
	}
	return m
}

func (m model) size(width, height int) model {
	m, _ = m.update(noon, resized{width, height})
	return m
}

// sees returns the screen as a person sees it.
func sees(m model) string {
	frame, _ := m.frame()
	return ansi.Strip(frame)
}

// golden compares a screen with the recorded one: a mark before each row shows its style.
func golden(t *testing.T, name string, m model) {
	t.Helper()
	frame, cursor := m.frame()
	var text strings.Builder
	for row := range strings.SplitSeq(frame, "\n") {
		marked := strings.NewReplacer(faint, "‹", bold, "«", picked, "[", urgent, "!", wrong, "#", reset, "›").Replace(row)
		fmt.Fprintf(&text, "%s\n", strings.TrimRight(marked, " "))
	}
	if cursor != nil {
		fmt.Fprintf(&text, "cursor %d,%d\n", cursor.x, cursor.y)
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), name)
}

// world returns a screen with two chats, one of them paused, and what waits in them.
func world() model {
	ada := message.Peer{ID: "00000000-0000-7000-8000-0000000000a1", Name: "ada", State: message.Working, Adopted: noon.Add(-time.Hour), PaneOf: message.PaneOf{Pane: "%1", Profile: "claude"}}
	ben := message.Peer{ID: "00000000-0000-7000-8000-0000000000b2", Name: "ben", State: message.Idle, PaneOf: message.PaneOf{Pane: "%2", Profile: "codex"}}
	wide := message.Peer{ID: "00000000-0000-7000-8000-0000000000c3", Name: "gemini-日本語-with-a-long-name", State: message.Draft, PaneOf: message.PaneOf{Pane: "%3", Profile: "gemini"}}
	chat := message.Chat{ID: "00000000-0000-7000-8000-00000000c001", Name: "plans", State: message.ChatOn, Started: noon.Add(-time.Hour), Turns: 10, Participants: []message.Participant{
		{Peer: ada.ID, Name: ada.Name, Number: 1, MaySpeak: true}, {Peer: ben.ID, Name: ben.Name, Number: 2},
	}}
	paused := message.Chat{ID: "00000000-0000-7000-8000-00000000c002", State: message.ChatPaused, Why: "depth limit reached", Braked: true, Started: noon.Add(-3 * time.Minute), Participants: []message.Participant{
		{Peer: wide.ID, Name: wide.Name, Number: 1, MaySpeak: true}, {Peer: "gone", Name: "codex-2", Number: 2, MaySpeak: true},
	}}
	evil := "\x1b]52;c;aGVsbG8=\x07\x1b[2J\u202edrow \u200b日本語 👩\u200d👩\u200d👧 e\u0301"
	said := func(n int, from message.Peer, number int, body string) message.Event {
		return message.Event{Seq: int64(n), At: noon.Add(time.Duration(n-20) * time.Second), Kind: "message", Chat: chat.ID, Message: &message.Envelope{
			ID: message.ID(fmt.Sprint("m", n)), From: message.Address{Peer: from.ID, Name: from.Name, Number: number}, Body: body, Origin: message.OriginAgent,
		}}
	}
	receipt := func(n int, of int, to message.Peer, state message.ReceiptState, why message.Reason) message.Event {
		return message.Event{Seq: int64(n), At: noon.Add(time.Duration(n-20) * time.Second), Kind: "receipt", Chat: chat.ID, Receipt: &message.Receipt{
			Message: message.ID(fmt.Sprint("m", of)), Target: to.ID, State: state, Reason: why, At: noon.Add(time.Duration(n-20) * time.Second),
		}}
	}
	m := begin(Start{}, true, noon)
	m, _ = m.update(noon, loaded{known{
		ready:  true,
		status: api.Status{Sessions: []message.Peer{ada, ben, wide}, Chats: []message.Chat{chat, paused}},
		waits: []message.Wait{
			{ID: "w1", Kind: message.WaitDraft, Words: "your draft", Name: wide.Name, Pane: "%3", Delivery: "d2", Text: "please look at the failing test", Since: noon.Add(-9 * time.Minute)},
			{ID: "w2", Kind: message.WaitDialog, Words: "dialog", Name: "ada", Pane: "%1", Text: "Do you want to proceed? " + evil, Since: noon.Add(-4 * time.Minute)},
			{ID: "w3", Kind: message.WaitApprove, Words: "to approve", Name: "ada", Chat: chat.ID, Delivery: "d1", Text: "Shall I run this?", Since: noon.Add(-2 * time.Minute)},
			{ID: "w4", Kind: message.WaitPaused, Words: "paused", Chat: paused.ID, Text: "depth limit reached", Since: noon.Add(-time.Minute)},
		},
		held: []api.Held{
			{
				Waiting:  api.Waiting{Delivery: "d1", Message: "m4", From: "ben", To: "ada", State: message.Held, Reason: message.AwaitingApproval, Hold: message.HoldApproval, Since: noon.Add(-2 * time.Minute)},
				Chat:     chat.ID,
				ChatName: "plans", Pane: "%1", Decision: true, Asked: &message.Verdict{Decision: message.Decision{By: "guard.lua", Reason: "it deletes files"}},
				Envelope: message.Envelope{ID: "m4", Body: "Shall I run this? " + evil + "\n\n" + strings.Repeat("rm -rf build && make 日本語 ", 20), Depth: 3},
			},
			{
				Waiting:  api.Waiting{Delivery: "d2", Message: "m5", From: "root", To: wide.Name, State: message.Held, Reason: message.InComposer, Since: noon.Add(-40 * time.Second)},
				Chat:     paused.ID,
				Pane:     "%3",
				Envelope: message.Envelope{ID: "m5", Body: "please look at the failing test"},
			},
		},
		peers: []api.Peer{
			{Name: "ada", Pane: "%1", Session: ada.ID, Agent: "claude", Adopted: true, State: message.Working, Window: "work:1 api", Chat: chat.ID, Why: "agent working", Evidence: []message.Ground{{Source: "transcript", Says: "a turn is open"}}},
			{Name: "ben", Pane: "%2", Session: ben.ID, Agent: "codex", Adopted: true, State: message.Idle, Window: "work:2 " + evil, Chat: chat.ID},
			{Pane: "%9", Agent: "opencode", Window: "work:3 web"},
			{Name: "Far.raspi", Agent: "codex", Computer: "raspi", Session: "00000000-0000-7000-8000-0000000000d1", Why: "the other computer is away"},
		},
		chats: []api.ChatDetail{
			{Chat: chat, Stats: message.Stats{Turns: 4, Depth: 3, Spent: message.Spent{Tokens: message.Tokens{Fresh: 1200, Cached: 90000, Output: 34}, Turns: 4}}},
			{Chat: paused, Stats: message.Stats{Turns: 20, Depth: 20}},
		},
		ended: []message.Chat{{
			ID: "00000000-0000-7000-8000-00000000c000", State: message.ChatOver, Why: "all its turns were used", Started: noon.Add(-3 * time.Hour), Ended: new(noon.Add(-2 * time.Hour)),
			Participants: []message.Participant{{Peer: ada.ID, Name: ada.Name, Number: 1}, {Peer: "gone", Name: "old", Number: 2}},
		}},
		events: []message.Event{
			{Seq: 1, At: noon.Add(-time.Hour), Kind: "session", Peer: &ada},
			{Seq: 2, At: noon.Add(-time.Hour), Kind: "chat", Chat: chat.ID, Change: &chat},
			said(3, ada, 1, "The plan has three steps.\n1. read\n2. "+evil+"\n3. write"),
			receipt(4, 3, ben, message.Held, message.InComposer),
			receipt(5, 3, ben, message.Submitted, ""),
			said(6, ben, 2, "四つの方がいい。"+strings.Repeat("長い文章です。", 12)),
			receipt(7, 6, ada, message.Uncertain, message.NotSeen),
			{Seq: 8, At: noon.Add(-2 * time.Minute), Kind: "chat", Chat: paused.ID, Change: &paused},
			{Seq: 9, At: noon.Add(-time.Minute), Kind: "notice", Notice: "gemini ↔ codex-2 paused after 20 turns: prefix + B, r"},
		},
	}})
	m, _ = m.update(noon, linked{[]api.Computer{
		{Name: "workstation", Local: true, Present: true, Since: new(noon.Add(-time.Hour)), Sessions: 3, Server: "nats://hub.example:4222"},
		{Name: "desk-日本語", Present: true, RoundTrip: 12.34, Since: new(noon.Add(-9 * time.Minute)), Sessions: 2, May: []string{"send", "read"}},
		{Name: "raspi", Since: new(noon.Add(-26 * time.Hour)), Sessions: 1, Waiting: 2},
	}})
	return m
}

// A session that is gone still has its name, from a message or from a chat that it was in.
func TestNames_ofThoseWhoHaveGone(t *testing.T) {
	k := world().known
	k.ended[0].Participants = append(k.ended[0].Participants, message.Participant{Peer: "ended", Name: "dee", Number: 3})
	k.chats[1].Participants = append(k.chats[1].Participants, message.Participant{Peer: "left", Name: "eve", Number: 3, Left: true})
	k.events = append(k.events, message.Event{Seq: 10, At: noon, Message: &message.Envelope{ID: "m10", To: []message.Address{{Peer: "told", Name: "fay"}}}})
	m, _ := world().update(noon, loaded{k})
	for id, name := range map[message.ID]string{"ended": "dee", "left": "eve", "told": "fay"} {
		assert.Equal(t, name, m.named(id))
	}
}

// A watched chat shows the text that was typed: the edited one, if a person edited the message.
func TestTranscript_editedWordsAreShownAsTheyWent(t *testing.T) {
	m := world().size(100, 40)
	events, chat := slices.Clone(m.known.events), m.known.chats[0].ID
	receipt := func(seq int64, state message.ReceiptState, says, typed string) message.Event {
		d := message.Delivery{ID: "d", Message: message.Envelope{Body: typed}}
		return message.Event{Seq: seq, At: noon, Kind: "receipt", Chat: chat, Delivery: &d, Receipt: &message.Receipt{
			Delivery: "d", Message: "m6", State: state, Evidence: []message.Evidence{{Source: "person", Says: says}},
		}}
	}
	m.known.events = append(events, receipt(10, message.Queued, message.Edited+"root", ""))
	assert.Contains(t, sees(m.keys("2 enter")), "ben (2), before a person edited it  ")
	m.known.events = append(m.known.events, receipt(11, message.Typed, "", "Four is better."))
	frame := sees(m.keys("2 enter"))
	assert.Contains(t, frame, "ben (2), edited by a person  ")
	assert.Contains(t, frame, "   Four is better.")
	assert.NotContains(t, frame, "四つの方がいい")
}

// An ended chat stays listed, and is restarted on a yes. A restarted chat and a single question are not listed.
func TestU8_EndedChats(t *testing.T) {
	c := func(id, again message.ID, aside bool) message.Chat {
		return message.Chat{ID: id, Again: again, Aside: aside, State: message.ChatOver}
	}
	all := restartable([]message.Chat{c("1", "", false), c("2", "1", false), c("3", "", true), c("4", "", false)}, []message.Chat{c("5", "4", false)})
	require.Len(t, all, 1)
	assert.Equal(t, message.ID("2"), all[0].ID)

	m := world().size(80, 24).keys("2 down down")
	require.Contains(t, sees(m), "a again")
	m, effects := m.update(noon, pressed("a"))
	assert.Contains(t, sees(m), "Restart it?")
	assert.NotEmpty(t, effects, "it is armed")
	m, effects = m.update(noon, pressed("y"))
	assert.Empty(t, effects, "typed before the question could be read")
	assert.Contains(t, sees(m), "Restart it?")
}
