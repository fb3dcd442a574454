package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// TestDoor_eachCellOfAnotherComputer asks for every operation over the link, as a computer that may do nothing and as
// one that may do all that a person can allow, and checks that the sidecar does what the table says. Two operations
// have the names of the link's own questions: their answers tell no more than the link does.
func TestDoor_eachCellOfAnotherComputer(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	r := linked(t, h, "raspi", `computers = { mars = { may = {} }, venus = { may = { "send", "answer", "chat", "start", "read" } } }`)
	worker := r.adopted("Worker", silent...)
	mars, venus := r.elsewhere(h, "mars"), r.elsewhere(h, "venus")
	for _, op := range api.Operations() {
		var body any = map[string]any{}
		if op.Name == api.Chats.Name {
			body = []message.ID{}
		}
		_, no := mars.asks(t, op.Name, body)
		out, yes := venus.asks(t, op.Name, body)
		switch {
		case op.Name == api.Sessions.Name || op.Name == api.Chats.Name:
			assert.NoError(t, errors.Join(no, yes), op.Name)
			assert.NotContains(t, string(out), worker.pane)
			assert.NotContains(t, string(out), worker.session.TTY)
		case op.Door.Power == "":
			assert.ErrorContains(t, no, "it does not know", op.Name)
			assert.ErrorContains(t, yes, "it does not know", op.Name)
		default:
			assert.ErrorContains(t, no, "may not "+op.Door.Power+" here", op.Name)
			if yes != nil {
				assert.NotContains(t, yes.Error(), "may not", op.Name)
				assert.NotContains(t, yes.Error(), "does not know", op.Name)
			}
		}
	}
	assert.Empty(t, worker.bytes(), "nothing came of any of it")
}

// elsewhere is another computer, but only the part that asks.
type elsewhere struct{ *link.Link }

func (r *rig) elsewhere(h *hub, name string) elsewhere {
	r.t.Helper()
	dir := r.t.TempDir()
	l := elsewhere{&link.Link{
		Relay: noRelay{}, Journal: noJournal{}, Dir: dir, Lock: filepath.Join(dir, "lock"), Key: name, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Config:   func() link.Config { return link.Config{Name: name, NATS: h.ClientURL()} },
		May:      func(string, string) bool { return false },
		Pinned:   func(string) string { return "" },
		Sessions: func() []link.Session { return nil },
		Peers:    func() []message.Peer { return nil },
		Chats:    func() []message.Chat { return nil },
	}}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.Run(ctx)
	}()
	r.t.Cleanup(func() {
		end()
		<-ended
	})
	r.waitFor(name+" is answered", func() bool {
		_, err := l.asks(r.t, "ping", nil)
		return err == nil
	})
	return l
}

// asks asks raspi for something, on behalf of a session.
func (l elsewhere) asks(t testing.TB, op string, body any) (out json.RawMessage, err error) {
	t.Helper()
	err = l.Ask(t.Context(), "raspi", op, link.Session{ID: message.NewID(), Name: "Asker"}, body, &out)
	if err != nil && op != "ping" {
		_, told := errors.AsType[*link.RemoteError](err)
		require.True(t, told, "%s: %v", op, err)
	}
	return out, err
}

// noRelay is the relay of a computer to which nothing comes.
type noRelay struct{ link.Relay }

func (noRelay) Join(_ context.Context, p message.Peer) (message.Peer, error) { return p, nil }

func (noRelay) Gone(context.Context, message.ID, message.Reason) error { return nil }

func (noRelay) Tell(context.Context, message.ID, string) error { return nil }

type noJournal struct{ link.Journal }
