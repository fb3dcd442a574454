package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestEvents_selection(t *testing.T) {
	j := mustOpen(t, private(t))
	for n := range 10 {
		step := wholeStep(message.ID(fmt.Sprintf("m%d", n)))
		step.Received[0].Chat = message.ID(fmt.Sprintf("chat%d", n%2))
		for i := range step.Deliveries {
			step.Deliveries[i].Chat = step.Received[0].Chat
		}
		mustCommit(t, j, step)
	}
	seqs := func(q Query) []int64 {
		var found []int64
		for _, e := range events(t, j, q) {
			found = append(found, e.Seq)
		}
		return found
	}
	assert.Len(t, seqs(Query{}), 40)
	assert.Equal(t, []int64{1, 2, 3}, seqs(Query{Limit: 3}))
	assert.Equal(t, []int64{38, 39, 40}, seqs(Query{Limit: 3, Newest: true}))
	assert.Equal(t, []int64{21, 22}, seqs(Query{Since: 20, Limit: 2}))
	assert.Equal(t, []int64{39, 40}, seqs(Query{Since: 20, Limit: 2, Newest: true}))
	assert.Empty(t, seqs(Query{Since: 40}))
	assert.Equal(t, []int64{5, 6, 7, 13, 14, 15}, seqs(Query{Chat: "chat1", Limit: 6}))
	assert.Equal(t, []int64{9, 10, 11}, seqs(Query{Message: "m2"}))
	assert.Equal(t, []int64{11}, seqs(Query{Delivery: "m2-d2"}))
	assert.Equal(t, []int64{33}, seqs(Query{Chat: "chat0", Search: "m8"}))
	assert.Empty(t, seqs(Query{Chat: "chat1", Search: "m8"}))
	assert.Empty(t, seqs(Query{Chat: "nowhere"}))
}

// The typed text of a message that a person edited stands beside the receipts that say so.
func TestEvents_whatWasTypedInTheEnd(t *testing.T) {
	j := mustOpen(t, private(t))
	e := envelope("m")
	one, other := delivery("d1", e, "s1"), delivery("d2", e, "s2")
	receipts := func(states ...message.ReceiptState) (all []message.Receipt) {
		for _, state := range states {
			all = append(all, message.Receipt{Delivery: "d1", Message: "m", State: state}, message.Receipt{Delivery: "d2", Message: "m", State: state})
		}
		return all
	}
	mustCommit(t, j, message.Step{
		Received: []message.Envelope{e}, Verdicts: []message.Verdict{{Message: "m", Decision: message.Decision{Verb: message.VerbAsk}}},
		Deliveries: []message.Delivery{one, other}, Receipts: receipts(message.Queued, message.Held),
	})
	one.Message.Body = "as it was edited"
	mustCommit(t, j, message.Step{
		Verdicts:   []message.Verdict{{Message: "m", Decision: message.Decision{Verb: message.VerbDeliver}, Body: &one.Message.Body}},
		Deliveries: []message.Delivery{one}, Receipts: receipts(message.Queued, message.Typed, message.Submitted),
	})
	found := 0
	for _, e := range events(t, j, Query{}) {
		switch {
		case e.Message != nil:
			assert.Equal(t, "hello", e.Message.Body, "what was said")
		case e.Receipt.State == message.Typed && e.Delivery.ID == "d1":
			assert.Equal(t, "as it was edited", e.Delivery.Message.Body)
			found++
		default:
			assert.Empty(t, e.Delivery.Message.Body, "%s %s", e.Delivery.ID, e.Receipt.State)
		}
	}
	assert.Equal(t, 1, found)
}

func TestEvents_limit(t *testing.T) {
	j := mustOpen(t, private(t))
	step := message.Step{}
	for range DefaultLimit + 5 {
		step.Notices = append(step.Notices, message.Notice{Text: "n"})
	}
	mustCommit(t, j, step)
	assert.Len(t, events(t, j, Query{}), DefaultLimit)
	assert.Equal(t, int64(6), events(t, j, Query{Newest: true})[0].Seq)
	assert.Len(t, events(t, j, Query{Limit: DefaultLimit + 100}), DefaultLimit+5)
}

