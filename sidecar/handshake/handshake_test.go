package handshake_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var (
	noon   = time.Date(2026, 3, 4, 12, 0, 0, 123456789, time.UTC)
	lead   = handshake.Party{Person: true, Name: "lead"}
	alice  = handshake.Party{Peer: "0198c0de-0000-7000-8000-00000000a11c", Name: "alice"}
	bob    = handshake.Party{Peer: "0198c0de-0000-7000-8000-000000000b0b", Name: "bob"}
	nobody = handshake.Party{}
)

const id = "1a2b3c4d"

func ending(id string) handshake.Request {
	return handshake.Request{ID: id, Kind: handshake.Shutdown, Asker: lead, Answerer: alice, Patience: time.Minute}
}

func planning(id, plan string) handshake.Request {
	return handshake.Request{ID: id, Kind: handshake.Plan, Asker: alice, Answerer: lead, Text: plan}
}

func newBook(t *testing.T, all ...handshake.Handshake) *handshake.Book {
	t.Helper()
	b, err := handshake.NewBook(all...)
	require.NoError(t, err)
	return b
}

func TestAnswer_settlesOnce(t *testing.T) {
	for _, kind := range []handshake.Kind{handshake.Shutdown, handshake.Plan} {
		for _, first := range []bool{true, false} {
			for _, second := range []bool{true, false} {
				b := newBook(t)
				r := ending(id)
				if kind == handshake.Plan {
					r = planning(id, "the plan")
				}
				asked, err := b.Ask(noon, r)
				require.NoError(t, err)
				assert.Equal(t, handshake.Pending, asked.State)
				done, err := b.Answer(noon.Add(time.Second), r.Answerer, handshake.Answer{Kind: kind, ID: id, Approve: first, Note: "why"})
				require.NoError(t, err)
				want := map[bool]handshake.State{true: handshake.Approved, false: handshake.Rejected}[first]
				assert.Equal(t, want, done.State)
				assert.Equal(t, "why", done.Note)

				_, err = b.Answer(noon.Add(time.Hour), r.Answerer, handshake.Answer{Kind: kind, ID: id, Approve: second, Note: "other"})
				var settled *handshake.SettledError
				require.ErrorAs(t, err, &settled)
				assert.Equal(t, done, settled.Handshake, "who answered first, when and what")
				assert.EqualError(t, err, fmt.Sprintf("%s request 1a2b3c4d was %s by %q at 2026-03-04T12:00:01Z", kind, want, r.Answerer.Name))
				have, err := b.Of(kind, id)
				require.NoError(t, err)
				assert.Equal(t, done, have)
				assert.Empty(t, b.Expire(noon.Add(24*time.Hour)))
				assert.Empty(t, b.Gone(noon, r.Answerer))
			}
		}
	}
}

func TestAnswer_onlyWhoWasAsked(t *testing.T) {
	for name, by := range map[string]handshake.Party{
		"the asker": lead, "another": bob, "nobody": nobody, "unverified": {Peer: message.Unverified, Name: "alice"},
		"of the same name": {Peer: bob.Peer, Name: "alice"}, "a person": {Person: true, Name: "alice"}, "both": {Peer: alice.Peer, Person: true},
	} {
		b := newBook(t)
		asked, err := b.Ask(noon, ending(id))
		require.NoError(t, err)
		_, err = b.Answer(noon, by, handshake.Answer{Kind: handshake.Shutdown, ID: id, Approve: true})
		var refused *handshake.NotYoursError
		assert.ErrorAs(t, err, &refused, name)
		have, _ := b.Of(handshake.Shutdown, id)
		assert.Equal(t, asked, have, name)
		_, err = b.Answer(noon, handshake.Party{Peer: alice.Peer, Name: "alice-2"}, handshake.Answer{Kind: handshake.Shutdown, ID: id, Approve: true})
		assert.NoError(t, err, "she goes by another name now")
	}
}

