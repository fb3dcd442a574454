package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

func TestRecognise(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want Kind
	}{
		{"claude", nil, Claude},
		{"codex", []string{"/opt/codex", "--no-daemon"}, Codex},
		{"2.1.329", []string{"claude", "--continue"}, Claude},
		{"node", []string{"node", "/usr/local/bin/codex"}, Codex},
		{"MainThread", []string{"/usr/bin/node", "/x/node_modules/@anthropic-ai/claude-code/cli.js"}, Claude},
		{"node", []string{"node", "/x/node_modules/@openai/codex/bin/codex.js"}, Codex},
		{"node", []string{"/usr/bin/node", "--max-old-space-size=12052", "/x/node_modules/@google/gemini-cli/bundle/gemini.js"}, Gemini},
		{"node", []string{"node", "-r", "hook.js", "/usr/local/bin/gemini", "--resume"}, Gemini},
		{"node", []string{"node", "/x/node_modules/opencode-ai/bin/opencode"}, OpenCode},
		{"opencode", []string{"/x/bin/.opencode"}, OpenCode},
		{"node", []string{"node", "-e", "gemini()"}, ""},
		{"node", []string{"node", "server.js", "gemini"}, ""},
		{"node", []string{"node", "server.js", "codex"}, ""},
		{"vim", []string{"vim", "claude"}, ""},
		{"bash", []string{"-bash"}, ""},
		{"claude-squad", []string{"claude-squad"}, ""},
		{"", nil, ""},
	} {
		got, ok := kindOf(tt.name, tt.args)
		assert.Equal(t, tt.want, got, "%q %q", tt.name, tt.args)
		assert.Equal(t, tt.want != "", ok)
	}

	_, err := Recognise(message.Process{PID: os.Getpid(), Name: "sh"})
	assert.ErrorIs(t, err, ErrNoAgent)
	p := startProcess(t, Claude, "CLAUDE_CONFIG_DIR=elsewhere")
	a, err := Recognise(message.Process{PID: os.Getpid(), Name: "sh"}, message.Process{PID: p, Name: "claude"})
	require.NoError(t, err)
	assert.Equal(t, Claude, a.Kind)
	assert.NotZero(t, a.Process.Start)
	assert.Equal(t, filepath.Join(a.Dir, "elsewhere"), a.Home, "a relative path is one of the process")
	assert.Equal(t, []int{p, os.Getpid()}, a.Tried)
}

func TestHomeOf(t *testing.T) {
	assert.Equal(t, "/home/ada/.claude", homeIn(Claude, map[string]string{"HOME": "/home/ada", "CODEX_HOME": "/x"}, "/w"))
	assert.Equal(t, "/home/ada/.codex", homeIn(Codex, map[string]string{"HOME": "/home/ada"}, "/w"))
	assert.Equal(t, "/x", homeIn(Codex, map[string]string{"HOME": "/home/ada", "CODEX_HOME": "/x/"}, "/w"))
	assert.Equal(t, "/home/ada/.gemini", homeIn(Gemini, map[string]string{"HOME": "/home/ada"}, "/w"))
	assert.Equal(t, "/x/.gemini", homeIn(Gemini, map[string]string{"HOME": "/home/ada", "GEMINI_CLI_HOME": "/x"}, "/w"))
	assert.Equal(t, "/home/ada/.local/share/opencode", homeIn(OpenCode, map[string]string{"HOME": "/home/ada"}, "/w"))
	assert.Equal(t, "/x/opencode", homeIn(OpenCode, map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "/x"}, "/w"))
	assert.Equal(t, "/y", homeIn(Claude, map[string]string{"HOME": "/home/ada", "CLAUDE_CONFIG_DIR": "/y"}, "/w"))
}

// Two Claude Codes in one directory with one home: each has its own session, by its pid.
func TestFind_twoClaudesInOneDirectory(t *testing.T) {
	home := t.TempDir()
	env := "CLAUDE_CONFIG_DIR=" + home
	one, two := recognised(t, Claude, env), recognised(t, Claude, env)
	writeStatus(t, one, "11111111-aaaa", StatusIdle, time.Now())
	writeStatus(t, two, "22222222-bbbb", StatusBusy, time.Now())
	for _, tt := range []struct {
		a    Agent
		want string
	}{{one, "11111111-aaaa"}, {two, "22222222-bbbb"}} {
		got, err := tt.a.Find()
		require.NoError(t, err)
		assert.Equal(t, tt.want, got.Thread)
		assert.Equal(t, ByStatusFile, got.How)
		assert.Equal(t, filepath.Join(home, "projects", projectName(tt.a.Dir), tt.want+".jsonl"), got.Path)
	}
}

