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

// town is a sidecar with what is shipped, and agents in two repositories.
type town struct {
	*rig
	shop, lib     string // directories of the repositories
	ada, ben, cyd *agent // Ada works in none, Ben below shop, Cyd in lib

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

// says has the owner of shop write its file.
func (w *town) says(text string) {
	w.t.Helper()
	writeLua(w.shop, repository.ConfigFile, text)
}

// trusts has a person trust what stands in the file of shop.
func (w *town) trusts() {
	w.t.Helper()
	c, err := repository.Read(w.shop)
	require.NoError(w.t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trust = c.Hash
}

// delivered has Ada send a message, and returns what arrived.
func (w *town) delivered(to *agent, kind string) string {
	w.t.Helper()
	n := len(to.received())
	w.ada.sends(to, "words", kind)
	w.waitFor(to.name+" gets a "+kind, func() bool { return len(to.received()) == n+1 })
	return to.received()[n]
}

// asks has Ada send a message about which a person is asked, and returns its id and why.
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

// toldOf is how often a person was told of something, and how often it stands in the log.
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

// What a repository's file says holds for the messages of its agent, from the next one on: of a
// file that nobody trusts what makes them stricter, of one that a person trusts all of it. It
// holds for no other repository, and where there is none the protocol's table does.
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

// What is wrong with a repository's file is told once, with its line, and what it said before
// goes on; so it does while there is something in its place that is not read.
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