func TestAnswer_ofTheOtherProtocolOrUnknown(t *testing.T) {
	b := newBook(t)
	_, err := b.Ask(noon, ending(id))
	require.NoError(t, err)
	for _, a := range []handshake.Answer{
		{Kind: handshake.Plan, ID: id, Approve: true},
		{Kind: handshake.Shutdown, ID: "00000000", Approve: true},
		{Kind: handshake.Shutdown, Approve: true},
		{Kind: handshake.Shutdown, ID: strings.Repeat("a", 10<<10), Approve: true},
		{ID: id, Approve: true},
	} {
		_, err := b.Answer(noon, alice, a)
		var unknown *handshake.UnknownError
		require.ErrorAs(t, err, &unknown)
		assert.Less(t, len(err.Error()), 100)
	}
	have, err := b.Of(handshake.Shutdown, id)
	require.NoError(t, err)
	assert.True(t, have.Open())
}

func TestExpire(t *testing.T) {
	b := newBook(t)
	assert.Zero(t, b.Next())
	for i, patience := range []time.Duration{3 * time.Minute, time.Minute, 2 * time.Minute, 0} {
		r := ending(fmt.Sprintf("0000000%d", i))
		r.Patience = patience
		_, err := b.Ask(noon, r)
		require.NoError(t, err)
	}
	assert.Equal(t, noon.Add(time.Minute), b.Next())
	assert.Empty(t, b.Expire(noon.Add(time.Minute-1)))
	ended := b.Expire(noon.Add(2 * time.Minute))
	require.Len(t, ended, 2)
	assert.Equal(t, []string{"00000001", "00000002"}, []string{ended[0].ID, ended[1].ID})
	assert.Equal(t, handshake.Expired, ended[0].State)
	assert.Equal(t, noon.Add(3*time.Minute), b.Next())
	assert.Empty(t, b.Expire(noon.Add(2*time.Minute)), "told once")

	_, err := b.Answer(noon.Add(2*time.Minute), alice, handshake.Answer{Kind: handshake.Shutdown, ID: "00000001", Approve: true})
	assert.EqualError(t, err, "shutdown request 00000001 expired at 2026-03-04T12:02:00Z")
	_, err = b.Answer(noon.Add(time.Hour), alice, handshake.Answer{Kind: handshake.Shutdown, ID: "00000000", Approve: true})
	assert.NoError(t, err, "nobody has acted on its end yet")
	assert.Zero(t, b.Next())
	assert.Empty(t, b.Expire(noon.Add(1e6*time.Hour)), "without patience it never expires")
}

func TestGone(t *testing.T) {
	b := newBook(t)
	for _, r := range []handshake.Request{
		ending("00000001"), planning("00000002", "p"),
		{ID: "00000003", Kind: handshake.Shutdown, Asker: lead, Answerer: bob},
		{ID: "00000004", Kind: handshake.Shutdown, Asker: alice, Answerer: bob},
	} {
		_, err := b.Ask(noon, r)
		require.NoError(t, err)
	}
	ended := b.Gone(noon.Add(time.Second), alice)
	require.Len(t, ended, 2)
	assert.Equal(t, []string{"00000002", "00000001"}, []string{ended[0].ID, ended[1].ID})
	b = newBook(t, b.All()...)
	_, err := b.Answer(noon, alice, handshake.Answer{Kind: handshake.Shutdown, ID: "00000001", Approve: true})
	assert.EqualError(t, err, `shutdown request 00000001 expired at 2026-03-04T12:00:01Z, when "alice" had gone`)
	_, err = b.Answer(noon, lead, handshake.Answer{Kind: handshake.Plan, ID: "00000002", Approve: true})
	assert.EqualError(t, err, `plan request 00000002 expired at 2026-03-04T12:00:01Z, when "alice" had gone`)
	for _, id := range []string{"00000003", "00000004"} {
		_, err = b.Answer(noon, bob, handshake.Answer{Kind: handshake.Shutdown, ID: id})
		assert.NoError(t, err, "whoever asked, bob is there to answer")
	}
}

