package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const day = 24 * time.Hour

// Everything older than the requested age is deleted, with everything that belongs to it, and the
// files shrink. Beyond the requested size, everything older than a week is deleted. Nothing that is
// open, undecided, unanswered or of a chat that goes on is touched, and Commits go on beside it.
func TestD8_retentionAndLimit(t *testing.T) {
	t.Parallel()
	dir := private(t)
	j := mustOpen(t, dir)
	now := testTime
	olds, middles, youngs := 400, 400, 200 // messages
	if os.Getenv("INTERCOM_LONG") != "" && !underRace {
		olds, middles, youngs = 2000, 2000, 1000
	}
	old := fill(t, j, olds, now.Add(-200*day), now.Add(-95*day))
	kept := protect(t, j, now.Add(-150*day), now.Add(-85*day))
	middle := fill(t, j, middles, now.Add(-80*day), now.Add(-8*day))
	young := fill(t, j, youngs, now.Add(-6*day), now)
	before := whatIsOpen(t, j)
	size := fileSize(t, j.Path())
	newestBefore := newest(t, j)
	counts := func() string {
		return scalar(t, j, `SELECT concat_ws(' ', (SELECT count(*) FROM messages), (SELECT count(*) FROM verdicts),
			(SELECT count(*) FROM deliveries), (SELECT count(*) FROM receipts), (SELECT count(*) FROM words))`)
	}
	// counted returns the counts of so many messages, besides those of protect.
	counted := func(n int) string { return fmt.Sprintf("%d %d %d %d %d", n+7, n+6, n+6, 4*n+11, n+6) }
	sound := func() {
		t.Helper()
		assert.Equal(t, "ok", fresh(t, j, "PRAGMA integrity_check"))
		assert.Equal(t, "0", scalar(t, j, "SELECT count(*) FROM pragma_foreign_key_check"))
		_, err := j.writer.db.Exec(`INSERT INTO words (words) VALUES ('integrity-check')`)
		assert.NoError(t, err)
		assert.Equal(t, before, whatIsOpen(t, j), "something that was open is not as it was")
		for _, id := range kept {
			seen, err := j.Seen(t.Context(), id)
			require.NoError(t, err)
			assert.True(t, seen, "%s was pruned", id)
		}
	}
	word := fmt.Sprint("word", olds-1)
	require.Len(t, events(t, j, Query{Search: word}), 2)
	require.Equal(t, counted(olds+middles+youngs), counts())

	// By age, beside Commits.
	stop, committed := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var waits []time.Duration
		defer func() { committed <- waits }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			start := time.Now()
			assert.NoError(t, j.Commit(context.Background(), message.Step{Notices: []message.Notice{{Text: "meanwhile"}}}))
			waits = append(waits, time.Since(start))
		}
	}()
	pruned, err := j.Prune(t.Context(), Retention{}, now)
	close(stop)
	waits := <-committed
	require.NoError(t, err)
	t.Logf("by age: %+v, %d commits beside it, the slowest took %v", pruned, len(waits), slices.Max(waits))
	assert.Greater(t, len(waits), 5, "Prune kept Commit from its work")
	assert.Equal(t, olds, pruned.Messages)
	assert.Equal(t, 5*olds+9, pruned.Events)
	assert.Equal(t, 1, pruned.Chats)
	assert.Equal(t, 3, pruned.Sessions)
	assert.Equal(t, counted(middles+youngs), counts())
	assert.Less(t, fileSize(t, j.Path()), size*3/4, "the file is not smaller")
	assert.Equal(t, fileSize(t, j.Path()), pruned.Size)
	assert.LessOrEqual(t, fileSize(t, j.Path()+"-wal"), int64(logLimit))
	assert.Len(t, events(t, j, Query{Search: word}), 1, "a word of what was pruned is found")
	_, err = j.Stats(t.Context(), old.ID)
	assert.ErrorIs(t, err, ErrNotFound)
	_, err = j.Chat(t.Context(), string(old.ID))
	assert.ErrorIs(t, err, ErrNotFound)
	sound()

	// By size: everything younger than a week stays, however large it is.
	half := pruned.Size * 3 / 4
	pruned, err = j.Prune(t.Context(), Retention{Bytes: half}, now)
	require.NoError(t, err)
	t.Logf("to %d bytes: %+v", half, pruned)
	assert.LessOrEqual(t, pruned.Size, half)
	assert.Greater(t, pruned.Size, half*3/4, "much more was pruned than had to be")
	assert.Len(t, events(t, j, Query{Chat: middle.ID, Newest: true, Limit: 100}), 100, "the newest of it are there")
	stats, err := j.Stats(t.Context(), middle.ID)
	require.NoError(t, err)
	assert.Equal(t, middles, stats.Turns, "what was pruned stays counted")
	sound()

	pruned, err = j.Prune(t.Context(), Retention{Bytes: 1}, now)
	require.NoError(t, err)
	t.Logf("to as little as may be: %+v", pruned)
	assert.Equal(t, counted(youngs), counts())
	assert.Greater(t, pruned.Size, int64(1))
	assert.Len(t, events(t, j, Query{Chat: young.ID, Limit: 9999}), 5*youngs+2)
	sound()
	again, err := j.Prune(t.Context(), Retention{Bytes: 1}, now)
	require.NoError(t, err)
	assert.Equal(t, Pruned{Size: pruned.Size}, again, "there was something left to prune")

	// Later events have the next numbers, repeated messages are recognised, and all can be read
	// after a restart.
	require.Greater(t, newest(t, j), newestBefore)
	last := newest(t, j)
	mustCommit(t, j, wholeStep("next"))
	assert.Equal(t, last+wholeEvents, newest(t, j))
	assert.ErrorIs(t, j.Commit(t.Context(), message.Step{Received: []message.Envelope{envelope("unanswered")}}), ErrDuplicate)
	mustCommit(t, j, message.Step{Receipts: []message.Receipt{{Delivery: "unanswered-d", Message: "unanswered", State: message.Answered}}})
	require.NoError(t, j.Close())
	j = mustOpen(t, dir)
	sound()
}

