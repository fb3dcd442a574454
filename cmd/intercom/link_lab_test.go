package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
)

// A real Claude Code on one computer hands a task to a real Codex on another through its own MCP client alone. That is refused
// until the other computer's init.lua allows it. Notices of the task's progress come back into Claude's composer.
func TestLab_N2_M7_aRealAgentStartsOneElsewhere(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Claude, labtest.Codex)
	hub := startLabHub(t)
	raspi, here := newLabStage(t, lab), newLabStage(t, lab)
	codex := lab.Start(raspi.Server, labtest.Codex) // writes its home, and how it is started
	codex.Stop()
	hub.joins(t, raspi.stage, "raspi", startsCodex(codex))
	hub.joins(t, here.stage, "workstation", "")
	raspi.load()
	here.load()
	st := &toolLab{labStage: here, claude: here.claudeWithTools(), codex: codex}
	known := func(of *labStage, name string) api.Computer {
		all := askOf(of.stage, api.Computers)
		i := slices.IndexFunc(all, func(c api.Computer) bool { return c.Name == name && c.Present })
		if i < 0 {
			return api.Computer{}
		}
		return all[i]
	}
	st.until("they know each other", func() bool { return known(here, "raspi").Present && known(raspi, "workstation").Present })

	// Claude finds the other computer and may not start anything there.
	var listed []api.Computer
	text := st.calls("list_computers", map[string]any{})
	require.NoError(t, json.Unmarshal([]byte(text), &listed), text)
	require.Len(t, listed, 2, text)
	assert.Equal(t, "raspi", listed[1].Name, text)
	start := map[string]any{"computer": "raspi", "project_dir": codex.Work, "title": "Worker Task", "message": "count the rows", "agent": "codex"}
	panes := raspi.Run("list-panes", "-a", "-F", "#{pane_id}")
	text = st.calls("start_session", start)
	assert.Contains(t, text, `"code":"refused"`)
	assert.Contains(t, text, "workstation may not start here")
	assert.Equal(t, panes, raspi.Run("list-panes", "-a", "-F", "#{pane_id}"), "nothing has started")
	assert.Contains(t, read(t, raspi.paths().Log), "refused to another computer")

	// The other computer's person allows it: Codex works, and Claude is told.
	hub.joins(t, raspi.stage, "raspi", "computers = { workstation = { may = { 'send', 'answer', 'start', 'read' } } }, "+startsCodex(codex))
	st.until("raspi allows it", func() bool { return slices.Contains(known(raspi, "workstation").May, "start") })
	var worker delegated
	text = st.calls("start_session", start)
	require.NoError(t, json.Unmarshal([]byte(text), &worker), text)
	require.Equal(t, "started", worker.Status, text)
	assert.Equal(t, "raspi", worker.Computer)
	id := string(worker.SessionID)
	st.until("Codex hears it", func() bool { return len(codex.Received()) == 1 })
	assert.Equal(t, "AI[workstation:"+st.sessionIn(st.claude.Pane)+"] | count the rows", codex.Received()[0])
	told := func(n int) {
		t.Helper()
		stopped := fmt.Sprintf("AI[raspi:%s] | [notice] %q stopped: turn ended", id, "Worker Task")
		st.until("Claude is told", func() bool {
			all := slices.DeleteFunc(st.claude.Received(), func(text string) bool { return !strings.HasPrefix(text, stopped) })
			return len(all) == n
		})
		st.claude.WaitForIdle()
	}
	told(1)
	require.Len(t, codex.Answers(), 1)
	one := map[string]any{"computer": "raspi", "session_id": id}
	assert.Contains(t, st.calls("get_session_data", one), strings.Fields(codex.Answers()[0])[0])

	// A further message goes the same way.
	one["message"] = "and the columns"
	st.calls("send_message", one)
	st.until("Codex hears that too", func() bool { return len(codex.Received()) == 2 })
	assert.Equal(t, "AI[workstation:"+st.sessionIn(st.claude.Pane)+"] | and the columns", codex.Received()[1])
	told(2)
}

// labHub is an intercom-hub with a HOME of its own, on loopback, with TLS.
type labHub struct {
	program, home, url string
}

func startLabHub(t *testing.T) *labHub {
	t.Helper()
	program, err := programtest.Build("intercom-hub-tested", "cmd/intercom-hub")
	require.NoError(t, err)
	h := &labHub{program: program, home: t.TempDir()}
	cmd := h.command("--listen", "127.0.0.1:0", "--json")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		_ = cmd.Wait()
	})
	var ready struct{ URL string }
	require.NoError(t, json.NewDecoder(out).Decode(&ready), "%s", &errs)
	h.url = ready.URL
	return h
}

func (h *labHub) command(args ...string) *exec.Cmd {
	cmd := exec.Command(h.program, args...)
	cmd.Env = []string{"HOME=" + h.home}
	return cmd
}

// joins makes a stage a computer of that name; lua is the rest of its configuration.
func (h *labHub) joins(t *testing.T, st *stage, name, lua string) {
	t.Helper()
	creds := filepath.Join(st.home, "link.creds")
	if _, err := os.Stat(creds); err != nil {
		text, err := h.command("add", name).Output()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(creds, text, 0o600))
	}
	st.configures(fmt.Sprintf("intercom.configure { computer = { name = %q, nats = %q, creds = %q }, %s }\n", name, h.url, creds, lua))
}
