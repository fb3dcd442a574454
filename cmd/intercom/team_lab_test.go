package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// teamStage is a team whose members are real agents.
type teamStage struct {
	*peersStage
	dir string // the project's directory
	bin string // contains intercom

	mu       sync.Mutex
	statuses map[string][]string // each member's statuses in config.json, in order
}

func newTeamStage(t *testing.T, kinds ...labtest.Kind) *teamStage {
	t.Helper()
	st := &teamStage{peersStage: newPeersStage(t, kinds...), statuses: map[string][]string{}}
	st.dir, st.bin = filepath.Join(st.home, "trysamples"), filepath.Join(st.home, "bin")
	for _, dir := range []string{st.dir, st.bin} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	require.NoError(t, os.Symlink(thisProgram(), filepath.Join(st.bin, "intercom")))
	tmux, err := os.Readlink(filepath.Join(st.stage.bin, "tmux")) // a tmux of this server's version
	require.NoError(t, err)
	require.NoError(t, os.Symlink(tmux, filepath.Join(st.bin, "tmux")))
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				st.read()
			}
		}
	})
	t.Cleanup(func() { close(done); watch.Wait() })
	return st
}

// read reads config.json as any program may.
func (st *teamStage) read() {
	var all struct {
		Members []struct{ Name, Status string }
	}
	text, err := os.ReadFile(filepath.Join(st.dir, ".team", "config.json"))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, m := range all.Members {
		if have := st.statuses[m.Name]; len(have) == 0 || have[len(have)-1] != m.Status {
			st.statuses[m.Name] = append(have, m.Status)
		}
	}
}

func (st *teamStage) seen(name string) []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.Clone(st.statuses[name])
}

func (st *teamStage) is(name, status string) {
	st.t.Helper()
	st.until(name+" is "+status, func() bool {
		all := st.seen(name)
		return len(all) > 0 && all[len(all)-1] == status
	})
}

// lead runs a team command as the lead.
func (st *teamStage) lead(args ...string) string {
	st.t.Helper()
	out, code := st.intercom(append(append([]string{"team"}, args...), "--dir="+st.dir)...)
	require.Zero(st.t, code, out)
	return out
}

// spawn spawns a real agent with our hooks, and waits until it has done its task.
func (st *teamStage) spawn(kind labtest.Kind, name, role, prompt string) peersAgent {
	st.t.Helper()
	one := st.spawnWith(st.lab.Start, kind, name, role, prompt, func(*labtest.Agent) {})
	st.begun(one, name, prompt)
	return one
}

