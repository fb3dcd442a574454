package journal

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestRestore_stoppedIsKept(t *testing.T) {
	dir := private(t)
	yes, no := true, false
	for _, c := range []struct {
		step message.Step
		want bool
	}{
		{message.Step{Notices: []message.Notice{{Text: "x"}}}, false},
		{message.Step{Stopped: &yes}, true},
		{message.Step{Notices: []message.Notice{{Text: "x"}}}, true},
		{message.Step{Stopped: &no}, false},
	} {
		j := mustOpen(t, dir)
		mustCommit(t, j, c.step)
		require.NoError(t, j.Close())
		r, err := mustOpen(t, dir).Restore(t.Context())
		require.NoError(t, err)
		assert.Equal(t, c.want, r.Stopped)
	}
}

// The brake of a session has the state that the relay left: the depth of the messages typed since
// it last said something; a person's message resets it.
func TestRestore_depths(t *testing.T) {
	t.Parallel()
	turn := func(from message.ID, depth int) message.Step {
		e := envelope(message.NewID())
		e.From.Peer, e.Chat, e.Depth = from, "c", depth
		return message.Step{Received: []message.Envelope{e}}
	}
	to := func(origin message.Origin, depth int, states ...message.ReceiptState) message.Step {
		e := envelope(message.NewID())
		e.Origin, e.Depth = origin, depth
		d := delivery(message.NewID(), e, "s")
		step := message.Step{Received: []message.Envelope{e}, Deliveries: []message.Delivery{d}}
		for _, state := range states {
			step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: e.ID, Target: "s", State: state})
		}
		return step
	}
	const agent, human = message.OriginAgent, message.OriginHuman
	const queued, typed, submitted, uncertain = message.Queued, message.Typed, message.Submitted, message.Uncertain
	noTurn := func(kind string, origin message.Origin) message.Step {
		e := envelope(message.NewID())
		e.From.Peer, e.Depth, e.Type, e.Origin, e.Trust = "s", 1, kind, origin, message.TrustVerified
		return message.Step{Received: []message.Envelope{e}}
	}
	spoke := func(depth, cause int) message.Step {
		return message.Step{Spoke: []message.Spoken{{Peer: "s", Depth: depth, Cause: cause}}}
	}
	for name, c := range map[string]struct {
		steps []message.Step
		want  Depth
	}{
		"spoke, and no message says so":   {[]message.Step{to(agent, 7, queued, typed, submitted), spoke(8, -1)}, Depth{8, -1}},
		"a part of it is not answered":    {[]message.Step{to(agent, 7, queued, typed, submitted), spoke(8, 3)}, Depth{8, 3}},
		"told as if by it":                {[]message.Step{turn("s", 8), to(agent, 9, queued, typed), noTurn(message.KindNotice, message.OriginSystem)}, Depth{8, 9}},
		"sent in a turn":                  {[]message.Step{turn("s", 8), to(agent, 9, queued, typed), noTurn(message.KindMessage, agent)}, Depth{8, 9}},
		"nothing yet":                     {nil, Depth{1, -1}},
		"nothing was typed":               {[]message.Step{to(agent, 7, queued)}, Depth{1, -1}},
		"typed":                           {[]message.Step{to(agent, 7, queued, typed)}, Depth{1, 7}},
		"may have been taken":             {[]message.Step{to(agent, 7, queued, typed, uncertain)}, Depth{1, 7}},
		"greatest counts":                 {[]message.Step{to(agent, 7, queued, typed), to(agent, 3, queued, typed)}, Depth{1, 7}},
		"spoke since":                     {[]message.Step{to(agent, 7, queued, typed, submitted), turn("s", 8)}, Depth{8, -1}},
		"spoke, and was typed to":         {[]message.Step{turn("s", 8), to(agent, 9, queued, typed)}, Depth{8, 9}},
		"another spoke":                   {[]message.Step{to(agent, 7, queued, typed), turn("other", 12)}, Depth{1, 7}},
		"a person's word":                 {[]message.Step{turn("s", 8), to(agent, 9, queued, typed), to(human, 0, queued, typed, submitted)}, Depth{8, 0}},
		"a person's word, not taken yet":  {[]message.Step{turn("s", 8), to(agent, 9, queued, typed), to(human, 0, queued, typed)}, Depth{8, 9}},
		"an agent's after a person's":     {[]message.Step{to(agent, 9, queued, typed), to(human, 0, queued, typed, submitted), to(agent, 3, queued, typed)}, Depth{1, 3}},
		"spoke after a person's, in turn": {[]message.Step{to(human, 0, queued, typed, submitted), turn("s", 1)}, Depth{1, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			j := mustOpen(t, private(t))
			mustCommit(t, j, message.Step{Peers: []message.Peer{{ID: "s", Adopted: testTime}, {ID: "other", Adopted: testTime}}})
			for _, step := range c.steps {
				mustCommit(t, j, step)
			}
			r, err := j.Restore(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.want, r.Depths["s"])
			assert.Len(t, r.Depths, 2)
		})
	}
}

