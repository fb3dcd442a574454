package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
)

// A plain server accepts the configuration in the documentation, which grants what a computer needs, and no more.
func TestN4_plainServerOfTheDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "computers.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```conf\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	dir := t.TempDir()
	seeds, keys := map[string][]byte{}, map[string]string{}
	for _, who := range []string{"admin", "raspi"} {
		seeds[who], keys[who], err = link.NewSeed()
		require.NoError(t, err)
	}
	h, err := hub.Open(filepath.Join(dir, "hub"))
	require.NoError(t, err)
	_, err = h.Certificate([]string{"127.0.0.1"}, time.Now())
	require.NoError(t, err)
	ca, err := h.Authority(time.Now())
	require.NoError(t, err)
	config := filepath.Join(dir, "nats.conf")
	pair := filepath.Join(h.Dir(), "server.pem")
	require.NoError(t, os.WriteFile(config, []byte(strings.NewReplacer(
		"0.0.0.0:4222", "127.0.0.1:-1", "/var/lib/nats", filepath.Join(dir, "js"), "/etc/nats/server.pem", pair, "/etc/nats/server-key.pem", pair,
		"ADMIN_KEY", keys["admin"], "RASPI_KEY", keys["raspi"],
	).Replace(string(block[1]))), 0o600))
	options, err := server.ProcessConfigFile(config)
	require.NoError(t, err)
	assert.True(t, options.SyncAlways)
	assert.EqualValues(t, maxPayload, options.MaxPayload)
	require.Len(t, options.Nkeys, 2)
	publish, subscribe := link.Grants("raspi")
	assert.ElementsMatch(t, publish, options.Nkeys[1].Permissions.Publish.Allow)
	assert.ElementsMatch(t, subscribe, options.Nkeys[1].Permissions.Subscribe.Allow)
	assert.Nil(t, options.Nkeys[1].Permissions.Response)

	options.NoSigs, options.NoLog = true, true
	s, err := server.NewServer(options)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	dial := func(who string) jetstream.JetStream {
		creds := filepath.Join(dir, who+".creds")
		require.NoError(t, os.WriteFile(creds, link.Format(seeds[who], ca), 0o600))
		conn, err := nats.Connect(s.ClientURL(), mustKey(t, creds), nats.RootCAs(creds), nats.CustomInboxPrefix("_INBOX."+who))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		js, err := jetstream.New(conn)
		require.NoError(t, err)
		return js
	}
	admin, raspi := dial("admin"), dial("raspi")
	_, err = link.EnsureMailbox(t.Context(), admin, "raspi")
	require.NoError(t, err)
	_, err = raspi.Publish(t.Context(), "intercom.v1.to.raspi.raspi", []byte("hi"))
	require.NoError(t, err)
	mailbox, err := link.EnsureMailbox(t.Context(), raspi, "raspi")
	require.NoError(t, err)
	m, err := mailbox.First(t.Context(), "intercom.v1.to.raspi.raspi")
	require.NoError(t, err)
	require.NotNil(t, m)
	require.NoError(t, mailbox.Delete(t.Context(), m))

	// The stream that the page creates with nats is the one that intercom creates.
	stream, err := admin.Stream(t.Context(), "INTERCOM_raspi")
	require.NoError(t, err)
	c := stream.CachedInfo().Config
	assert.Equal(t, []string{"intercom.v1.to.raspi.*"}, c.Subjects)
	assert.Equal(t, 30*24*time.Hour, c.MaxAge)
	assert.EqualValues(t, 100_000, c.MaxMsgs)
	assert.EqualValues(t, 1<<30, c.MaxBytes)
	assert.Equal(t, 2*time.Minute, c.Duplicates)
	assert.Equal(t, jetstream.LimitsPolicy, c.Retention)
	assert.Equal(t, jetstream.DiscardNew, c.Discard)
	assert.EqualValues(t, 20_000, c.MaxMsgsPerSubject)
	assert.True(t, c.DiscardNewPerSubject)
	require.NotNil(t, c.RePublish)
	assert.Equal(t, jetstream.RePublish{Source: "intercom.v1.to.raspi.*", Destination: "intercom.v1.mail.raspi.{{wildcard(1)}}", HeadersOnly: true}, *c.RePublish)
	for _, words := range []string{
		"--retention limits --discard new --storage file", "--max-age 30d --max-msgs 100000 --max-msgs-per-subject 20000 --discard-per-subject --max-bytes 1GiB",
		"--dupe-window 2m", "--republish-source '" + c.RePublish.Source + "' --republish-destination '" + c.RePublish.Destination + "' --republish-headers",
	} {
		assert.Contains(t, string(page), words)
	}
}
