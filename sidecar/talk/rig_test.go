package talk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/porttest"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) != "" {
		os.Exit(play())
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for something that has to come.
const patience = 20 * time.Second

// person is somebody with ports in their own directory.
type person struct {
	Home
	t      testing.TB
	Keeper *Keeper
	end    func()
}

func newPerson(t testing.TB) *person {
	dir := t.TempDir()
	p := &person{Home: Home{Dir: filepath.Join(dir, ".ai-talk"), Claims: filepath.Join(dir, "claims")}, t: t}
	return p
}

// configure writes config.json.
func (p *person) configure(c Config) *person {
	require.NoError(p.t, private(p.Dir))
	require.NoError(p.t, writeJSON(filepath.Join(p.Dir, "config.json"), c))
	return p
}

// keep runs a keeper until the end of the test, or end.
func (p *person) keep() *person {
	p.Keeper, p.end = keep(p.t, p.Home)
	return p
}

func keep(t testing.TB, h Home) (*Keeper, func()) { return keepThatLooks(t, h, 0) }

func keepThatLooks(t testing.TB, h Home, every time.Duration) (*Keeper, func()) {
	k := &Keeper{Home: h, Log: slog.New(slog.DiscardHandler), every: every}
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { assert.NoError(t, k.Run(ctx)) })
	end := sync.OnceFunc(func() {
		cancel()
		run.Wait()
	})
	t.Cleanup(end)
	return k, end
}

func freePort(t testing.TB) int {
	t.Helper()
	return porttest.Free(t)
}

// start makes a port served.
func (p *person) start(w Wish) Port {
	p.t.Helper()
	number := w.Port
	if number == 0 {
		number = freePort(p.t)
	}
	port := p.Port(number)
	require.NoError(p.t, p.want(number, w))
	refused, err := p.Keeper.Look(p.t.Context())
	require.NoError(p.t, err)
	require.Empty(p.t, refused)
	_, ok := port.Listening()
	require.True(p.t, ok)
	return port
}

// listener returns the listener of a port.
func (p *person) listener(port Port) *listener {
	p.Keeper.mu.Lock()
	defer p.Keeper.mu.Unlock()
	return p.Keeper.serve[port.Number].listener
}

// refused returns how many connections to a port were refused for that reason.
func (p *person) refused(port Port, why string) int {
	c := &p.listener(port).counts
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[why]
}

// want does what `listen start` does before it waits.
func (h Home) want(number int, w Wish) error {
	c, err := h.Starting(patience)
	if err != nil {
		return err
	}
	defer c.Release()
	return h.Port(number).Want(w)
}

func (p Port) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", address(p.Number))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// raw writes bytes to the port, and returns how the listener ends the connection.
func (p Port) raw(t *testing.T, text ...string) error {
	t.Helper()
	c := p.dial(t)
	for _, one := range text {
		if _, err := c.Write([]byte(one)); err != nil {
			return err
		}
	}
	_ = c.(*net.TCPConn).CloseWrite()
	var got [1]byte
	n, err := c.Read(got[:])
	require.Zero(t, n, "a listener says nothing to who has not said hello")
	if err.Error() == "EOF" {
		return nil
	}
	return err
}

// unread returns the messages of a port.
func (p Port) unread(t *testing.T, opts CheckOptions) (all []Message) {
	t.Helper()
	require.NoError(t, p.Check(opts, func(found []Message) error {
		all = found
		return nil
	}))
	return all
}

func texts(all []Message) []string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = m.Text
	}
	return out
}

// say sends a text.
func (p Port) say(t *testing.T, from int, text string) error {
	t.Helper()
	_, err := p.Send(t.Context(), Sending{To: p.Number, From: from, Body: []byte(text)})
	return err
}

func codeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

func until(t testing.TB, so func() bool, why string) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(end), why)
	}
}

func lines(t *testing.T, path string) (all []map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		var one map[string]any
		require.NoError(t, json.Unmarshal(line, &one), "%s", line)
		all = append(all, one)
	}
	return all
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("message %d", i))
	}
	return all
}

func framed(all ...string) string {
	var b strings.Builder
	for _, one := range all {
		b.Write(AppendFrame(nil, []byte(one)))
	}
	return b.String()
}

func keys(m map[string]any) (all []string) {
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

var discard = slog.New(slog.DiscardHandler)

func testContext(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	return ctx, stop
}
