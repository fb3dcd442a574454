package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// town is a sidecar with the shipped policies, and agents of which two work in repositories.
type town struct {
	*rig
	shop, lib     string // directories of the repositories
	ada, ben, cyd *agent // Ada works in no repository, Ben below shop, Cyd in lib

	mu    sync.Mutex
	trust string // the hash that a person trusts
	asked int
}

func newTown(t *testing.T) *town {
	t.Helper()
	w := &town{}
	dir, err := os.MkdirTemp("", "ica")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.shop, w.lib = filepath.Join(dir, "shop"), filepath.Join(dir, "lib")
	for _, made := range []string{filepath.Join(w.shop, ".git"), filepath.Join(w.shop, "web", "src"), filepath.Join(w.lib, ".aea")} {
		require.NoError(t, os.MkdirAll(made, 0o700))
	}
	w.rig = newRig(t, lua, func(cfg *daemon.Config) {
		cfg.Policies.Shipped = policies.Shipped()
		cfg.Policies.Trusted = func(place, hash string) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			return place == repository.ConfigFile && hash == w.trust
		}
	})
	w.ada = w.adopted("Ada", "--bracketed", "--reply", "none")
	w.ben = w.lineIn(filepath.Join(w.shop, "web", "src"), "Ben", "--bracketed", "--reply", "none")
	w.cyd = w.lineIn(w.lib, "Cyd", "--bracketed", "--reply", "none")
	w.ben.adopt("line-paste")
	w.cyd.adopt("line-paste")
	return w
}

// says writes the agent-config.yaml of shop, as the repository's owner does.
func (w *town) says(text string) {
	w.t.Helper()
	writeLua(w.shop, repository.ConfigFile, text)
}

// trusts makes a person trust the current content of shop's file.
func (w *town) trusts() {
	w.t.Helper()
	c, err := repository.Read(w.shop)
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trust = c.Hash
}

// delivered lets Ada send a message, waits for it and returns the text that arrived.
func (w *town) delivered(to *agent, kind string) string {
	w.t.Helper()
	n := len(to.received())
	w.ada.sends(to, "words", kind)
	w.waitFor(to.name+" gets a "+kind, func() bool { return len(to.received()) == n+1 })
	return to.received()[n]
}

// asks lets Ada send a message that a person must approve, and returns its id and the reason.
func (w *town) asks(to *agent, kind string) (message.ID, string) {
	w.t.Helper()
	n := len(to.received())
	w.ada.sends(to, "words", kind)
	var held []api.Held
	w.waitFor("a person is asked about a "+kind, func() bool {
		var err error
		held, err = w.client.Inbox(w.t.Context())
		require.NoError(w.t, err)
		held = slices.DeleteFunc(held, func(h api.Held) bool { return !h.Decision })
		return len(held) > w.asked
	})
	w.asked = len(held)
	assert.Len(w.t, to.received(), n)
	e, err := w.client.ExplainPolicy(w.t.Context(), api.ExplainPolicyRequest{ID: string(held[len(held)-1].Message)})
	require.NoError(w.t, err)
	assert.Equal(w.t, message.VerbAsk, e.Now.Outcomes[0].Verb)
	return e.Message.ID, e.Now.Outcomes[0].Reason
}

// toldOf counts the notices to a person that contain text, and the entries about it in the log of the policies.
func (w *town) toldOf(text string) (notices, entries int) {
	for _, notice := range w.notices() {
		if strings.Contains(notice, text) {
			notices++
		}
	}
	for _, e := range w.policyLog() {
		if e.Event == "agent-config" && strings.Contains(e.Error, text) {
			entries++
		}
	}
	return notices, entries
}

const asWanted = `response_policy:
  question: {auto_respond: false}
  issue:
    high: {auto_respond: true}
auto_safe_operations: [read_files]
approval_required_operations: [delete_files]
`

