package service

import (
	"bytes"
	"context"
	"errors"
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

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// kept is a team with one teammate, alice, whose keeper looks when the test tells it to.
type kept struct {
	*Teams
	team.Dir
	t     *testing.T
	relay *relay.Relay
	disk  *journal.Journal
	alice message.Peer
	log   *bytes.Buffer
	ends  sync.WaitGroup
	pane  alices
	awake atomic.Int64 // as the relay has it
}

// alices is the pane of alice: it records the deliveries that it was handed, in order.
type alices struct {
	noPanes
	mu  sync.Mutex
	all []message.Delivery
}

func (p *alices) Deliver(all ...message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, all...)
}

func (p *alices) handed() []message.Delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

var ada = relay.By{Kind: relay.Person, Name: "ada"}

func newKept(t *testing.T) *kept {
	t.Helper()
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	k := &kept{t: t, Dir: team.Dir{Path: filepath.Join(t.TempDir(), "project")}, disk: j, log: new(bytes.Buffer)}
	bell := NewBell()
	k.relay = &relay.Relay{
		Journal: j, Sink: &k.pane, Awake: func() time.Duration { return time.Duration(k.awake.Load()) }, Publish: func([]message.Event) { bell.Ring() },
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.relay.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-done)
		assert.NoError(t, j.Close())
	})
	k.Teams = &Teams{
		Relay: k.relay, Journal: j, Policies: &Policies{}, Bell: bell, Claims: filepath.Join(t.TempDir(), "teams"), Log: slog.New(slog.NewTextHandler(k.log, nil)),
	}
	k.keeper.init()
	require.NoError(t, os.Mkdir(k.Path, 0o700))
	require.NoError(t, k.Make())
	k.alice, err = k.relay.Adopt(ctx, message.Peer{Name: "alice", PaneOf: message.PaneOf{Pane: "%1"}})
	require.NoError(t, err)
	_, err = k.relay.Do(ctx, relay.TakeSeat{By: ada, Seat: relay.Seat{Dir: k.Path, Name: "alice", Role: "dev"}, Peer: k.alice.ID})
	require.NoError(t, err)
	require.NoError(t, k.Enlist("alice", "dev"))
	require.NoError(t, k.relay.StateChanged(ctx, k.alice.ID, message.Idle, "", nil))
	k.looksUntil(func() bool { return k.keeper.said[k.Path+"\x1f"+"alice"] == team.Idle })
	return k
}

func (k *kept) looks(n int) {
	for range n {
		k.look(k.t.Context(), k.relay.Protocols(), &k.ends)
		k.ends.Wait()
	}
}

// looksUntil looks until a condition holds.
func (k *kept) looksUntil(is func() bool) {
	k.t.Helper()
	require.Eventually(k.t, func() bool {
		k.looks(1)
		return is()
	}, 20*time.Second, time.Millisecond, "%s", k.log)
}

// says writes lines into alice's inbox, as any program may.
func (k *kept) says(lines ...string) { appends(k.t, k.Dir, "alice", lines...) }