func TestAsk_refuses(t *testing.T) {
	b := newBook(t)
	change := func(f func(*handshake.Request)) handshake.Request { r := ending("0badcafe"); f(&r); return r }
	for name, r := range map[string]handshake.Request{
		"no id":                change(func(r *handshake.Request) { r.ID = "" }),
		"long id":              change(func(r *handshake.Request) { r.ID = strings.Repeat("a", 10<<10) }),
		"upper case id":        change(func(r *handshake.Request) { r.ID = "0BADCAFE" }),
		"no kind":              change(func(r *handshake.Request) { r.Kind = "" }),
		"to itself":            change(func(r *handshake.Request) { r.Asker = r.Answerer; r.Asker.Name = "x" }),
		"of nobody":            change(func(r *handshake.Request) { r.Asker = nobody }),
		"to nobody":            change(func(r *handshake.Request) { r.Answerer = handshake.Party{Name: "alice"} }),
		"of an unverified one": change(func(r *handshake.Request) { r.Asker = handshake.Party{Peer: message.Unverified} }),
		"of two at once":       change(func(r *handshake.Request) { r.Asker = handshake.Party{Peer: bob.Peer, Person: true} }),
		"no patience":          change(func(r *handshake.Request) { r.Patience = -1 }),
		"too long":             change(func(r *handshake.Request) { r.Text = strings.Repeat("x", message.MaxBody+1) }),
		"not text":             change(func(r *handshake.Request) { r.Text = "\xff" }),
		"a long name":          change(func(r *handshake.Request) { r.Answerer.Name = strings.Repeat("x", 1000) }),
	} {
		_, err := b.Ask(noon, r)
		var invalid *handshake.InvalidError
		require.ErrorAs(t, err, &invalid, name)
		assert.Less(t, len(err.Error()), 200, name)
	}
	_, err := b.Ask(time.Time{}, ending(id))
	assert.Error(t, err)
	assert.Empty(t, b.All())

	_, err = b.Ask(noon, ending(id))
	require.NoError(t, err)
	_, err = b.Ask(noon, planning(id, "p"))
	var taken *handshake.TakenError
	assert.ErrorAs(t, err, &taken)
	_, err = b.Answer(noon, alice, handshake.Answer{Kind: handshake.Shutdown, ID: id})
	require.NoError(t, err)
	_, err = b.Ask(noon, ending(id))
	assert.ErrorAs(t, err, &taken, "nor is the id of a settled one given again")
	for _, err := range []error{&handshake.UnknownError{}, &handshake.TakenError{}, &handshake.NotYoursError{}, &handshake.SettledError{}, &handshake.TooManyError{}, &handshake.InvalidError{}} {
		_, has := err.(message.OfKind)
		assert.True(t, has, "%T says of which kind it is", err)
	}
}

// One asker cannot fill the memory, nor can settled handshakes.
func TestBook_isBounded(t *testing.T) {
	b := newBook(t)
	n := 0
	next := func() string { n++; return fmt.Sprintf("%08x", n) }
	for range handshake.MaxOpen {
		_, err := b.Ask(noon, ending(next()))
		require.NoError(t, err)
	}
	_, err := b.Ask(noon, ending(next()))
	var many *handshake.TooManyError
	require.ErrorAs(t, err, &many)
	_, err = b.Ask(noon, planning(next(), "p"))
	assert.NoError(t, err, "another asker")
	_, err = b.Answer(noon, alice, handshake.Answer{Kind: handshake.Shutdown, ID: "00000001"})
	require.NoError(t, err)
	again := newBook(t, b.All()...)
	for _, b := range []*handshake.Book{b, again} {
		_, err = b.Ask(noon, ending("0badcafe"))
		require.NoError(t, err)
		_, err = b.Ask(noon, ending(next()))
		require.ErrorAs(t, err, &many)
	}
	for range 5000 {
		r := planning(next(), "p")
		_, err := b.Ask(noon, r)
		require.NoError(t, err)
		_, err = b.Answer(noon.Add(time.Duration(n)), lead, handshake.Answer{Kind: handshake.Plan, ID: r.ID})
		require.NoError(t, err)
	}
	assert.Len(t, b.All(), 4096+handshake.MaxOpen+1)
	_, err = b.Of(handshake.Shutdown, "00000002")
	assert.NoError(t, err, "an open one is never forgotten")
}

