package link_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// N7: nothing of a flooding computer is read for a while, whatever it says: the server has nobody to pass it on
// to. The others are heard meanwhile, and the flooding one is heard again afterwards.
func TestN7_AFloodIsNotHeard(t *testing.T) {
	t.Parallel()
	srv := newServer(t, nil)
	a, b := newComputer(t, "a", srv.ClientURL(), link.UnheardFor(2*time.Second, 5000)), newComputer(t, "b", srv.ClientURL(), nil)
	a.session("inA")
	b.session("inB")
	present := func(here *computer, there string) bool {
		for _, c := range here.link.Computers() {
			if c.Token == there {
				return c.Present
			}
		}
		return false
	}
	waitFor(t, "they know each other", func() bool { return present(a, "b") && present(b, "a") })
	m, loud := newMallory(t, srv), newMallory(t, srv).conn
	m.here(nil)
	waitFor(t, "mallory is here", func() bool { return present(a, "mallory") })

	for what, subject := range map[string]string{
		"questions": link.AskSubject("a", "mallory"), "presence": "intercom.v1.here.mallory", "answers": "intercom.v1.answer.a." + string(message.NewID()) + ".mallory",
	} {
		t.Run(what, func(t *testing.T) {
			heard := func() bool { // whether the server has somebody to pass this on to
				_, err := m.conn.Request(subject, []byte("x"), 50*time.Millisecond)
				return !assert.ObjectsAreEqual(nats.ErrNoResponders, err)
			}
			waitFor(t, "mallory is heard", heard)
			enough, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for {
					select {
					case <-enough:
						return
					default:
						for range 100 {
							_ = loud.PublishMsg(&nats.Msg{Subject: subject, Data: []byte("x")})
						}
						_ = loud.Flush() // otherwise the server buffers more for a than a busy machine reads in the time of a question
					}
				}
			}()
			waitFor(t, "mallory is not heard", func() bool { return !heard() })
			close(enough)
			<-ended
			require.NoError(t, loud.Flush())
			// A machine busy with nothing but the flood may have missed their presence.
			waitFor(t, "they hear each other", func() bool { return present(a, "b") && present(b, "a") })
			_, err := b.link.RoundTrip(t.Context(), "a")
			require.NoError(t, err)
			_, err = a.link.RoundTrip(t.Context(), "b")
			require.NoError(t, err)
			b.session(fmt.Sprint("new, beside ", what))
			sessions := func() int {
				for _, c := range a.link.Computers() {
					if c.Token == "b" {
						return len(c.Sessions)
					}
				}
				return 0
			}
			n := sessions()
			waitFor(t, "what b says is heard", func() bool { return sessions() > n })
		})
	}
	waitFor(t, "mallory is heard again", func() bool {
		m.here(nil)
		_, err := m.conn.Request(link.AskSubject("a", "mallory"), []byte("x"), 50*time.Millisecond)
		return !assert.ObjectsAreEqual(nats.ErrNoResponders, err)
	})
}

// N7: only so much of a flood of mail is read per second. The rest waits in the mailbox, but what another
// computer sends does not. All of it arrives, in order.
func TestN7_AFloodOfMailWaits(t *testing.T) {
	t.Parallel()
	srv := newServer(t, nil)
	const rate, burst, much, seen = 20, 10, 400, 60
	a, b := newComputer(t, "a", srv.ClientURL(), nil), newComputer(t, "b", srv.ClientURL(), link.Paced(rate, burst))
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.knows("a", inA)
	m := newMallory(t, srv)
	m.here(nil)
	began := time.Now()
	own := doc{"id": message.NewID(), "name": "Own"}
	for i := range much {
		m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text(fmt.Sprint("loud ", i))})
	}
	require.NoError(t, m.conn.Flush())
	_, err := a.send(inA.ID, inB.ID, "quiet")
	require.NoError(t, err)
	waitFor(t, "what another one sends", func() bool { return slices.Contains(b.bodies(), "quiet") })
	waitFor(t, "what is read at its pace", func() bool { return len(b.bodies()) > seen })
	n, could := len(b.bodies()), burst+rate*time.Since(began).Seconds()
	assert.LessOrEqual(t, float64(n), could+3)
	loud := slices.DeleteFunc(b.bodies(), func(body string) bool { return body == "quiet" })
	for i, body := range loud {
		require.Equal(t, fmt.Sprint("loud ", i), body)
	}
}

// N6: what somebody makes the server say under another computer's name costs that computer nothing: its own
// words are still heard, and if the forgeries are too much, its questions and answers still are.
func TestN6_JunkUnderAnothersName(t *testing.T) {
	t.Parallel()
	srv := newServer(t, nil)
	a, b := newComputer(t, "a", srv.ClientURL(), link.UnheardFor(2*time.Second, 200)), newComputer(t, "b", srv.ClientURL(), nil)
	a.knows("b", b.session("inB"))
	b.knows("a", a.session("inA"))
	junk := newMallory(t, srv).conn
	const here = "intercom.v1.here.b"
	for range 200 { // more than one computer may say
		require.NoError(t, junk.Publish(here, []byte("{}")))
	}
	require.NoError(t, junk.Flush())
	a.knows("b", b.session("beside it"))

	enough, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-enough:
				return
			default:
				for range 100 {
					_ = junk.Publish(here, []byte("{}"))
				}
				_ = junk.Flush()
			}
		}
	}()
	listens := func() bool {
		_, err := junk.Request(here, []byte("x"), 50*time.Millisecond)
		return !assert.ObjectsAreEqual(nats.ErrNoResponders, err)
	}
	for late := time.Now().Add(10 * time.Second); listens() && time.Now().Before(late); { // a busy machine may not send enough for that
	}
	close(enough)
	<-ended
	for range 5 { // on a busy machine either may have been away for a moment
		waitFor(t, "b answers", func() bool { _, err := a.link.RoundTrip(t.Context(), "b"); return err == nil })
		waitFor(t, "a answers", func() bool { _, err := b.link.RoundTrip(t.Context(), "a"); return err == nil })
	}
	waitFor(t, "its presence is heard again", listens)
	a.knows("b", b.session("afterwards"))
}