// appends writes lines into an inbox, as any program may.
func appends(t *testing.T, d team.Dir, name string, lines ...string) {
	t.Helper()
	path := filepath.Join(d.Path, team.Folder, "inbox", name+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// isHanded looks until alice's pane has been handed n messages, and returns the last one.
func (k *kept) isHanded(n int) (last message.Delivery) {
	k.t.Helper()
	k.looksUntil(func() bool { return len(k.pane.handed()) >= n })
	all := k.pane.handed()
	require.Len(k.t, all, n)
	return all[n-1]
}

// takes makes alice's program take a delivery.
func (k *kept) takes(d message.Delivery) {
	k.t.Helper()
	for _, state := range []message.ReceiptState{message.Typed, message.Submitted} {
		require.NoError(k.t, k.relay.Report(k.t.Context(), message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: k.alice.ID, State: state, At: time.Now()}))
	}
}

// beginsAgain makes the keeper forget all but what is on disk, as after a restart of the sidecar.
func (k *kept) beginsAgain() {
	k.keeper = keeper{}
	k.keeper.init()
}

// onDisk waits until the relay has written what it was told.
func (k *kept) onDisk() {
	k.t.Helper()
	_, err := k.relay.Join(k.t.Context(), message.Peer{Kind: message.PeerMember, Key: memberKey(k.Path, "bob"), Name: "bob", Title: "bob"})
	require.NoError(k.t, err)
}

// inbox returns the contents of alice's inbox.
func (k *kept) inbox() (all []string) {
	k.t.Helper()
	messages, _, err := k.Peek("alice")
	require.NoError(k.t, err)
	for _, m := range messages {
		all = append(all, m.Content)
	}
	return all
}

func (k *kept) there(id message.ID) bool {
	p, ok := k.relay.Snapshot().Peer(id)
	return ok && p.Ended == nil
}

// leaves closes alice's pane.
func (k *kept) leaves() {
	require.NoError(k.t, k.relay.Gone(k.t.Context(), k.alice.ID, message.PaneMissing))
	require.Eventually(k.t, func() bool { return !k.there(k.alice.ID) }, 20*time.Second, time.Millisecond)
}

// open returns the kinds of the records that another run would find.
func (k *kept) open() (kinds []string) {
	was, err := k.disk.Restore(k.t.Context())
	require.NoError(k.t, err)
	for _, one := range was.Records {
		if !strings.HasSuffix(one.ID, "\x1f"+team.Lead) {
			kinds = append(kinds, one.Kind)
		}
	}
	return kinds
}

func (k *kept) warnings() int { return strings.Count(k.log.String(), "level=WARN") }

// A teammate whose project was removed while it worked has left once its pane closes, and does not fill the log
// each second.
func TestTeam_ARemovedProjectIsLeft(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	assert.Equal(t, []string{"seat"}, k.open())
	require.NoError(t, os.RemoveAll(k.Path))
	delete(k.keeper.said, k.Path+"\x1f"+"alice") // its status changes
	k.looks(5)
	assert.Equal(t, 1, k.warnings(), "%s", k.log)
	k.leaves()
	k.looksUntil(func() bool { return len(k.open()) == 0 })
	assert.Equal(t, 1, k.warnings(), "%s", k.log)
}

// A handshake in a project that was removed owes nothing more: neither while its teammate still works, whose
// end waits for that, nor afterwards.
func TestTeam_ARemovedProjectIsOwedNothing(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		k := newKept(t)
		h, err := k.askToEnd(t.Context(), ada, k.Dir, "alice", 0)
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll(k.Path))
		_, err = k.relay.Do(t.Context(), relay.AnswerHandshake{
			By: relay.By{Kind: relay.Agent, Peer: k.alice.ID}, Answer: handshake.Answer{Kind: handshake.Shutdown, ID: h.ID, Approve: approve},
		})
		require.NoError(t, err)
		k.looksUntil(func() bool {
			return !slices.ContainsFunc(k.relay.Protocols().Affairs, func(one relay.Affair) bool { return slices.Contains(one.Owed, relay.OwedAnswer) })
		})
		k.leaves()
		clear(k.keeper.ending) // in this test nothing ends programs
		k.looksUntil(func() bool { return len(k.open()) == 0 })
		assert.LessOrEqual(t, k.warnings(), 1, "%s", k.log)
	}
}

// An author who wrote lines to a team by hand is a peer for as long as one of its teammates has a session here,
// whether or not the team was removed.
func TestTeam_ItsWritersLeaveWithIt(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{true, false} {
		k := newKept(t)
		bob, err := k.writer(t.Context(), k.Path, "bob")
		require.NoError(t, err)
		k.looks(2)
		assert.True(t, k.there(bob), "alice is there to be written to")
		if removed {
			require.NoError(t, os.RemoveAll(k.Path))
		}
		k.leaves()
		k.looksUntil(func() bool { return !k.there(bob) })
		again, err := k.writer(t.Context(), k.Path, "bob")
		require.NoError(t, err)
		assert.NotEqual(t, bob, again)
	}
}