// spawnWith is like spawn, with more configuration in the agent's home; it does not wait for the task.
func (st *teamStage) spawnWith(start func(*tmuxtest.Server, labtest.Kind, ...labtest.Option) *labtest.Agent, kind labtest.Kind, name, role, prompt string, more func(*labtest.Agent)) peersAgent {
	st.t.Helper()
	a := start(st.Server, kind, labtest.Name(name), labtest.Environ("PATH="+st.bin+":/usr/local/bin:/usr/bin:/bin", "npm_config_fetch_retries=0"),
		labtest.Configured(func(a *labtest.Agent) {
			cmd := exec.Command(thisProgram(), "hooks", "install", string(kind))
			cmd.Env = []string{"HOME=" + a.Home, "PATH=" + st.bin + ":/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			require.NoError(st.t, err, "%s", out)
			// opencode asks the npm registry for what plugins may import; ours needs nothing.
			require.NoError(st.t, a.WriteFile(filepath.Join(a.Home, ".npmrc"), "fetch-retries=0\n"))
			more(a)
		}),
		labtest.Begun(func(command string) (string, int) {
			cmd := exec.Command(thisProgram(), "--server="+st.Socket, "team", "spawn", name, "--role", role, "--prompt", prompt, "--require-plan", "--dir", st.dir, "--json", "--", command)
			cmd.Env = st.environ()
			out, err := cmd.Output()
			require.NoError(st.t, err, "%s", out)
			var spawned api.Spawned
			require.NoError(st.t, json.Unmarshal(out, &spawned), "%s", out)
			assert.Equal(st.t, "Spawned '"+name+"' (role: "+role+")", spawned.Text)
			pid, err := strconv.Atoi(strings.TrimSpace(st.Run("display-message", "-p", "-t", spawned.Session.Pane, "#{pane_pid}")))
			require.NoError(st.t, err)
			return spawned.Session.Pane, pid
		}))
	return peersAgent{&labAgent{a, st.labStage}}
}

// begun waits until a teammate has done its task.
func (st *teamStage) begun(one peersAgent, name, prompt string) {
	st.t.Helper()
	st.until(name+" has its task", func() bool { return one.heard("Your task: " + prompt) })
	st.is(name, "idle")
	one.answered(1)
}

func (a peersAgent) heard(text string) bool {
	return slices.ContainsFunc(a.Received(), func(one string) bool { return strings.Contains(one, text) })
}

// tries has the agent run a command that its hook denies, so that no dialog opens.
func (a peersAgent) tries(command string) (told string) {
	a.st.t.Helper()
	n := len(a.told())
	a.Prompt("[[bash " + command + "]]")
	a.st.until("its model was told", func() bool { return len(a.told()) > n })
	a.answered(0)
	all := a.told()
	return all[len(all)-1]
}

// opensAPlan is P24: a teammate's tools are closed until its lead has approved its plan.
func (st *teamStage) opensAPlan(a peersAgent, name string) {
	t := st.t
	t.Helper()
	assert.Contains(t, a.tries("touch early"), "approved your plan")
	assert.NoFileExists(t, filepath.Join(a.Work, "early"))
	said := a.runs("intercom team plan 'draw it'")
	require.Contains(t, said, "Waiting for lead approval")
	_, id, _ := strings.Cut(said, "request_id=")
	assert.Contains(t, a.tries("touch early"), "waits for the lead")
	assert.Contains(t, st.lead("plan-review", id[:8], "--approve"), "Plan approved for '"+name+"'")
	st.until("it is told", func() bool { return a.heard("Your plan " + id[:8] + " is approved") })
	a.answered(0)
	a.runs("touch late")
	assert.FileExists(t, filepath.Join(a.Work, "late"))
	assert.NoFileExists(t, filepath.Join(a.Work, "early"))
}

// The same gate works for an agent that asks through our plugin.
func TestLab_P24_C42_planGateOfOpencode(t *testing.T) {
	t.Parallel()
	st := newTeamStage(t, labtest.Opencode)
	st.opensAPlan(st.spawn(labtest.Opencode, "alice", "frontend dev", "build a dashboard"), "alice")
}

// The gate works for Codex once its person has put the hook into hooks.json and trusted it. Its shell cannot reach the sidecar,
// so it submits its plan with its tool, which its model calls in a program, like all MCP tools.
func TestLab_P24_C42_planGateOfCodex(t *testing.T) {
	t.Parallel()
	st := newTeamStage(t, labtest.Codex)
	a := st.spawnWith(st.lab.Launch, labtest.Codex, "alice", "frontend dev", "build a dashboard", func(a *labtest.Agent) {
		text := `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "` + st.bin + `/intercom hook codex PreToolUse"}]}]}}`
		require.NoError(t, a.WriteFile(filepath.Join(a.Home, ".codex", "hooks.json"), text))
		server := filepath.Join(st.run, "server")
		tmuxtest.Program(t, server, "#!/bin/sh\nexport PATH="+st.bin+":$PATH INTERCOM_TEST_MAIN=1 INTERCOM_SERVER="+st.Socket+"\n"+
			"export XDG_RUNTIME_DIR="+st.env["XDG_RUNTIME_DIR"]+" XDG_STATE_HOME="+st.env["XDG_STATE_HOME"]+" XDG_CONFIG_HOME="+st.env["XDG_CONFIG_HOME"]+"\nexec "+thisProgram()+" mcp --role teammate\n")
		addServer(t, a, server)
		file := filepath.Join(a.Home, ".codex", "config.toml")
		require.NoError(t, a.WriteFile(file, read(t, file)+"default_tools_approval_mode = \"approve\"\n"))
	})
	a.WaitForText("need review")
	a.WaitForStill(labtest.Stillness)
	a.Keys("Down", "Enter") // trust all of them
	st.begun(a, "alice", "build a dashboard")
	assert.Contains(t, a.tries("touch early"), "approved your plan")
	assert.NoFileExists(t, filepath.Join(a.Work, "early"))
	n := len(a.told())
	submit, err := json.Marshal(map[string]string{"input": `text(JSON.stringify(await tools.mcp__intercom__plan_approval({plan: "draw it"})))`})
	require.NoError(t, err)
	a.Prompt("[[tool functions/exec " + string(submit) + "]]")
	st.until("its plan is submitted", func() bool { return len(a.told()) > n })
	a.answered(0)
	said := a.told()[n]
	require.Contains(t, said, "Waiting for lead approval")
	_, id, _ := strings.Cut(said, "request_id=")
	assert.Contains(t, a.tries("touch early"), "waits for the lead")
	assert.Contains(t, st.lead("plan-review", id[:8], "--approve"), "Plan approved for 'alice'")
	st.until("it is told", func() bool { return a.heard("Your plan " + id[:8] + " is approved") })
	a.answered(0)
	a.runs("touch late")
	assert.FileExists(t, filepath.Join(a.Work, "late"))
	assert.NoFileExists(t, filepath.Join(a.Work, "early"))
}

// The lesson's own example works with two real agents as teammates. Their hooks close their tools until the lead has approved
// their plans, and they answer by commands in their own shells. They work, rest and shut down, as config.json shows, and no
// process of theirs remains.
func TestLab_P24_P27_P39_C5_realTeammates(t *testing.T) {
	t.Parallel()
	st := newTeamStage(t, labtest.Claude, labtest.Gemini)
	alice := st.spawn(labtest.Claude, "alice", "frontend dev", "build a dashboard")
	bob := st.spawn(labtest.Gemini, "bob", "tester", "test the dashboard")
	st.opensAPlan(alice, "alice")
	st.opensAPlan(bob, "bob")
	st.shutsDown(alice, "alice")
	assert.NotContains(t, st.seen("bob"), "shutdown", "it was not asked")
	st.is("bob", "idle")
	st.shutsDown(bob, "bob")
}

// shutsDown is the end of P27: an idle teammate is asked to shut down, agrees, and ends.
func (st *teamStage) shutsDown(a peersAgent, name string) {
	t := st.t
	t.Helper()
	st.is(name, "idle")
	_, id, _ := strings.Cut(st.lead("shutdown-request", name), "Shutdown request ")
	st.until("it is asked", func() bool { return a.heard("shutdown request " + id[:8]) })
	a.answered(0)
	st.is(name, "idle")
	assert.Contains(t, st.lead("shutdown-status", id[:8]), `"status":"pending"`, "C5: the end of its turn is no answer")
	a.Prompt("[[bash intercom team shutdown-response " + id[:8] + " --approve]]")
	a.WaitForDialog()
	a.WaitForStill(labtest.Stillness)
	a.Keys("Enter")
	st.is(name, "shutdown")
	assert.Empty(t, a.Processes(), "P39: that all of it has ended is seen before it is said")
	assert.Contains(t, st.lead("shutdown-status", id[:8]), `"status":"approved"`)
	all := st.seen(name)
	assert.Equal(t, []string{"working", "idle"}, all[:2])
	assert.Equal(t, "shutdown", all[len(all)-1])
	assert.Equal(t, 1, len(slices.DeleteFunc(all, func(s string) bool { return s == "working" || s == "idle" })))
}
