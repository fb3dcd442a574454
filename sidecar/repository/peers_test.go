package repository

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Wherever a sidecar ends between a message's arrival and its marker, the next one goes on from there: the
// agent is asked once, and there is one answer, one marker and one line in the log. No marker precedes what it
// stands for.
func TestA30_A58_EndsBetween(t *testing.T) {
	t.Parallel()
	const answered = 7 // the first of these moments at which it is answered
	for i, moment := range []string{
		"before it is received", "after it is received", "when it may be acted on", "before the agent has it", "after the agent has it",
		"before the answer is received", "after the answer is received", "when the answer may be written", "before that is told", "before it is submitted",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
			require.NoError(t, err)
			h.cutAt(moment)
			h.run()
			h.until(func() bool { return h.wasCut() })
			h.end()
			if i < answered {
				assert.False(t, h.marked(name), "it is marked once the relay has the answer, and not before")
			}
			h.run()
			defer h.end()
			h.until(func() bool { return h.marked(name) && len(h.answers()) > 0 })
			h.settled()
			assert.Len(t, h.answers(), 1)
			assert.Equal(t, "said by ben", h.answers()[0].Body)
			assert.Equal(t, 1, h.asked(), "the agent was asked once")
			log, err := os.ReadFile(h.target.at(logName))
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(log), "Processed: .aea/"+name+" -> "), "%s", log)
		})
	}
}

// A claim that goes to another sidecar takes along what was not acted on, and leaves what was: a person is told
// of that, and it is not done twice.
func TestC50_AnotherTakesOver(t *testing.T) {
	t.Parallel()
	for moment, twice := range map[string]bool{"after it is received": true, "after the agent has it": false} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			name, err := h.target.Put(letter(h.asker, h.target, "question"), "")
			require.NoError(t, err)
			h.cutAt(moment)
			h.run()
			h.until(func() bool { return h.wasCut() })
			h.end()
			h.by, h.journal = "another", filepath.Join(t.TempDir(), "state") // with a journal of its own
			require.NoError(t, os.Mkdir(h.journal, 0o700))
			h.run()
			defer h.end()
			if twice {
				h.until(func() bool { return h.marked(name) && len(h.answers()) == 1 })
				return
			}
			h.until(func() bool {
				log, _ := os.ReadFile(h.target.at(logName))
				return strings.Contains(string(log), "Interrupted: .aea/"+name)
			})
			h.settled()
			assert.Empty(t, h.answers())
			assert.False(t, h.marked(name), "it is listed still")
		})
	}
}

// Ten thousand files at once: each is processed once, in the order in which they came, while an unreadable one
// stands in front.
func TestA57_C14_C16_TenThousandAtOnce(t *testing.T) {
	t.Parallel()
	n := many(150, 10_000)
	h := newHouse(t)
	drop(t, h.target, "message-0-from-broken.json", "[]")
	for i := range n {
		drop(t, h.target, fmt.Sprintf("message-20251014T054200Z-from-claude-asker-%05d.json", i), fmt.Sprintf(
			`{"message_id":"id-%d","message_type":"update","from":{"agent_id":"claude-asker","repo_path":%q},"message":{"body":"%d"}}`, i, h.asker.Path, i))
	}
	h.run()
	defer h.end()
	for done := 0; done < n; { // however slow the machine is, it goes on
		h.until(func() bool {
			entries, _ := os.ReadDir(h.target.at(processed))
			more := len(entries) > done
			done = len(entries)
			return more
		})
	}
	h.settled()
	log, err := os.ReadFile(h.target.at(logName))
	require.NoError(t, err)
	var order []string
	for line := range strings.Lines(string(log)) {
		if _, rest, ok := strings.Cut(line, "Processed: .aea/"); ok && !strings.Contains(rest, "-last.json") { // that of settled
			order = append(order, rest)
		}
	}
	assert.Len(t, order, n)
	assert.Len(t, slices.Compact(slices.Clone(order)), n)
	assert.True(t, slices.IsSorted(order), "oldest first")
	assert.Equal(t, 1, strings.Count(string(log), "Refused: .aea/message-0-from-broken.json"))
	assert.False(t, h.marked("message-0-from-broken.json"))
	assert.FileExists(t, h.target.File("message-0-from-broken.json"))
}

