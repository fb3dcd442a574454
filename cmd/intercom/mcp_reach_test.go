package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The server of an agent's tools is not in the agent's sandbox. Through it an agent can read the messages only of the repository
// in which it works, and write only to repositories that its person has enabled.
func TestMCP_repositoriesWithinReach(t *testing.T) {
	t.Parallel()
	server := inHome(t)
	home := server.Dir
	person := func(args ...string) {
		t.Helper()
		cmd := exec.Command(thisProgram(), append([]string{"aea"}, args...)...)
		cmd.Env, cmd.Dir = server.Env, home
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	repo := func(name string) string {
		dir := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".aea"), 0o700))
		person("send", "--repository", home, "--to", "claude-"+name, "--to-path", dir, "--type", "update", "--subject", "for "+name, "--message", "m", "--conversation", "one",
			"--context", `{"status":"error"}`) // a message with an error status is no failure of the tool
		return dir
	}
	mine, enabled, foreign := repo("mine"), repo("enabled"), repo("foreign")
	person("install", "--repository", enabled)
	require.NoError(t, os.Symlink(foreign, filepath.Join(mine, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(mine, "sub"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(mine, "another", ".git"), 0o700))
	inside := connectMCP(t, &exec.Cmd{Path: server.Path, Args: server.Args, Env: server.Env, Dir: filepath.Join(mine, "another")}, "2025-11-25", nil)
	failureOf(t, calls(t, inside, "aea_list", map[string]any{})) // a repository inside that of another agent
	server.Dir = filepath.Join(mine, "sub")
	tools := connectMCP(t, server, "2025-11-25", nil)

	for _, tool := range []string{"aea_check", "aea_list"} {
		for _, within := range []string{"", mine, filepath.Join(mine, "sub")} {
			r := calls(t, tools, tool, map[string]any{"repository": within})
			assert.False(t, r.IsError, "%s %q: %s", tool, within, textOfResult(r))
		}
		for _, without := range []string{enabled, foreign, filepath.Join(mine, "link"), mine + "/../foreign", "../../foreign"} {
			told := failureOf(t, calls(t, tools, tool, map[string]any{"repository": without}))
			assert.Contains(t, told.Error, "an agent may only use the one in which it works", "%s %q", tool, without)
			assert.Equal(t, string(api.CodeRefused), told.Code)
		}
	}

	send := func(to, path, from string) map[string]any {
		return map[string]any{"to": to, "to_path": path, "repository": from, "type": "update", "subject": "hello", "message": "m", "conversation_id": "one"}
	}
	r := calls(t, tools, "aea_send", send("claude-enabled", enabled, ""))
	assert.False(t, r.IsError, textOfResult(r))
	before, letters := entriesOf(t, foreign), entriesOf(t, enabled)
	told := failureOf(t, calls(t, tools, "aea_send", send("claude-enabled", enabled, enabled))) // in the name of the target's agent
	assert.Contains(t, told.Error, "an agent may only use the one in which it works")
	assert.Equal(t, letters, entriesOf(t, enabled))
	for _, path := range []string{foreign, filepath.Join(mine, "link")} {
		assert.Contains(t, failureOf(t, calls(t, tools, "aea_send", send("claude-foreign", path, ""))).Hint, "intercom aea install", path)
	}
	bad := send("claude-enabled", enabled, "")
	bad["type"] = "bogus"
	told = failureOf(t, calls(t, tools, "aea_send", bad))
	assert.Equal(t, string(api.CodeUsage), told.Code)
	assert.NotContains(t, told.Error+told.Hint, "intercom doctor")
	failureOf(t, calls(t, tools, "aea_send", send("claude-enabled", enabled, foreign))) // in the name of another repository's agent
	assert.Equal(t, before, entriesOf(t, foreign), "nothing was written there, not a line of its log either")

	// Of a conversation an agent reads what lies in its own repository and what it wrote.
	r = calls(t, tools, "aea_thread", map[string]any{"conversation_id": "one"})
	require.False(t, r.IsError, textOfResult(r))
	assert.Contains(t, textOfResult(r), "for mine")
	assert.Contains(t, textOfResult(r), "hello")
	assert.NotContains(t, textOfResult(r), "for enabled")
	for _, without := range []string{foreign, enabled} {
		failureOf(t, calls(t, tools, "aea_thread", map[string]any{"repository": without, "conversation_id": "one"}))
	}
}

// A server that runs in another directory than its agent sends in the name of the repository in which the agent works, and of no
// other.
func TestMCP_sendsFromWhereItsAgentWorks(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	mine, enabled := st.project("mine"), st.project("enabled")
	for _, dir := range []string{mine, enabled} {
		out, code := st.intercom("aea", "install", "--repository", dir)
		require.Zero(t, code, out)
	}
	out, code := st.intercom("up")
	require.Zero(t, code, out)
	tools := st.mcpFrom(st.coderIn("claude", mine), "/")
	send := func(from string) *sdk.CallToolResult {
		return calls(t, tools, "aea_send", map[string]any{"to": "claude-enabled", "to_path": enabled, "repository": from, "type": "update", "subject": "s", "message": "hello"})
	}
	r := send(mine)
	assert.False(t, r.IsError, textOfResult(r))
	assert.Contains(t, textOfResult(r), `"claude-mine"`)
	assert.Contains(t, failureOf(t, send(enabled)).Error, "an agent may only use the one in which it works")
}

// An agent does not reach the team of a project in which it does not work.
func TestMCP_teamsWithinReach(t *testing.T) {
	t.Parallel()
	server := inHome(t)
	mine, foreign := teamIn(t, filepath.Join(server.Dir, "mine")), teamIn(t, filepath.Join(server.Dir, "foreign"))
	require.NoError(t, os.Symlink(foreign, filepath.Join(mine, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(mine, "sub"), 0o700))
	server.Dir = filepath.Join(mine, "sub")
	tools := connectMCP(t, server, "2025-11-25", nil)
	reachesTeams(t, tools, foreign, []string{"", mine, filepath.Join(mine, "sub")},
		[]string{foreign, filepath.Join(mine, "link"), mine + "/../foreign", "../../foreign"})
	assert.Equal(t, string(api.CodeNotFound), failureOf(t, calls(t, tools, "team_send", map[string]any{"to": "nobody", "message": "hello"})).Code)
}

// The same holds while a sidecar runs, which would have access.
func TestMCP_teamsWithinReachOfAStranger(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	mine, foreign := teamIn(t, filepath.Join(st.home, "mine")), teamIn(t, filepath.Join(st.home, "foreign"))
	tools := st.mcpOfAStranger(t, mine)
	reachesTeams(t, tools, foreign, []string{"", mine}, []string{foreign, "../foreign"})
	// The person finds the refusals in the log, but not endlessly many.
	require.NoError(t, os.Mkdir(filepath.Join(foreign, ".aea"), 0o700))
	logged := func() int { return strings.Count(read(t, st.paths().Log), `msg="a tool refused"`) }
	before := logged()
	assert.Contains(t, read(t, st.paths().Log), "intercom team inbox")
	for range 30 {
		failureOf(t, calls(t, tools, "aea_check", map[string]any{"repository": foreign}))
	}
	assert.Contains(t, read(t, st.paths().Log), "intercom aea check")
	assert.Equal(t, 30, logged(), "%d of them before", before)
}

// A refusal by the sidecar to an agent that it knows is logged once.
func TestMCP_aRefusalIsLoggedOnce(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	mine, foreign := st.project("mine"), teamIn(t, filepath.Join(st.home, "foreign"))
	claude := st.coderIn("claude", mine)
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	tools := st.mcpIn(claude)
	warned := func() (all []string) {
		for line := range strings.Lines(read(t, st.paths().Log)) {
			if strings.Contains(line, "refused") {
				all = append(all, line)
			}
		}
		return all
	}
	for i, reach := range []struct {
		tool string
		with map[string]any
	}{
		{"team_inbox", map[string]any{"name": "zed", "project_dir": foreign}},
		{"list_teammates", map[string]any{"project_dir": foreign}},
		{"team_send", map[string]any{"to": "zed", "message": "for zed", "project_dir": foreign}},
		{"aea_check", map[string]any{"repository": foreign}},
	} {
		if reach.tool == "aea_check" { // refused by the tool itself, not by the sidecar
			require.NoError(t, os.Mkdir(filepath.Join(foreign, ".aea"), 0o700))
		}
		failureOf(t, calls(t, tools, reach.tool, reach.with))
		require.Len(t, warned(), i+1, "%s: %v", reach.tool, warned())
		assert.Contains(t, warned()[i], foreign)
	}
}

// In another user's project each team command fails and says whose it is; the team does not look empty.
func TestTeam_anotherUsers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away: run it as root to see this")
	}
	server := inHome(t)
	theirs := teamIn(t, filepath.Join(server.Dir, "theirs"))
	require.NoError(t, os.Chown(filepath.Join(theirs, ".team"), 4321, -1))
	before := entriesOf(t, theirs)
	for _, line := range [][]string{{"list"}, {"inbox"}, {"send", "zed", "hello"}, {"spawn", "amy", "--role", "dev"}} {
		cmd := exec.Command(thisProgram(), append([]string{"team"}, line...)...)
		cmd.Env, cmd.Dir = server.Env, theirs
		var out, told strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &told
		require.Error(t, cmd.Run(), "%v", line)
		assert.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v", line)
		assert.Empty(t, out.String(), "%v", line)
		assert.Contains(t, told.String(), filepath.Join(theirs, ".team")+`" belongs to user 4321`, "%v", line)
	}
	assert.Equal(t, before, entriesOf(t, theirs))
}

