package policyset

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// The test binary is its own policy worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "policy-worker" {
		if err := worker.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rig is a set in use with its files.
type rig struct {
	testing.TB
	*Live
	o Options

	mu     sync.Mutex
	places map[message.ID]Workplace
	trust  map[string]bool
	recent func() []relay.Question
}

const (
	letsGo = `intercom.on("decide", function() return intercom.deliver() end)`
	asks   = `intercom.on("decide", function() return intercom.ask { reason = "careful" } end)`
)

func newRig(t testing.TB, command ...string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{TB: t, places: map[message.ID]Workplace{"id-Ada": {}, "id-Ben": {}, "id-Cyd": {}}, trust: map[string]bool{}}
	if command == nil {
		command = []string{os.Args[0], "policy-worker"}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "state"), 0o700))
	r.o = Options{
		Config: filepath.Join(dir, "config"), State: filepath.Join(dir, "state"), Command: command,
		Trusted: func(_, hash string) bool { r.mu.Lock(); defer r.mu.Unlock(); return r.trust[hash] },
		Workplaces: func() map[message.ID]Workplace {
			r.mu.Lock()
			defer r.mu.Unlock()
			return maps.Clone(r.places)
		},
		Recent: func(_ context.Context, _ int) ([]relay.Question, error) {
			if r.recent == nil {
				return nil, nil
			}
			return r.recent(), nil
		},
		Used: func(policy.Settings) {}, Failed: func(string) {},
		Shown:  func(string) {},
		Record: io.Discard, Log: slog.New(slog.DiscardHandler),
	}
	return r
}

func (r *rig) save(name, text string) { r.write(filepath.Join(r.o.Config, name), text) }

func (r *rig) write(path, text string) {
	r.Helper()
	require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(r, os.WriteFile(path, []byte(text), 0o600))
}

// begin starts a sidecar's Live.
func (r *rig) begin() {
	r.Helper()
	r.Live = New(r.o)
	r.Begin(r.Context())
	r.Cleanup(r.End)
}

// runs starts Run, which notices saved files.
func (r *rig) runs() {
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(r.Context())
	go func() { defer close(done); _ = r.Live.Run(ctx) }()
	r.Cleanup(func() { cancel(); <-done })
}

// decides returns the outcome for Ben of a message from Ada.
func (r *rig) decides() message.Outcome {
	r.Helper()
	v, err := r.Decide(r.Context(), question("hello"))
	require.NoError(r, err)
	return v.For("id-Ben")
}

func (r *rig) within(d time.Duration, what string, is func() bool) {
	r.Helper()
	for late := time.Now().Add(d); !is(); time.Sleep(10 * time.Millisecond) {
		require.True(r, time.Now().Before(late), "waited %v until %s", d, what)
	}
}

// moves makes a session work in a project.
func (r *rig) moves(id message.ID, project string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places[id] = Workplace{Project: project}
}

// project is a directory with a policy of its own.
func (r *rig) project(text string) string {
	r.Helper()
	dir := r.TempDir()
	r.write(filepath.Join(dir, ".intercom", "policy.lua"), text)
	return dir
}