// A line whose author the relay would refuse does not keep the lines behind it from their reader: one that an
// agent wrote to itself, and one whose author has ended since. It goes under the name in the file.
func TestTeam_ALineThatNobodyCanSay(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	bob, err := k.relay.Adopt(t.Context(), message.Peer{Name: "bob", PaneOf: message.PaneOf{Pane: "%2"}})
	require.NoError(t, err)
	for _, name := range []string{"bob", "carol"} {
		require.NoError(t, k.Enlist(name, "dev"))
	}
	k.vouched = make(map[message.ID]relay.By)
	for name, author := range map[string]message.ID{"alice": k.alice.ID, "bob": bob.ID} {
		m := team.Message{Type: team.TypeMessage, From: name, Content: "of " + name, At: time.Now()}
		text, err := m.Text()
		require.NoError(t, err)
		k.vouched[lineID(k.Path, "alice", text)] = relay.By{Kind: relay.Agent, Peer: author}
		require.NoError(t, k.Dir.Send("alice", m))
	}
	require.NoError(t, k.Dir.Send("alice", team.Message{Type: team.TypeMessage, From: "carol", Content: "of carol", At: time.Now()}))
	require.NoError(t, k.relay.Gone(t.Context(), bob.ID, message.PaneMissing))
	require.Eventually(t, func() bool { return !k.there(bob.ID) }, 20*time.Second, time.Millisecond)
	k.isHanded(3)
	for _, d := range k.pane.handed() {
		k.takes(d)
		from, ok := k.relay.Snapshot().Peer(d.Message.From.Peer)
		require.True(t, ok)
		assert.Equal(t, message.PeerMember, from.Kind)
		assert.Equal(t, "of "+d.Message.Meta["from"], strings.TrimSpace(d.Message.Body))
	}
	k.looksUntil(func() bool { return len(k.inbox()) == 0 })
	assert.Zero(t, k.warnings(), "%s", k.log)
}

// A line that cannot be handed over does not keep the lines behind it from their reader.
func TestTeam_ALineThatFailsHoldsNoOther(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Teams.Journal = &forgetful{Journal: k.disk}
	k.says(`{"from":"bob","content":"one"}`, `{"from":"bob","content":"two"}`)
	d := k.isHanded(1)
	assert.Equal(t, "two", d.Message.Body)
	k.takes(d)
	k.looksUntil(func() bool { return slices.Equal(k.inbox(), []string{"one"}) })
}

// forgetful cannot read the first message that it is asked for.
type forgetful struct {
	*journal.Journal
	id string
}

func (f *forgetful) Message(ctx context.Context, id string) (message.Envelope, error) {
	if f.id == "" {
		f.id = id
	}
	if f.id == id {
		return message.Envelope{}, errors.New("unreadable")
	}
	return f.Journal.Message(ctx, id)
}

