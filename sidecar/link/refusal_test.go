package link_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The first refusals are logged one by one; then, once per interval, how many there were, under whatever names;
// and after a quiet time one by one again.
func TestN6_RefusalsAreCounted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var log bytes.Buffer
	l := link.Link{Log: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now }}
	lines := func() []string { return strings.Split(strings.TrimSpace(log.String()), "\n") }
	const flood = 100_000
	for i := range flood { // an hour of it, under a thousand names
		l.Refusal(fmt.Sprint("name", i%1000))
		now = now.Add(time.Hour / flood)
	}
	told := len(lines())
	assert.Greater(t, told, 20)
	assert.Less(t, told, 160, "one a half minute")
	now = now.Add(time.Hour)
	l.ToldRefusals()
	single, counted := 0, 0
	for _, line := range lines() {
		if found := regexp.MustCompile(`many more.* times=(\d+) computers="name\d+( name\d+){0,4}"`).FindStringSubmatch(line); found != nil {
			n, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			counted += n
		} else if strings.Contains(line, "refused from another computer") {
			single++
		}
	}
	assert.Equal(t, flood, single+counted, "none is forgotten")
	l.ToldRefusals()
	now = now.Add(time.Hour)
	before := len(lines())
	l.Refusal("b")
	assert.Len(t, lines(), before+1)
	assert.Contains(t, lines()[before], `refused from another computer" computer=b`)
}

// A computer that only does what is refused, in every way there is, does not fill the log.
func TestN6_AFloodOfWhatIsRefusedFillsNoLog(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	var mu sync.Mutex
	var log bytes.Buffer
	a := newComputer(t, "a", s.ClientURL(), func(l *link.Link) {
		l.Log = slog.New(slog.NewTextHandler(writer(func(p []byte) { mu.Lock(); log.Write(p); mu.Unlock() }), nil))
	})
	b := newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	b.knows("a", inA)
	m := newMallory(t, s)
	m.here(nil)
	const each = 300
	for i := range each {
		for _, name := range []string{"mallory", "b", fmt.Sprint("third", i)} {
			require.NoError(t, m.conn.PublishMsg(nats.NewMsg("intercom.v1.here."+name)))
			require.NoError(t, m.conn.PublishMsg(nats.NewMsg(link.AskSubject("a", name))))
			require.NoError(t, m.conn.PublishMsg(nats.NewMsg(link.ToSubject("a", name)))) // unsigned
		}
		m.mail("a", doc{"kind": "delete everything"})
		m.mail("a", doc{"kind": "message", "from": doc{"id": message.NewID()}, "to": "nobody", "message": json.RawMessage(`{"body": "x"}`)})
		m.here(doc{"sent": time.Now().Add(-time.Hour)})
		m.ask("a", "no such thing", nil, nil)
	}
	require.NoError(t, m.conn.Flush())
	_, err := b.send(inB.ID, inA.ID, "the true one")
	require.NoError(t, err)
	waitFor(t, "what was sent after it", func() bool { got := a.bodies(); return len(got) > 0 })
	assert.Equal(t, []string{"the true one"}, a.bodies())
	mu.Lock()
	defer mu.Unlock()
	lines := strings.Count(log.String(), "\n")
	assert.Contains(t, log.String(), "refused from another computer")
	assert.Less(t, lines, 60, "%s", log.String()[:min(4000, log.Len())])
}

// writer is a function as an io.Writer.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }
