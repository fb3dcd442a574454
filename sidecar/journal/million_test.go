package journal

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A journal of a million messages of some 200 bytes over 100 days, each taken and answered by one
// agent: its size, the time of each read, and the effect of Prune to its default limits, beside
// Commits.
func BenchmarkD8_millionMessages(b *testing.B) {
	if os.Getenv("INTERCOM_LONG") == "" {
		b.Skip("nine minutes: INTERCOM_LONG=1 make bench BENCH=D8")
	}
	for b.Loop() { // printed, since go test cuts logs after ten lines
		fmt.Println()
		manyMessages(b, 1_000_000, 50, func(format string, args ...any) { fmt.Printf("    "+format+"\n", args...) }, b.ReportMetric)
	}
}

// The same as the benchmark on a thousandth of its size, to check that the benchmark keeps to the
// schema, since it seldom runs.
func TestManyMessages_copied(t *testing.T) {
	t.Parallel()
	manyMessages(t, 1000, 5, t.Logf, func(float64, string) {})
}

func manyMessages(b testing.TB, messages, copies int, say func(string, ...any), metric func(float64, string)) {
	dir := private(b)
	j := mustOpen(b, dir)
	start := time.Now()
	from := testTime.Add(-100 * day)
	chat := fill(b, j, messages/copies, from, from.Add(100*day/time.Duration(copies)))
	multiply(b, j, copies, 100*day/time.Duration(copies))
	on := message.Chat{ID: message.NewID(), State: message.ChatOn, Started: testTime}
	mustCommit(b, j, message.Step{Chats: []message.Chat{on}})
	for n := range 100 {
		step := wholeStep(message.ID(fmt.Sprint("pending", n)))
		step.Receipts, step.Notices = nil, nil
		mustCommit(b, j, step)
	}
	say("%d messages written in %v", messages, time.Since(start).Round(time.Second))
	require.NoError(b, j.Close())

	timed := func(what string, do func(n int)) {
		b.Helper()
		const rounds = 11
		var times []time.Duration
		for n := range rounds {
			start := time.Now()
			do(n)
			times = append(times, time.Since(start))
		}
		first := times[0]
		slices.Sort(times)
		say("%-32s first %8.2f ms, median %8.2f ms", what, milliseconds(first), milliseconds(times[rounds/2]))
		metric(milliseconds(times[rounds/2]), what+"-ms")
	}
	reads := func() {
		ctx := context.Background()
		found := 0
		query := func(q Query) func(int) {
			return func(int) { found = len(events(b, j, q)) }
		}
		timed("restore", func(int) {
			r, err := j.Restore(ctx)
			require.NoError(b, err)
			require.Len(b, r.Pending, 200)
		})
		timed("newest-100", query(Query{Newest: true, Limit: 100}))
		require.Equal(b, 100, found)
		timed("newest-100-of-chat", query(Query{Chat: chat.ID, Newest: true, Limit: 100}))
		timed("search-rare", query(Query{Search: fmt.Sprint("word", messages/copies-1), Newest: true, Limit: 100}))
		timed("search-common", query(Query{Search: "common", Newest: true, Limit: 100}))
		timed("search-two-common", query(Query{Search: "common word1", Newest: true, Limit: 100}))
		timed("search-sign", query(Query{Search: "不", Newest: true, Limit: 100}))
		timed("seen", func(n int) {
			_, err := j.Seen(ctx, message.NewID())
			require.NoError(b, err)
		})
		timed("stats", func(int) {
			stats, err := j.Stats(ctx, chat.ID)
			require.NoError(b, err)
			require.Equal(b, messages, stats.Turns)
		})
		timed("held", func(int) {
			_, err := j.Held(ctx)
			require.NoError(b, err)
		})
		timed("commit", func(n int) { mustCommit(b, j, wholeStep(message.NewID())) })
	}
	start = time.Now()
	j = mustOpen(b, dir)
	say("database %d MB, opened in %v", fileSize(b, j.Path())>>20, time.Since(start).Round(time.Millisecond))
	reads()

	for _, keep := range []Retention{{Bytes: -1}, {}} {
		stop, committed := make(chan struct{}), make(chan []time.Duration)
		go beside(b, j, stop, committed)
		start = time.Now()
		pruned, err := j.Prune(context.Background(), keep, testTime)
		took := time.Since(start)
		close(stop)
		waits := <-committed
		require.NoError(b, err)
		slices.Sort(waits)
		say("prune %+v: %v, %+v; beside it %d commits, p50 %v, p99 %v, max %v", keep, took.Round(time.Millisecond), pruned,
			len(waits), waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
		say("database %d MB, log %d MB", fileSize(b, j.Path())>>20, fileSize(b, j.Path()+"-wal")>>20)
		metric(took.Seconds(), fmt.Sprintf("prune-%d-s", pruned.Messages))
	}
	start = time.Now()
	_, err := j.Prune(context.Background(), Retention{}, testTime)
	require.NoError(b, err)
	say("prune with nothing to do: %v", time.Since(start).Round(time.Millisecond))
	require.Equal(b, "ok", fresh(b, j, "PRAGMA quick_check"))
	require.NoError(b, j.Close())
}

// Helpers of the tests.

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// beside commits with a pause after each until it is stopped, and returns how long each took.
func beside(b testing.TB, j *Journal, stop <-chan struct{}, done chan<- []time.Duration) {
	var waits []time.Duration
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		start := time.Now()
		if err := j.Commit(context.Background(), message.Step{Notices: []message.Notice{{Text: "meanwhile"}}}); err != nil {
			b.Error(err)
		}
		waits = append(waits, time.Since(start))
		select {
		case <-stop:
			done <- waits
			return
		case <-tick.C:
		}
	}
}

