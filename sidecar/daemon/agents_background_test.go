package daemon_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A program that the background process of several Codexes runs counts as the agent of the conversation for which it
// runs. The pane in which the process was started does not count, nor does a conversation that the program merely
// claims.
func TestO5_H39_CallersFromABackgroundProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.coder("codex", "Ada", behind...), r.coder("codex", "Bob", behind...)
	a.adopt("")
	b.adopt("")
	ben := r.adopted("Ben", bracketed...)
	for _, one := range []*agent{a, b} {
		one.do(":turn say said by %s", one.name)
		one.byHand("asked of " + one.name)
		r.waitFor("it has answered", func() bool { return r.state(one) == message.Idle })
	}
	r.waitFor("bound", func() bool { return a.explain().Transcript != "" && b.explain().Transcript != "" })
	thread := func(one *agent) string {
		path := one.explain().Transcript
		return strings.TrimSuffix(path[len(path)-len("01a208b5-7c77-7e71-8232-7fed02967ed1.jsonl"):], ".jsonl")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	sends := func(from *agent, how, say string) message.Envelope {
		t.Helper()
		script := from.dir + "/send"
		tmuxtest.Program(t, script, fmt.Sprintf("#!/bin/sh\nINTERCOM_TEST_SEND=1 exec %s %s %s '%s'\n", self, r.cfg.Paths.Socket, ben.pane, say))
		from.do(":behind exec env %s %s", how, script)
		var found message.Envelope
		r.waitFor("it is sent", func() bool {
			for _, m := range r.messages() {
				if m.Body == say {
					found = m
					return true
				}
			}
			return false
		})
		return found
	}
	// Each background process has the environment of a pane: here that of the other agent.
	wrong := map[*agent]string{a: "TMUX_PANE=" + b.pane, b: "TMUX_PANE=" + a.pane}
	for _, one := range []*agent{a, b} {
		m := sends(one, wrong[one], "from "+one.name)
		assert.Equal(t, message.OriginAgent, m.Origin)
		assert.Equal(t, one.session.ID, m.From.Peer)
	}
	// An MCP server gets the conversation in each call, not in its environment.
	for _, one := range []*agent{a, b} {
		m := sends(one, "-u CODEX_THREAD_ID INTERCOM_TEST_THREAD="+thread(one)+" "+wrong[one], "by MCP from "+one.name)
		assert.Equal(t, one.session.ID, m.From.Peer)
	}
	for how, env := range map[string]string{
		"by MCP, that of another":           "-u CODEX_THREAD_ID INTERCOM_TEST_THREAD=" + thread(a),
		"by MCP, not what started it":       "INTERCOM_TEST_THREAD=" + thread(a),
		"by MCP, no conversation":           "-u CODEX_THREAD_ID INTERCOM_TEST_THREAD=",
		"another conversation than its own": "CODEX_THREAD_ID=" + thread(a),
		"a conversation that is nowhere":    "CODEX_THREAD_ID=01a208b5-7c77-7e71-8232-7fed02967ed1",
		"a name that is a path":             "CODEX_THREAD_ID=../*",
		"no conversation":                   "-u CODEX_THREAD_ID",
	} {
		m := sends(b, env+" "+wrong[b], how)
		assert.Equal(t, message.Unverified, m.From.Peer, how)
		assert.NotEqual(t, message.OriginHuman, m.Origin, how)
	}
}
