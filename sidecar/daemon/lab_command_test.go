package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// bareSlash lets two commands go without a header: one that the agents of these tests have, and one that they do not
// have.
var bareSlash = files("init.lua", `intercom.configure { deliver = { bare_slash = { "/next-work", "/not-there" } } }`)

// commandFiles writes an agent's own commands; the name of one begins with the name of the other. Codex has no
// commands in a project, but once had some in its home.
func commandFiles(a *labtest.Agent) error {
	for _, name := range []string{"next-work", "next-work-all"} {
		text := "Do COMMAND " + name + " with (%s). [[say done " + name + "]]"
		for file, text := range map[string]string{
			a.Work + "/.claude/commands/" + name + ".md":   fmt.Sprintf(text, "$ARGUMENTS"),
			a.Work + "/.gemini/commands/" + name + ".toml": fmt.Sprintf("description = \"of the lab\"\nprompt = %q\n", fmt.Sprintf(text, "{{args}}")),
			a.Work + "/.opencode/command/" + name + ".md":  "---\ndescription: of the lab\n---\n" + fmt.Sprintf(text, "$ARGUMENTS"),
			a.Home + "/.codex/prompts/" + name + ".md":     fmt.Sprintf(text, "$ARGUMENTS"),
		} {
			if err := a.WriteFile(file, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// wentBare reports whether a message was typed without its header, by its receipts.
func (r *rig) wentBare(id message.ID) (bare bool) {
	for _, one := range r.receiptsOf(id) {
		bare = bare || one.Bare
	}
	return bare
}

// A command that the person has allowed goes bare, behind a note, into the agents that are known to take it. Every
// other text goes below its header, and so does a command to any other agent.
func TestLab_C4_CommandGoesBare(t *testing.T) {
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind}, bareSlash)
		a := l.agent(kind, labtest.Configured(func(a *labtest.Agent) {
			require.NoError(t, commandFiles(a))
		}))
		_, err := l.client.Adopt(l.Context(), api.AdoptRequest{Pane: a.Pane})
		require.NoError(t, err)
		a.says("Good morning.") // Gemini CLI queues a text that is entered while it starts
		ben := l.adopted("Ben", bracketed...)
		session := a.session()
		takes := kind == labtest.Claude || kind == labtest.Gemini

		for _, text := range []string{"/next-work", "/next-work fast 12", "/next-work-all", "/not-there", "/next-work `id`", "please /next-work"} {
			bare := takes && (text == "/next-work" || text == "/next-work fast 12")
			n := len(a.heard())
			sent, err := asks[api.Sent](ben, "send", api.SendRequest{To: string(session.ID), Text: text})
			require.NoError(t, err, text)
			l.waitTold(sent.Message, a, "answered")
			heard := strings.Join(a.heard()[n:], "\x00")
			assert.Equal(t, bare, l.wentBare(sent.Message), "%s: %q", text, heard)
			t.Logf("%s %q: %q; %q", kind, text, l.trailTo(sent.Message, a), heard)
			if !bare {
				assert.Contains(t, heard, ben.header()+strings.TrimSpace(text), "below its header")
				assert.NotContains(t, heard, "Do COMMAND", text)
				continue
			}
			note, command, found := strings.Cut(heard, fmt.Sprintf("Do COMMAND next-work with (%s).", strings.TrimSpace(strings.TrimPrefix(text, "/next-work"))))
			require.True(t, found, "%s: %q", text, heard)
			assert.Contains(t, note, ben.header()+"[notice] Ben asks for the command \""+text+"\"", "who asks for it comes first")
			assert.NotContains(t, command, "COMMAND", "once")
			assert.True(t, a.provenBy(sent.Message, "transcript"), "%q", l.trailTo(sent.Message, a))
		}
	})
}