func TestEvents_search(t *testing.T) {
	j := mustOpen(t, private(t))
	bodies := map[message.ID]string{
		"de": "Grüße aus der Küche, 100% ohne Gewähr",
		"zh": "我们在北京开会，明天见",
		"th": "สวัสดีชาวโลก",
		"go": `if err != nil { return fmt.Errorf("open %q: %w", path_name, err) }`,
		"no": "NOT this AND (that OR \"those\") NEAR body:word -x ^y *",
	}
	for id, body := range bodies {
		e := envelope(id)
		e.Body = body
		mustCommit(t, j, message.Step{Received: []message.Envelope{e}, Verdicts: []message.Verdict{{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}}})
	}
	for search, want := range map[string]string{
		"küche": "de", "KÜCHE grüße": "de", "kuche": "de", "Küch": "de", "100%": "de", "Küche Berlin": "",
		"北京": "zh", "北京 明天": "zh", "北京 昨天": "", "开": "zh", "ชาว": "th",
		"fmt.Errorf": "go", "errorf": "go", "path_name": "go", "%q": "go", `("open`: "go", "!=": "go", "pathXname": "", "!_": "",
		`"those"`: "no", "NOT this": "no", "body:word": "no", "nothing:like": "", "*": "no", "^y": "no", "NEAR": "no", `""`: "", `\`: "",
	} {
		t.Run(search, func(t *testing.T) {
			var found []string
			for _, e := range events(t, j, Query{Search: search}) {
				require.NotNil(t, e.Message)
				found = append(found, string(e.Message.ID))
			}
			assert.Equal(t, want, strings.Join(found, " "))
		})
	}
	assert.Len(t, events(t, j, Query{Search: " \t\n"}), len(bodies), "no words are no condition")
	assert.Len(t, events(t, j, Query{Search: "\x00"}), len(bodies))
}

func TestEvents_searchTakesAnyText(t *testing.T) {
	j := mustOpen(t, private(t))
	mustCommit(t, j, wholeStep("m"))
	rapid.Check(t, func(t *rapid.T) {
		_, err := j.Events(t.Context(), Query{Search: rapid.OneOf(rapid.String(),
			rapid.StringOf(rapid.SampledFrom([]rune(`"*^():{}+-_%\' ,.aNEARORT漢0`)))).Draw(t, "search")})
		assert.NoError(t, err)
	})
}

// No search finds a text that a policy masked or never let out, in whatever order its verdicts
// come.
func TestEvents_searchNeverFindsWhatWasMasked(t *testing.T) {
	t.Parallel()
	const original, masked = "the password is hunter2 密码", "the password is [removed]"
	text := func(s string) *string { return &s }
	verdict := func(verb message.Verb, body *string) message.Verdict {
		return message.Verdict{Decision: message.Decision{Verb: verb}, Body: body}
	}
	for name, c := range map[string]struct {
		verdicts []message.Verdict
		finds    string // the text that a search finds, or ""
	}{
		"undecided":                     {nil, ""},
		"delivered as it is":            {[]message.Verdict{verdict(message.VerbDeliver, nil)}, original},
		"acknowledged":                  {[]message.Verdict{verdict(message.VerbAck, nil)}, original},
		"masked":                        {[]message.Verdict{verdict(message.VerbDeliver, text(masked))}, masked},
		"emptied":                       {[]message.Verdict{verdict(message.VerbDeliver, text(""))}, ""},
		"held":                          {[]message.Verdict{verdict(message.VerbHold, nil)}, ""},
		"asked":                         {[]message.Verdict{verdict(message.VerbAsk, text(masked))}, ""},
		"bounced":                       {[]message.Verdict{verdict(message.VerbBounce, nil)}, ""},
		"dropped":                       {[]message.Verdict{verdict(message.VerbDrop, nil)}, ""},
		"held, then delivered":          {[]message.Verdict{verdict(message.VerbHold, nil), verdict(message.VerbDeliver, nil)}, original},
		"masked and held, then yes":     {[]message.Verdict{verdict(message.VerbHold, text(masked)), verdict(message.VerbDeliver, nil)}, masked},
		"held, then edited by a person": {[]message.Verdict{verdict(message.VerbAsk, nil), verdict(message.VerbDeliver, text(masked))}, masked},
		"delivered, then masked":        {[]message.Verdict{verdict(message.VerbDeliver, nil), verdict(message.VerbDeliver, text(masked))}, masked},
		"held, then dropped":            {[]message.Verdict{verdict(message.VerbHold, nil), verdict(message.VerbDrop, nil)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			j := mustOpen(t, dir)
			e := envelope("m")
			e.Body = original
			mustCommit(t, j, message.Step{Received: []message.Envelope{e}})
			for _, v := range c.verdicts {
				v.Message = "m"
				mustCommit(t, j, message.Step{Verdicts: []message.Verdict{v}})
			}
			require.NoError(t, j.Close())
			j = mustOpen(t, dir)
			for _, word := range []string{"password", "hunter2", "removed", "hunt", "密码", "[removed]"} {
				want := 0
				if strings.Contains(c.finds, word) {
					want = 1
				}
				assert.Len(t, events(t, j, Query{Search: word}), want, "search for %q", word)
			}
			kept, err := j.Message(t.Context(), "m")
			require.NoError(t, err)
			assert.Equal(t, original, kept.Body, "the journal keeps the original")
		})
	}
}