func TestFind_aStaleStatusFileIsNotBelieved(t *testing.T) {
	a := recognised(t, Claude, "CLAUDE_CONFIG_DIR="+t.TempDir())
	_, err := a.Find()
	assert.ErrorIs(t, err, ErrNoTranscript)
	writeStatus(t, a, "11111111-aaaa", StatusIdle, time.Now())
	_, err = a.Find()
	require.NoError(t, err)

	path := filepath.Join(a.Home, "sessions", strconv.Itoa(a.Process.PID)+".json")
	for _, text := range []string{
		fmt.Sprintf(`{"pid":%d,"procStart":"%d","sessionId":"s","status":"idle"}`, a.Process.PID, a.Process.Start-1),
		fmt.Sprintf(`{"pid":%d,"sessionId":"s","status":"idle"}`, a.Process.PID),
		fmt.Sprintf(`{"pid":%d,"procStart":"%d","sessionId":"s","status":"idle"}`, a.Process.PID+1, a.Process.Start),
		fmt.Sprintf(`{"pid":%d,"procStart":"%d","sessionId":"../../x","status":"idle"}`, a.Process.PID, a.Process.Start),
		fmt.Sprintf(`{"pid":%d,"procStart":"%d","sessionId":"*","status":"idle"}`, a.Process.PID, a.Process.Start),
		`{"pid":`, ``, `[]`,
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = a.Find()
		assert.ErrorIs(t, err, ErrNoTranscript, text)
	}
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `{"pid":%d,"procStart":%d,"sessionId":"s","status":"idle"}`, a.Process.PID, a.Process.Start), 0o600))
	_, err = a.Find()
	assert.NoError(t, err, "a number would do as well")
}

// A session keeps the file of the directory in which it began.
func TestFind_aSessionThatLeftItsDirectory(t *testing.T) {
	a := recognised(t, Claude, "CLAUDE_CONFIG_DIR="+t.TempDir())
	writeStatus(t, a, "11111111-aaaa", StatusIdle, time.Now())
	path := filepath.Join(a.Home, "projects", "-somewhere-else", "11111111-aaaa.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	got, err := a.Find()
	require.NoError(t, err)
	assert.Equal(t, path, got.Path)
}

// The place of an unwritten session is a guess, which is repeated until the session is written.
func TestFind_aSessionThatIsWrittenElsewhere(t *testing.T) {
	l := newLife(t, Claude)
	l.status("s1", StatusIdle)
	l.follower = NewFollower(l.agent, nil, time.Now)
	defer l.follower.leave()
	look := func() {
		_, err := l.follower.look(t.Context(), true)
		require.NoError(t, err)
	}
	look()
	l.until(t, "bound s1")
	assert.Equal(t, l.path("s1"), l.bound.Path)

	path := filepath.Join(l.home, "projects", "-home-ada-wo-1x7k9q", "s1.jsonl") // the name was cut
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(l.turn("one", "first")), 0o600))
	look()
	l.until(t, "bound s1")
	assert.Equal(t, path, l.bound.Path)
	require.Len(t, l.ended, 1)
	assert.Equal(t, "first", l.ended[0].Words)

	require.NoError(t, os.Remove(path))
	l.seen = nil
	look()
	look()
	assert.Empty(t, l.follower.Updates(), "where it was removed, nothing speaks for another place")
}

func TestStatus_ofRealFiles(t *testing.T) {
	for _, tt := range []struct {
		file, state, waiting string
		pane                 message.PaneState
	}{
		{claude + "status/idle.json", StatusIdle, "", message.Idle},
		{claude + "status/waiting-input.json", StatusWaiting, "input needed", message.Blocked},
		{"claude-2.1.197/status/idle.json", StatusIdle, "", message.Idle},
	} {
		s, pid, start, err := parseStatus(recording(t, tt.file))
		require.NoError(t, err)
		assert.Equal(t, tt.state, s.State)
		assert.Equal(t, tt.waiting, s.For)
		assert.Equal(t, tt.pane, s.PaneState())
		assert.NotZero(t, pid)
		assert.NotEmpty(t, start)
		assert.Equal(t, 5*time.Second, s.Age(s.Since.Add(5*time.Second)))
		assert.Zero(t, s.Age(s.Since.Add(-time.Hour)), "a clock that was put back")
		assert.Equal(t, 2026, s.Since.Year())
	}
	assert.Equal(t, message.Unknown, Status{State: "dreaming"}.PaneState())
	assert.Equal(t, message.Working, Status{State: StatusBusy}.PaneState())
}