// Everything may be deleted except the newest event, which prevents that numbers are given twice.
func TestPrune_everythingIsOld(t *testing.T) {
	j := mustOpen(t, private(t))
	fill(t, j, 100, testTime.Add(-200*day), testTime.Add(-100*day))
	last := newest(t, j)
	pruned, err := j.Prune(t.Context(), Retention{}, testTime)
	require.NoError(t, err)
	assert.Equal(t, 100, pruned.Messages)
	assert.Equal(t, last, newest(t, j))
	assert.Len(t, events(t, j, Query{}), 1)
	mustCommit(t, j, message.Step{Notices: []message.Notice{{Text: "next"}}})
	assert.Equal(t, last+1, newest(t, j))
}

// The last event of a message determines its age, and an event with a time in the future does not
// keep later events from being pruned.
func TestPrune_age(t *testing.T) {
	j := mustOpen(t, private(t))
	step := func(id message.ID) message.Step {
		s := wholeStep(id)
		s.Notices = nil
		return s
	}
	late := step("late")
	answer := late.Receipts
	late.Receipts = nil
	for i := range late.Deliveries {
		late.Receipts = append(late.Receipts, message.Receipt{Delivery: late.Deliveries[i].ID, Message: "late", State: message.Submitted})
	}
	commitAt(t, j, testTime.Add(-100*day), late)
	commitAt(t, j, testTime.Add(365*day), step("future"))
	commitAt(t, j, testTime.Add(-100*day), step("old"))
	commitAt(t, j, testTime.Add(-89*day), step("young"))
	commitAt(t, j, testTime.Add(-30*day), message.Step{Receipts: answer})
	commitAt(t, j, testTime, message.Step{Notices: []message.Notice{{Text: "the newest"}}})
	left := func() (found []message.ID) {
		for _, e := range events(t, j, Query{}) {
			if e.Message != nil {
				found = append(found, e.Message.ID)
			}
		}
		return found
	}
	for _, c := range []struct {
		keep Retention
		want []message.ID
	}{
		{Retention{Age: -1, Bytes: -1}, []message.ID{"late", "future", "old", "young"}},
		{Retention{}, []message.ID{"late", "future", "young"}},
		{Retention{Age: 50 * day}, []message.ID{"late", "future"}},
		{Retention{Age: time.Hour}, []message.ID{"future"}},
	} {
		_, err := j.Prune(t.Context(), c.keep, testTime)
		require.NoError(t, err)
		assert.Equal(t, c.want, left(), "%+v", c.keep)
	}
}