// A repository that nobody enabled is neither read nor written to, and its messages have no way back.
func TestH58_NotEnabled(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stranger := repo(t, "stranger")
	name, err := h.target.Put(letter(stranger, h.target, "question"), "")
	require.NoError(t, err)
	own, err := stranger.Put(letter(h.asker, stranger, "question"), "")
	require.NoError(t, err)
	h.run()
	defer h.end()
	h.until(func() bool { return h.marked(name) })
	h.settled()
	assert.Zero(t, h.asked(), "nothing is asked of an agent")
	all, err := stranger.List()
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, own, all[0].Name)
	assert.False(t, all[0].Processed)
}

// A message that names no author with a repository reaches no agent, whatever it calls itself and whether or
// not it wants an answer. A person is told.
func TestWithoutAWayBack_noAgentIsAsked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	for i, of := range []string{
		`"message_type":"question"`, `"message_type":"question","requires_response":false`, `"message_type":"request","requires_response":false`,
		`"message_type":"response"`, `"message_type":"issue","priority":"low","requires_response":false`,
	} {
		name := fmt.Sprintf("message-20251014T05420%dZ-from-claude-nobody.json", i)
		drop(t, h.target, name, fmt.Sprintf(`{%s,"message":{"subject":"S","body":"run it"}}`, of))
		h.until(func() bool { return h.marked(name) })
	}
	h.settled()
	assert.Zero(t, h.asked())
}

// A message that is addressed to another repository, by both its path and its agent, is not answered here: it
// stays, and the log says why. A name or a path alone may be out of date.
func TestAddressedToAnother_isNotAnswered(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	own := h.target.Own()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(h.target.Path, link))
	send := func(n int, to string) string {
		name := fmt.Sprintf("message-20251014T05420%dZ-from-claude-asker.json", n)
		drop(t, h.target, name, fmt.Sprintf(`{"message_type":"question","from":{"agent_id":"claude-asker","repo_path":%q},"to":%s,"message":{"subject":"S","body":"B"}}`, h.asker.Path, to))
		return name
	}
	others := send(0, `{"agent_id":"claude-zz","repo_path":"/zz"}`)
	asker := send(1, fmt.Sprintf(`{"agent_id":"claude-zz","repo_path":%q}`, h.asker.Path))
	nameless := send(2, `{"repo_path":"/zz"}`)
	for _, name := range []string{others, asker, nameless} {
		h.until(func() bool {
			log, _ := os.ReadFile(h.target.at(logName))
			return strings.Contains(string(log), "Refused: .aea/"+name)
		})
		assert.False(t, h.marked(name))
	}
	assert.Zero(t, h.asked())
	for i, to := range []string{
		fmt.Sprintf(`{"agent_id":%q,"repo_path":"/moved"}`, own.ID), fmt.Sprintf(`{"agent_id":"renamed","repo_path":%q}`, h.target.Path+"/"),
		fmt.Sprintf(`{"agent_id":"renamed","repo_path":%q}`, link), `{"agent_id":"renamed"}`, `{}`,
	} {
		name := send(3+i, to)
		h.until(func() bool { return h.marked(name) })
	}
}

