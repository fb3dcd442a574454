package link

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A reply to a person is acknowledged once it is recorded that they were told, and not before. If telling or
// refusing fails for now, the reply comes again, and is told once. It is a reply even if the session that was
// asked has ended meanwhile.
func TestReply_toAPerson(t *testing.T) {
	later := errors.New("not now")
	for name, c := range map[string]struct {
		does func(r *replying)
		ends *message.Peer // the session that was asked, as the journal has it
		told int
		says message.ReceiptState
		why  message.Reason
	}{
		"told":          {does: func(r *replying) {}, told: 1, says: message.Submitted},
		"it has ended":  {does: func(r *replying) {}, ends: &message.Peer{Computer: "b", EndReason: string(message.AgentGone)}, told: 1, says: message.Submitted},
		"was forgotten": {does: func(r *replying) {}, ends: &message.Peer{Computer: "b", EndReason: string(message.ComputerForgotten)}, says: message.Failed, why: message.AgentGone},
		"not its own":   {does: func(r *replying) {}, ends: &message.Peer{Computer: "c"}, says: message.Failed, why: message.AgentGone},
		"comes twice": {does: func(r *replying) {
			require.NoError(r.t, r.comes())
		}, told: 1, says: message.Submitted},
		"not written": {does: func(r *replying) {
			r.tell = &message.UnwritableError{Why: "disk full", Err: later}
			require.ErrorIs(r.t, r.comes(), later)
			require.Empty(r.t, r.posted, "nothing is acknowledged")
			r.tell = nil
		}, told: 1, says: message.Submitted},
		"neither told nor refused": {does: func(r *replying) {
			for r.lf.costs.of("b").tells.AllowN(r.now, 1) {
			}
			r.post = later
			require.ErrorIs(r.t, r.comes(), later)
			r.post = nil
		}, says: message.Failed, why: message.QueueFull},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplying(t)
			if c.ends != nil {
				r.book.Sessions[0].Computer, r.book.Sessions[0].EndReason = c.ends.Computer, c.ends.EndReason
			}
			c.does(r)
			require.NoError(t, r.comes())
			assert.Len(t, r.told, c.told)
			require.NotEmpty(t, r.posted)
			last := r.posted[len(r.posted)-1]
			assert.Equal(t, []any{c.says, c.why}, []any{last.State, last.Reason})
		})
	}
}

// replying is a link on which a session of computer b answers what a person here has asked it.
type replying struct {
	Relay
	jetstream.JetStream
	t      *testing.T
	link   *Link
	lf     *life
	book   *book
	now    time.Time
	reply  parcel
	tell   error // error when recording what a person is told
	post   error // error of the server
	told   []string
	posted []fate
}

func newReplying(t *testing.T) *replying {
	r := &replying{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), book: &book{Book: journaltest.NewBook()}}
	r.link = &Link{
		Relay: r, Journal: r.book, Config: func() Config { return Config{Name: "a"} }, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return r.now },
		May: func(string, string) bool { return true }, Sessions: func() []Session { return nil },
	}
	r.link.init()
	r.lf = &life{token: "a", id: identityOf(t), conn: &nats.Conn{}, js: r, costs: costs{pace: r.link.pace, timing: r.link.timing}}
	there := message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Computer: "b"}
	asked := message.Delivery{ID: message.NewID(), Target: there.ID, Message: message.Envelope{
		From: message.Address{Name: "ada"}, Origin: message.OriginHuman, Body: "how far are you?",
	}}
	r.book.Book.Commit(message.Step{Peers: []message.Peer{there}, Deliveries: []message.Delivery{asked}})
	r.reply = parcel{
		Kind: parcelMessage, ID: message.NewID(), From: Session{ID: there.ID}, To: r.link.Author(asked.Message.From).ID,
		Message: &letter{Type: message.KindMessage, Body: "nearly done", InReplyTo: asked.ID},
	}
	return r
}

// comes makes the link read the reply.
func (r *replying) comes() error {
	return r.link.takeMessage(r.t.Context(), r.lf, "b", r.reply)
}

func (r *replying) Tell(_ context.Context, _ message.ID, text string) error {
	if r.tell == nil {
		r.told = append(r.told, text)
	}
	return r.tell
}

func (r *replying) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	var p parcel
	require.NoError(r.t, json.Unmarshal(m.Data, &p))
	if r.post == nil {
		r.posted = append(r.posted, *p.Fate)
	}
	return &jetstream.PubAck{}, r.post
}