// A delivery held for an agent that has gone is kept no longer than anything else: then it expires.
func TestPrune_keptForTheGone(t *testing.T) {
	j := mustOpen(t, private(t))
	gone := message.Peer{ID: "gone", Adopted: testTime, Ended: &testTime}
	kept := func(id message.ID) message.Step {
		e := envelope(id)
		e.Chat = "over"
		d := delivery(id+"-d", e, gone.ID)
		d.Chat = e.Chat
		return message.Step{
			Received: []message.Envelope{e}, Deliveries: []message.Delivery{d},
			Verdicts: []message.Verdict{{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}},
			Receipts: []message.Receipt{{Delivery: d.ID, Message: id, Target: gone.ID, State: message.Held, Reason: message.AgentGone}},
		}
	}
	over := message.Chat{ID: "over", State: message.ChatOver, Started: testTime}
	commitAt(t, j, testTime.Add(-91*day), message.Step{Peers: []message.Peer{gone}, Chats: []message.Chat{over}})
	commitAt(t, j, testTime.Add(-91*day), kept("old"))
	commitAt(t, j, testTime.Add(-89*day), kept("young"))
	for range 2 {
		pruned, err := j.Prune(t.Context(), Retention{Bytes: 1}, testTime)
		require.NoError(t, err)
		assert.Zero(t, pruned.Messages, "it is told first")
		waiting, err := j.Waiting(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		assert.Equal(t, message.ID("young-d"), waiting[0].Delivery.ID)
		held, err := j.Held(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, held)
		stats, err := j.Stats(t.Context(), "over")
		require.NoError(t, err)
		assert.Equal(t, map[message.ReceiptState]int{message.Held: 1, message.Expired: 1}, stats.Deliveries)
		receipts, err := j.Receipts(t.Context(), "old")
		require.NoError(t, err)
		require.Len(t, receipts, 2)
		assert.Equal(t, message.Expired, receipts[1].State)
		assert.Equal(t, message.AgentGone, receipts[1].Reason)
	}
	pruned, err := j.Prune(t.Context(), Retention{}, testTime.Add(91*day))
	require.NoError(t, err)
	assert.Equal(t, Pruned{Expired: 1, Messages: 1, Events: pruned.Events, Sessions: pruned.Sessions, Bytes: pruned.Bytes, Size: pruned.Size}, pruned)
}

// A message that was taken and never answered stays as long as an agent may still answer it, but no
// longer than anything else: a line program answers nothing, and a port or a repository hardly
// ever.
func TestPrune_unanswered(t *testing.T) {
	j := mustOpen(t, private(t))
	step := message.Step{Peers: []message.Peer{
		{ID: "pane", Adopted: testTime}, {ID: "port", Kind: message.PeerPort, Adopted: testTime}, {ID: "repository", Kind: message.PeerRepository, Adopted: testTime},
	}}
	commitAt(t, j, testTime.Add(-92*day), step)
	told := map[message.ID]message.Delivery{}
	for _, age := range []int{91, 50} {
		step = message.Step{}
		at := testTime.Add(-time.Duration(age) * day)
		for _, target := range []message.ID{"pane", "port", "repository"} {
			e := envelope(message.ID(fmt.Sprint(target, age)))
			d := delivery(message.DerivedID(at, string(e.ID)), e, target)
			told[e.ID] = d
			step.Received = append(step.Received, e)
			step.Verdicts = append(step.Verdicts, message.Verdict{Message: e.ID, Decision: message.Decision{Verb: message.VerbDeliver}})
			step.Deliveries = append(step.Deliveries, d)
			step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: e.ID, Target: target, State: message.Submitted})
		}
		commitAt(t, j, at, step)
	}
	commitAt(t, j, testTime, message.Step{Notices: []message.Notice{{Text: "the newest"}}})
	left := func() (found []message.ID) {
		for _, e := range events(t, j, Query{}) {
			if e.Message != nil {
				found = append(found, e.Message.ID)
			}
		}
		return found
	}
	_, err := j.Prune(t.Context(), Retention{}, testTime)
	require.NoError(t, err)
	assert.Equal(t, []message.ID{"pane50", "port50", "repository50"}, left())
	_, err = j.Prune(t.Context(), Retention{Bytes: 1}, testTime)
	require.NoError(t, err)
	assert.Equal(t, []message.ID{"pane50"}, left())

	// A peer that has a delivery may still report on it, together with deliveries that are still
	// there.
	answer := message.Step{}
	for _, id := range []message.ID{"pane91", "port91", "pane50"} {
		answer.Receipts = append(answer.Receipts, message.Receipt{Delivery: told[id].ID, Message: id, Target: told[id].Target, State: message.Answered})
	}
	commitAt(t, j, testTime, answer)
	receipts, err := j.Receipts(t.Context(), "pane50")
	require.NoError(t, err)
	assert.Len(t, receipts, 2)
	assert.Error(t, j.Commit(t.Context(), message.Step{Receipts: []message.Receipt{{Delivery: message.NewID(), Message: "pane50", State: message.Failed}}}), "it never was")
}