// Two Codexes in one directory with one home: each has its own rollout open. The one that was written to last
// counts, and that of a sub-agent never does.
func TestFind_twoCodexInOneDirectory(t *testing.T) {
	home := t.TempDir()
	first := rollout(t, home, "01a1ff0b-0001", codex+"new/before.jsonl", -3*time.Minute)
	second := rollout(t, home, "01a1ff0b-0002", codex+"new/after.jsonl", -2*time.Minute)
	side := rollout(t, home, "01a1ff0b-0003", codex+"sub-agent/side.jsonl", -time.Minute)
	other := rollout(t, home, "01a1ff0b-0004", codex+"plain/transcript.jsonl", 0)
	one := recognised(t, Codex, "CODEX_HOME="+home, first, second, side)
	two := recognised(t, Codex, "CODEX_HOME="+home, other)

	got, err := one.Find()
	require.NoError(t, err)
	assert.Equal(t, second, got.Path)
	assert.Equal(t, ByOpenFile, got.How)
	assert.Equal(t, "0.169.0", got.Version)
	assert.NotEmpty(t, got.Thread)
	got, err = two.Find()
	require.NoError(t, err)
	assert.Equal(t, other, got.Path)

	require.NoError(t, os.Chtimes(first, time.Time{}, time.Now().Add(-time.Second)))
	got, err = one.Find()
	require.NoError(t, err)
	assert.Equal(t, first, got.Path, "an old conversation was taken up again")

	none := recognised(t, Codex, "CODEX_HOME="+home)
	_, err = none.Find()
	assert.ErrorIs(t, err, ErrNoTranscript)
	_, err = none.Status()
	assert.ErrorIs(t, err, ErrNoTranscript)
}

// The system reports open files without the links through which an agent names its home: all names lead to the same
// path.
func TestFind_codexBehindALink(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := rollout(t, home, "01a1ff0b-0001", codex+"new/before.jsonl", 0)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(home, link))
	a := recognised(t, Codex, "CODEX_HOME="+link, path)
	assert.Equal(t, link, a.Home)
	got, err := a.Find()
	require.NoError(t, err)
	assert.Equal(t, path, got.Path)
	a.Dir = "/home/ada/work"
	got, err = a.FindText("first in file one", time.Date(2026, 11, 21, 16, 57, 21, 0, time.UTC), nil)
	require.NoError(t, err)
	assert.Equal(t, path, got.Path)
}

// A Codex that starts reads other rollouts of its home, including those that were written to last. A rollout that
// it only reads is not its own.
func TestFind_codexReadsWhatOthersWrite(t *testing.T) {
	home := t.TempDir()
	others := rollout(t, home, "01a1ff0b-0001", codex+"new/before.jsonl", -time.Minute)
	reading := func(path string) (*os.File, error) { return os.Open(path) }
	starting, err := Recognise(message.Process{PID: startWith(t, Codex, "CODEX_HOME="+home, reading, others)})
	require.NoError(t, err)
	_, err = starting.Find()
	assert.ErrorIs(t, err, ErrNoTranscript)
}

// If processes do not reveal the transcript, the typed text does: it must stand in one transcript only, recently,
// as a prompt, and in that directory.
func TestFind_boundByTheTextThatWasTyped(t *testing.T) {
	home := t.TempDir()
	typed := time.Date(2026, 11, 21, 16, 58, 21, 0, time.UTC) // when the recording took it
	a := recognised(t, Codex, "CODEX_HOME="+home)
	a.Dir = "/home/ada/work"
	before := rollout(t, home, "01a1ff0b-0001", codex+"new/before.jsonl", 0)
	after := rollout(t, home, "01a1ff0b-0002", codex+"new/after.jsonl", 0)
	rollout(t, home, "01a1ff0b-0003", codex+"sub-agent/side.jsonl", 0)
	find := func(text string, at time.Time, not func(string) bool) (Transcript, error) {
		return a.FindText(text, at, not)
	}

	got, err := find("first in file two", typed, nil)
	require.NoError(t, err)
	assert.Equal(t, after, got.Path)
	assert.Equal(t, ByTypedText, got.How)
	got, err = find("first in file one", typed.Add(-time.Minute), nil)
	require.NoError(t, err)
	assert.Equal(t, before, got.Path)

	_, err = find("first in file two", typed.Add(time.Minute), nil)
	assert.ErrorIs(t, err, ErrNoTranscript, "it was taken before we typed it")
	_, err = find("first in file three", typed, nil)
	assert.ErrorIs(t, err, ErrNoTranscript)
	_, err = find("MOCK-ANSWER", typed, nil)
	assert.ErrorIs(t, err, ErrNoTranscript, "said, not asked")
	_, err = find("hello from the main agent", typed, nil)
	assert.ErrorIs(t, err, ErrNoTranscript, "asked of a sub-agent")
	_, err = find("first in file two", typed, func(path string) bool { return path == after })
	assert.ErrorIs(t, err, ErrNoTranscript, "it is another agent's")
	a.Dir = "/home/ada/other"
	_, err = find("first in file two", typed, nil)
	assert.ErrorIs(t, err, ErrNoTranscript, "another directory")

	a.Dir = "/home/ada/work"
	rollout(t, home, "01a1ff0b-0004", codex+"new/after.jsonl", 0)
	_, err = find("first in file two", typed, nil)
	assert.ErrorIs(t, err, ErrAmbiguous, "typed into two agents at once")
}

