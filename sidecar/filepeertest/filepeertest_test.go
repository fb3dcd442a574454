package filepeertest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/filepeertest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var person = relay.By{Kind: relay.Person, Name: "ada"}

// What is said to a directory is in its file, once, when that is told; what it says is on its
// way once it is on disk, as that of somebody who is not proven; and its answer is one.
func TestDirs(t *testing.T) {
	h := newHouse(t, "left", "right")
	h.run()
	defer h.end()
	sent, err := h.relay.Do(t.Context(), relay.Send{By: person, To: "left", Message: message.Envelope{Subject: "greeting", Body: "hello"}})
	require.NoError(t, err)
	h.until(func() bool { return h.state(sent.Message) == message.Submitted })
	assert.Equal(t, []string{"queued", "typed", "submitted"}, h.states(sent.Message))
	line := h.out("left")[0]
	assert.Equal(t, sent.Receipts[0].Delivery, line.Delivery)
	assert.Equal(t, "greeting", line.Message.Subject)
	assert.Contains(t, line.Message.Body, "hello")

	h.says("left", message.Envelope{Body: "hello, left here", InReplyTo: sent.Message, Origin: message.OriginHuman, Trust: message.TrustPerson, To: []message.Address{{Name: "right"}}})
	h.until(func() bool { return len(h.out("right")) == 1 })
	got := h.out("right")[0].Message
	assert.Equal(t, "left", got.From.Name)
	assert.Equal(t, message.OriginAgent, got.Origin)
	assert.Equal(t, message.TrustUnverified, got.Trust)
	assert.Equal(t, 1, got.Depth)
	h.until(func() bool { return h.state(sent.Message) == message.Answered })

	_, err = h.relay.Do(t.Context(), relay.StartChat{By: person, Peers: []string{"left", "right"}})
	require.NoError(t, err)
	h.says("right", message.Envelope{Body: "in the chat"})
	h.until(func() bool { return len(h.out("left")) == 2 })
	assert.Equal(t, "in the chat", h.out("left")[1].Message.Body)

	_, err = h.relay.Do(t.Context(), relay.PauseChat{By: person, Chat: relay.All})
	require.NoError(t, err)
	h.says("left", message.Envelope{Body: "and now?"})
	sent, err = h.relay.Do(t.Context(), relay.Send{By: person, To: "left", Message: message.Envelope{Body: "later"}})
	require.NoError(t, err)
	assert.Equal(t, message.Held, sent.Receipts[0].State)
	_, err = h.relay.Do(t.Context(), relay.ResumeChat{By: person, Chat: relay.All, Sure: true})
	require.NoError(t, err)
	h.until(func() bool { return len(h.out("left")) == 3 && len(h.out("right")) == 2 })
}

// Wherever an earlier run ended, a delivery is in the file once, whole, and that is told; and
// what was said before is not said again.
func TestDirs_endsAnywhere(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before leave", "before it is written", "in the middle of it", "before that is told"} {
		t.Run(at, func(t *testing.T) {
			h := newHouse(t, "left", "right")
			h.run()
			once := message.NewID()
			h.says("right", message.Envelope{ID: once, Body: "once", To: []message.Address{{Name: "left"}}})
			h.until(func() bool { return h.state(once) == message.Submitted })
			h.cut(at)
			sent, err := h.relay.Do(t.Context(), relay.Send{By: person, To: "left", Message: message.Envelope{Body: "hello"}})
			require.NoError(t, err)
			h.until(func() bool { return h.isCut() })
			h.end()
			out := filepath.Join(h.dirs["left"], "out")
			if at == "before it is written" || at == "in the middle of it" {
				text, err := os.ReadFile(out)
				require.NoError(t, err)
				lines := h.out("left")
				require.Len(t, lines, 2, "it was written after the cut: it is taken away by hand")
				whole, err := json.Marshal(lines[0])
				require.NoError(t, err)
				keep := len(whole) + 1
				if at == "in the middle of it" {
					keep += 20
				}
				require.NoError(t, os.WriteFile(out, text[:keep], 0o600))
			}

			h.run()
			defer h.end()
			h.until(func() bool { return h.state(sent.Message) == message.Submitted })
			lines := h.out("left")
			require.Len(t, lines, 2)
			assert.Equal(t, sent.Message, lines[1].Message.ID)
			h.says("right", message.Envelope{Body: "twice", To: []message.Address{{Name: "left"}}})
			h.until(func() bool { return len(h.out("left")) == 3 })
			assert.Equal(t, "twice", h.out("left")[2].Message.Body)
		})
	}
}

