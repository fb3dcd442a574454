package policies_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The test binary is its own policy worker.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "policy-worker" {
		if err := worker.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}

func TestShipped_order(t *testing.T) {
	var names []string
	for _, s := range policies.Shipped() {
		names = append(names, s.Name)
		assert.True(t, s.Shipped && !s.GuardsOnly && !s.Settings && s.Project == "", s.Name)
	}
	assert.Equal(t, []string{"shipped/10-redact.lua", "shipped/90-aea.lua", "shipped/99-last-word.lua"}, names)
}

func TestExamples_byName(t *testing.T) {
	var names []string
	for _, s := range policies.Examples() {
		names = append(names, strings.TrimSuffix(s.Name, ".lua"))
		found, ok := policies.Example(s.Name)
		assert.True(t, ok)
		assert.Equal(t, s, found)
		assert.Regexp(t, `^[A-Z].{15,70}[^.]$`, policies.Purpose(s), s.Name)
		assert.Regexp(t, `(?m)^(cases|test)\(`, policies.TestsOf(s), s.Name)
	}
	assert.Equal(t, []string{"answers-only", "ask-me-first", "cost-limit", "hub-and-spoke", "never-unattended", "no-secrets", "only-questions", "other-computers", "quiet-hours", "reviewer-gate", "route-by-content", "talk-port", "talking-stick", "token-limit"}, names)
	found, ok := policies.Example("quiet-hours")
	assert.True(t, ok)
	assert.Contains(t, found.Text, "quiet hours")
	_, ok = policies.Example("../10-redact")
	assert.False(t, ok)
}

// If no other policy decides, a chat goes on, and a person is asked about strangers.
func TestShipped_lastWord(t *testing.T) {
	r := newRig(t, nil)
	for name, c := range map[string]struct {
		change func(*policy.Input)
		want   message.Verb
	}{
		"in a chat": {func(*policy.Input) {}, message.VerbDeliver},
		"remote, in a chat": {func(in *policy.Input) {
			in.Message.Origin, in.Message.Trust = message.OriginRemote, message.TrustRemote
		}, message.VerbDeliver},
		"a known agent": {func(in *policy.Input) { in.Chat = nil }, message.VerbDeliver},
		"a person": {func(in *policy.Input) {
			in.Chat, in.Message.Origin, in.Message.Trust = nil, message.OriginHuman, message.TrustPerson
		}, message.VerbDeliver},
		"a notice":               {func(in *policy.Input) { in.Chat, in.Message.Origin, in.Message.Trust = nil, message.OriginSystem, "" }, message.VerbDeliver},
		"whoever reached a port": {func(in *policy.Input) { in.Chat, in.Message.Trust = nil, message.TrustLoopback }, message.VerbAsk},
		"another computer": {func(in *policy.Input) {
			in.Chat, in.Message.Origin, in.Message.Trust = nil, message.OriginRemote, message.TrustRemote
		}, message.VerbDeliver},
		"a repository, no type": {func(in *policy.Input) { in.Chat, in.Message.Trust = nil, message.TrustRegister }, message.VerbAsk},
		"a repository, a question": {func(in *policy.Input) {
			in.Chat, in.Message.Trust, in.Message.Type = nil, message.TrustRegister, "question"
		}, message.VerbDeliver},
		"a known agent's handoff": {func(in *policy.Input) { in.Chat, in.Message.Type = nil, "handoff" }, message.VerbAsk},
		"a person's handoff": {func(in *policy.Input) {
			in.Chat, in.Message.Type, in.Message.Origin = nil, "handoff", message.OriginHuman
		}, message.VerbDeliver},
	} {
		in := said("hello")
		c.change(&in)
		v := r.decided(in)
		assert.Equal(t, c.want, v.Outcomes[0].Verb, name)
		assert.Nil(t, v.Outcomes[0].Formatted, "attribution is built in")
		assert.Nil(t, v.Body, name)
	}
}

// Helpers.

// noon is the time of the messages.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// rig is an engine that uses policies of a test before the shipped ones.
type rig struct {
	*testing.T
	engine *scripting.Engine
}

func newRig(t *testing.T, config map[string]any, before ...policy.Source) *rig {
	t.Helper()
	r := &rig{T: t, engine: scripting.New(scripting.Options{})}
	set, err := r.engine.Compile(t.Context(), policy.Files{Sources: append(before, policies.Shipped()...), Config: config})
	require.NoError(t, err)
	require.Empty(t, set.Problems)
	r.engine.Use(set)
	t.Cleanup(r.engine.Close)
	return r
}

// decided evaluates a message, fails the test if anything goes wrong, and commits the verdict.
func (r *rig) decided(in policy.Input) policy.Verdict {
	r.Helper()
	v, err := r.engine.Evaluate(r.Context(), in)
	require.NoError(r, err)
	require.Empty(r, v.Failures)
	r.engine.Commit(v)
	return v
}

// said is a turn of Ada's in a chat with Ben.
func said(body string) policy.Input {
	ada, ben := message.Address{Name: "Ada", Number: 1, Peer: "s1"}, message.Address{Name: "Ben", Number: 2, Peer: "s2"}
	return policy.Input{
		Message: message.Envelope{
			ID: message.NewID(), Thread: "t1", From: ada, Type: message.KindTurn, Body: body,
			Origin: message.OriginAgent, Trust: message.TrustVerified, Created: noon,
		},
		To: []message.Address{ben}, Now: noon,
		Chat:   &policy.Chat{Participants: []string{"Ada", "Ben"}},
		Agents: []policy.Agent{{Address: ada, State: "idle", MaySpeak: true}, {Address: ben, State: "idle", MaySpeak: true}},
	}
}
