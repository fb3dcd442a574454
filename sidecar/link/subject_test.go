package link

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What Grants allows is enough for a computer to send, to ask, to answer and to read its own mailbox.
func TestN4_grantsAreEnough(t *testing.T) {
	t.Parallel()
	g := startGranted(t, "raspi", "laptop")
	raspi, laptop := g.dial(t, "raspi"), g.dial(t, "laptop")
	asked, err := raspi.SubscribeSync(askSubject("raspi", "*"))
	require.NoError(t, err)
	answered, err := laptop.SubscribeSync(answerSubject("laptop", "*", "*"))
	require.NoError(t, err)
	bell, err := raspi.SubscribeSync(bellSubject("raspi", "*"))
	require.NoError(t, err)
	heard, err := laptop.SubscribeSync(hereSubject("*"))
	require.NoError(t, err)
	require.NoError(t, laptop.Flush())
	require.NoError(t, raspi.Flush())

	js, err := jetstream.New(laptop)
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("hi"))
	require.NoError(t, err)
	own, err := jetstream.New(raspi)
	require.NoError(t, err)
	mailbox, err := EnsureMailbox(t.Context(), own, "raspi")
	require.NoError(t, err)
	waiting, err := mailbox.Waiting(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{toSubject("raspi", "laptop")}, waiting)
	rung, err := bell.NextMsg(time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "laptop", from(rung.Subject))
	assert.Equal(t, []string{"hi"}, takeAll(t, mailbox))

	require.NoError(t, laptop.Publish(askSubject("raspi", "laptop"), []byte("who?")))
	question, err := asked.NextMsg(time.Minute)
	require.NoError(t, err)
	require.NoError(t, raspi.Publish(answerSubject(from(question.Subject), "7", "raspi"), []byte("me")))
	answer, err := answered.NextMsg(time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "raspi", from(answer.Subject))
	require.NoError(t, raspi.Publish(hereSubject("raspi"), []byte("here")))
	here, err := heard.NextMsg(time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "raspi", from(here.Subject))
}

// A computer with its own credentials speaks as itself, reads its own mailbox, and creates and removes nothing.
func TestN5_grantsAreNoMoreThanThat(t *testing.T) {
	t.Parallel()
	g := startGranted(t, "raspi", "laptop", "mallory")
	_, err := g.js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("private"))
	require.NoError(t, err)
	refused := make(chan error, 100)
	mallory := g.dial(t, "mallory", nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	for _, subject := range []string{
		toSubject("raspi", "laptop"), askSubject("raspi", "laptop"), answerSubject("raspi", "7", "laptop"), hereSubject("laptop"), "_INBOX.raspi.x", "other",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.CREATE.INTERCOM_mallory", "$JS.API.STREAM.UPDATE.INTERCOM_raspi",
		"$JS.API.STREAM.INFO.INTERCOM_raspi", "$JS.API.STREAM.DELETE.INTERCOM_raspi", "$JS.API.STREAM.PURGE.INTERCOM_raspi", "$JS.API.STREAM.MSG.GET.INTERCOM_raspi",
		"$JS.API.STREAM.MSG.DELETE.INTERCOM_raspi", "$JS.API.STREAM.SNAPSHOT.INTERCOM_raspi", "$JS.API.STREAM.DELETE.INTERCOM_mallory", "$JS.API.DIRECT.GET.INTERCOM_raspi",
		"$JS.API.CONSUMER.CREATE.INTERCOM_raspi.x", "$JS.API.CONSUMER.DURABLE.CREATE.INTERCOM_raspi.x", "$JS.API.CONSUMER.CREATE.INTERCOM_mallory.x",
		"$JS.API.CONSUMER.DELETE.INTERCOM_raspi.mail", "$JS.API.CONSUMER.MSG.NEXT.INTERCOM_raspi.mail", "$JS.API.CONSUMER.MSG.NEXT.INTERCOM_mallory.mail",
		"$JS.ACK.INTERCOM_raspi.mail.1.1.1.1795493580031028936.0", bellSubject("raspi", "laptop"), "$SYS.REQ.SERVER.PING", "$SRV.PING",
	} {
		require.NoError(t, mallory.Publish(subject, nil))
		refusal(t, refused, subject)
	}
	for _, subject := range []string{
		">", "intercom.>", toSubject("raspi", "*"), toSubject("mallory", "*"), "intercom.v1.to.>", askSubject("raspi", "*"), askSubject("*", "mallory"), answerSubject("raspi", "*", "*"),
		bellSubject("raspi", "*"), "_INBOX.>", "_INBOX.raspi.>", "$JS.>", "$JS.EVENT.ADVISORY.>", "$JS.ACK.>", "$SYS.>", "_R_.>",
	} {
		_, err := mallory.SubscribeSync(subject)
		require.NoError(t, err)
		require.NoError(t, mallory.Flush())
		refusal(t, refused, subject)
	}
	g.untouched(t)
}

