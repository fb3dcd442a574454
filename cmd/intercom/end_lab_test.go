package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// When the session of a real agent is ended, so are its MCP server and the children of that. Nothing of it is left when the
// command returns, and the shell from which the agent was started has its pane again.
func TestLab_P39_endedWithAllTheyStarted(t *testing.T) {
	t.Parallel()
	for _, kind := range labtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			st := newPeersStage(t, kind)
			server := filepath.Join(st.home, "server")
			tmuxtest.Program(t, server, "#!/bin/sh\nsleep 86400 &\n"+thisProgram()+" mcp\n")
			a := peersAgent{&labAgent{st.lab.Start(st.Server, kind, labtest.InShell(), labtest.Configured(func(a *labtest.Agent) { addServer(t, a, server) })), st.labStage}}
			out, code := st.intercom("adopt", a.Pane)
			require.Zero(t, code, out)
			a.says("[[say I am ready]]")
			runs := func(words ...string) bool {
				return slices.ContainsFunc(a.Processes(), func(pid int) bool { return slices.Equal(process.Arguments(pid), words) })
			}
			st.until("its MCP server", func() bool { return runs(thisProgram(), "mcp") && runs("sleep", "86400") })

			out, code = st.answers("y", "session", "end", a.Pane)
			require.Zero(t, code, out)
			left := slices.DeleteFunc(a.Processes(), func(pid int) bool { return pid == a.PID })
			assert.Empty(t, left, "%s", out)
			a.WaitFor("its shell", func(s labtest.Screen) bool { return s.Command == "sh" })
			assert.Empty(t, st.status().Sessions)
		})
	}
}

// addServer configures an MCP server for an agent.
func addServer(t *testing.T, a *labtest.Agent, program string) {
	t.Helper()
	servers := func(name string, server map[string]any) func(map[string]any) {
		return func(settings map[string]any) { settings[name] = map[string]any{"intercom": server} }
	}
	plain := map[string]any{"command": program, "args": []string{}}
	var err error
	switch a.Kind {
	case labtest.Claude:
		plain["type"] = "stdio"
		err = a.EditJSON(filepath.Join(a.Home, ".claude.json"), servers("mcpServers", plain))
	case labtest.Codex:
		file := filepath.Join(a.Home, ".codex", "config.toml")
		var text []byte
		if text, err = os.ReadFile(file); err == nil {
			err = a.WriteFile(file, string(text)+"\n[mcp_servers.intercom]\ncommand = \""+program+"\"\n")
		}
	case labtest.Gemini:
		err = a.EditJSON(filepath.Join(a.Home, ".gemini", "settings.json"), servers("mcpServers", plain))
	case labtest.Opencode:
		err = a.EditJSON(filepath.Join(a.Home, ".config", "opencode", "opencode.json"), servers("mcp", map[string]any{
			"type": "local", "command": []string{program}, "enabled": true,
		}))
	}
	require.NoError(t, err)
}
