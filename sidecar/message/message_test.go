package message_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var states = []message.ReceiptState{
	"", message.Queued, message.Held, message.Typed, message.Submitted,
	message.Answered, message.Failed, message.Expired, message.Uncertain,
}

func TestReceiptState_final_states_have_no_successor(t *testing.T) {
	for _, from := range states {
		for _, to := range states {
			if from.Final() && (from != message.Uncertain || to != message.Submitted) { // a late record may prove it
				assert.False(t, from.May(to), "%q → %q", from, to)
			}
			if to == "" {
				assert.False(t, from.May(to), "%q → nothing", from)
			}
		}
	}
}

// Once bytes may be in the pane, a delivery never again counts as waiting to be typed, nor as
// expired: either would let it be typed a second time.
func TestReceiptState_typed_never_becomes_queued_or_expired(t *testing.T) {
	assert.False(t, message.Typed.May(message.Queued))
	assert.False(t, message.Typed.May(message.Expired))
	assert.False(t, message.Submitted.May(message.Held))
	assert.False(t, message.Submitted.May(message.Typed))
	assert.True(t, message.Typed.May(message.Held), "our text stands, a dialog keeps Enter away")
}

func TestReceiptState_answered_only_after_submitted(t *testing.T) {
	for _, from := range states {
		assert.Equal(t, from == message.Submitted, from.May(message.Answered), "%q", from)
	}
}

func TestID_sorts_by_time_and_parses_back(t *testing.T) {
	var last message.ID
	for range 100 {
		id := message.NewID()
		parsed, err := message.ParseID(strings.ToUpper(string(id)))
		require.NoError(t, err)
		assert.Equal(t, id, parsed)
		assert.Greater(t, string(id), string(last))
		last = id
	}
	_, err := message.ParseID("not an id")
	assert.ErrorContains(t, err, `"not an id"`)
}

func TestEnvelope_Validate(t *testing.T) {
	good := message.Envelope{ID: message.NewID(), Type: message.KindMessage, Body: "words"}
	require.NoError(t, good.Validate())
	for _, bad := range []struct {
		name   string
		change func(*message.Envelope)
		want   string
	}{
		{"no id", func(e *message.Envelope) { e.ID = "" }, "no id"},
		{"no type", func(e *message.Envelope) { e.Type = "" }, "no type"},
		{"too long", func(e *message.Envelope) { e.Body = strings.Repeat("x", message.MaxBody+1) }, "1048577 bytes"},
		{"not UTF-8", func(e *message.Envelope) { e.Body = "\xff" }, "UTF-8"},
	} {
		t.Run(bad.name, func(t *testing.T) {
			e := good
			bad.change(&e)
			assert.ErrorContains(t, e.Validate(), bad.want)
		})
	}
	good.Body = strings.Repeat("x", message.MaxBody)
	assert.NoError(t, good.Validate(), "the limit itself still goes")
}

func TestEnvelope_survives_JSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := message.Envelope{
			ID: message.NewID(), Type: rapid.String().Draw(t, "type"), Body: rapid.String().Draw(t, "body"),
			From:    message.Address{Name: rapid.String().Draw(t, "name"), Number: rapid.IntRange(0, 99).Draw(t, "number")},
			Depth:   rapid.IntRange(0, 99).Draw(t, "depth"),
			Created: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC(),
		}
		text, err := json.Marshal(e)
		require.NoError(t, err)
		var back message.Envelope
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, e, back)
	})
}

// A chat from an older journal, or from a computer with an older version, has a setting under its
// former name.
func TestLimits_formerName(t *testing.T) {
	for text, want := range map[string]string{
		`{"depth":3,"empty":"off"}`:    "off",
		`{"empty":"on","stall":"off"}`: "off",
		`{"stall":"agents"}`:           "agents",
	} {
		var l message.Limits
		require.NoError(t, json.Unmarshal([]byte(text), &l))
		assert.Equal(t, want, l.Stall, text)
	}
	text, err := json.Marshal(message.Limits{Depth: 3, Stall: "off"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"depth":3,"stall":"off"}`, string(text))
}

// T5: each of a thousand sessions that begin at once has its own id.
func TestT5_aThousandSessions(t *testing.T) {
	ids := make(chan message.ID, 1000)
	for range 10 {
		go func() {
			for range cap(ids) / 10 {
				ids <- message.NewID()
			}
		}()
	}
	all := map[message.ID]bool{}
	for range cap(ids) {
		id := <-ids
		_, err := message.ParseID(string(id))
		assert.NoError(t, err)
		all[id] = true
	}
	assert.Len(t, all, cap(ids))
}

// The outcome of a message that is decided anew is that of the delivery made instead.
func TestLatest(t *testing.T) {
	of := func(delivery, target message.ID, state message.ReceiptState, why message.Reason) message.Receipt {
		return message.Receipt{Delivery: delivery, Target: target, State: state, Reason: why}
	}
	ended := func(delivery, target message.ID) message.Receipt {
		return of(delivery, target, message.Failed, message.DecidedAnew)
	}
	one, other := of("1", "a", message.Held, message.Unfiltered), of("2", "b", message.Held, message.Unfiltered)
	twice := of("3", "a", message.Failed, message.Duplicate)
	for name, c := range map[string]struct {
		all  []message.Receipt
		want message.Receipt
	}{
		"none of it":            {[]message.Receipt{other}, message.Receipt{}},
		"not decided anew":      {[]message.Receipt{one, other, twice}, one},
		"to the same target":    {[]message.Receipt{one, other, ended("1", "a"), ended("2", "b"), of("4", "b", message.Queued, ""), of("5", "a", message.Queued, ""), of("5", "a", message.Typed, "")}, of("5", "a", message.Typed, "")},
		"to another":            {[]message.Receipt{one, other, ended("1", "a"), ended("2", "b"), of("4", "c", message.Queued, ""), of("5", "d", message.Typed, "")}, of("4", "c", message.Queued, "")},
		"refused":               {[]message.Receipt{one, ended("1", "a"), of("4", "a", message.Failed, message.Dropped)}, of("4", "a", message.Failed, message.Dropped)},
		"twice":                 {[]message.Receipt{one, ended("1", "a"), ended("4", "a"), of("5", "a", message.Submitted, "")}, of("5", "a", message.Submitted, "")},
		"sent once more before": {[]message.Receipt{one, twice, ended("1", "a"), of("4", "c", message.Queued, ""), twice}, of("4", "c", message.Queued, "")},
		"nothing instead":       {[]message.Receipt{one, other, ended("1", "a"), {State: message.Failed}, other, twice}, ended("1", "a")},
	} {
		assert.Equal(t, c.want, message.Latest(c.all, "1"), name)
	}
}