// Helpers.

// house is a relay over a journal, and directories that are peers.
type house struct {
	t       *testing.T
	journal string
	dirs    map[string]string
	j       *journal.Journal
	relay   *relay.Relay
	stop    func()

	mu   sync.Mutex
	at   string // where the directories are cut off from the relay
	done bool   // they are
}

func newHouse(t *testing.T, names ...string) *house {
	h := &house{t: t, journal: filepath.Join(t.TempDir(), "state"), dirs: map[string]string{}}
	require.NoError(t, os.Mkdir(h.journal, 0o700))
	for _, name := range names {
		h.dirs[name] = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.Mkdir(h.dirs[name], 0o700))
	}
	return h
}

// run begins a life; end ends it.
func (h *house) run() {
	var err error
	h.j, err = journal.Open(h.t.Context(), h.journal)
	require.NoError(h.t, err)
	was, err := h.j.Restore(h.t.Context())
	require.NoError(h.t, err)
	left := relay.Restored{Stopped: was.Stopped, Undecided: was.Undecided}
	for _, one := range was.Sessions {
		left.Peers = append(left.Peers, relay.SavedPeer{Peer: one, Last: was.Depths[one.ID].Last, Cause: was.Depths[one.ID].Cause})
	}
	for _, one := range was.Chats {
		left.Chats = append(left.Chats, relay.SavedChat{Chat: one, Taken: was.Taken[one.ID]})
	}
	for _, one := range was.Pending {
		left.Deliveries = append(left.Deliveries, relay.SavedDelivery(one))
	}
	for _, one := range was.Submitted {
		left.Submitted = append(left.Submitted, one.Delivery)
	}
	h.at, h.done = "", false
	dirs := &filepeertest.Dirs{}
	h.relay = &relay.Relay{Journal: h.j, Sinks: map[message.PeerKind]relay.Sink{filepeertest.Kind: dirs}, Restored: &left}
	dirs.Relay = cutting{h, h.relay}
	ctx, cancel := context.WithCancel(h.t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { assert.NoError(h.t, h.relay.Run(ctx)) })
	for _, path := range h.dirs {
		parts.Go(func() { assert.NoError(h.t, dirs.Serve(ctx, path)) })
	}
	for name := range h.dirs {
		h.until(func() bool {
			_, err := h.relay.Snapshot().Find(name)
			return err == nil
		})
	}
	h.stop = func() {
		cancel()
		parts.Wait()
		require.NoError(h.t, h.j.Close())
	}
}

func (h *house) end() { h.stop() }

// cutting is the relay until nothing of what is told reaches it any more.
type cutting struct {
	h *house
	*relay.Relay
}

func (c cutting) Report(ctx context.Context, r message.Receipt) error {
	c.h.mu.Lock()
	switch {
	case c.h.at == "":
	case c.h.at == "before leave" && r.State == message.Typed, c.h.at != "before leave" && r.State == message.Submitted:
		c.h.done = true
	}
	cut := c.h.done
	c.h.mu.Unlock()
	if cut {
		return relay.ErrDown
	}
	return c.Relay.Report(ctx, r)
}

func (h *house) cut(at string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = at
}

func (h *house) isCut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.done
}

// says appends a line to what a directory says.
func (h *house) says(name string, m message.Envelope) {
	f, err := os.OpenFile(filepath.Join(h.dirs[name], "in"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	require.NoError(h.t, err)
	defer f.Close()
	require.NoError(h.t, json.NewEncoder(f).Encode(m))
}

func (h *house) out(name string) []filepeertest.Line {
	lines, err := filepeertest.Out(h.dirs[name])
	require.NoError(h.t, err)
	return lines
}

// states are those of the only delivery of a message.
func (h *house) states(id message.ID) (states []string) {
	receipts, err := h.j.Receipts(h.t.Context(), id)
	require.NoError(h.t, err)
	for _, one := range receipts {
		states = append(states, string(one.State))
	}
	return states
}

func (h *house) state(id message.ID) message.ReceiptState {
	states := h.states(id)
	if len(states) == 0 {
		return ""
	}
	return message.ReceiptState(states[len(states)-1])
}

func (h *house) until(so func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		require.False(h.t, time.Now().After(deadline), "waited in vain")
	}
}