// A repository's agent-config.yaml applies from the next message on to messages for the agent that works there, and
// to no other repository. If nobody trusts the file, only its stricter rules apply; if a person trusts it, all of
// them do. Without a file, the protocol's table applies.
func TestL5_L12_AgentConfigOfARepository(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	assert.Contains(t, w.delivered(w.ben, "question:low"), "| words\n\nAnswer this question.")
	_, why := w.asks(w.ben, "issue:high")
	assert.Equal(t, "issue, high: ask (the protocol's table)", why)

	w.says(asWanted)
	first, why := w.asks(w.ben, "question:low")
	assert.Equal(t, "question, low: ask (agent-config.yaml, line 2)", why)
	_, why = w.asks(w.ben, "issue:high")
	assert.Equal(t, "issue, high: ask (the protocol's table)", why, "a clone cannot let more through")
	issue := w.delivered(w.ben, "issue:low")
	assert.Contains(t, issue, "Only with your user's approval: delete_files.")
	assert.NotContains(t, issue, "Without asking", "nor allow its agent anything")
	assert.Contains(t, w.delivered(w.cyd, "question:low"), "Answer this question.", "another repository")
	w.waitFor("a person is told that it holds in part", func() bool {
		notices, entries := w.toldOf("/shop/.aea/agent-config.yaml:4: issue high: answer: only once you trust this file; intercom policy trust " + w.shop)
		return notices == 1 && entries == 1
	})

	w.trusts()
	issue = w.delivered(w.ben, "issue:high")
	assert.Contains(t, issue, "Analyse this issue and suggest a fix.")
	assert.Contains(t, issue, "Without asking: read_files.")
	_, why = w.asks(w.ben, "question:low")
	assert.Equal(t, "question, low: ask (agent-config.yaml, line 2)", why)

	w.says(asWanted + "  # as somebody has changed it\n")
	_, why = w.asks(w.ben, "issue:high")
	assert.Equal(t, "issue, high: ask (the protocol's table)", why, "a file that has changed is one that nobody trusts")
	w.says("response_policy:\n  request: {approval_required: true}\n")
	_, why = w.asks(w.ben, "request:normal")
	assert.Equal(t, "request, normal: ask (agent-config.yaml, line 2)", why)
	w.delivered(w.ben, "question:low")

	require.NoError(t, os.Remove(filepath.Join(w.shop, repository.ConfigFile)))
	w.delivered(w.ben, "request:normal")
	e, err := w.client.ExplainPolicy(t.Context(), api.ExplainPolicyRequest{ID: first.Short()})
	require.NoError(t, err)
	assert.Equal(t, message.VerbAsk, e.Then[0].For(w.ben.session.ID).Verb)
	assert.Equal(t, message.VerbDeliver, e.Now.Outcomes[0].Verb, "what would be now")

	_, err = w.client.Send(t.Context(), api.SendRequest{To: w.ben.pane, Text: "x", Type: "turn"})
	assert.ErrorContains(t, err, `unknown message type "turn"`)
	_, err = w.client.Send(t.Context(), api.SendRequest{To: w.ben.pane, Text: "x", Type: "issue", Priority: "dire"})
	assert.ErrorContains(t, err, `unknown priority "dire"`)
}

// A person is told once of an error in a repository's agent-config.yaml, and its previous content stays in effect.
// The same happens if a link out of the repository stands in its place; the link is not followed.
func TestL5_ABrokenAgentConfig(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	outside := filepath.Join(w.dir, "elsewhere.yaml")
	require.NoError(t, os.WriteFile(outside, []byte("response_policy: {question: {auto_respond: true}}"), 0o600))
	file := filepath.Join(w.shop, repository.ConfigFile)
	w.says(asWanted)
	w.trusts()
	w.delivered(w.ben, "issue:high")
	for i, c := range []struct {
		make func()
		told string
	}{
		{func() { w.says("version: 1\nresponse_policy: [\n") }, file + ":2: "},
		{func() { w.says("response_policy:\n  question: {auto_respond: maybe}\n") }, file + ":2: auto_respond must be true or false; its previous content applies"},
		{func() { require.NoError(t, errors.Join(os.Remove(file), os.Symlink(outside, file))) }, "path escapes"},
	} {
		c.make()
		w.waitFor("a person is told without any message", func() bool {
			notices, entries := w.toldOf(c.told)
			return notices == 1 && entries == 1
		})
		w.delivered(w.ben, "issue:high")
		_, why := w.asks(w.ben, "question:low")
		assert.Equal(t, "question, low: ask (agent-config.yaml, line 2)", why, i)
		notices, entries := w.toldOf(c.told)
		assert.Equal(t, []int{1, 1}, []int{notices, entries}, "once")
	}
	assert.Empty(t, w.policyError(), "the person's own are in use")

	require.NoError(t, os.Remove(file))
	w.says("response_policy: {question: {auto_respond: true}}")
	w.delivered(w.ben, "question:low")
}