func TestPrune_context(t *testing.T) {
	j := mustOpen(t, private(t))
	fill(t, j, 100, testTime.Add(-200*day), testTime.Add(-100*day))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := j.Prune(ctx, Retention{}, testTime)
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, j.Close())
	_, err = j.Prune(t.Context(), Retention{}, testTime)
	assert.ErrorIs(t, err, ErrClosed)
}

// A journal of schema 1 that was too large to be rewritten at the start shrinks when enough of it
// was pruned.
func TestPrune_largeJournalOfSchema1(t *testing.T) {
	t.Parallel()
	dir := private(t)
	golden, err := os.ReadFile(filepath.Join("testdata", "schema1.db"))
	require.NoError(t, err)
	path := filepath.Join(dir, fileName)
	require.NoError(t, os.WriteFile(path, golden, 0o600))
	db, err := openPool(t.Context(), path, 1, url.Values{"mode": {"rw"}}, "synchronous = OFF")
	require.NoError(t, err)
	old := testTime.Add(-100 * day).UnixNano()
	_, err = db.Exec(`WITH RECURSIVE n (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM n WHERE n < 1070)
		INSERT INTO events (seq, at, kind) SELECT n, ?, 'message' FROM n`, old)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO messages (seq, id, doc, body, decided) SELECT seq, 'big' || seq, '{}', hex(zeroblob(500000)), 1 FROM events WHERE seq >= 1000`)
	require.NoError(t, err)
	_, err = db.Exec(`INSERT INTO events (seq, at, kind, doc) VALUES (2000, ?, 'notice', 'the newest')`, old)
	require.NoError(t, err)
	require.NoError(t, db.Close())

	j := mustOpen(t, dir)
	assert.Equal(t, "0", scalar(t, j, "PRAGMA auto_vacuum"), "it was rewritten while a person waited")
	require.Greater(t, fileSize(t, path), int64(smallEnough))
	pruned, err := j.Prune(t.Context(), Retention{}, testTime)
	require.NoError(t, err)
	assert.Equal(t, 71, pruned.Messages)
	assert.Equal(t, "2", fresh(t, j, "PRAGMA auto_vacuum"))
	assert.Less(t, fileSize(t, path), int64(1<<20))
	assert.LessOrEqual(t, fileSize(t, path+"-wal"), int64(logLimit))
	assert.Equal(t, "ok", fresh(t, j, "PRAGMA integrity_check"))
}

// Helpers of the tests.

// fill writes n messages of an ended chat, with everything that a message goes through, evenly over
// a time.
func fill(t testing.TB, j *Journal, n int, from, to time.Time) message.Chat {
	t.Helper()
	const batch = 500
	words := make([]string, 5000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		words[i] = fmt.Sprintf("w%x", random.Uint32()>>random.IntN(16))
	}
	body := func(n int) string {
		var b strings.Builder
		for b.Len() < 185 {
			b.WriteString(words[int(float64(len(words))*random.Float64()*random.Float64())])
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "word%d common", n)
		return b.String()
	}
	chat := message.Chat{ID: message.NewID(), Name: "long", State: message.ChatOn, Started: from}
	ada, ben := message.Peer{ID: message.NewID(), Name: "Ada", Adopted: from}, message.Peer{ID: message.NewID(), Name: "Ben", Adopted: from}
	commitAt(t, j, from, message.Step{Peers: []message.Peer{ada, ben}, Chats: []message.Chat{chat}})
	for done := 0; done < n; {
		at := from.Add(time.Duration(float64(to.Sub(from)) * float64(done) / float64(n)))
		var step message.Step
		for range min(batch, n-done) {
			e := envelope(message.NewID())
			e.Chat, e.From, e.Body, e.Created = chat.ID, message.Address{Peer: ada.ID, Name: "Ada", Number: 1}, body(done), at
			d := delivery(message.NewID(), e, ben.ID)
			d.Chat = chat.ID
			step.Received = append(step.Received, e)
			step.Verdicts = append(step.Verdicts, message.Verdict{Message: e.ID, Decision: message.Decision{Verb: message.VerbDeliver, By: "built in"}, At: at})
			step.Deliveries = append(step.Deliveries, d)
			for i, state := range []message.ReceiptState{message.Queued, message.Typed, message.Submitted, message.Answered} {
				step.Receipts = append(step.Receipts, message.Receipt{
					Delivery: d.ID, Message: e.ID, Target: d.Target, State: state, At: at.Add(time.Duration(i) * 10 * time.Millisecond),
				})
			}
			done++
		}
		commitAt(t, j, at, step)
	}
	chat.State, chat.Ended, ada.Ended, ben.Ended = message.ChatOver, &to, &to, &to
	commitAt(t, j, to, message.Step{Peers: []message.Peer{ada, ben}, Chats: []message.Chat{chat}})
	return chat
}

// protect writes messages that must never be pruned, and, at the time later, messages that must not
// be as long as they have that age. It returns the ids of its messages.
func protect(t testing.TB, j *Journal, at, later time.Time) []message.ID {
	t.Helper()
	here, gone, deaf := message.Peer{ID: "here", Adopted: at}, message.Peer{ID: "gone", Adopted: at, Ended: &at}, message.Peer{ID: "deaf", Adopted: at, Ended: &at}
	on := message.Chat{ID: "on", Name: "on", State: message.ChatPaused, Started: at}
	over := message.Chat{ID: "over", Name: "over", State: message.ChatOver, Started: at}
	step := message.Step{Peers: []message.Peer{here, gone, deaf}, Chats: []message.Chat{on, over}}
	add := func(id message.ID, chat, target message.ID, why message.Reason, states ...message.ReceiptState) {
		e := envelope(id)
		e.Chat = chat
		d := delivery(id+"-d", e, target)
		d.Chat = chat
		step.Received = append(step.Received, e)
		step.Verdicts = append(step.Verdicts, message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}, At: at})
		step.Deliveries = append(step.Deliveries, d)
		for _, state := range states {
			step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: id, Target: target, State: state, Reason: why, At: at})
		}
	}
	add("queued", "", "here", "", message.Queued)
	add("held", "over", "here", message.AgentWorking, message.Queued, message.Held)
	add("typed", "", "here", "", message.Queued, message.Typed)
	add("of a chat that goes on", "on", "here", "", message.Queued, message.Failed)
	step.Received = append(step.Received, envelope("undecided"))
	commitAt(t, j, at, step)
	all := step.Received
	step = message.Step{}
	add("for one who is gone", "over", "gone", message.AgentGone, message.Queued, message.Held)
	add("unanswered", "", "here", "", message.Queued, message.Submitted)
	commitAt(t, j, later, step)
	var ids []message.ID
	for _, e := range append(all, step.Received...) {
		ids = append(ids, e.ID)
	}
	return ids
}

// whatIsOpen returns everything that a sidecar must not lose.
func whatIsOpen(t testing.TB, j *Journal) string {
	t.Helper()
	r, err := j.Restore(context.Background())
	require.NoError(t, err)
	waiting, err := j.Waiting(context.Background(), "")
	require.NoError(t, err)
	held, err := j.Held(context.Background())
	require.NoError(t, err)
	stats, err := j.Stats(context.Background(), "on")
	require.NoError(t, err)
	require.Len(t, r.Pending, 3)
	require.Len(t, waiting, 4)
	require.Len(t, r.Undecided, 1)
	r.Submitted = nil // deliveries that were taken are over, and pruned, whether answered or not
	return fmt.Sprintf("%+v\n%+v\n%d %+v", r, waiting, held, stats)
}

// fresh returns the one value of a query on a new connection. The journal's own connections
// remember values about the database and the index of words that pragmas do not look up again.
func fresh(t testing.TB, j *Journal, query string) (value string) {
	t.Helper()
	db, err := openPool(context.Background(), j.path, 1, url.Values{"mode": {"rw"}})
	require.NoError(t, err)
	require.NoError(t, db.QueryRow(query).Scan(&value))
	require.NoError(t, db.Close())
	return value
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Size()
}

// commitAt is Commit at another time.
func commitAt(t testing.TB, j *Journal, at time.Time, step message.Step) {
	t.Helper()
	require.NoError(t, j.writing(context.Background(), func(ctx context.Context, w *writer) error { return w.commit(ctx, at, step) }))
}