// Codex works in the directory of its command line, wherever it was started.
func TestFind_codexInTheDirectoryOfItsCommandLine(t *testing.T) {
	home := t.TempDir()
	path := rollout(t, home, "01a1ff0b-0002", codex+"new/after.jsonl", 0)
	cmd := exec.Command("/bin/sh", "-c", "read x", "--cd", "/home/ada/work")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	a := Agent{Kind: Codex, Home: home, Dir: "/home/ada"}
	typed := time.Date(2026, 11, 21, 16, 58, 21, 0, time.UTC)
	_, err = a.FindText("first in file two", typed, nil)
	require.ErrorIs(t, err, ErrNoTranscript)
	a.Process.PID = cmd.Process.Pid
	require.Eventually(t, func() bool { return len(process.Arguments(cmd.Process.Pid)) == 5 }, time.Minute, time.Millisecond)
	got, err := a.FindText("first in file two", typed, nil)
	require.NoError(t, err)
	assert.Equal(t, path, got.Path)
}

func TestProjectName(t *testing.T) {
	assert.Equal(t, "-home-ada-my-work-x-1", projectName("/home/ada/my.work/x_1"))
	assert.Equal(t, "-home-ada----o", projectName("/home/ada/é😀o"), "two for what JavaScript keeps in two")
}

// startProcess runs something harmless in a directory of its own, with a given name, environment and open files.
func startProcess(t *testing.T, kind Kind, env string, open ...string) int {
	t.Helper()
	writing := func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }
	return startWith(t, kind, env, writing, open...)
}

// startWith is startProcess with files opened in another way.
func startWith(t *testing.T, kind Kind, env string, opened func(path string) (*os.File, error), open ...string) int {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	cmd := exec.Command(sleep, "600")
	cmd.Args[0] = string(kind)
	cmd.Env = []string{env, "HOME=/nonexistent"}
	cmd.Dir = "/"
	for _, path := range open {
		f, err := opened(path)
		require.NoError(t, err)
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	require.Eventually(t, func() bool { return len(process.Arguments(cmd.Process.Pid)) == 2 }, time.Minute, time.Millisecond)
	return cmd.Process.Pid
}

func recognised(t *testing.T, kind Kind, env string, open ...string) Agent {
	t.Helper()
	a, err := Recognise(message.Process{PID: startProcess(t, kind, env, open...)})
	require.NoError(t, err)
	require.Equal(t, kind, a.Kind)
	return a
}

// writeStatus writes the status file of an agent as Claude Code does.
func writeStatus(t *testing.T, a Agent, thread, state string, since time.Time) {
	t.Helper()
	path := filepath.Join(a.Home, "sessions", strconv.Itoa(a.Process.PID)+".json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	text := fmt.Sprintf(`{"pid":%d,"sessionId":%q,"cwd":%q,"procStart":"%d","version":"2.1.329","status":%q,"statusUpdatedAt":%d}`,
		a.Process.PID, thread, a.Dir, a.Process.Start, state, since.UnixMilli())
	require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// rollout puts a recorded rollout where Codex keeps it.
func rollout(t *testing.T, home, thread, from string, age time.Duration) string {
	t.Helper()
	path := filepath.Join(home, "sessions", "2026", "11", "21", "rollout-2026-11-21T16-00-00-"+thread+".jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, recording(t, from), 0o600))
	require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(age)))
	return path
}
