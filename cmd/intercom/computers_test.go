package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// The list shows a computer that is here, one that is away, one that was never seen, and the reason why this one is not linked.
func TestComputers_areShown(t *testing.T) {
	day := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	b := &fakeBackend{computers: []api.Computer{
		{Name: "laptop", Local: true, Present: true, Since: &day, Sessions: 1, Server: "tls://hub:4222"},
		{Name: "here", Present: true, RoundTrip: 1.5, Since: &day, Sessions: 2, May: []string{"send", "answer"}},
		{Name: "away", Since: &day, Sessions: 3, Waiting: 4},
		{Name: "unseen"},
	}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("computers")
	require.Zero(t, r.code, r.err)
	assert.Regexp(t, `(?m)^laptop +this one +- +2026-01-02 03:04:05 +1 +-`, r.out)
	assert.Regexp(t, `(?m)^here +yes +1.5 ms +2026-01-02 03:04:05 +2 +- +send, answer$`, r.out)
	assert.Regexp(t, `(?m)^away +away +- +2026-01-02 03:04:05 +3 +4`, r.out)
	assert.Regexp(t, `(?m)^unseen +away +- +- +0 +-`, r.out)
	assert.NotContains(t, r.out, "not linked")
	assert.Contains(t, w.run("computers", "--json").out, `{"name":"unseen","local":false,"present":false,"round_trip_ms":0,"since":null,"sessions":0}`)
	b.computers[0].Why = "the server says 100%s\x1b[2J"
	assert.Contains(t, w.run("computers").out, `not linked now: the server says 100%s\x1b[2J`)
}

// Forgetting a computer tells how many messages waited for it, and what became of them.
func TestComputers_forget(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{})
	r := w.run("computers", "--forget", "raspi")
	require.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "messages that waited for raspi: 2 failed, not sent; 1 uncertain, at the server")
}
