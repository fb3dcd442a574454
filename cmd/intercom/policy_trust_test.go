package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/trust"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A project's policy is trusted only by a key that a person presses at a terminal after seeing it, not by anything that an agent
// does in its pane. The trust ends when the file changes or the person revokes it.
func TestL11_trust(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	project := filepath.Join(st.home, "project")
	file := filepath.Join(project, ".intercom", "policy.lua")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	text := `intercom.rule("everything", {}, intercom.deliver())` + "\n"
	write := func(text string) (hash string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return policy.Source{Text: text}.Hash()
	}
	hash := write(text)
	answers := filepath.Join(project, repository.ConfigFile)
	require.NoError(t, os.MkdirAll(filepath.Dir(answers), 0o700))
	loose := "response_policy:\n  issue:\n    high: {auto_respond: true}\n"
	list := trust.In(filepath.Join(st.env["XDG_STATE_HOME"], "intercom"))
	command := fmt.Sprintf("%s policy trust %s --server=%s", thisProgram(), project, st.Socket)

	claude, apart := st.coder("claude"), filepath.Join(st.home, "apart")
	_, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code)
	for i, c := range []struct{ way, inside, says string }{
		{"from inside its pane", command, "trust a project's policy: only a person may, and this runs inside"},
		{"with a yes on standard input", "echo y | " + command, "this runs inside"},
		{"with another environment", `env TMUX_PANE=%999 ` + command, "this runs inside"},
		{"with no terminal", "setsid -w " + command, "only a person"},
		{"having left its parents, at a terminal of its own", "setsid -f env -u TMUX -u TMUX_PANE script -qec '(" + command + "; echo ended) >" + apart + " 2>&1' /dev/null </dev/null; until grep -q ended " + apart + "; do sleep 0.1; done; cat " + apart + "; false", "trust a project's policy: only a person may, and this process is not verified"},
		{"what its agent answers", "echo '" + loose + "' > " + answers + "; " + strings.Replace(command, project, answers, 1), "this runs inside"},
	} {
		result := filepath.Join(st.home, fmt.Sprint("result", i))
		tmuxtest.Program(t, result+".sh", "#!/bin/sh\n( "+c.inside+" ) >"+result+" 2>&1\necho exit $? >>"+result+"\n")
		claude.do(":exec " + result + ".sh")
		told := ""
		tmuxtest.WaitFor(t, c.way, func() bool {
			data, _ := os.ReadFile(result)
			told = string(data)
			return strings.Contains(told, "exit ")
		})
		assert.Contains(t, told, c.says, c.way)
		assert.Contains(t, told, "exit 1", c.way)
		assert.False(t, list.Trusted(scripting.ProjectFile, hash), c.way)
	}

	require.NoError(t, os.Remove(answers))

	shell := st.shell()
	ask := func(words, key string, want ...string) {
		t.Helper()
		st.Run("send-keys", "-R", "-t", shell, ";", "clear-history", "-t", shell)
		st.Run("send-keys", "-t", shell, "-l", command+words+"; echo exit $?")
		st.Run("send-keys", "-t", shell, "Enter")
		if key != "" {
			st.WaitForText(shell, "[y/N]")
			assert.Contains(t, st.Run("capture-pane", "-p", "-J", "-t", shell), `intercom.rule("everything", {}, intercom.deliver())`, "a person sees what it is")
			st.Run("send-keys", "-t", shell, key)
		}
		for _, text := range want {
			st.WaitForText(shell, text)
		}
	}
	ask("", "n", "y was not pressed", "exit 1")
	assert.False(t, list.Trusted(scripting.ProjectFile, hash))
	ask("", "y", "trusted as it is now: ", "exit 0")
	assert.True(t, list.Trusted(scripting.ProjectFile, hash))
	ask("", "", "already trusted: ", "exit 0")

	text += "-- more\n"
	changed := write(text)
	assert.False(t, list.Trusted(scripting.ProjectFile, changed))
	ask(" --revoke", "y", "no longer trusted: ", "exit 0")
	assert.False(t, list.Trusted(scripting.ProjectFile, hash), "what it was before may come back by a checkout")
	require.NoError(t, list.Add(hash, file))
	ask(" --json", "y", `"trusted":true,"changed":true`, "exit 0")
	assert.True(t, list.Trusted(scripting.ProjectFile, changed))
	assert.False(t, list.Trusted(scripting.ProjectFile, hash), "what it was before is trusted no longer")
	ask(" --revoke", "y", "no longer trusted: ", "exit 0")
	assert.False(t, list.Trusted(scripting.ProjectFile, changed))
	require.NoError(t, os.WriteFile(answers, []byte(loose), 0o600))
	out, code := st.intercom("policy", "trust", "--revoke", "--json", project)
	require.Zero(t, code, out)
	var r trustReply
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Len(t, r.More, 1)
	own := r.More[0].Hash
	assert.Equal(t, trustReply{
		Project: project, trustedFile: trustedFile{File: file, Hash: changed}, More: []trustedFile{{File: answers, Hash: own}},
	}, r, "both of them")

	// The project's file of automatic answers is trusted in the same way, but not as a policy.
	st.Run("send-keys", "-R", "-t", shell, ";", "clear-history", "-t", shell)
	st.Run("send-keys", "-t", shell, "-l", strings.Replace(command, project, answers, 1)+"; echo exit $?")
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "[y/N]")
	shown := st.Run("capture-pane", "-p", "-J", "-t", shell)
	assert.Contains(t, shown, "high: {auto_respond: true}")
	assert.Contains(t, shown, "line 3: warning: issue high: answer: only once you trust this file")
	st.Run("send-keys", "-t", shell, "y")
	st.WaitForText(shell, "exit 0")
	assert.True(t, list.Trusted(repository.ConfigFile, own))
	assert.False(t, list.Trusted(scripting.ProjectFile, own))
}