func TestSaid_proseDoesNotCount(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		said handshake.Said
		want handshake.Answer
		is   bool
	}{
		"yes":              {handshake.Said{Type: "shutdown_response", ID: id, Approve: &yes, Note: "done"}, handshake.Answer{Kind: handshake.Shutdown, ID: id, Approve: true, Note: "done"}, true},
		"no":               {handshake.Said{Type: "shutdown_response", ID: id, Approve: &no}, handshake.Answer{Kind: handshake.Shutdown, ID: id}, true},
		"plan":             {handshake.Said{Type: "plan_approval_response", ID: id, Approve: &yes}, handshake.Answer{Kind: handshake.Plan, ID: id, Approve: true}, true},
		"alias":            {handshake.Said{Type: "plan_approval", ID: id, Approve: &no}, handshake.Answer{Kind: handshake.Plan, ID: id}, true},
		"other alias":      {handshake.Said{Type: "plan_approval_request", ID: id, Approve: &no}, handshake.Answer{Kind: handshake.Plan, ID: id}, true},
		"the plan itself":  {handshake.Said{Type: "plan_approval_response", ID: id}, handshake.Answer{}, false},
		"the request":      {handshake.Said{Type: "shutdown_request", ID: id, Approve: &yes}, handshake.Answer{}, false},
		"prose":            {handshake.Said{Type: "message", ID: id, Approve: &yes, Note: "I approve 1a2b3c4d"}, handshake.Answer{}, false},
		"without approve":  {handshake.Said{Type: "shutdown_response", ID: id, Note: "yes, I approve"}, handshake.Answer{}, false},
		"without id":       {handshake.Said{Type: "shutdown_response", Approve: &yes}, handshake.Answer{}, false},
		"prose for an id":  {handshake.Said{Type: "shutdown_response", ID: "the last one", Approve: &yes}, handshake.Answer{}, false},
		"upper case":       {handshake.Said{Type: "shutdown_response", ID: "1A2B3C4D", Approve: &yes}, handshake.Answer{}, false},
		"nothing whatever": {},
	} {
		got, is := c.said.Answer()
		assert.Equal(t, c.is, is, name)
		assert.Equal(t, c.want, got, name)
	}
}

func TestC17_NewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := handshake.NewID()
		assert.True(t, handshake.ValidID(id), id)
		assert.Regexp(t, `^[0-9a-f]{8}$`, id)
		seen[id] = true
	}
	assert.Greater(t, len(seen), 990)
}

// The stored form does not change unnoticed from one version to the next.
func TestJSON(t *testing.T) {
	b := newBook(t)
	_, err := b.Ask(noon, ending(id))
	require.NoError(t, err)
	_, err = b.Ask(noon.In(time.FixedZone("", 3600)), planning("00000001", "a <plan> & \u2028"))
	require.NoError(t, err)
	_, err = b.Answer(noon.Add(time.Second), lead, handshake.Answer{Kind: handshake.Plan, ID: "00000001", Note: "not yet"})
	require.NoError(t, err)
	text, err := json.Marshal(b.All())
	require.NoError(t, err)
	assert.Equal(t, `[`+
		`{"request_id":"00000001","kind":"plan","asker":{"peer":"0198c0de-0000-7000-8000-00000000a11c","name":"alice"},"answerer":{"person":true,"name":"lead"},`+
		`"text":"a \u003cplan\u003e \u0026 \u2028","asked":"2026-03-04T12:00:00.123456789Z","state":"rejected","note":"not yet","ended":"2026-03-04T12:00:01.123456789Z"},`+
		`{"request_id":"1a2b3c4d","kind":"shutdown","asker":{"person":true,"name":"lead"},"answerer":{"peer":"0198c0de-0000-7000-8000-00000000a11c","name":"alice"},`+
		`"asked":"2026-03-04T12:00:00.123456789Z","due":"2026-03-04T12:01:00.123456789Z","state":"pending"}`+
		`]`, string(text))

	// As the journal keeps it: a record for each.
	const kind = message.RecordKind[handshake.Handshake]("handshake")
	var records []message.Record
	for _, h := range b.All() {
		r, err := kind.Record(h.ID, h.Open(), h)
		require.NoError(t, err)
		records = append(records, r)
	}
	values, err := kind.Values(records...)
	require.NoError(t, err)
	var all []handshake.Handshake
	for _, h := range values {
		all = append(all, h)
	}
	assert.Equal(t, b.All(), newBook(t, all...).All())
	_, err = handshake.NewBook(append(all, all[0])...)
	var taken *handshake.TakenError
	assert.ErrorAs(t, err, &taken)
	_, err = handshake.NewBook(handshake.Handshake{})
	assert.Error(t, err)
}

