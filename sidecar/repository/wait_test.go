package repository

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A sidecar that was killed before it acted on a message comes back while another one answers it. It leaves the
// message to that one, and asks its own agent nothing.
func TestC50_BackWhileAnotherAnswers(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	name, err := one.target.Put(letter(one.asker, one.target, "question"), "")
	require.NoError(t, err)
	one.cutAt("when it may be acted on")
	one.run()
	one.until(one.wasCut)
	one.end()

	other := one.beside()
	other.speaks = make(chan struct{})
	other.run()
	defer other.end()
	other.until(func() bool { return other.asked() == 1 })
	one.run()
	defer one.end()
	one.until(func() bool { return one.delivered(name) })
	close(other.speaks)
	other.until(func() bool { return one.marked(name) && len(one.answers()) > 0 })
	one.until(func() bool { return len(one.waiting()) == 0 })
	other.settled()
	assert.Len(t, one.answers(), 1)
	assert.Zero(t, one.asked())
}

// If another sidecar ended while it acted on a message, a person is told, also by the sidecar that had the
// message first.
func TestC50_BackAfterAnotherBegan(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	name, err := one.target.Put(letter(one.asker, one.target, "question"), "")
	require.NoError(t, err)
	one.cutAt("when it may be acted on")
	one.run()
	one.until(one.wasCut)
	one.end()
	other := one.beside()
	other.cutAt("after the agent has it")
	other.run()
	other.until(other.wasCut)
	other.end()

	one.run()
	defer one.end()
	one.until(func() bool { return strings.Contains(one.log(), "Interrupted: .aea/"+name) })
	one.until(func() bool { return len(one.waiting()) == 0 })
	one.settled()
	assert.Zero(t, one.asked())
	assert.Empty(t, one.answers())
	assert.False(t, one.marked(name))
}

// A message that a person marks while it waits for the agent is not given to the agent.
func TestA26_MarkedWhileItWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.speaks = make(chan struct{})
	h.run()
	defer h.end()
	first, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.asked() == 1 })
	second, err := h.target.Put(letter(h.asker, h.target, "question"), "second")
	require.NoError(t, err)
	h.until(func() bool { return h.delivered(second) })
	require.NoError(t, h.target.Mark(second))
	close(h.speaks)
	h.until(func() bool { return h.marked(first) && strings.Contains(h.log(), "Ignored: .aea/"+second) })
	h.settled()
	assert.Equal(t, 1, h.asked())
}

// A message that a person approved in one sidecar is acted on by that one, once the other has handed over the
// claim, even if agents work in both.
func TestC50_ApprovedElsewhere(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	m := letter(one.asker, one.target, "issue")
	m.Priority = "high"
	name, err := one.target.Put(m, "")
	require.NoError(t, err)
	one.run()
	one.until(func() bool { return one.marked(name) })
	one.end()

	other := one.beside()
	other.run()
	defer other.end()
	other.until(func() bool { return other.peers.Enabled.Served(other.target.Path) })
	one.run()
	defer one.end()
	one.decides(message.VerbDeliver)
	one.until(func() bool { return len(one.answers()) == 1 })
	assert.Equal(t, 1, one.asked())
	assert.Zero(t, other.asked())
	one.until(func() bool { return strings.Contains(one.log(), "Approved: .aea/"+name) })
}

// If a sidecar that asked a person no longer runs, the next one asks, under the same id: the tmux server of the
// first may never come back. If it does, it asks nobody about what was decided meanwhile.
func TestC50_AskedAgainByTheNext(t *testing.T) {
	t.Parallel()
	for _, verb := range []message.Verb{message.VerbDeliver, message.VerbDrop} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			one := newHouse(t)
			m := letter(one.asker, one.target, "issue")
			m.Priority = "high"
			name, err := one.target.Put(m, "")
			require.NoError(t, err)
			one.run()
			one.until(func() bool { return one.marked(name) && len(one.waiting()) == 1 })
			asked := one.waiting()[0].Delivery.Message.ID
			one.end()

			other := one.beside()
			var runs atomic.Bool
			runs.Store(true)
			other.runs = func(string) bool { return runs.Load() }
			other.run()
			defer other.end()
			other.settled()
			assert.Empty(t, other.waiting(), "the first one runs")
			runs.Store(false)
			other.until(func() bool { return len(other.waiting()) == 1 })
			assert.Equal(t, asked, other.waiting()[0].Delivery.Message.ID)
			other.until(func() bool { p := one.peers.Enabled.Progress(one.target); return len(p) == 1 && p[0].By == "another" })
			assert.True(t, one.peers.Enabled.Progress(one.target)[0].Awaits)

			other.decides(verb)
			if verb == message.VerbDeliver {
				other.until(func() bool { return len(one.answers()) == 1 })
				assert.Equal(t, 1, other.asked())
			}
			other.until(func() bool { return len(one.peers.Enabled.Progress(one.target)) == 0 })

			one.run()
			defer one.end()
			one.until(func() bool { return len(one.waiting()) == 0 })
			other.settled()
			assert.Zero(t, one.asked())
			assert.LessOrEqual(t, len(one.answers()), 1)
			assert.NotContains(t, one.log(), "elsewhere")
		})
	}
}

