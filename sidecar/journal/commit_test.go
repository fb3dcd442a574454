package journal

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var testTime = time.Date(2026, 11, 21, 13, 7, 9, 123456789, time.UTC)

// Everything that is written comes back equal, whichever way it is read.
func TestJournal_roundTrip(t *testing.T) {
	t.Parallel()
	dir := private(t)
	j := mustOpen(t, dir)
	rapid.Check(t, func(t *rapid.T) {
		if rapid.IntRange(0, 9).Draw(t, "reopen") == 0 {
			require.NoError(t, j.Close())
			var err error
			j, err = Open(context.Background(), dir)
			require.NoError(t, err)
		}
		ctx := context.Background()
		since := newest(t, j)
		session, chat := drawSession(t), drawChat(t)
		envelope := drawEnvelope(t, chat.ID)
		verdict := drawVerdict(t, envelope.ID)
		deliveries := []message.Delivery{drawDelivery(t, envelope, chat.ID), drawDelivery(t, envelope, ""), drawDelivery(t, envelope, chat.ID)}
		deliveries[1].Message.Body = drawBody(t)  // as a policy changed it
		deliveries[2].Message.Subject += " (fwd)" // as a route changed it
		receipts := []message.Receipt{drawReceipt(t, deliveries[0]), drawReceipt(t, deliveries[1]), drawReceipt(t, deliveries[0])}
		notices := []message.Notice{{Text: rapid.String().Draw(t, "notice")}, {Chat: chat.ID, Text: "of the chat"}}
		require.NoError(t, j.Commit(ctx, message.Step{
			Peers: []message.Peer{session}, Chats: []message.Chat{chat}, Received: []message.Envelope{envelope},
			Verdicts: []message.Verdict{verdict}, Deliveries: deliveries, Receipts: receipts, Notices: notices,
		}))

		seen, err := j.Seen(ctx, envelope.ID)
		require.NoError(t, err)
		assert.True(t, seen)
		got, err := j.Message(ctx, string(envelope.ID))
		require.NoError(t, err)
		assert.Equal(t, envelope, got)
		gotVerdicts, err := j.Verdicts(ctx, envelope.ID)
		require.NoError(t, err)
		assert.Equal(t, []message.Verdict{verdict}, gotVerdicts)
		gotDeliveries, err := j.Deliveries(ctx, envelope.ID)
		require.NoError(t, err)
		assert.Equal(t, deliveries, gotDeliveries)
		gotReceipts, err := j.Receipts(ctx, envelope.ID)
		require.NoError(t, err)
		assert.Equal(t, receipts, gotReceipts)
		chats, err := j.Chats(ctx, chat.State == message.ChatOver)
		require.NoError(t, err)
		assert.Equal(t, chat, chats[len(chats)-1])

		bare := func(d message.Delivery, r message.Receipt) *message.Delivery {
			if r.State != message.Typed || d.Message.Body == envelope.Body {
				d.Message.Body = "" // only a text that differs from the message is returned again
			}
			return &d
		}
		log, err := j.Events(ctx, Query{Since: since})
		require.NoError(t, err)
		for i := range log {
			assert.WithinDuration(t, time.Now(), log[i].At, time.Minute)
			log[i].At = time.Time{}
		}
		assert.Equal(t, []message.Event{
			{Seq: since + 1, Kind: "session", Peer: &session},
			{Seq: since + 2, Kind: "chat", Chat: chat.ID, Change: &chat},
			{Seq: since + 3, Kind: "message", Chat: envelope.Chat, Message: &envelope},
			{Seq: since + 4, Kind: "receipt", Chat: chat.ID, Receipt: &receipts[0], Delivery: bare(deliveries[0], receipts[0])},
			{Seq: since + 5, Kind: "receipt", Receipt: &receipts[1], Delivery: bare(deliveries[1], receipts[1])},
			{Seq: since + 6, Kind: "receipt", Chat: chat.ID, Receipt: &receipts[2], Delivery: bare(deliveries[0], receipts[2])},
			{Seq: since + 7, Kind: "notice", Notice: notices[0].Text},
			{Seq: since + 8, Kind: "notice", Chat: chat.ID, Notice: notices[1].Text},
		}, log)
	})
	require.NoError(t, j.Close())
}

