package relay_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// What a turn that was cut short leaves in a real journal: for people under its chat, for the agent
// that waits, and in the counts of the chat, where it is no turn. Reported again to another run, it
// is known there.
func TestRun_cutTurnIsWrittenDown(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	j, err := journal.Open(t.Context(), dir)
	require.NoError(t, err)
	defer j.Close()
	r, s, stop := run(t, j)
	a, err := r.Adopt(t.Context(), message.Peer{Name: "a", PaneOf: message.PaneOf{Pane: "%1"}})
	require.NoError(t, err)
	b, err := r.Adopt(t.Context(), message.Peer{Name: "b", PaneOf: message.PaneOf{Pane: "%2"}})
	require.NoError(t, err)
	limits := message.Limits{Words: "all", Person: true}
	started, err := r.Do(t.Context(), relay.StartChat{By: relay.By{Kind: relay.Person}, Peers: []string{"a", "b"}, Limits: limits})
	require.NoError(t, err)
	chat := started.Chats[0]
	require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: a.ID, Words: "last", All: "first, last", Ended: time.Now()}))
	question := s.next(t, b.ID)
	assert.Equal(t, "first, last", question.Message.Body)
	for _, state := range []message.ReceiptState{message.Typed, message.Typed, message.Submitted} {
		require.NoError(t, r.Report(t.Context(), message.Receipt{Delivery: question.ID, State: state}))
	}
	cut := message.Turn{
		ID: message.NewID(), Peer: b.ID, Words: "half", Prompt: "no, wait", Person: true, Cut: message.Interrupted,
		Answers: []message.ID{question.ID}, Ended: time.Now(),
	}
	require.NoError(t, r.Spoke(t.Context(), cut))
	assert.Equal(t, "[ada] (0):", s.next(t, a.ID).Head)
	told := s.next(t, a.ID)
	assert.Equal(t, "AI[local:"+string(b.ID)+"] | [notice]", told.Head)
	assert.Equal(t, `"b" stopped: interrupted by a person; your message was not answered`, told.Message.Body)
	require.NoError(t, stop())

	receipts, err := j.Receipts(t.Context(), question.Message.ID)
	require.NoError(t, err)
	last := receipts[len(receipts)-1]
	assert.Equal(t, message.Failed, last.State)
	assert.Equal(t, message.Interrupted, last.Reason)
	stats, err := j.Stats(t.Context(), chat.ID)
	require.NoError(t, err)
	assert.Equal(t, 1, stats.Turns)
	notices := func() (said []string) {
		events, err := j.Events(t.Context(), journal.Query{Chat: chat.ID})
		require.NoError(t, err)
		for _, e := range events {
			if e.Kind == "notice" {
				said = append(said, e.Notice)
			}
		}
		return said
	}
	assert.Equal(t, []string{"b was interrupted; only the prompt was relayed"}, notices())
	restored, err := j.Restore(t.Context())
	require.NoError(t, err)
	require.Len(t, restored.Chats, 1)
	assert.Equal(t, chat.Limits, restored.Chats[0].Limits)
	assert.Equal(t, "all", chat.Limits.Words)
	assert.Equal(t, 1, restored.Taken[chat.ID])

	again := relay.Restored{}
	for _, one := range restored.Sessions {
		again.Peers = append(again.Peers, relay.SavedPeer{Peer: one, Last: restored.Depths[one.ID].Last, Cause: restored.Depths[one.ID].Cause})
	}
	for _, one := range restored.Chats {
		again.Chats = append(again.Chats, relay.SavedChat{Chat: one, Taken: restored.Taken[one.ID]})
	}
	r, s, stop = run(t, j, again)
	require.NoError(t, r.Spoke(t.Context(), cut))
	require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: b.ID, Words: "whole", Ended: time.Now()}))
	assert.Equal(t, "whole", s.next(t, a.ID).Message.Body, "and nothing of the other one before it")
	require.NoError(t, stop())
	assert.Len(t, notices(), 1)
}