// If nobody decided, the first sidecar goes on asking, whoever comes and goes meanwhile, and its yes counts.
func TestC50_AskedAgainAndBack(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	one.runs = func(string) bool { return false }
	m := letter(one.asker, one.target, "issue")
	m.Priority = "high"
	name, err := one.target.Put(m, "")
	require.NoError(t, err)
	one.run()
	one.until(func() bool { return one.marked(name) })
	one.end()
	other := one.beside()
	other.runs = one.runs
	other.run()
	other.until(func() bool { return len(other.waiting()) == 1 })
	other.settled()
	other.end()

	one.run()
	defer one.end()
	one.until(func() bool { return one.peers.Enabled.Served(one.target.Path) })
	one.settled()
	require.Len(t, one.waiting(), 1)
	assert.Equal(t, "one", one.peers.Enabled.Progress(one.target)[0].By)
	one.decides(message.VerbDeliver)
	one.until(func() bool { return len(one.answers()) == 1 })
	assert.Equal(t, 1, one.asked())

	other.run()
	defer other.end()
	other.until(func() bool { return len(other.waiting()) == 0 })
	assert.Zero(t, other.asked())
}

// A monitor that is stopped gives the agent nothing more of what is queued. The agent's answer to what it has goes
// back, and the rest is processed after the next start.
func TestMonitorStopped_queuedMessagesWait(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.speaks = make(chan struct{})
	h.run()
	defer h.end()
	first, err := h.target.Put(letter(h.asker, h.target, "question"), "first")
	require.NoError(t, err)
	h.until(func() bool { return h.asked() == 1 })
	var queued []string
	for _, descriptor := range []string{"second", "third"} {
		name, err := h.target.Put(letter(h.asker, h.target, "question"), descriptor)
		require.NoError(t, err)
		h.until(func() bool { return h.delivered(name) })
		queued = append(queued, name)
	}
	h.stopMonitor()
	close(h.speaks)
	h.until(func() bool { return h.marked(first) && !h.peers.Enabled.Served(h.target.Path) })
	assert.Equal(t, 1, h.asked())
	for _, name := range queued {
		assert.False(t, h.marked(name))
		assert.FileExists(t, h.target.File(name))
	}
	h.until(func() bool { return len(h.answers()) == 1 })

	h.wish(h.target, MonitorAuto)
	h.until(func() bool { return h.marked(queued[0]) && h.marked(queued[1]) && len(h.answers()) == 3 })
	assert.Equal(t, 3, h.asked())
}

// A message about which policies decide only after the monitor was stopped is kept, too: it does not expire.
func TestMonitorStopped_decidedAfterwards(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	thinks := &thinking{begun: make(chan struct{}), ends: make(chan struct{})}
	h.policy = thinks
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	<-thinks.begun
	h.stopMonitor()
	close(thinks.ends)
	h.until(func() bool {
		return slices.ContainsFunc(h.waiting(), func(p journal.Pending) bool { return p.Last.State == message.Typed })
	})
	assert.Zero(t, h.asked())

	h.wish(h.target, MonitorAuto)
	h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
}