func TestCommit_wordsByteForByte(t *testing.T) {
	j := mustOpen(t, private(t))
	step := wholeStep("m")
	step.Receipts[0].Words = "\x00\xff\xfe not UTF-8 \xc3\x28"
	mustCommit(t, j, step)
	receipts, err := j.Receipts(t.Context(), "m")
	require.NoError(t, err)
	assert.Equal(t, step.Receipts[0].Words, receipts[0].Words)
}

// A step is written whole or not at all, wherever it fails.
func TestCommit_allOrNothing(t *testing.T) {
	j := mustOpen(t, private(t))
	mustCommit(t, j, wholeStep("first"))
	for name, c := range map[string]struct {
		spoil func(*message.Step)
		is    error
	}{
		"third message is a duplicate": {func(s *message.Step) {
			s.Received = append(s.Received, envelope("x"), envelope("first"))
		}, ErrDuplicate},
		"same message twice in the step": {func(s *message.Step) { s.Received = append(s.Received, s.Received[0]) }, ErrDuplicate},
		"invalid message":                {func(s *message.Step) { s.Received = append(s.Received, message.Envelope{ID: "x"}) }, nil},
		"body too long": {func(s *message.Step) {
			s.Received = append(s.Received, message.Envelope{ID: "x", Type: "t", Body: strings.Repeat("x", message.MaxBody+1)})
		}, nil},
		"verdict on an unknown message": {func(s *message.Step) {
			s.Verdicts = append(s.Verdicts, message.Verdict{Message: "unknown", Decision: message.Decision{Verb: message.VerbDrop}})
		}, ErrNotFound},
		"delivery of an unknown message": {func(s *message.Step) {
			s.Deliveries = append(s.Deliveries, delivery("x", envelope("unknown"), "s"))
		}, ErrNotFound},
		"delivery that was of another message": {func(s *message.Step) {
			s.Deliveries = append(s.Deliveries, delivery("first-d1", s.Received[0], "s"))
		}, ErrNotFound},
		"third receipt of an unknown delivery": {func(s *message.Step) {
			s.Receipts = append(s.Receipts, message.Receipt{Delivery: "unknown", Message: "first", State: message.Queued})
		}, ErrNotFound},
		"receipt of nothing": {func(s *message.Step) {
			s.Receipts = append(s.Receipts, message.Receipt{State: message.Failed})
		}, ErrNotFound},
		"a year that JSON has not": {func(s *message.Step) {
			s.Chats = append(s.Chats, message.Chat{ID: "x", Started: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := dump(t, j)
			step := wholeStep("second")
			c.spoil(&step)
			err := j.Commit(t.Context(), step)
			require.Error(t, err)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			assert.Equal(t, before, dump(t, j), "something of a refused step is in the journal")
		})
	}
	mustCommit(t, j, wholeStep("second"))
}

// Steps that are written together have the same effect as one by one; if one of them cannot be written, none is.
func TestCommit_together(t *testing.T) {
	t.Parallel()
	one, many, checks := mustOpen(t, private(t)), mustOpen(t, private(t)), 0
	rapid.Check(t, func(r *rapid.T) {
		checks++
		steps := drawSteps(r, fmt.Sprint("check", checks, "-"))
		for _, s := range steps {
			mustCommit(t, one, s)
		}
		for left := steps; len(left) > 0; {
			n := rapid.IntRange(1, len(left)).Draw(r, "together")
			mustCommit(t, many, left[:n]...)
			left = left[n:]
		}
		require.Equal(r, newest(r, one), newest(r, many))
	})
	require.Equal(t, tables(t, one), tables(t, many))
	require.ErrorIs(t, many.Commit(t.Context(), wholeStep("another"), wholeStep("another")), ErrDuplicate)
	require.NoError(t, many.Commit(t.Context()))
	require.Equal(t, tables(t, one), tables(t, many))
}

// The texts that the verdicts of one commit let out go into the index together, as one segment, and not message by
// message.
func TestQ7_textsAreIndexedTogether(t *testing.T) {
	j := mustOpen(t, private(t))
	var steps []message.Step
	for i := range 8 {
		steps = append(steps, wholeStep(message.ID(fmt.Sprint("m", i))))
	}
	segments := func() string { return scalar(t, j, `SELECT count(DISTINCT segid) FROM words_idx`) }
	require.Equal(t, "0", segments())
	mustCommit(t, j, steps...)
	require.Equal(t, "8", scalar(t, j, `SELECT count(*) FROM words_docsize`))
	require.Equal(t, "1", segments())
}

func TestCommit_context(t *testing.T) {
	j := mustOpen(t, private(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, j.Commit(ctx, wholeStep("m")), context.Canceled)
	assert.Empty(t, events(t, j, Query{}))

	// Waiting for the writer ends with the context too.
	<-j.turn
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, j.Commit(ctx, wholeStep("m")), context.DeadlineExceeded)
	j.turn <- struct{}{}
	mustCommit(t, j, wholeStep("m"))
}

func TestCommit_nothingChanged(t *testing.T) {
	j := mustOpen(t, private(t))
	mustCommit(t, j, message.Step{})
	session := message.Peer{ID: "s", Name: "a", Adopted: testTime}
	chat := message.Chat{ID: "c", State: message.ChatOn, Started: testTime}
	for range 3 {
		mustCommit(t, j, message.Step{Peers: []message.Peer{session}, Chats: []message.Chat{chat}})
	}
	require.Len(t, events(t, j, Query{}), 2)
	session.State, chat.State = message.Working, message.ChatPaused
	mustCommit(t, j, message.Step{Peers: []message.Peer{session}, Chats: []message.Chat{chat}})
	log := events(t, j, Query{})
	require.Len(t, log, 4)
	assert.Equal(t, message.PaneState(""), log[0].Peer.State, "the log shows each as it was then")
	assert.Equal(t, message.Working, log[2].Peer.State)
	assert.Equal(t, message.ChatOn, log[1].Change.State)
	assert.Equal(t, message.ChatPaused, log[3].Change.State)
}

func TestRestore(t *testing.T) {
	dir := private(t)
	j := mustOpen(t, dir)
	there, gone := message.Peer{ID: "there", Adopted: testTime}, message.Peer{ID: "gone", Adopted: testTime}
	on, paused, over := message.Chat{ID: "on", State: message.ChatOn}, message.Chat{ID: "paused", State: message.ChatPaused}, message.Chat{ID: "over", State: message.ChatOn}
	decided, undecided := envelope("decided"), envelope("undecided")
	fresh, typed, held, final := delivery("fresh", decided, "there"), delivery("typed", decided, "there"), delivery("held", decided, "there"), delivery("final", decided, "there")
	receipt := func(d message.Delivery, state message.ReceiptState) message.Receipt {
		return message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: state, At: testTime}
	}
	mustCommit(t, j, message.Step{
		Peers: []message.Peer{there, gone}, Chats: []message.Chat{on, paused, over}, Received: []message.Envelope{decided, undecided},
	})
	first := message.Verdict{Message: decided.ID, Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: message.VerbDrop}, At: testTime}
	last := message.Verdict{Message: decided.ID, Decision: message.Decision{Verb: message.VerbDeliver}, Person: message.Person{Name: "ada", UID: 1000, Terminal: "/dev/pts/3"}, At: testTime}
	mustCommit(t, j, message.Step{
		Verdicts:   []message.Verdict{first, last},
		Deliveries: []message.Delivery{fresh, typed, held, final},
		Receipts:   []message.Receipt{receipt(typed, message.Queued), receipt(held, message.Queued), receipt(final, message.Queued)},
	})
	gone.Ended, over.State = &testTime, message.ChatOver
	mustCommit(t, j, message.Step{
		Peers: []message.Peer{gone}, Chats: []message.Chat{over},
		Receipts: []message.Receipt{
			receipt(typed, message.Typed), receipt(typed, message.Held), receipt(held, message.Held), receipt(final, message.Failed),
		},
	})

	typed.Typed = true // its last receipt no longer says so
	want := Restored{
		Sessions: []message.Peer{there}, Chats: []message.Chat{on, paused}, Undecided: []message.Envelope{undecided},
		Depths: map[message.ID]Depth{"there": {Last: 1, Cause: 0}}, Taken: map[message.ID]int{"on": 0, "paused": 0},
		Pending: []Pending{
			{Delivery: fresh, Verdict: last},
			{Delivery: typed, Last: receipt(typed, message.Held), Verdict: last},
			{Delivery: held, Last: receipt(held, message.Held), Verdict: last},
		},
	}
	got, err := j.Restore(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
	require.NoError(t, j.Close())
	got, err = mustOpen(t, dir).Restore(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// A turn on another computer that arrived in several copies counts once, for the next run and for the statistics,
// whatever happens to the copies.
func TestCommit_copiesOfATurnCountOnce(t *testing.T) {
	j := mustOpen(t, private(t))
	first, second, third := envelope("first"), envelope("second"), envelope("third")
	second.CopyOf, third.CopyOf = "said", "said"
	step := message.Step{Chats: []message.Chat{{ID: "c", State: message.ChatOn}}}
	for _, m := range []message.Envelope{first, second, third} {
		m.Chat = "c"
		d := delivery("to "+m.ID, m, "there")
		d.Chat = "c"
		step.Received, step.Deliveries = append(step.Received, m), append(step.Deliveries, d)
	}
	mustCommit(t, j, step)
	mustCommit(t, j, message.Step{Receipts: []message.Receipt{{Delivery: "to first", Message: first.ID, Target: "there", State: message.Typed, At: testTime}}})
	got, err := j.Restore(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, got.Taken["c"])
	stats, err := j.Stats(t.Context(), "c")
	require.NoError(t, err)
	assert.Equal(t, 1, stats.Turns, "two copies wait still")
}

// A delivery that is handed over again keeps its place and its receipts.
func TestCommit_deliveryAgain(t *testing.T) {
	j := mustOpen(t, private(t))
	mustCommit(t, j, wholeStep("m"))
	before, err := j.Deliveries(t.Context(), "m")
	require.NoError(t, err)
	again := before[0]
	again.Attempt++
	again.Typed = true
	mustCommit(t, j, message.Step{Deliveries: []message.Delivery{again}})
	after, err := j.Deliveries(t.Context(), "m")
	require.NoError(t, err)
	assert.Equal(t, []message.Delivery{again, before[1]}, after)
	receipts, err := j.Receipts(t.Context(), "m")
	require.NoError(t, err)
	assert.Len(t, receipts, 2)
}

func TestMessage_shortID(t *testing.T) {
	j := mustOpen(t, private(t))
	step := message.Step{
		Chats: []message.Chat{{ID: "01930000-0000-7000-8000-0000cccccccc"}},
		Received: []message.Envelope{
			envelope("01930000-0000-7000-8000-0000aaaaaaaa"), envelope("01930000-0000-7000-8000-1111bbbbbbbb"), envelope("01930000-0000-7000-8000-2222bbbbbbbb"),
		},
	}
	step.Deliveries = []message.Delivery{delivery("01930000-0000-7000-8000-0000dddddddd", step.Received[0], "s")}
	mustCommit(t, j, step)
	for _, name := range []string{"01930000-0000-7000-8000-0000aaaaaaaa", "aaaaaaaa", " AAAAAAAA\n", "aaaa", "AaAaA", "01930000-0000-7000-8000-0000a"} {
		got, err := j.Message(t.Context(), name)
		require.NoError(t, err, name)
		assert.Equal(t, step.Received[0], got)
	}
	_, err := j.Message(t.Context(), "bbbbbbbb")
	assert.ErrorIs(t, err, ErrAmbiguous)
	assert.ErrorContains(t, err, "01930000-0000-7000-8000-1111bbbbbbbb, 01930000-0000-7000-8000-2222bbbbbbbb")
	for _, name := range []string{"", "aaa", "aaab", "dddddddd", "%", "%aaa", "0000aaaaaaaa"} {
		_, err := j.Message(t.Context(), name)
		assert.ErrorIs(t, err, ErrNotFound, name)
	}

	for name, want := range map[string]Query{
		"aaaaaaaa":                             {Message: "01930000-0000-7000-8000-0000aaaaaaaa"},
		"01930000-0000-7000-8000-1111bbbbbbbb": {Message: "01930000-0000-7000-8000-1111bbbbbbbb"},
		"cccccccc":                             {Chat: "01930000-0000-7000-8000-0000cccccccc"},
		"dddddddd":                             {Delivery: "01930000-0000-7000-8000-0000dddddddd"},
	} {
		got, err := j.Find(t.Context(), name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got)
	}
	_, err = j.Find(t.Context(), "bbbbbbbb")
	assert.ErrorIs(t, err, ErrAmbiguous)
	_, err = j.Find(t.Context(), "eeeeeeee")
	assert.ErrorIs(t, err, ErrNotFound)
}

// Readers see only whole steps, while another goroutine writes and the journal is finally closed under them.
func TestJournal_readersBesideTheWriter(t *testing.T) {
	t.Parallel()
	j := mustOpen(t, private(t))
	var all sync.WaitGroup
	reads := make([]int, 4)
	for n := range reads {
		all.Go(func() {
			for since := int64(0); ; reads[n]++ {
				log, err := j.Events(context.Background(), Query{Since: since, Limit: 400})
				if err != nil {
					assert.ErrorIs(t, err, ErrClosed)
					return
				}
				if !assert.Zero(t, len(log)%wholeEvents, "half a step was read") {
					return
				}
				for i := range log {
					if !assert.Equal(t, since+int64(i)+1, log[i].Seq) {
						return
					}
				}
				since += int64(len(log))
				r, err := j.Restore(context.Background())
				if err == nil {
					assert.Zero(t, len(r.Pending), "a step ends its deliveries")
				}
			}
		})
	}
	written := 60
	if os.Getenv("INTERCOM_LONG") != "" {
		written = 200
	}
	for range written {
		mustCommit(t, j, wholeStep(message.NewID()))
	}
	require.NoError(t, j.Close())
	all.Wait()
	t.Logf("%d steps written, %v times read beside it", written, reads)
	for _, n := range reads {
		assert.Positive(t, n)
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1 << 10, 100 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			j := mustOpen(b, private(b))
			body := strings.Repeat("what one pane says, the other hears; ", size/37)
			times := make([]time.Duration, 0, b.N)
			for b.Loop() {
				step := wholeStep(message.NewID())
				step.Received[0].Body = body
				start := time.Now()
				mustCommit(b, j, step)
				times = append(times, time.Since(start))
			}
			reportTimes(b, times)
		})
	}
	for _, n := range []int{8, 16, 32, 64} {
		b.Run(fmt.Sprintf("%d steps together", n), func(b *testing.B) {
			j := mustOpen(b, private(b))
			var times []time.Duration
			for b.Loop() {
				steps := make([]message.Step, n)
				for i := range steps {
					steps[i] = wholeStep(message.NewID())
				}
				start := time.Now()
				mustCommit(b, j, steps...)
				times = append(times, time.Since(start))
			}
			reportTimes(b, times)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/step")
		})
	}
	b.Run("receipt", func(b *testing.B) {
		j := mustOpen(b, private(b))
		mustCommit(b, j, wholeStep("m"))
		receipt := message.Receipt{Delivery: "m-d1", Message: "m", Target: "s", State: message.Held, Reason: message.AgentWorking, At: testTime}
		var times []time.Duration
		for b.Loop() {
			start := time.Now()
			mustCommit(b, j, message.Step{Receipts: []message.Receipt{receipt}})
			times = append(times, time.Since(start))
		}
		reportTimes(b, times)
	})
}

func BenchmarkRestore10000(b *testing.B) {
	j := mustOpen(b, private(b))
	var step message.Step
	for range 10000 {
		e := envelope(message.NewID())
		step.Received = append(step.Received, e)
		step.Deliveries = append(step.Deliveries, delivery(message.NewID(), e, "s"))
	}
	mustCommit(b, j, step)
	for b.Loop() {
		r, err := j.Restore(b.Context())
		require.NoError(b, err)
		require.Len(b, r.Pending, 10000)
	}
}

// Helpers of the tests.

// wholeEvents is the number of events that a wholeStep makes.
const wholeEvents = 4

// wholeStep returns a step with all parts of a message's life, whose ids begin with id.
func wholeStep(id message.ID) message.Step {
	e := envelope(id)
	e.Chat = "chat"
	e.Body = strings.Repeat("what "+string(id)+" says; ", 20)
	d1, d2 := delivery(id+"-d1", e, "s1"), delivery(id+"-d2", e, "s2")
	return message.Step{
		Received:   []message.Envelope{e},
		Verdicts:   []message.Verdict{{Message: id, Decision: message.Decision{Verb: message.VerbDeliver, By: "built in"}, At: testTime}},
		Deliveries: []message.Delivery{d1, d2},
		Receipts: []message.Receipt{
			{Delivery: d1.ID, Message: id, Target: d1.Target, State: message.Answered, Words: "yes", At: testTime},
			{Delivery: d2.ID, Message: id, Target: d2.Target, State: message.Failed, Reason: message.PaneDead, At: testTime},
		},
		Notices: []message.Notice{{Text: "notice " + string(id)}},
		Records: []message.Record{{Kind: "whole", ID: string(id), Doc: []byte(`{"of":"` + string(id) + `"}`)}},
	}
}

func envelope(id message.ID) message.Envelope {
	return message.Envelope{ID: id, Type: message.KindTurn, Body: "hello", Origin: message.OriginAgent, Trust: message.TrustVerified, Created: testTime}
}

func delivery(id message.ID, e message.Envelope, target message.ID) message.Delivery {
	return message.Delivery{ID: id, Message: e, Target: target, Form: message.Form{Head: "[A] (1):", Separator: "\n\n"}, Attempt: 1}
}

// drawSteps returns steps of a few messages; each step contains a part of their lives.
func drawSteps(t *rapid.T, prefix string) (steps []message.Step) {
	for i := range rapid.IntRange(1, 6).Draw(t, "messages") {
		whole := wholeStep(message.ID(fmt.Sprint(prefix, i)))
		whole.Peers = []message.Peer{{ID: "s1", Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), Adopted: testTime}}
		whole.Chats = []message.Chat{{ID: "chat", State: rapid.SampledFrom([]message.ChatState{message.ChatOn, message.ChatPaused}).Draw(t, "state"), Started: testTime}}
		if rapid.Bool().Draw(t, "whole") {
			steps = append(steps, whole, message.Step{})
			continue
		}
		steps = append(steps, message.Step{Chats: whole.Chats, Received: whole.Received},
			message.Step{Peers: whole.Peers, Verdicts: whole.Verdicts, Deliveries: whole.Deliveries, Notices: whole.Notices})
		for _, r := range whole.Receipts {
			for _, state := range []message.ReceiptState{message.Queued, message.Typed, message.Submitted, r.State} {
				r.State = state
				steps = append(steps, message.Step{Receipts: []message.Receipt{r}, Freed: []message.ID{"s1"}, Spoke: []message.Spoken{{Peer: "s2", Depth: 2, Cause: 1}}})
			}
		}
	}
	return steps
}