// A line that its time does not tell from an earlier one, as from a program that writes no timestamp, is typed
// each time that it is written. This holds across a restart of the sidecar, and such a line is typed once even
// if a sidecar ended before it had removed it.
func TestTeam_TheSameLineAgain(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"from":"bob","content":"go on"}`, `{"from":"bob","content":"go on","timestamp":1700000000}`} {
		k := newKept(t)
		for n := range 4 {
			if n == 2 {
				k.beginsAgain()
			}
			k.says(line)
			d := k.isHanded(n + 1)
			k.takes(d)
			if n > 0 {
				k.beginsAgain() // a sidecar ended before it had removed the line
			}
			k.looksUntil(func() bool { return len(k.inbox()) == 0 })
			k.isHanded(n + 1)
			k.onDisk()
		}
	}
}

// Equal lines in the inbox at the same time are each typed, even if a sidecar ends between them, and while the
// first waits.
func TestTeam_EqualLinesThatLieTogether(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	line := `{"from":"bob","content":"go on"}`
	for range 3 {
		k.says(line)
	}
	last := k.isHanded(3)
	all := k.pane.handed()
	k.takes(last) // while those before it wait
	k.looksUntil(func() bool { return len(k.pane.handed()) == 3 })
	assert.Len(t, k.inbox(), 3, "which of them it was, nobody can tell: the first ones go first")
	k.takes(all[0])
	k.looksUntil(func() bool { return len(k.inbox()) == 2 })
	k.onDisk()
	k.beginsAgain()
	k.says(line)
	fourth := k.isHanded(4)
	k.takes(all[1])
	k.takes(fourth)
	k.looksUntil(func() bool { return len(k.inbox()) == 0 })
	k.isHanded(4)
}

// A request to a teammate whose turn lasts longer than a message may wait is handed over again, for as long as
// the request is open.
func TestTeam_ARequestOutlivesItsDelivery(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Callers = &Callers{Person: "ada"}
	h, err := k.askToEnd(t.Context(), ada, k.Dir, "alice", 0)
	require.NoError(t, err)
	expires := func(n int) (d message.Delivery) {
		k.looksUntil(func() bool {
			all := k.pane.handed()
			if d = all[len(all)-1]; len(all) > n {
				return true
			}
			k.awake.Add(int64(route.DefaultExpire)) // with each tick of the relay's clock
			return false
		})
		return d
	}
	k.isHanded(1)
	expires(1)
	k.beginsAgain()
	d := expires(2)
	assert.Contains(t, d.Message.Body, h.ID)
	k.takes(d)
	k.looksUntil(func() bool { return len(k.inbox()) == 0 })

	// A request that is answered meanwhile is not.
	h, err = k.askToEnd(t.Context(), ada, k.Dir, "alice", 0)
	require.NoError(t, err)
	before := len(k.pane.handed())
	k.isHanded(before + 1)
	_, err = k.relay.Do(t.Context(), relay.AnswerHandshake{
		By: relay.By{Kind: relay.Agent, Peer: k.alice.ID}, Answer: handshake.Answer{Kind: handshake.Shutdown, ID: h.ID, Approve: false},
	})
	require.NoError(t, err)
	last := k.pane.handed()[before].Message.ID
	k.looksUntil(func() bool {
		k.awake.Add(int64(route.DefaultExpire))
		all, err := k.disk.Receipts(t.Context(), last)
		return err == nil && len(all) > 0 && all[len(all)-1].State == message.Expired
	})
	k.looks(3)
	assert.Len(t, k.pane.handed(), before+1)
}

// The successor of a teammate that has ended gets what anybody has written to that teammate, but nothing of its
// handshakes: neither the answer to a plan that the successor did not submit, nor a request that it cannot
// answer.
func TestTeam_ASuccessorIsToldNothingOfHandshakesBefore(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Callers = &Callers{Person: "ada"}
	_, err := k.relay.Do(t.Context(), relay.AskShutdown{By: ada, ID: "0000000a", Dir: k.Path, Name: "alice"})
	require.NoError(t, err)
	_, err = k.relay.Do(t.Context(), relay.AskPlan{By: relay.By{Kind: relay.Agent, Peer: k.alice.ID}, ID: "0000000b", Plan: "drop the database"})
	require.NoError(t, err)
	_, err = k.relay.Do(t.Context(), relay.AnswerHandshake{By: ada, Answer: handshake.Answer{Kind: handshake.Plan, ID: "0000000b", Approve: true, Note: "yes, go ahead"}})
	require.NoError(t, err)
	k.leaves()
	k.looksUntil(func() bool { return len(k.inbox()) == 2 }) // what was owed is there
	k.says(`{"from":"bob","content":"how far are you?"}`)

	k.alice, err = k.relay.Adopt(t.Context(), message.Peer{Name: "alice", PaneOf: message.PaneOf{Pane: "%2"}})
	require.NoError(t, err)
	_, err = k.relay.Do(t.Context(), relay.TakeSeat{By: ada, Seat: relay.Seat{Dir: k.Path, Name: "alice", Role: "dev"}, Peer: k.alice.ID})
	require.NoError(t, err)
	d := k.isHanded(1)
	assert.Equal(t, "how far are you?", d.Message.Body)
	assert.Equal(t, []string{"how far are you?"}, k.inbox(), "nor does it find them there")
	k.takes(d)
	k.looksUntil(func() bool { return len(k.inbox()) == 0 })
	k.isHanded(1)
	assert.Zero(t, k.warnings(), "%s", k.log)
}