// A submitted delivery waits no longer; answered can still come.
func TestRestore_submittedIsNotUnderWay(t *testing.T) {
	j := mustOpen(t, private(t))
	e := envelope("m")
	d := delivery("d", e, "s")
	mustCommit(t, j, message.Step{
		Peers: []message.Peer{{ID: "s"}}, Received: []message.Envelope{e}, Deliveries: []message.Delivery{d},
		Verdicts: []message.Verdict{{Message: "m", Decision: message.Decision{Verb: message.VerbDeliver}}},
	})
	for _, c := range []struct {
		state message.ReceiptState
		open  int
	}{{message.Queued, 1}, {message.Held, 1}, {message.Typed, 1}, {message.Submitted, 0}, {message.Answered, 0}} {
		mustCommit(t, j, message.Step{Receipts: []message.Receipt{{Delivery: "d", Message: "m", Target: "s", State: c.state}}})
		r, err := j.Restore(t.Context())
		require.NoError(t, err)
		assert.Len(t, r.Pending, c.open, "%s", c.state)
		waiting, err := j.Waiting(t.Context(), "")
		require.NoError(t, err)
		assert.Len(t, waiting, c.open, "%s", c.state)
		held, err := j.Held(t.Context())
		require.NoError(t, err)
		assert.Equal(t, c.state == message.Held, held == 1, "%s", c.state)
		got, err := j.Delivery(t.Context(), "d")
		require.NoError(t, err)
		assert.Equal(t, c.state == message.Typed || c.open == 0, got.Typed, "%s", c.state)
	}
	_, err := j.Delivery(t.Context(), "unknown")
	assert.ErrorIs(t, err, ErrNotFound)
}

// A delivery held for an agent that has gone is kept and can be found, but does not slow down a
// start. It does not matter which came first, the receipt or the end of the session.
func TestRestore_leavesOutWhatNobodyCanTake(t *testing.T) {
	held := func(id message.ID, why message.Reason) message.Step {
		return message.Step{Receipts: []message.Receipt{{Delivery: id, Message: id + "-m", Target: "s", State: message.Held, Reason: why}}}
	}
	gone := message.Step{Peers: []message.Peer{{ID: "s", Ended: &testTime}}}
	whole := gone
	whole.Receipts = append(held("d", message.AgentGone).Receipts, held("other", message.Paused).Receipts...)
	for name, steps := range map[string][]message.Step{
		"in one step":       {whole},
		"the end first":     {gone, held("d", message.ServerEnded), held("other", message.Paused)},
		"the receipt first": {held("d", message.PaneMissing), held("other", message.Paused), gone},
	} {
		t.Run(name, func(t *testing.T) {
			j := mustOpen(t, private(t))
			mustCommit(t, j, message.Step{Peers: []message.Peer{{ID: "s"}, {ID: "there"}}, Chats: []message.Chat{{ID: "c", State: message.ChatOn}}})
			for _, id := range []message.ID{"d", "other"} {
				e := envelope(id + "-m")
				d := delivery(id, e, "s")
				d.Chat = "c"
				mustCommit(t, j, message.Step{Received: []message.Envelope{e}, Deliveries: []message.Delivery{d}})
			}
			r, err := j.Restore(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []message.ID{"d", "other"}, ids(r.Pending))
			for _, step := range steps {
				mustCommit(t, j, step)
			}
			r, err = j.Restore(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []message.ID{"other"}, ids(r.Pending), "only an agent that has gone keeps it for ever")
			for _, chat := range []message.ID{"", "c"} {
				waiting, err := j.Waiting(t.Context(), chat)
				require.NoError(t, err)
				assert.Equal(t, []message.ID{"d", "other"}, ids(waiting))
			}
			waiting, err := j.Waiting(t.Context(), "elsewhere")
			require.NoError(t, err)
			assert.Empty(t, waiting)
			n, err := j.Held(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 2, n)

			// If it is queued again, it is under way again.
			mustCommit(t, j, message.Step{Receipts: []message.Receipt{{Delivery: "d", Message: "d-m", Target: "s", State: message.Queued}}})
			r, err = j.Restore(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []message.ID{"d", "other"}, ids(r.Pending))
		})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	dir := private(t)
	j := mustOpen(t, dir)
	chat := message.Chat{ID: "c", State: message.ChatOn}
	mustCommit(t, j, message.Step{Chats: []message.Chat{chat, {ID: "empty", State: message.ChatOn}}})
	_, err := j.Stats(t.Context(), "unknown")
	assert.ErrorIs(t, err, ErrNotFound)
	stats, err := j.Stats(t.Context(), "empty")
	require.NoError(t, err)
	assert.Equal(t, message.Stats{Chat: "empty", Deliveries: map[message.ReceiptState]int{}}, stats)

	// More turns than the number of latencies kept, the n-th taken after n milliseconds.
	const turns = latencies + 200
	var step message.Step
	for n := range turns {
		e := envelope(message.ID(fmt.Sprint("m", n)))
		e.Chat, e.Depth = "c", n%9
		d := delivery(message.ID(fmt.Sprint("d", n)), e, "s")
		d.Chat = "c"
		taken := e.Created.Add(time.Duration(n) * time.Millisecond)
		step.Received, step.Deliveries = append(step.Received, e), append(step.Deliveries, d)
		for _, state := range []message.ReceiptState{message.Queued, message.Held, message.Held, message.Typed, message.Submitted} {
			step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: e.ID, State: state, At: taken})
		}
		if n%2 == 0 {
			step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: e.ID, State: message.Answered, At: taken.Add(time.Hour)})
		}
	}
	say := envelope("say") // a person's message is no turn, and its time no latency of one
	say.Chat, say.Type, say.Origin = "c", message.KindSay, message.OriginHuman
	word := delivery("word", say, "s")
	word.Chat = "c"
	step.Received, step.Deliveries = append(step.Received, say), append(step.Deliveries, word)
	step.Receipts = append(step.Receipts, message.Receipt{Delivery: "word", Message: "say", State: message.Submitted, At: say.Created.Add(time.Hour)})
	for _, hold := range []message.Hold{message.HoldApproval, message.HoldPause, message.HoldLimit} { // nor how long a person thought about it
		asked := envelope(message.ID(hold))
		asked.Chat = "c"
		thought := delivery(message.ID("for "+hold), asked, "s")
		thought.Chat = "c"
		step.Received, step.Deliveries = append(step.Received, asked), append(step.Deliveries, thought)
		for _, r := range []message.Receipt{
			{State: message.Held, Reason: message.AwaitingApproval, Hold: hold}, {State: message.Typed}, {State: message.Submitted, At: asked.Created.Add(time.Hour)},
		} {
			r.Delivery, r.Message = thought.ID, asked.ID
			step.Receipts = append(step.Receipts, r)
		}
	}
	before := delivery("before", say, "s") // a superseded delivery counts in no state
	before.Chat = "c"
	step.Deliveries = append(step.Deliveries, before)
	for _, r := range []message.Receipt{
		{State: message.Queued}, {State: message.Held, Reason: message.Unfiltered}, {State: message.Failed, Reason: message.DecidedAnew},
	} {
		r.Delivery, r.Message = "before", say.ID
		step.Receipts = append(step.Receipts, r)
	}
	mustCommit(t, j, step)

	want := message.Stats{
		Chat: "c", Turns: turns + 3, Depth: 8, LatencyP50: 711 * time.Millisecond, LatencyP99: 1213 * time.Millisecond,
		Deliveries: map[message.ReceiptState]int{message.Submitted: turns/2 + 4, message.Answered: turns / 2},
	}
	stats, err = j.Stats(t.Context(), "c")
	require.NoError(t, err)
	assert.Equal(t, want, stats)
	chat.State, chat.Ended = message.ChatOver, &testTime
	mustCommit(t, j, message.Step{Chats: []message.Chat{chat}})
	require.NoError(t, j.Close())
	j = mustOpen(t, dir)
	stats, err = j.Stats(t.Context(), "c")
	require.NoError(t, err)
	assert.Equal(t, want, stats)
	r, err := j.Restore(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[message.ID]int{"empty": 0}, r.Taken)
}

// Ended sessions and chats can be listed.
func TestEndedOnes(t *testing.T) {
	j := mustOpen(t, private(t))
	now := time.Now().UTC().Truncate(time.Millisecond)
	chat := func(id message.ID, state message.ChatState) message.Chat {
		return message.Chat{ID: id, State: state, Started: now}
	}
	gone := message.Peer{ID: "s", Name: "Ada", PaneOf: message.PaneOf{Pane: "%1"}, Adopted: now, Ended: &now, EndReason: "agent gone"}
	mustCommit(t, j, message.Step{Peers: []message.Peer{gone}, Chats: []message.Chat{
		chat("a", message.ChatOver), chat("b", message.ChatOn), chat("c", message.ChatOver), chat("d", message.ChatOver),
	}})
	found, err := j.Session(t.Context(), "s")
	require.NoError(t, err)
	assert.Equal(t, gone, found)
	_, err = j.Session(t.Context(), "none")
	assert.ErrorIs(t, err, ErrNotFound)
	ended, err := j.EndedChats(t.Context(), 2)
	require.NoError(t, err)
	require.Len(t, ended, 2)
	assert.Equal(t, message.ID("d"), ended[0].ID)
	assert.Equal(t, message.ID("c"), ended[1].ID)
}