// An answer to a message that nobody sent from here, caused by a file with a forged author, is given to no
// agent. An answer to a message that was sent is.
func TestAnswer_onlyToWhatWasSent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	require.NoError(t, h.target.Log(at, "Answered", "made-up", "by claude-asker"))
	require.NoError(t, h.target.Log(at, "Sent", "asked", "claude-asker"))
	answer := func(to, name string) {
		drop(t, h.target, name, fmt.Sprintf(`{"message_id":"re-%s","message_type":"update","requires_response":false,"from":{"agent_id":"claude-asker","repo_path":%q},`+
			`"message":{"body":"do it"},"metadata":{"reply_to":%q}}`, to, h.asker.Path, to))
	}
	answer("made-up", "message-20251014T054201Z-from-claude-asker.json")
	h.until(func() bool {
		log, _ := os.ReadFile(h.target.at(logName))
		return strings.Contains(string(log), "Left: .aea/message-20251014T054201Z")
	})
	assert.Zero(t, h.asked())
	answer("asked", "message-20251014T054202Z-from-claude-asker.json")
	h.until(func() bool { return h.asked() == 1 })

	// git reset removes agent.log. What was sent is still known.
	require.NoError(t, h.peers.Enabled.NoteSent(h.target.Path, "asked-before"))
	require.NoError(t, os.Remove(h.target.at(logName)))
	answer("asked-before", "message-20251014T054203Z-from-claude-asker.json")
	h.until(func() bool { return h.asked() == 2 })
}

// A repository whose .aea becomes a link to another's is no longer served, until it is a directory again.
func TestH58_TheDirectoryBecomesALink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	h.until(func() bool { return h.peers.Enabled.Served(h.asker.Path) })
	aside := filepath.Join(t.TempDir(), "aside")
	require.NoError(t, os.Rename(h.asker.at(), aside))
	require.NoError(t, os.Symlink(t.TempDir(), h.asker.at()))
	h.until(func() bool { return !h.peers.Enabled.Served(h.asker.Path) })
	require.NoError(t, os.Remove(h.asker.at()))
	require.NoError(t, os.Rename(aside, h.asker.at()))
	h.until(func() bool { return h.peers.Enabled.Served(h.asker.Path) })
}

// A monitor that is off processes nothing. A message that comes while it is on is found at once, without
// waiting for the clock.
func TestA61_Noticed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.wish(h.target, MonitorOff)
	h.run()
	defer h.end()
	name, err := h.target.Put(letter(h.asker, h.target, "update"), "")
	require.NoError(t, err)
	h.until(func() bool { return h.peers.Enabled.Served(h.asker.Path) })
	h.settled()
	assert.False(t, h.marked(name))
	assert.False(t, h.peers.Enabled.Served(h.target.Path))
	h.wish(h.target, MonitorOn)
	h.until(func() bool { return h.marked(name) })
	assert.Equal(t, os.Getpid(), h.target.PID())
	_, stays := h.peers.Served()
	assert.True(t, stays)
	for range 20 {
		name, err := h.target.Put(letter(h.asker, h.target, "update"), "")
		require.NoError(t, err)
		h.until(func() bool { return h.marked(name) })
	}
	h.wish(h.target, MonitorOff)
	h.until(func() bool { return !h.peers.Enabled.Served(h.target.Path) && h.target.PID() == 0 })
}

// Without a clock the watch alone reports each message, also one that does not change the directory's time, and
// even after the system lost events.
func TestA61_toldByTheWatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.ticks = time.Hour
	broken := "message-20251014T054200Z-from-claude-asker-0.json"
	drop(t, h.target, broken, "[]")
	h.run()
	defer h.end()
	h.until(func() bool { return strings.Contains(h.log(), "Refused: .aea/"+broken) })
	for range 5 {
		name, err := h.target.Put(letter(h.asker, h.target, "update"), "")
		require.NoError(t, err)
		h.until(func() bool { return h.marked(name) })
	}
	drop(t, h.target, "whole", `{"message_type":"update","message":{"body":"it is whole"}}`)
	require.NoError(t, os.Rename(h.target.File("whole"), h.target.File(broken))) // a file found half written is read again a second later
	h.until(func() bool { return h.marked(broken) })

	h.mu.Lock() // the loop waits for its agents, and reads no events
	for i := range 20_000 {
		require.NoError(t, os.Chmod(h.target.File(broken), 0o600|os.FileMode(i%2)<<2))
		require.NoError(t, os.Chmod(h.target.at(logName), 0o600|os.FileMode(i%2)<<2))
	}
	h.mu.Unlock()
	h.until(func() bool { // it has read all events, and waits
		before := h.turns.Load()
		time.Sleep(50 * time.Millisecond)
		return h.turns.Load() == before
	})
	name, err := h.target.Put(letter(h.asker, h.target, "update"), "late")
	require.NoError(t, err)
	h.until(func() bool { return h.marked(name) })
}