// tables returns the content of every table except the times of writing.
func tables(t testing.TB, j *Journal) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, j.reading(context.Background(), func(tx *sql.Tx) error {
		names, err := collect(context.Background(), tx, scanText, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'words%' AND name NOT LIKE 'sqlite%' ORDER BY name`)
		if err != nil {
			return err
		}
		for _, name := range names {
			columns, err := collect(context.Background(), tx, scanText, `SELECT 'quote(' || name || ')' FROM pragma_table_info(?) WHERE NOT (?1 = 'events' AND name = 'at' OR ?1 = 'records' AND name = 'changed') ORDER BY cid`, name)
			if err != nil {
				return err
			}
			rows, err := collect(context.Background(), tx, scanText, `SELECT `+strings.Join(columns, " || ' ' || ")+` FROM `+name+` ORDER BY 1`)
			if err != nil {
				return err
			}
			fmt.Fprintln(&b, name, len(rows))
			for _, row := range rows {
				fmt.Fprintln(&b, "\t"+row)
			}
		}
		return nil
	}))
	return b.String()
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

// dump returns everything that can be read.
func dump(t testing.TB, j *Journal) string {
	t.Helper()
	var b strings.Builder
	r, err := j.Restore(context.Background())
	require.NoError(t, err)
	fmt.Fprintf(&b, "%+v\n", r)
	for _, e := range events(t, j, Query{}) {
		doc, err := encode(e)
		require.NoError(t, err)
		b.WriteString(doc + "\n")
	}
	for _, table := range []string{"events", "sessions", "chats", "messages", "verdicts", "deliveries", "receipts", "words", "records"} {
		fmt.Fprintln(&b, table, scalar(t, j, "SELECT count(*) FROM "+table))
	}
	return b.String()
}

func newest(t require.TestingT, j *Journal) int64 {
	log, err := j.Events(context.Background(), Query{Limit: 1, Newest: true})
	require.NoError(t, err)
	if len(log) == 0 {
		return 0
	}
	return log[0].Seq
}

func drawTime(t *rapid.T, label string) time.Time {
	return time.Unix(rapid.Int64Range(-1<<33, 1<<36).Draw(t, label), rapid.Int64Range(0, 999_999_999).Draw(t, label+" ns")).UTC()
}

func drawOptionalTime(t *rapid.T, label string) *time.Time {
	if !rapid.Bool().Draw(t, label+" set") {
		return nil
	}
	at := drawTime(t, label)
	return &at
}

// drawBody returns valid UTF-8, with NUL, escapes and characters that SQL or JSON may trip over.
func drawBody(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("a\x00'\"\\%_;-\n\r\t\x1b\x7f<>&\u2028\uFEFF\uFFFD漢字é👩‍👩‍👧"))),
		rapid.StringN(500, 2000, -1),
	).Draw(t, "body")
}

func drawIDs(t *rapid.T, label string) message.ID {
	return rapid.Custom(func(t *rapid.T) message.ID {
		return message.ID(rapid.StringMatching(`|[0-9a-f]{8}`).Draw(t, "id"))
	}).Draw(t, label)
}

func drawAddress(t *rapid.T) message.Address {
	return message.Address{
		Computer: rapid.String().Draw(t, "computer"), Peer: drawIDs(t, "session"),
		Name: rapid.String().Draw(t, "name"), Number: rapid.IntRange(0, 9).Draw(t, "number"),
	}
}

func drawEnvelope(t *rapid.T, chat message.ID) message.Envelope {
	e := message.Envelope{
		ID: message.NewID(), Chat: rapid.SampledFrom([]message.ID{"", chat, "other"}).Draw(t, "thread"), From: drawAddress(t),
		Type:     rapid.SampledFrom([]string{message.KindMessage, message.KindTurn, "own"}).Draw(t, "type"),
		Priority: rapid.String().Draw(t, "priority"), Subject: rapid.String().Draw(t, "subject"), Body: drawBody(t),
		InReplyTo: drawIDs(t, "in reply to"), RequiresResponse: rapid.Bool().Draw(t, "requires"),
		Origin: message.OriginAgent, Trust: message.TrustVerified, Depth: rapid.Int().Draw(t, "depth"), Created: drawTime(t, "created"),
		Truncated: rapid.Bool().Draw(t, "truncated"),
	}
	if rapid.Bool().Draw(t, "lists") {
		e.To = []message.Address{drawAddress(t), {}}
		e.Tags = rapid.SliceOfN(rapid.String(), 1, 3).Draw(t, "tags")
		e.Meta = rapid.MapOfN(rapid.String(), rapid.String(), 1, 3).Draw(t, "meta")
	}
	return e
}

func drawVerdict(t *rapid.T, id message.ID) message.Verdict {
	v := message.Verdict{
		Message: id, Decision: message.Decision{Verb: rapid.SampledFrom([]message.Verb{message.VerbDeliver, message.VerbAck, message.VerbAsk, message.VerbHold, message.VerbBounce, message.VerbDrop}).Draw(t, "verb"), Reason: rapid.String().Draw(t, "reason"), By: rapid.String().Draw(t, "by")}, At: drawTime(t, "at"),
	}
	if rapid.Bool().Draw(t, "replaces") {
		body := drawBody(t)
		v.Body, v.To = &body, []message.Address{drawAddress(t)}
	}
	return v
}

func drawDelivery(t *rapid.T, e message.Envelope, chat message.ID) message.Delivery {
	return message.Delivery{
		ID: message.NewID(), Message: e, Target: drawIDs(t, "target"), Chat: chat, Form: message.Form{
			Head: rapid.String().Draw(t, "head"), Separator: rapid.String().Draw(t, "separator"), Formatted: rapid.Bool().Draw(t, "formatted"),
			LineBreak: rapid.String().Draw(t, "line break"), AsIs: rapid.Bool().Draw(t, "as is"),
		},
		Attempt: rapid.Int().Draw(t, "attempt"), Typed: rapid.Bool().Draw(t, "typed"),
	}
}

func drawReceipt(t *rapid.T, d message.Delivery) message.Receipt {
	r := message.Receipt{
		Delivery: d.ID, Message: d.Message.ID, Target: d.Target, Reason: message.Reason(rapid.String().Draw(t, "reason")),
		State: rapid.SampledFrom([]message.ReceiptState{
			message.Queued, message.Held, message.Typed, message.Submitted, message.Answered, message.Failed, message.Expired, message.Uncertain,
		}).Draw(t, "state"),
		Sanitised: rapid.Int().Draw(t, "sanitised"), Words: drawBody(t), At: drawTime(t, "at"),
	}
	if rapid.Bool().Draw(t, "with evidence") {
		r.Evidence = []message.Evidence{{Source: "screen", Says: rapid.String().Draw(t, "says"), At: drawTime(t, "seen")}, {}}
	}
	return r
}

func drawSession(t *rapid.T) message.Peer {
	process := func(label string) message.Process {
		return message.Process{PID: rapid.Int().Draw(t, label), Start: rapid.Uint64().Draw(t, label+" start"), Name: rapid.String().Draw(t, label+" name")}
	}
	return message.Peer{
		ID: message.NewID(), Name: rapid.String().Draw(t, "name"), Title: rapid.String().Draw(t, "title"), Computer: "local",
		PaneOf:   message.PaneOf{Pane: rapid.StringMatching(`%[0-9]{1,3}`).Draw(t, "pane"), TTY: rapid.String().Draw(t, "tty"), Profile: "line", Prompt: rapid.String().Draw(t, "prompt"), PaneProc: process("pane process"), Foreground: process("foreground")},
		StateWhy: rapid.String().Draw(t, "why"),
		State:    message.Idle,
		Adopted:  drawTime(t, "adopted"), Ended: drawOptionalTime(t, "ended"), EndReason: rapid.String().Draw(t, "end reason"),
	}
}

func drawChat(t *rapid.T) message.Chat {
	c := message.Chat{
		ID: message.NewID(), Name: rapid.String().Draw(t, "name"), Why: rapid.String().Draw(t, "why"),
		State:   rapid.SampledFrom([]message.ChatState{message.ChatOn, message.ChatPaused, message.ChatOver}).Draw(t, "state"),
		Limits:  message.Limits{Depth: rapid.Int().Draw(t, "depth"), Rate: rapid.Int().Draw(t, "rate"), LineBreak: rapid.String().Draw(t, "line break"), Words: rapid.SampledFrom([]string{"", "last", "all"}).Draw(t, "words"), Person: rapid.Bool().Draw(t, "person")},
		Started: drawTime(t, "started"), Ended: drawOptionalTime(t, "ended"),
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "participants") {
		c.Participants = append(c.Participants, message.Participant{
			Peer: drawIDs(t, "session"), Name: rapid.String().Draw(t, "participant"), Number: n + 1, Role: rapid.String().Draw(t, "role"),
			MaySpeak: rapid.Bool().Draw(t, "may speak"), Left: rapid.Bool().Draw(t, "left"),
		})
	}
	return c
}

func reportTimes(b *testing.B, times []time.Duration) {
	if len(times) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(times))
	b.ReportMetric(float64(sorted[len(sorted)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(sorted[len(sorted)*99/100].Microseconds())/1000, "p99-ms")
}
