package scripting

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
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
	if len(os.Args) == 3 && os.Args[1] == "broken-worker" {
		brokenWorker(os.Args[2])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// noon is the time of the messages.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// rig is an engine with one set.
type rig struct {
	*testing.T
	engine *Engine
	set    *Set
}

// file returns a policy whose name is made from a number.
func file(n int, text string) policy.Source {
	return policy.Source{Name: fmt.Sprintf("policies/%d.lua", n*10), Text: text}
}

func files(texts ...string) policy.Files {
	var f policy.Files
	for i, text := range texts {
		f.Sources = append(f.Sources, file(i+1, text))
	}
	return f
}

// newRig compiles the texts, each as a file, and uses them.
func newRig(t *testing.T, texts ...string) *rig {
	t.Helper()
	return newRigOf(t, Options{}, files(texts...))
}

func newRigOf(t *testing.T, o Options, f policy.Files) *rig {
	t.Helper()
	r := &rig{T: t, engine: New(o)}
	var err error
	r.set, err = r.engine.Compile(t.Context(), f)
	// A busy computer may have no time to start a worker. Then the scripts are not to blame, and whoever asked asks again.
	for late := time.Now().Add(patience); err != nil && strings.Contains(err.Error(), "too busy") && time.Now().Before(late); {
		r.set, err = r.engine.Compile(t.Context(), f)
	}
	require.NoError(t, err)
	r.engine.Use(r.set)
	t.Cleanup(r.engine.Close)
	return r
}

// said is a message from Ada to Ben.
func said(body string) policy.Input {
	return policy.Input{
		Message: message.Envelope{
			ID: message.NewID(), Thread: message.NewID(), From: message.Address{Name: "Ada", Number: 1}, Type: message.KindTurn,
			Body: body, Origin: message.OriginAgent, Trust: message.TrustVerified, Depth: 3, Created: noon.Add(-2 * time.Second),
		},
		To:   []message.Address{{Name: "Ben", Number: 2, Peer: "s2"}},
		Now:  noon,
		Chat: &policy.Chat{Name: "plans", Participants: []string{"Ada", "Ben"}},
		Agents: []policy.Agent{
			{Address: message.Address{Name: "Ada", Number: 1, Peer: "s1"}, Agent: "claude", State: "idle", MaySpeak: true},
			{Address: message.Address{Name: "Ben", Number: 2, Peer: "s2"}, Agent: "line", State: "working", Role: "reviewer"},
			{Address: message.Address{Name: "Cyd", Peer: "s3"}, Agent: "codex", State: "idle", MaySpeak: true},
		},
	}
}

// decided evaluates a message without any failure.
func (r *rig) decided(in policy.Input) policy.Verdict {
	r.Helper()
	v, err := r.engine.Evaluate(r.Context(), in)
	require.NoError(r, err)
	require.Empty(r, v.Failures)
	return v
}

// evaluated evaluates a message; failures on the way are permitted.
func (r *rig) evaluated(in policy.Input) policy.Verdict {
	r.Helper()
	v, err := r.engine.Evaluate(r.Context(), in)
	require.NoError(r, err)
	return v
}

// patience is how long a test waits for something that must come.
const patience = time.Minute

// evaluatedAtLast is evaluated, repeated until there is a worker to ask.
func (r *rig) evaluatedAtLast(in policy.Input) policy.Verdict {
	r.Helper()
	v, err := r.engine.Evaluate(r.Context(), in)
	for late := time.Now().Add(patience); errors.Is(err, ErrLater) && time.Now().Before(late); {
		v, err = r.engine.Evaluate(r.Context(), in)
	}
	require.NoError(r, err)
	return v
}

// own does something to a set that nobody is using, after a worker that is being started.
func (r *rig) own(do func(s *Set)) {
	<-r.set.turn
	do(r.set)
	r.set.turn <- struct{}{}
}

// started waits for a worker that is starting.
func (r *rig) started() {
	r.Helper()
	if failure := r.set.ready(r.Context(), r.set.now().Add(patience)); failure != nil {
		require.Nil(r, failure)
	}
	r.set.done()
}

// program is this test binary.
func program(t *testing.T) string {
	t.Helper()
	p, err := ourselves()
	require.NoError(t, err)
	return p
}