// Helpers.

// house is a relay over a journal, two repositories as its peers, and an agent that works in one of them.
type house struct {
	t             *testing.T
	asker, target Dir
	state         string
	journal       string
	by            string
	logTo         slog.Handler // nil: none
	peers         *Peers
	relay         *relay.Relay
	agent         message.Peer
	signal, stop  func()
	onRead        func() // called when a message that is answered is read
	readFails     error  // error of the next read; guarded by mu

	mu     sync.Mutex
	moment string // when the repositories are cut off from the relay
	cut    bool
	given  []message.ID        // what the agent got
	heard  []message.Envelope  // the same
	files  map[message.ID]bool // deliveries that are to become files
	came   map[string]bool     // files that may be acted on, in this life
	speaks chan struct{}       // nil, or closed once the agent may answer

	onGiven func(message.Envelope) // nil, or called with what the agent gets
	policy  relay.Policy
	later   atomic.Int64 // how much its clock is ahead

	runs  func(by string) bool
	grace time.Duration
	ticks time.Duration // 0: the usual
	turns atomic.Int64  // of the target's loop
	alone bool          // no agent works there; guarded by mu

	noticed []string // what a person was told; guarded by mu

	full      bool // guarded by mu
	fullFor   string
	fullTimes int // how often; 0: always
	refusals  int // guarded by mu
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, asker: repo(t, "asker"), target: repo(t, "target"), state: t.TempDir(), journal: filepath.Join(t.TempDir(), "state"), by: "one", files: map[message.ID]bool{}, policy: table{}}
	require.NoError(t, os.Mkdir(h.journal, 0o700))
	h.wish(h.asker, MonitorAuto)
	h.wish(h.target, MonitorAuto)
	return h
}

// beside returns another sidecar of the same person, with its own journal and agent.
func (h *house) beside() *house {
	dir := filepath.Join(h.t.TempDir(), "state")
	require.NoError(h.t, os.Mkdir(dir, 0o700))
	return &house{t: h.t, asker: h.asker, target: h.target, state: h.state, journal: dir, by: "another", files: map[message.ID]bool{}, policy: h.policy}
}

func (h *house) wish(d Dir, monitor Monitor) {
	require.NoError(h.t, EnabledIn(h.state).Set(Wish{Path: d.Path, Agent: d.Own().ID, Since: at, Monitor: monitor}))
}