// mcpOfAStranger connects a client to a server whose caller cannot be identified, beside a sidecar.
func (st *stage) mcpOfAStranger(t *testing.T, dir string) *sdk.ClientSession {
	t.Helper()
	out, code := st.intercom("up")
	require.Zero(t, code, out)
	server := exec.Command(thisProgram(), "mcp")
	server.Env, server.Dir = append(st.environ(), "INTERCOM_TEST_MAIN=1", "INTERCOM_SERVER="+st.Socket), dir
	return connectMCP(t, server, "2025-11-25", nil)
}

// teamIn makes a project with a team of one member.
func teamIn(t *testing.T, dir string) string {
	t.Helper()
	inbox := filepath.Join(dir, ".team", "inbox")
	require.NoError(t, os.MkdirAll(inbox, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".team", "config.json"), []byte(`{"team_name": "default", "members": [{"name": "zed", "role": "dev", "status": "idle"}]}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(inbox, "zed.jsonl"), []byte(`{"type": "message", "from": "lead", "content": "between us", "timestamp": 1.0}`+"\n"), 0o600))
	return dir
}

// reachesTeams tries each team tool on projects within reach, and on a foreign one under each of its names.
func reachesTeams(t *testing.T, tools *sdk.ClientSession, foreign string, within, without []string) {
	t.Helper()
	before, inbox := entriesOf(t, foreign), filepath.Join(foreign, ".team", "inbox", "zed.jsonl")
	line := read(t, inbox)
	for _, one := range []struct {
		tool string
		with map[string]any
	}{
		{"list_teammates", map[string]any{}},
		{"team_send", map[string]any{"to": "zed", "message": "hello"}},
		{"team_broadcast", map[string]any{"message": "hello"}},
		{"team_inbox", map[string]any{"name": "zed", "peek": true}},
		{"team_inbox", map[string]any{"name": "zed"}},
	} {
		for _, dir := range within {
			one.with["project_dir"] = dir
			r := calls(t, tools, one.tool, one.with)
			assert.False(t, r.IsError, "%s %q: %s", one.tool, dir, textOfResult(r))
		}
		for _, dir := range without {
			one.with["project_dir"] = dir
			told := failureOf(t, calls(t, tools, one.tool, one.with))
			assert.Contains(t, told.Error, "an agent may use only its own", "%s %q", one.tool, dir)
			assert.NotContains(t, told.Error+told.Hint, "between us")
		}
	}
	assert.Equal(t, before, entriesOf(t, foreign), "nothing was written there")
	assert.Equal(t, line, read(t, inbox))
}

// No tool with a path argument reaches another project for a caller that cannot be identified. Each such tool is called with such
// a path.
func TestMCP_noToolReachesElsewhere(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	mine, foreign := teamIn(t, filepath.Join(st.home, "mine")), teamIn(t, filepath.Join(st.home, "foreign"))
	require.NoError(t, os.Mkdir(filepath.Join(foreign, ".aea"), 0o700))
	tools := st.mcpOfAStranger(t, mine)
	listed, err := tools.ListTools(t.Context(), nil)
	require.NoError(t, err)
	before, tried := entriesOf(t, foreign), 0
	for _, tool := range listed.Tools {
		for name := range propertiesOf(tool) {
			if !strings.Contains(name, "dir") && !strings.Contains(name, "path") && name != "repository" {
				continue
			}
			tried++
			with := map[string]any{"computer": "local"}
			for _, needed := range requiredOf(tool) {
				with[needed] = "zed"
			}
			if tool.Name == "aea_send" {
				with["type"] = "update"
			}
			with[name] = foreign
			failureOf(t, calls(t, tools, tool.Name, with))
		}
	}
	assert.GreaterOrEqual(t, tried, 10)
	assert.Equal(t, before, entriesOf(t, foreign))
}

func entriesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}
