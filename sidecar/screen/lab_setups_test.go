package screen_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// talkAtLength makes the model answer with that many bytes, to fill its context.
func (s *studio) talkAtLength(size int) {
	s.t.Helper()
	s.lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		// Without blanks the answer comes at once: clients take long to draw single words.
		return labtest.Reply{Text: strings.Repeat("word-and-word-and-word\n", size/23) + "the end."}, x.Side == "" && strings.Contains(fmt.Sprint(x.User), "at length")
	})
	s.Prompt("Please talk at length.")
	s.WaitForAnswer("the end.")
}

func TestLab_recordClaudeRealSetups(t *testing.T) {
	t.Run("tasks", func(t *testing.T) {
		s := open(t, labtest.Claude, labtest.Environ("CLAUDE_CODE_ENABLE_TODO_TOOLS=1", "CLAUDE_CODE_ENABLE_TASKS=1"))
		s.Prompt(`[[tool TaskCreate {"subject":"first thing","description":"do it","activeForm":"doing the first"}]] [[tool TaskCreate {"subject":"second thing","description":"do it","activeForm":"doing the second"}]]`)
		s.WaitForAnswer("second thing")
		s.Prompt(`[[tool TaskUpdate {"taskId":"1","status":"in_progress"}]]`)
		s.WaitForAnswer("1 in progress")
		s.take("idle", "todo-list")
		s.put(ownTexts["line"])
		s.take("draft", "todo-list-own-line")
		s.clear()
		s.Prompt("[[hold]] [[say one two three four]]")
		s.WaitForText("one two")
		time.Sleep(time.Second)
		s.now("working", "todo-list")
		s.lab.Model.Release(s.Name)
		s.WaitForAnswer("three four")
		s.Prompt("please [[bash touch proof]]")
		s.WaitForDialog()
		s.take("blocked", "todo-list-permission")
		s.Keys("Escape")
		s.home()
	})
	t.Run("context", func(t *testing.T) {
		s := open(t, labtest.Claude, labtest.Environ("CLAUDE_CODE_AUTO_COMPACT_WINDOW=100000"))
		s.talkAtLength(240_000)
		s.command("/context")()
		s.WaitForText("auto-compact")
		s.WaitFor("the line", func(c labtest.Screen) bool {
			return c.Contains("until auto-compact") || c.Contains("auto-compact next")
		})
		s.take("idle", "context-left")
		s.put(ownTexts["line"])
		s.take("draft", "context-left-own-line")
		s.clear()
	})
	t.Run("update", func(t *testing.T) {
		bin := t.TempDir()
		s := open(t, labtest.Claude, labtest.Environ("DISABLE_AUTOUPDATER=", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=", "PATH="+bin+":/usr/local/bin:/usr/bin:/bin"), labtest.Configured(func(a *labtest.Agent) {
			// A package manager that finds a newer version but installs nothing.
			require.NoError(t, a.WriteFile(filepath.Join(bin, "npm"), "#!/bin/sh\necho 9.9.9\n"))
			require.NoError(t, exec.Command("chmod", "755", filepath.Join(bin, "npm")).Run())
			require.NoError(t, a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(c map[string]any) { c["installMethod"], c["autoUpdates"] = "global", true }))
		}))
		s.WaitForText("Update installed")
		s.take("idle", "update-notice")
		s.put(ownTexts["line"])
		s.take("draft", "update-notice-own-line")
		s.clear()
	})
	t.Run("mcp", func(t *testing.T) {
		command, arguments := mcpCommand(t)
		s := open(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			require.NoError(t, a.WriteJSON(filepath.Join(a.Work, ".mcp.json"), map[string]any{
				"mcpServers": map[string]any{"thing": map[string]any{"type": "stdio", "command": command, "args": arguments}},
			}))
		}))
		s.take("idle", "mcp-server")
		s.Prompt(`[[tool mcp__thing__poke {"how":"softly"}]]`)
		s.WaitForDialog()
		s.take("blocked", "mcp-tool")
		s.Keys("Escape")
		s.home()
		s.take("idle", "after-mcp-tool-refused")
	})
	t.Run("background", func(t *testing.T) {
		s := open(t, labtest.Claude)
		s.Prompt(`[[tool Bash {"command":"sleep 600","description":"wait","run_in_background":true}]]`)
		s.WaitForStill(time.Second)
		if !s.Idle() {
			s.Enter()
			s.WaitForIdle()
		}
		s.put(ownTexts["line"])
		s.take("draft", "background-task-own-line")
		s.clear()
	})
}

func TestLab_recordCodexRealSetups(t *testing.T) {
	t.Run("trust", func(t *testing.T) {
		s := launch(t, labtest.Codex, codexSettings(`approval_policy = "on-request"`, "", `sandbox_mode = "workspace-write"`, ""), labtest.Configured(func(a *labtest.Agent) {
			require.NoError(t, exec.Command("git", "-C", a.Work, "init", "-q").Run())
		}))
		s.WaitForText("Trust this folder?")
		s.take("blocked", "trust")
	})
	t.Run("update", func(t *testing.T) {
		s := open(t, labtest.Codex, codexSettings("check_for_update_on_startup = false", "check_for_update_on_startup = true"), labtest.Configured(func(a *labtest.Agent) {
			require.NoError(t, a.WriteJSON(filepath.Join(a.Home, ".codex", "version.json"), map[string]any{
				"latest_version": "9.9.9", "last_checked_at": time.Now().UTC().Format(time.RFC3339Nano), "dismissed_version": nil,
			}))
		}))
		s.WaitForText("Update available!")
		s.take("idle", "update-notice")
		s.put(ownTexts["line"])
		s.take("draft", "update-notice-own-line")
		s.clear()
	})
	t.Run("mcp", func(t *testing.T) {
		command, arguments := mcpCommand(t)
		s := open(t, labtest.Codex, codexSettings("[analytics]", fmt.Sprintf("[mcp_servers.thing]\ncommand = %q\nargs = [%q]\n\n[analytics]", command, arguments[0])))
		s.take("idle", "mcp-server")
		s.Prompt(`[[tool mcp__thing/poke {"how":"softly"}]]`)
		s.WaitForText("Allow the thing MCP server")
		s.take("blocked", "mcp-tool")
		s.Keys("Escape")
		s.home()
		s.take("idle", "after-mcp-tool-refused")
	})
	t.Run("context", func(t *testing.T) {
		s := open(t, labtest.Codex, codexSettings("[tui]", "[tui]\nstatus_line = [\"model-with-reasoning\", \"current-dir\", \"context-remaining\"]", "model_provider = \"lab\"", "model_provider = \"lab\"\nmodel_context_window = 60000"))
		s.talkAtLength(60_000)
		s.take("idle", "context-left")
		s.put(ownTexts["line"])
		s.take("draft", "context-left-own-line")
		s.clear()
	})
	t.Run("background", func(t *testing.T) {
		s := open(t, labtest.Codex)
		s.Prompt(`[[tool functions/exec {"input":"text(await tools.update_plan({plan:[{step:'first thing',status:'in_progress'},{step:'second thing',status:'pending'}]}))"}]] [[tool functions/exec {"input":"text(await tools.exec_command({cmd:'sleep 600',yield_time_ms:300}))"}]]`)
		s.WaitForAnswer("tools have answered 2 times")
		s.put(ownTexts["line"])
		s.take("draft", "background-terminal-own-line")
		s.clear()
	})
}