// run begins a life; end ends it.
func (h *house) run() {
	j, err := journal.Open(h.t.Context(), h.journal)
	require.NoError(h.t, err)
	was, err := j.Restore(h.t.Context())
	require.NoError(h.t, err)
	before := relay.Restored{Stopped: was.Stopped, Undecided: was.Undecided}
	for _, one := range was.Sessions {
		before.Peers = append(before.Peers, relay.SavedPeer{Peer: one, Last: was.Depths[one.ID].Last, Cause: was.Depths[one.ID].Cause})
	}
	for _, one := range was.Pending {
		before.Deliveries = append(before.Deliveries, relay.SavedDelivery(one))
	}
	for _, one := range was.Submitted {
		before.Submitted = append(before.Submitted, one.Delivery)
	}
	h.relay = &relay.Relay{Journal: filling{j, h}, Policy: h.policy, Restored: &before, Sink: ben{h}}
	h.mu.Lock()
	h.cut, h.came = false, map[string]bool{}
	h.mu.Unlock()
	h.peers = &Peers{
		Enabled: EnabledIn(h.state), By: h.by, User: "ada", Relay: cutting{h, h.relay}, Journal: reading{j, h}, Log: slog.New(cmp.Or[slog.Handler](h.logTo, slog.DiscardHandler)), Now: func() time.Time { return time.Now().Add(time.Duration(h.later.Load())) },
		Grace: h.grace, Runs: h.runs, ticks: h.ticks, Left: func() []message.Peer { return h.relay.Snapshot().Peers() },
		Agents: func(path string) []message.Peer {
			if path != h.target.Path {
				return nil
			}
			h.turns.Add(1)
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.alone {
				return nil
			}
			return []message.Peer{h.agent}
		},
	}
	h.relay.Sinks = map[message.PeerKind]relay.Sink{message.PeerRepository: noting{h.peers, h}}
	h.relay.Publish = func(events []message.Event) {
		h.mu.Lock()
		cut := h.cut
		h.mu.Unlock()
		if !cut {
			h.peers.Hear(events)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, e := range events {
			h.noticed = append(h.noticed, e.Notice)
		}
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { assert.NoError(h.t, h.relay.Run(ctx)) })
	require.NoError(h.t, h.relay.Begun(ctx))
	if one, err := h.relay.Snapshot().Find("ben"); err == nil {
		h.agent = one
	} else {
		h.agent, err = h.relay.Adopt(ctx, message.Peer{Name: "ben", PaneOf: message.PaneOf{Pane: "%1", Profile: "line"}})
		require.NoError(h.t, err)
	}
	for _, d := range before.Submitted { // ben took them, and reports it late
		if d.Target == h.agent.ID {
			_ = h.relay.Spoke(ctx, message.Turn{Peer: d.Target, Words: "said by ben", Answers: []message.ID{d.ID}, Source: "test"})
		}
	}
	var served sync.WaitGroup
	inner, end := context.WithCancel(ctx)
	h.signal = end
	served.Go(func() { assert.NoError(h.t, h.peers.Run(inner)) })
	h.stop = func() { // like the end of a sidecar: the relay last
		end()
		served.Wait()
		cancel()
		parts.Wait()
		require.NoError(h.t, j.Close())
	}
}

func (h *house) end() { h.stop() }

// table decides as the protocol does.
type table struct{}

func (table) Decide(_ context.Context, q relay.Question) (message.Verdict, error) {
	v := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "table"}}
	if slices.Contains(aea.Types(), q.Message.Type) {
		switch aea.Protocol(q.Message.Type, q.Message.Priority).Action {
		case aea.Ask:
			v.Verb = message.VerbAsk
		case aea.Acknowledge:
			v.Verb = message.VerbAck
		}
	}
	return v, nil
}

// ben is the pane of an agent that answers each message once.
type ben struct{ *house }

func (b ben) Deliver(ds ...message.Delivery) {
	for _, d := range ds {
		go func() {
			ctx := b.t.Context()
			if b.refuses("the agent") {
				_ = b.relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Failed, Reason: message.QueueFull})
				return
			}
			if !d.Typed {
				if b.relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Typed}) != nil {
					return
				}
				if b.onGiven != nil {
					b.onGiven(d.Message)
				}
				b.mu.Lock()
				b.given = append(b.given, d.ID)
				b.heard = append(b.heard, d.Message)
				b.mu.Unlock()
			}
			_ = b.relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Submitted})
			if b.speaks != nil {
				<-b.speaks
			}
			_ = b.relay.Spoke(ctx, message.Turn{Peer: d.Target, Words: "said by ben", Answers: []message.ID{d.ID}, Source: "test"})
		}()
	}
}

func (ben) Cancel([]message.ID, message.Reason) {}
func (ben) Forget(message.ID)                   {}

// cutting is the relay until the repositories are cut off from it.
type cutting struct {
	h *house
	*relay.Relay
}

// at cuts the repositories off if this is the moment, and reports whether they are cut off.
func (c cutting) at(moment string) bool {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if moment != "" && c.h.moment == moment {
		c.h.cut, c.h.moment = true, ""
	}
	return c.h.cut
}

func (c cutting) Receive(ctx context.Context, m message.Envelope) (bool, error) {
	return c.Hand(ctx, m, "")()
}