// A journal that was written by the version with schema 3 goes on: what was under way is handed out
// again; what is held, for any reason of that version, goes only once that is lifted.
func TestRun_goesOnFromSchema3(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	packed, err := os.Open(filepath.Join("..", "journal", "testdata", "schema3", "journal.db.gz"))
	require.NoError(t, err)
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	require.NoError(t, err)
	db, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.db"), db, 0o600))
	j, err := journal.Open(t.Context(), dir)
	require.NoError(t, err)
	defer j.Close()
	was, err := j.Restore(t.Context())
	require.NoError(t, err)

	restored := relay.Restored{Server: was.Sessions[0].Server, Undecided: was.Undecided}
	for _, one := range was.Sessions {
		restored.Peers = append(restored.Peers, relay.SavedPeer{Peer: one, Last: was.Depths[one.ID].Last, Cause: was.Depths[one.ID].Cause})
	}
	for _, one := range was.Chats {
		restored.Chats = append(restored.Chats, relay.SavedChat{Chat: one, Taken: was.Taken[one.ID]})
	}
	held := map[string]message.Delivery{}
	for _, p := range was.Pending {
		restored.Deliveries = append(restored.Deliveries, relay.SavedDelivery(p))
		if strings.HasPrefix(p.Delivery.Message.Body, "hold: ") {
			held[p.Delivery.Message.Body] = p.Delivery
		}
	}
	require.Len(t, held, 6)
	r, s, stop := run(t, j, restored)
	require.NoError(t, r.Begun(t.Context()))
	typed, out := map[string]bool{}, map[string]bool{}
	for range 7 {
		d := s.any(t)
		body := render.Words(d.Form, d.Message)
		out[body], typed[body] = true, d.Typed
	}
	for body, was := range map[string]bool{
		"and then? – typed": true, "typed before the pause": true, "queued\nin two lines": false, "a ****** word": false, "undecided": false,
		"what you said was not passed on: not today": false, "Subject: news\n\nqueued, with a subject": false,
	} {
		assert.True(t, out[body], body)
		assert.Equal(t, was, typed[body], body)
	}

	by, who := relay.By{Kind: relay.Person}, message.Person{Name: "ada"}
	yes := func(body string) error {
		_, err := r.Do(t.Context(), relay.DecideHeld{By: by, Message: held[body].Message.ID, Verb: message.VerbDeliver, Who: who})
		return err
	}
	for _, let := range []struct {
		body string
		run  func() error
	}{
		{"hold: approval", func() error { return yes("hold: approval") }},
		{"hold: approval, for an hour", func() error { return yes("hold: approval, for an hour") }},
		{"hold: policy", func() error { return yes("hold: policy") }},
		{"hold: filter", func() error {
			assert.ErrorIs(t, yes("hold: filter"), relay.ErrUnfiltered)
			m, err := j.Message(t.Context(), string(held["hold: filter"].Message.ID))
			require.NoError(t, err)
			return r.Reconsider(t.Context(), []message.Envelope{m})
		}},
		{"hold: pause", func() error {
			_, err := r.Do(t.Context(), relay.ResumeChat{By: by, Chat: string(held["hold: pause"].Chat)})
			return err
		}},
		{"hold: limit", func() error {
			_, err := r.Do(t.Context(), relay.ResumeChat{By: by, Chat: string(held["hold: limit"].Chat), Sure: true})
			return err
		}},
	} {
		assert.Empty(t, s.held(), "it is not let go yet")
		require.NoError(t, let.run(), let.body)
		d := s.next(t, held[let.body].Target)
		for d.Typed { // a typed delivery is handed out again when its chat goes on
			d = s.next(t, held[let.body].Target)
		}
		assert.Equal(t, let.body, d.Message.Body)
		assert.Equal(t, held[let.body].Chat, d.Chat)
	}
	require.NoError(t, stop())
}

// BenchmarkReports makes that many sinks report at the same time; each waits until its receipt is
// on disk.
func BenchmarkReports(b *testing.B) {
	for _, sinks := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(sinks), func(b *testing.B) {
			dir := b.TempDir()
			require.NoError(b, os.Chmod(dir, 0o700))
			j, err := journal.Open(b.Context(), dir)
			require.NoError(b, err)
			defer j.Close()
			r, _, stop := run(b, j)
			var ids []message.ID
			for i := range sinks {
				s, err := r.Adopt(b.Context(), message.Peer{Name: fmt.Sprint("s", i), PaneOf: message.PaneOf{Pane: fmt.Sprint("%", i)}})
				require.NoError(b, err)
				sent, err := r.Do(b.Context(), relay.Send{By: relay.By{Kind: relay.Person}, To: s.Name, Message: message.Envelope{Body: "x"}})
				require.NoError(b, err)
				ids = append(ids, sent.Receipts[0].Delivery)
			}
			reasons := []message.Reason{message.AgentWorking, message.InComposer}
			b.ResetTimer()
			var all sync.WaitGroup
			for _, id := range ids {
				all.Go(func() {
					for n := range b.N {
						assert.NoError(b, r.Report(b.Context(), message.Receipt{Delivery: id, State: message.Held, Reason: reasons[n%2]}))
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sinks), "ns/report")
			require.NoError(b, stop())
		})
	}
}

// panes is a sink that keeps what it is handed: test helper.
type panes struct {
	mu   sync.Mutex
	out  []message.Delivery
	news chan struct{}
}

func (p *panes) Deliver(ds ...message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = append(p.out, ds...)
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *panes) Cancel([]message.ID, message.Reason) {}
func (p *panes) Forget(message.ID)                   {}

// any waits for the next delivery to anybody.
func (p *panes) any(t *testing.T) message.Delivery { t.Helper(); return p.next(t, "") }

// held returns the bodies of deliveries that were handed over although they were held, and have not
// been asked for.
func (p *panes) held() (bodies []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.out {
		if strings.HasPrefix(d.Message.Body, "hold: ") {
			bodies = append(bodies, d.Message.Body)
		}
	}
	return bodies
}

// next waits for the next delivery to a session, or to any.
func (p *panes) next(t *testing.T, to message.ID) message.Delivery {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		p.mu.Lock()
		for i, d := range p.out {
			if d.Target == to || to == "" {
				p.out = append(p.out[:i], p.out[i+1:]...)
				p.mu.Unlock()
				return d
			}
		}
		p.mu.Unlock()
		select {
		case <-p.news:
		case <-deadline:
			require.Fail(t, "nothing was handed over")
		}
	}
}

// run starts a Relay over a journal; stop ends it and returns what Run did.
func run(t testing.TB, j *journal.Journal, restored ...relay.Restored) (*relay.Relay, *panes, func() error) {
	s := &panes{news: make(chan struct{}, 1)}
	r := &relay.Relay{Journal: j, Sink: s, Person: "ada"}
	for _, one := range restored {
		r.Restored = &one
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, s, func() error {
		cancel()
		return <-done
	}
}