// multiply copies the entries of fill. Each copy has ids of its own and is later by so much. The
// documents keep the ids of the first.
func multiply(b testing.TB, j *Journal, copies int, later time.Duration) {
	b.Helper()
	require.NoError(b, j.writing(context.Background(), func(ctx context.Context, w *writer) error {
		count := func(table string) (n int64) {
			require.NoError(b, w.db.QueryRow(`SELECT max(seq) FROM `+table).Scan(&n))
			return n
		}
		e, v, d := count("events"), count("verdicts"), count("deliveries")
		id := func(column string) string {
			return `printf('%08x', 0x1a000000 + ?1) || substr(` + column + `, 9, 20) || printf('%08x', abs(random()) % 4294967296)`
		}
		for k := int64(1); k < int64(copies); k++ {
			tx, err := w.db.Begin()
			require.NoError(b, err)
			defer tx.Rollback() // where a statement fails: the journal could not be closed
			for _, statement := range []string{
				`INSERT INTO events SELECT seq + ?1 * ?2, at + ?1 * ?5, kind, chat, doc FROM events WHERE seq <= ?2 AND kind IN ('message', 'receipt') ORDER BY seq`,
				`INSERT INTO messages SELECT seq + ?1 * ?2, ` + id("id") + `, doc, body, said, decided, passed FROM messages WHERE seq <= ?2 ORDER BY seq`,
				`INSERT INTO verdicts SELECT seq + ?1 * ?3, message + ?1 * ?2, doc, body FROM verdicts WHERE seq <= ?3 ORDER BY seq`,
				`INSERT INTO deliveries SELECT seq + ?1 * ?4, ` + id("id") + `, message + ?1 * ?2, chat, doc, envelope, body, open, typed, last + ?1 * ?2,
					target, state, parked, unanswered FROM deliveries WHERE seq <= ?4 ORDER BY seq`,
				`INSERT INTO receipts SELECT seq + ?1 * ?2, delivery + ?1 * ?4, message + ?1 * ?2, doc, words FROM receipts WHERE seq <= ?2 ORDER BY seq`,
				`INSERT INTO words (rowid, body) SELECT seq + ?1 * ?2, body FROM messages WHERE seq <= ?2 ORDER BY seq`,
			} {
				_, err := tx.Exec(statement, k, e, v, d, int64(later))
				require.NoError(b, err, statement)
			}
			require.NoError(b, tx.Commit())
		}
		_, err := w.db.Exec(`UPDATE tallies SET n = n * ?1; UPDATE chats SET turns = turns * ?1`, copies)
		return err
	}))
}