// Of the sessions that were in a pane, the last one that has ended is found, also by another run; one that ended
// for the excepted reason is passed over.
func TestLastIn(t *testing.T) {
	dir := private(t)
	j := mustOpen(t, dir)
	now := time.Now().UTC().Truncate(time.Millisecond)
	session := func(id message.ID, pane string, ended *time.Time, why message.Reason) message.Peer {
		return message.Peer{ID: id, Name: string(id), PaneOf: message.PaneOf{Pane: pane}, Adopted: now, Ended: ended, EndReason: string(why)}
	}
	released := session("b", "%1", &now, message.ReleasedPane)
	mustCommit(t, j, message.Step{Peers: []message.Peer{
		session("a", "%1", &now, message.AgentGone), released, session("c", "%1", &now, message.GivenBack), session("d", "%2", &now, message.AgentGone),
		session("e", "%1", nil, ""), session("f", "%3", nil, ""),
	}})
	require.NoError(t, j.Close())
	j = mustOpen(t, dir)
	found, err := j.LastIn(t.Context(), "%1", message.GivenBack)
	require.NoError(t, err)
	assert.Equal(t, released, found)
	_, err = j.LastIn(t.Context(), "%3", "")
	assert.ErrorIs(t, err, ErrNotFound)
}

func TestChat_references(t *testing.T) {
	j := mustOpen(t, private(t))
	chat := func(id message.ID, name string, state message.ChatState) message.Chat {
		return message.Chat{ID: id, Name: name, State: state}
	}
	const first, second, third, fourth message.ID = "01930000-0000-7000-8000-0000aaaaaaaa", "01930000-0000-7000-8000-0000bbbbbbbb",
		"01930000-0000-7000-8000-1111cccccccc", "01930000-0000-7000-8000-2222cccccccc"
	mustCommit(t, j, message.Step{Chats: []message.Chat{
		chat(first, "Review", message.ChatOver), chat(second, "review", message.ChatOver), chat(third, "", message.ChatOver), chat(fourth, "aaaaaaaa", message.ChatOver),
	}})
	for ref, want := range map[string]message.ID{
		string(first): first, "BBBBBBBB": second, "review": second, " REVIEW\n": second, string(third): third, string(fourth): fourth,
	} {
		got, err := j.Chat(t.Context(), ref)
		require.NoError(t, err, ref)
		assert.Equal(t, want, got.ID, ref)
	}
	for ref, want := range map[string]error{
		"": ErrNotFound, "unknown": ErrNotFound, "0000aaaa": ErrNotFound,
		"cccccccc": ErrAmbiguous, "aaaaaaaa": ErrAmbiguous, // a short id and a name
	} {
		_, err := j.Chat(t.Context(), ref)
		assert.ErrorIs(t, err, want, ref)
	}
	// A chat that goes on takes precedence over ended ones.
	mustCommit(t, j, message.Step{Chats: []message.Chat{chat(fourth, "aaaaaaaa", message.ChatOn)}})
	for _, ref := range []string{"aaaaaaaa", "cccccccc"} {
		got, err := j.Chat(t.Context(), ref)
		require.NoError(t, err)
		assert.Equal(t, fourth, got.ID)
	}
}

// A message that a repository received as an acknowledgement, or unverified, is no cause of the
// repository's next message, even after a restart. The same message to a pane is.
func TestRestore_whatIsNoCause(t *testing.T) {
	dir := private(t)
	j := mustOpen(t, dir)
	files, pane := message.Peer{ID: "files", Kind: message.PeerRepository, Adopted: testTime}, message.Peer{ID: "pane", Adopted: testTime}
	ack, stranger, said := envelope("ack"), envelope("stranger"), envelope("said")
	ack.Origin, ack.Depth = message.OriginSystem, 9
	stranger.Origin, stranger.Trust, stranger.Depth = message.OriginAgent, message.TrustUnverified, 8
	said.Origin, said.Depth = message.OriginAgent, 2
	step := message.Step{Peers: []message.Peer{files, pane}, Received: []message.Envelope{ack, stranger, said}}
	for _, target := range []message.ID{"files", "pane"} {
		for _, e := range step.Received {
			d := delivery(e.ID+"-"+target, e, target)
			step.Deliveries = append(step.Deliveries, d)
			for _, state := range []message.ReceiptState{message.Typed, message.Submitted} {
				step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: e.ID, Target: target, State: state, At: testTime})
			}
		}
	}
	mustCommit(t, j, step)
	require.NoError(t, j.Close())
	got, err := mustOpen(t, dir).Restore(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, got.Depths["files"].Cause)
	assert.Equal(t, 9, got.Depths["pane"].Cause)
}