// A server does not check the reply subject of a published message, and JetStream itself publishes there.
// Nothing is read, created or removed in that way. What it forges (its own words under another's name) has
// nobody's signature.
func TestN5_replySubjectsReachNoMailbox(t *testing.T) {
	t.Parallel()
	g := startGranted(t, "raspi", "laptop", "mallory")
	_, err := g.js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("private"))
	require.NoError(t, err)
	mallory := g.dial(t, "mallory", nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	consume := `{"stream_name":"INTERCOM_raspi","config":{"name":"x","ack_policy":"none","deliver_policy":"all","deliver_subject":"_INBOX.mallory.x"}}`
	stolen, err := mallory.SubscribeSync("_INBOX.mallory.>")
	require.NoError(t, err)
	for subject, body := range map[string]string{
		"$JS.API.STREAM.DELETE.INTERCOM_raspi": "", "$JS.API.STREAM.PURGE.INTERCOM_raspi": "", "$JS.API.STREAM.MSG.DELETE.INTERCOM_raspi": `{"seq":1}`,
		"$JS.API.STREAM.MSG.GET.INTERCOM_raspi": `{"seq":1}`, "$JS.API.CONSUMER.CREATE.INTERCOM_raspi.x": consume,
	} {
		// The acknowledgement of what is published, and what a mailbox hands out.
		require.NoError(t, mallory.PublishRequest(toSubject("mallory", "mallory"), subject, []byte(body)))
		require.NoError(t, mallory.Publish(toSubject("mallory", "mallory"), []byte(body)))
		require.NoError(t, mallory.PublishRequest("$JS.API.STREAM.MSG.GET.INTERCOM_mallory", subject, []byte(`{"seq":1}`)))
		require.NoError(t, mallory.PublishRequest("$JS.API.STREAM.INFO.INTERCOM_mallory", subject, nil))
		require.NoError(t, mallory.Flush())
	}
	// By now everything has been done: the server takes requests of one connection in order.
	var asked jetstream.StreamInfo
	require.Eventually(t, func() bool {
		stream, err := g.js.Stream(t.Context(), StreamOf("mallory"))
		if err == nil {
			asked = *stream.CachedInfo()
		}
		return err == nil && asked.State.LastSeq >= 7
	}, time.Minute, 10*time.Millisecond)
	g.untouched(t)
	for {
		m, err := stolen.NextMsg(time.Millisecond)
		if err != nil {
			break
		}
		assert.NotContains(t, string(m.Data), "private")
	}
}

// Helpers of the tests.

// granted is a server at which each computer may do what Grants says; js may do everything.
type granted struct {
	server *server.Server
	seeds  map[string][]byte
	js     jetstream.JetStream
}

func startGranted(t *testing.T, tokens ...string) *granted {
	t.Helper()
	g := &granted{seeds: map[string][]byte{}}
	var users []*server.NkeyUser
	for _, token := range append(tokens, "everything") {
		seed, public, err := NewSeed()
		require.NoError(t, err)
		user := &server.NkeyUser{Nkey: public}
		if token != "everything" {
			publish, subscribe := Grants(token)
			user.Permissions = &server.Permissions{Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe}}
		}
		g.seeds[token] = seed
		users = append(users, user)
	}
	g.server = startServer(t, func(o *server.Options) { o.Nkeys = users })
	var err error
	g.js, err = jetstream.New(g.dial(t, "everything"))
	require.NoError(t, err)
	for _, token := range tokens {
		_, err := EnsureMailbox(t.Context(), g.js, token)
		require.NoError(t, err)
	}
	return g
}

func (g *granted) dial(t *testing.T, token string, more ...nats.Option) *nats.Conn {
	t.Helper()
	c, err := ParseCredentials(Format(g.seeds[token], nil))
	require.NoError(t, err)
	options, err := c.options()
	require.NoError(t, err)
	conn, err := nats.Connect(g.server.ClientURL(), append(append(options, nats.CustomInboxPrefix(inbox(token))), more...)...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// untouched checks that raspi's mailbox has the one message that laptop has sent, and no consumer.
func (g *granted) untouched(t *testing.T) {
	t.Helper()
	stream, err := g.js.Stream(t.Context(), StreamOf("raspi"))
	require.NoError(t, err)
	first, err := stream.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	assert.Equal(t, "private", string(first.Data))
	assert.Zero(t, stream.CachedInfo().State.Consumers)
}

// refusal waits for the server's refusal of a subject.
func refusal(t *testing.T, refused <-chan error, subject string) {
	t.Helper()
	for {
		select {
		case err := <-refused:
			if strings.Contains(err.Error(), fmt.Sprintf("%q", subject)) {
				return
			}
		case <-time.After(time.Minute):
			require.Fail(t, "not refused", "%s", subject)
		}
	}
}