func TestJSON_refuses(t *testing.T) {
	good := `{"request_id":"1a2b3c4d","kind":"plan","asker":{"peer":"a"},"answerer":{"person":true},"asked":"2026-03-04T12:00:00Z","state":"pending"}`
	var h handshake.Handshake
	require.NoError(t, json.Unmarshal([]byte(good), &h))
	require.NoError(t, json.Unmarshal([]byte(strings.Replace(good, "{", `{"of_a_later_version":[1],`, 1)), &h))
	for from, to := range map[string]string{
		`"1a2b3c4d"`: `"x"`, `"plan"`: `"party"`, `{"person":true}`: `{"peer":"a"}`, `"peer":"a"`: `"peer":"unverified"`, `"peer":"b"`: `"peer":"c"`,
		`"pending"`: `"approved"`, `"state":"pending"`: `"state":"pending","note":"x"`, `"asked":"2026-03-04T12:00:00Z",`: ``, `2026-03-04T12:00:00Z`: `0000-01-01T00:00:00+23:59`,
		`"asked"`: `"gone":true,"asked"`, `"asked":`: `"asker_gone":true,"asked":`, `{"peer":"a"}`: `{}`,
	} {
		bad := strings.Replace(good, from, to, 1)
		if bad == good {
			continue
		}
		was := h
		assert.Error(t, json.Unmarshal([]byte(bad), &h), bad)
		assert.Equal(t, was, h, "and nothing is changed")
	}
}

func TestTracker(t *testing.T) {
	b := newBook(t)
	h, err := b.Ask(noon, ending(id))
	require.NoError(t, err)
	plan, err := b.Ask(noon, planning("00000001", ""))
	require.NoError(t, err)
	nameless := plan
	nameless.Asker.Name = ""
	for _, c := range []struct {
		h    handshake.Handshake
		want string
	}{
		{h, `{"target":"alice","status":"pending"}`},
		{plan, `{"from":"alice","plan":"","status":"pending"}`},
		{nameless, `{"from":"0198c0de-0000-7000-8000-00000000a11c","plan":"","status":"pending"}`},
		{b.Expire(noon.Add(time.Minute))[0], `{"target":"alice","status":"pending","expired":true}`},
	} {
		text, err := json.Marshal(c.h.Tracker())
		require.NoError(t, err)
		assert.Equal(t, c.want, string(text))
	}
}

// FuzzUnmarshal: whatever is read is written the same, and can be continued.
func FuzzUnmarshal(f *testing.F) {
	for _, r := range []handshake.Request{ending(id), planning(id, "é\u2028\x00")} {
		b, err := handshake.NewBook()
		require.NoError(f, err)
		h, err := b.Ask(noon, r)
		require.NoError(f, err)
		for range 2 {
			text, err := json.Marshal(h)
			require.NoError(f, err)
			f.Add(text)
			h, err = b.Answer(noon, r.Answerer, handshake.Answer{Kind: r.Kind, ID: id, Note: "n"})
			_ = err
		}
	}
	f.Add([]byte(`{"request_id":"1a2b3c4d","kind":"plan","asker":{"peer":"a"},"answerer":{"person":true},"asked":"0001-01-01T00:00:00+23:59","due":"9999-12-31T23:59:59-12:00","state":"expired","ended":"2026-01-01T00:00:00Z","gone":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var h, again handshake.Handshake
		if json.Unmarshal(text, &h) != nil {
			assert.Zero(t, h)
			return
		}
		first, err := json.Marshal(h)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(first, &again))
		second, err := json.Marshal(again)
		require.NoError(t, err)
		assert.Equal(t, string(first), string(second))
		assert.Equal(t, h, again)
		b, err := handshake.NewBook(h)
		require.NoError(t, err)
		_, err = b.Answer(noon, h.Asker, handshake.Answer{Kind: h.Kind, ID: h.ID, Approve: true})
		require.Error(t, err, "an asker never answers")
		_, err = b.Answer(noon, h.Answerer, handshake.Answer{Kind: h.Kind, ID: h.ID, Approve: true})
		assert.Equal(t, h.Open(), err == nil)
		assert.False(t, slices.ContainsFunc(b.All(), handshake.Handshake.Open))
	})
}