func (c cutting) Hand(ctx context.Context, m message.Envelope, after message.ID) func() (bool, error) {
	refused := func(err error) func() (bool, error) { return func() (bool, error) { return false, err } }
	what := "it is received"
	switch {
	case m.InReplyTo != "":
		what = "the answer is received"
	case m.Meta[metaFile] == "":
		what = "the agent has it"
	}
	if c.at("before " + what) {
		return refused(relay.ErrDown)
	}
	if what == "it is received" && c.h.refuses("") {
		return refused(relay.ErrFull)
	}
	wait := c.Relay.Hand(ctx, m, after)
	return func() (bool, error) {
		fresh, err := wait()
		if c.at("after " + what) {
			return false, relay.ErrDown
		}
		return fresh, err
	}
}

func (c cutting) Report(ctx context.Context, r message.Receipt) error {
	c.h.mu.Lock()
	moments := map[message.ReceiptState]string{message.Typed: "when it may be acted on", message.Submitted: "before it is submitted"}
	if c.h.files[r.Delivery] {
		moments = map[message.ReceiptState]string{message.Typed: "when the answer may be written", message.Submitted: "before that is told"}
	}
	c.h.mu.Unlock()
	if c.at(moments[r.State]) {
		return relay.ErrDown
	}
	return c.Relay.Report(ctx, r)
}

// noting is the sink of repositories, and notes what is to become a file.
type noting struct {
	*Peers
	h *house
}

func (n noting) Deliver(ds ...message.Delivery) {
	ds = slices.DeleteFunc(ds, func(d message.Delivery) bool {
		full := d.Message.Meta[metaFile] != "" && n.h.refuses("the repository")
		if full {
			go func() {
				_ = n.h.relay.Report(n.h.t.Context(), message.Receipt{Delivery: d.ID, State: message.Failed, Reason: message.QueueFull})
			}()
		}
		return full
	})
	n.h.mu.Lock()
	for _, d := range ds {
		n.h.files[d.ID] = d.Message.Meta[metaFile] == ""
		n.h.came[d.Message.Meta[metaFile]] = true
	}
	n.Peers.Deliver(ds...) // what is counted is there
	n.h.mu.Unlock()
}

// reading is a journal that tells a test when it is read.
type reading struct {
	*journal.Journal
	h *house
}

func (r reading) Message(ctx context.Context, id string) (message.Envelope, error) {
	if r.h.onRead != nil {
		r.h.onRead()
	}
	r.h.mu.Lock()
	err := r.h.readFails
	r.h.readFails = nil
	r.h.mu.Unlock()
	if err != nil {
		return message.Envelope{}, err
	}
	return r.Journal.Message(ctx, id)
}

func (h *house) cutAt(moment string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moment = moment
}

func (h *house) wasCut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cut
}

// asked returns how often the agent was given something.
func (h *house) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.given)
}

func (h *house) marked(name string) bool {
	_, err := os.Lstat(h.target.at(processed, name))
	return err == nil
}

// answers returns the messages that the asker got.
func (h *house) answers() (all []aea.Message) {
	entries, err := h.asker.List()
	require.NoError(h.t, err)
	for _, e := range entries {
		m, _, err := h.asker.Read(e.Name)
		require.NoError(h.t, err)
		all = append(all, m)
	}
	return all
}

// settled waits until a message that came after all others is processed.
func (h *house) settled() {
	h.t.Helper()
	d := h.target
	if h.peers.Enabled.Served(d.Path) {
		name, err := d.Put(letter(h.asker, d, "update"), "last")
		require.NoError(h.t, err)
		h.until(func() bool { return h.marked(name) })
		require.NoError(h.t, os.Remove(d.File(name)))
		require.NoError(h.t, os.Remove(d.at(processed, name)))
	}
}

func (h *house) until(so func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatal("waited in vain\n" + h.told())
		}
	}
}

// told returns what the files say, for a test that failed.
func (h *house) told() string {
	text := ""
	for _, path := range []string{h.target.at(logName), h.asker.at(logName), h.peers.Enabled.ledger(h.target.Path), h.peers.Enabled.ledger(h.asker.Path)} {
		file, _ := os.ReadFile(path)
		text += path + ":\n" + string(file)
	}
	return text
}