// A message that was taken over from a sidecar that no longer runs is marked since that one asked a person. If the
// monitor is stopped before an agent has it, it is still processed after the next start.
func TestMonitorStopped_whatWasTakenOver(t *testing.T) {
	t.Parallel()
	one := newHouse(t)
	m := letter(one.asker, one.target, "issue")
	m.Priority = "high"
	name, err := one.target.Put(m, "")
	require.NoError(t, err)
	one.run()
	one.until(func() bool { return one.marked(name) })
	one.end()

	other := one.beside()
	var ended atomic.Bool
	other.runs = func(string) bool { return !ended.Load() }
	other.policy, other.speaks = lenient{}, make(chan struct{})
	other.run()
	defer other.end()
	_, err = other.target.Put(letter(one.asker, one.target, "question"), "")
	require.NoError(t, err)
	other.until(func() bool { return other.asked() == 1 })
	ended.Store(true)
	other.until(func() bool { return other.delivered(name) })
	other.stopMonitor()
	close(other.speaks)
	other.until(func() bool { return !other.peers.Enabled.Served(other.target.Path) })
	other.turn()

	other.wish(other.target, MonitorAuto)
	other.until(func() bool { return len(other.answers()) == 2 })
	assert.Equal(t, 2, other.asked())
}

// Helpers.

// stopMonitor stops the target's monitor, and waits until its loop knows.
func (h *house) stopMonitor() {
	h.t.Helper()
	h.wish(h.target, MonitorOff)
	h.until(h.box().stopped)
}

// turn waits until the target's loop has turned once more. Unlike turns it counts without a monitor.
func (h *house) turn() {
	h.t.Helper()
	b := h.box()
	for range 2 { // it has read the first note when it reads the second
		b.tell(note{})
		h.until(func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return len(b.notes) == 0
		})
	}
}

// box returns that of the target.
func (h *house) box() *box {
	h.peers.mu.Lock()
	defer h.peers.mu.Unlock()
	return h.peers.boxes[h.target.Path]
}

// thinking is a table that takes its time about the first message.
type thinking struct {
	table
	begun, ends chan struct{}
	once        sync.Once
}

func (p *thinking) Decide(ctx context.Context, q relay.Question) (message.Verdict, error) {
	p.once.Do(func() { close(p.begun) })
	<-p.ends
	return p.table.Decide(ctx, q)
}

// lenient lets everything through.
type lenient struct{}

func (lenient) Decide(context.Context, relay.Question) (message.Verdict, error) {
	return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "lenient"}}, nil
}

// waiting returns the deliveries that are still open.
func (h *house) waiting() []journal.Pending {
	all, err := h.peers.Journal.(reading).Waiting(h.t.Context(), "")
	require.NoError(h.t, err)
	return all
}

// delivered reports whether a message may be acted on in this life.
func (h *house) delivered(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.came[name]
}

func (h *house) log() string {
	text, _ := os.ReadFile(h.target.at(logName))
	return string(text)
}

// A question that lay there overnight is found by a sidecar that has just started. It waits for an agent to be
// adopted, but not for ever.
func TestA64_AgentTurnsUp(t *testing.T) {
	t.Parallel()
	for _, turnsUp := range []bool{true, false} {
		h := newHouse(t)
		h.grace, h.alone = time.Hour/2, true
		name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
		require.NoError(t, err)
		h.run()
		defer h.end()
		h.until(func() bool { return h.delivered(name) })
		h.settled()
		assert.Empty(t, h.answers())
		want := "said by ben"
		if turnsUp {
			h.mu.Lock()
			h.alone = false
			h.mu.Unlock()
		} else {
			h.later.Add(int64(time.Hour))
			want = "no agent: none works in " + h.target.Path + " now"
		}
		h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
		assert.Equal(t, want, h.answers()[0].Body)
		assert.Equal(t, !turnsUp, strings.Contains(h.notices(), `: they are told "no agent`), "who works here learns that a question was turned away")
	}
}

// A sidecar in whose panes an agent works is killed, and comes back in a moment. Another sidecar, without
// agents and long running, serves the repository meanwhile. It tells nobody that there is no agent.
func TestAgentIsBackInAMoment(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	other := h.beside()
	other.grace, other.alone = time.Hour/2, true
	other.run()
	defer other.end()
	other.until(func() bool { return other.turns.Load() > 0 })
	other.later.Add(int64(time.Hour))
	h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
	require.NoError(t, err)
	other.until(func() bool { return other.delivered(name) })
	other.settled()
	assert.Empty(t, h.answers())

	h.run()
	defer h.end()
	h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
	assert.Equal(t, "said by ben", h.answers()[0].Body)
}
