package soaktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// record is the part of a sidecar's journal read so far. It is read continuously, each time from
// where the last reading ended: an hour makes 330,000 entries, and asking for all of them takes
// memory that would be judged. All entries are kept in a file as well, for questions that the run
// does not answer.
type record struct {
	mu           sync.Mutex
	since        int64
	marks        map[message.ID][]soaktest.Mark
	last         map[message.ID]message.Receipt
	took         map[message.ID]bool
	answered     map[message.ID]bool
	typed, ended map[message.ID]time.Time
	repositories map[message.ID]bool
	order        []message.ID
	kept         *os.File
}

// read reads the new entries of the journal.
func (r *record) read(ctx context.Context, c *computer) error {
	if r.kept == nil {
		kept, err := os.Create(filepath.Join(c.w.dir, c.name+"-log.jsonl"))
		if err != nil {
			return err
		}
		r.marks, r.last = map[message.ID][]soaktest.Mark{}, map[message.ID]message.Receipt{}
		r.answered, r.typed, r.ended = map[message.ID]bool{}, map[message.ID]time.Time{}, map[message.ID]time.Time{}
		r.took, r.repositories, r.kept = map[message.ID]bool{}, map[message.ID]bool{}, kept
	}
	keep := json.NewEncoder(r.kept)
	for {
		events, err := api.Call(ctx, c.client, api.Log, api.LogQuery{Limit: 1000, Oldest: true, Since: r.since})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if err := keep.Encode(e); err != nil {
				return err
			}
			r.take(e)
			if e.Receipt != nil {
				c.w.clocks.felt(c.name, e.At, e.Receipt.At)
			}
			r.since = max(r.since, e.Seq)
		}
	}
}

func (r *record) take(e message.Event) {
	if e.Message != nil && e.Receipt == nil {
		r.marks[e.Message.ID] = soaktest.Marks(e.Message.Body)
	}
	if e.Peer != nil && e.Peer.Kind == message.PeerRepository {
		r.repositories[e.Peer.ID] = true
	}
	if e.Receipt != nil {
		id := e.Receipt.Delivery
		if _, seen := r.last[id]; !seen {
			r.order = append(r.order, id)
		}
		r.last[id], r.ended[id] = *e.Receipt, e.At // by the machine's clock
		if e.Receipt.State == message.Typed {
			r.typed[id] = e.At
		}
		r.answered[id] = r.answered[id] || e.Receipt.State == message.Answered
		r.took[id] = r.took[id] || e.Receipt.State == message.Submitted || e.Receipt.State == message.Answered
	}
}

// follow reads both journals every second. While a sidecar is away there is nothing to read.
func (w *world) follow(ctx context.Context) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, c := range []*computer{w.here, w.there} {
			c.record.mu.Lock()
			_ = c.record.read(ctx, c) // the last reading, at rest, must succeed
			c.record.mu.Unlock()
		}
	}
}

func (r *record) close(t testing.TB) {
	require.NoError(t, r.kept.Close())
}

// journal returns the sidecar's own record of each word, and how many words are still on their way.
func (c *computer) journal(ctx context.Context) (known map[soaktest.Mark]soaktest.Journal, open int, err error) {
	read := &c.record
	read.mu.Lock()
	defer read.mu.Unlock()
	if err := read.read(ctx, c); err != nil {
		return nil, 0, err
	}
	known = map[soaktest.Mark]soaktest.Journal{}
	for _, all := range read.marks {
		for _, m := range all {
			known[m] = nil
		}
	}
	for _, id := range read.order {
		r := read.last[id]
		state := soaktest.Open
		switch {
		case read.took[id]: // whatever is known of its answer
			state = soaktest.Taking
		case r.State == message.Failed && r.Reason == message.Duplicate:
			state = soaktest.Repeated
		case r.State == message.Failed && r.Reason == message.DecidedAnew:
			state = soaktest.Replaced
		case r.State == message.Failed || r.State == message.Expired:
			state = soaktest.Failed
		case r.State == message.Uncertain:
			state = soaktest.Uncertain
		case r.AgentGone(), r.State == message.Held && r.Hold == message.HoldLimit: // a person is asked
			state = soaktest.Kept
		}
		if read.repositories[r.Target] && state != soaktest.Open {
			continue // beside the delivery to who works there
		}
		if state == soaktest.Open && len(read.marks[r.Message]) > 0 {
			open++
		}
		for _, m := range read.marks[r.Message] {
			known[m] = append(known[m], soaktest.Delivery{
				State: state, Why: strings.TrimSuffix(fmt.Sprintf("%s: %s", r.State, r.Reason), ": "),
				Typed: read.typed[id], Ended: read.ended[id], Answered: read.answered[id],
			})
		}
	}
	return known, open, nil
}