// Commands that write a person's files refuse if any sidecar refuses the caller, even that of another tmux server.
func TestPersonOnly_oneSidecarThatRefusesIsEnough(t *testing.T) {
	t.Chdir(t.TempDir())
	w := newWorld(t)
	w.serve(t, &fakeBackend{})
	for _, file := range []string{scripting.ProjectFile, filepath.Join(w.env["HOME"], ".config", "intercom", "policies", "50-quiet-hours.lua")} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, nil, 0o600))
	}
	r := w.run("aea", "disable")
	assert.Contains(t, r.err, "is not enabled on this computer", "nobody refuses it")

	other := &world{env: maps.Clone(w.env)}
	other.env["INTERCOM_SERVER"] += "2"
	other.serve(t, &fakeBackend{unwanted: api.Errorf(api.CodeRefused, "this process is not verified").WithHint("be a person")})
	for _, line := range []string{"aea disable", "aea install", "policy trust", "policy drop quiet-hours"} {
		r := w.run(strings.Fields(line)...)
		assert.Equal(t, 1, r.code, line)
		assert.Contains(t, r.err, "this process is not verified", line)
	}
	assert.NoDirExists(t, ".aea")
}

// The trust of a file that is gone can be revoked, even if its project is gone too, because the file may come back.
func TestFilesOf_whatIsGone(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project := filepath.Join(root, "project")
	file := filepath.Join(project, scripting.ProjectFile)
	require.NoError(t, os.MkdirAll(project, 0o700))
	listed := func(one string) bool { return one == file }
	for _, there := range []bool{true, false} {
		if !there {
			require.NoError(t, os.Remove(project))
		}
		for _, named := range []string{project, file} {
			of, files, err := filesOf(named, listed)
			require.NoError(t, err)
			assert.Equal(t, project, of)
			require.Len(t, files, 1)
			assert.Equal(t, []string{scripting.ProjectFile, ""}, []string{files[0].place, files[0].hash})
			_, _, err = filesOf(named, func(string) bool { return false })
			assert.Error(t, err)
		}
	}
}
