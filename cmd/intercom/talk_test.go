package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestK1_K4_K5_K6_K7_K9_K10_K44_C36_aListener(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	number, _ := strconv.ParseFloat(port, 64)
	assert.Equal(t, map[string]any{"status": "not_running", "port": number}, k.ok("listen", "status", "--port", port))
	// The shell that calls it is killed, with everything in its process group.
	shell := k.command("sh", "-c", `"$0" talk listen start --port `+port, thisProgram())
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := shell.Output()
	require.NoError(t, err)
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
	var started map[string]any
	require.NoError(t, json.Unmarshal(out, &started))
	inbox := filepath.Join(k.env["HOME"], ".ai-talk", port, "inbox.jsonl")
	assert.ElementsMatch(t, []string{"status", "port", "pid", "message_file"}, talkKeys(started))
	assert.Equal(t, []any{"started", number, inbox}, []any{started["status"], started["port"], started["message_file"]})
	pid, err := os.ReadFile(filepath.Join(filepath.Dir(inbox), "listener.pid"))
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprint(started["pid"]), fmt.Sprint(toFloat(t, string(pid))))
	assert.Equal(t, int(started["pid"].(float64)), ownerOfSocket(t, port), "the process that has the socket")
	status := k.ok("listen", "status", "--port", port)
	assert.Equal(t, []any{"running", started["pid"]}, []any{status["status"], status["pid"]})
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "alive")

	assert.Equal(t, "stopped", k.ok("listen", "stop", "--port", port)["status"])
	assert.NoFileExists(t, filepath.Join(filepath.Dir(inbox), "listener.pid"))
	_, err = net.Dial("tcp4", "127.0.0.1:"+port)
	assert.Error(t, err)
	k.fails("LISTENER_NOT_RUNNING", "listen", "stop", "--port", port)
	k.fails("LISTENER_NOT_RUNNING", "check", "--port", aFreePort(t))
	assert.Equal(t, []string{"alive"}, bodies(k.ok("check", "--port", port)), "what came is there still")

	file := filepath.Join(k.env["HOME"], "mine.jsonl")
	assert.Equal(t, file, k.ok("listen", "start", "--port", port, "--message-file", "mine.jsonl")["message_file"])
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "elsewhere")
	assert.FileExists(t, file)
	k.ok("listen", "stop", "--port", port)
	callback := filepath.Join(filepath.Dir(inbox), "callback")
	assert.FileExists(t, callback)
	assert.Equal(t, []string{"alive", "elsewhere"}, bodies(k.ok("check", "--port", port, "--clear")), "in either file")
	assert.NoFileExists(t, callback)
}

// The completions for a port are the listeners in the caller's home.
func TestTalk_completesPorts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wantsPort(t)
	home, err := talkHome(w.getenv)
	require.NoError(t, err)
	p := home.Port(home.Wishes()[0].Port)
	require.NoError(t, os.WriteFile(p.PIDFile(), []byte("1\n"), 0o600))
	held, err := claim.Take(filepath.Join(home.Claims, fmt.Sprintf("talk-%d", p.Number)))
	require.NoError(t, err)
	defer func() { assert.NoError(t, held.Release()) }()
	got, _, _ := strings.Cut(w.run("__complete", "talk", "check", "--port", "").out, "\n")
	assert.Equal(t, strconv.Itoa(p.Number), strings.TrimSpace(got))
}

func toFloat(t *testing.T, text string) float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	require.NoError(t, err)
	return f
}

// ownerOfSocket is the process that listens on a port, according to the kernel.
func ownerOfSocket(t *testing.T, port string) int {
	t.Helper()
	number, _ := strconv.Atoi(port)
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("only Linux tells who owns a socket")
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[1] != fmt.Sprintf("0100007F:%04X", number) || f[3] != "0A" {
			continue
		}
		links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && to == "socket:["+f[9]+"]" {
				pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
				return pid
			}
		}
	}
	return 0
}

func TestK11_K12_K13_K14_K16_K17_K19_K23_K28_K31_conversation(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	a, b := aFreePort(t), aFreePort(t)
	k.ok("listen", "start", "--port", a)
	k.ok("listen", "start", "--port", b)
	sent := k.ok("send", "--to-port", b, "--from-port", a, "--message", "Hello AI-B!", "--log-sent")
	assert.ElementsMatch(t, []string{"status", "to_port", "from_port", "message_length", "timestamp"}, talkKeys(sent))
	assert.Equal(t, "sent", sent["status"])
	assert.Equal(t, 11.0, sent["message_length"])
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$`, sent["timestamp"])
	assert.Equal(t, 2.0, k.ok("send", "--to-port", b, "--from-port", a, "--message", "é")["message_length"], "bytes")

	got := k.ok("check", "--port", b)
	assert.ElementsMatch(t, []string{"port", "message_count", "messages"}, talkKeys(got))
	assert.Equal(t, 2.0, got["message_count"])
	first := got["messages"].([]any)[0]
	assert.ElementsMatch(t, []string{"timestamp", "sender_port", "message"}, talkKeys(first))
	assert.Equal(t, toFloat(t, a), first.(map[string]any)["sender_port"])
	assert.Equal(t, []string{"Hello AI-B!"}, bodies(k.ok("check", "--port", b, "--limit", "1", "--clear")))
	assert.Equal(t, []string{"é"}, bodies(k.ok("check", "--port", b, "--clear")))
	assert.Zero(t, k.ok("check", "--port", b)["message_count"])

	text := "Hello AI-A!\n" + strings.Repeat("a line of text\n", 60_000) + "end"
	require.NoError(t, os.WriteFile(filepath.Join(k.env["HOME"], "long.txt"), []byte(text), 0o600))
	k.ok("send", "--to-port", a, "--from-port", b, "--message-file", "long.txt")
	assert.Equal(t, []string{text}, bodies(k.ok("check", "--port", a, "--clear")))

	outbox, err := os.ReadFile(filepath.Join(k.env["HOME"], ".ai-talk", a, "outbox.jsonl"))
	require.NoError(t, err)
	assert.Contains(t, string(outbox), `"message":"Hello AI-B!"`)
	assert.Equal(t, 1, strings.Count(string(outbox), "\n"), "only what was to be logged")
	assert.NoFileExists(t, filepath.Join(k.env["HOME"], ".ai-talk", b, "outbox.jsonl"))
	require.NoError(t, os.WriteFile(filepath.Join(k.env["HOME"], ".ai-talk", "config.json"), []byte(`{"log_sent":true}`), 0o600))
	k.ok("send", "--to-port", a, "--from-port", b, "--message", "logged")
	assert.FileExists(t, filepath.Join(k.env["HOME"], ".ai-talk", b, "outbox.jsonl"))
}

func TestK20_K21_discover(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	assert.Equal(t, map[string]any{"listeners": []any{}}, k.ok("discover"))
	a, b := aFreePort(t), aFreePort(t)
	k.ok("listen", "start", "--port", a)
	pid := k.ok("listen", "start", "--port", b)["pid"]
	all := k.ok("discover")["listeners"].([]any)
	require.Len(t, all, 2)
	for _, one := range all {
		l := one.(map[string]any)
		assert.ElementsMatch(t, []string{"port", "pid", "started"}, talkKeys(one))
		assert.Equal(t, pid, l["pid"], "the sidecar has both")
		assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`, l["started"])
	}
	unguarded := endGuard(k.headless().Lock) // the guard would start the sidecar again
	require.NoError(t, syscall.Kill(int(pid.(float64)), syscall.SIGKILL))
	until(t, func() bool { return len(k.ok("discover")["listeners"].([]any)) == 0 })
	unguarded()
	again := k.ok("listen", "start", "--port", a)
	assert.NotEqual(t, pid, again["pid"])
	assert.Len(t, k.ok("discover")["listeners"], 2, "and with it comes the other, which is wanted still")
}

// A headless sidecar that was killed comes back while somebody wants what it serves, but not after a person has ended it.
func TestC50_aKilledHeadlessSidecarComesBack(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	old := int(k.ok("listen", "start", "--port", port)["pid"].(float64))
	guarded := func() bool { there, held := api.GuardOf(k.headless()); return held && there.PID > 0 }
	until(t, guarded)
	require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
	until(t, func() bool {
		all := k.ok("discover")["listeners"].([]any)
		return len(all) == 1 && all[0].(map[string]any)["pid"] != float64(old)
	})
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "after")
	assert.Equal(t, []string{"after"}, bodies(k.ok("check", "--port", port)))
	until(t, guarded)

	out, err := k.command(thisProgram(), "down").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Zero(t, api.Holder(k.headless().Lock))
	assert.False(t, guarded(), "a person has ended it")
	assert.Empty(t, k.ok("discover")["listeners"])

	// A headless sidecar that serves nothing has no guard.
	k.ok("listen", "start", "--port", port)
	until(t, guarded)
	k.ok("listen", "stop", "--port", port)
	pid := api.Holder(k.headless().Lock)
	require.NotZero(t, pid)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	until(t, func() bool { return !guarded() })
	assert.Zero(t, api.Holder(k.headless().Lock))
}

func TestK22_stoppedSidecar(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	pid := int(k.ok("listen", "start", "--port", port)["pid"].(float64))
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "x")
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	assert.Equal(t, []string{"x"}, bodies(k.ok("check", "--port", port, "--clear")))
	k.fails("CONNECTION_TIMEOUT", "send", "--to-port", port, "--from-port", "9001", "--message", "y", "--timeout", "0.3")
}

func TestK26_files(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	k.ok("listen", "start", "--port", port)
	dir := filepath.Join(k.env["HOME"], ".ai-talk", port)
	callback := filepath.Join(dir, "callback")
	assert.NoFileExists(t, callback)
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "x")
	assert.FileExists(t, callback)
	k.ok("check", "--port", port)
	assert.FileExists(t, callback)
	for _, name := range []string{"listener.pid", "inbox.jsonl"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
	k.ok("check", "--port", port, "--clear")
	assert.NoFileExists(t, callback)

	// A message that arrives while a check is still printing keeps the callback, and is not cleared with the others.
	long := strings.Repeat("x", 100_000)
	require.NoError(t, os.WriteFile(filepath.Join(k.env["HOME"], "long"), []byte(long), 0o600))
	for range 3 {
		k.ok("send", "--to-port", port, "--from-port", "9001", "--message-file", "long")
	}
	check := k.command(thisProgram(), "talk", "check", "--port", port, "--clear")
	pipe, err := check.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, check.Start())
	begun := make([]byte, 1)
	_, err = io.ReadFull(pipe, begun)
	require.NoError(t, err)
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "meanwhile")
	rest, err := io.ReadAll(pipe)
	require.NoError(t, err)
	require.NoError(t, check.Wait())
	var printed map[string]any
	require.NoError(t, json.Unmarshal(append(begun, rest...), &printed))
	assert.Equal(t, []string{long, long, long}, bodies(printed))
	assert.FileExists(t, callback)
	assert.Equal(t, []string{"meanwhile"}, bodies(k.ok("check", "--port", port, "--clear")))
	assert.NoFileExists(t, callback)
}

func TestK29_withoutAPort(t *testing.T) {
	if alone(t) {
		return
	}
	if os.Getenv(aloneVar) == "" {
		t.Skip("no network of its own can be made here, in which 9001 and 9002 are free: allow unprivileged user namespaces")
	}
	k := newTalker(t)
	for _, want := range []float64{9001, 9002} {
		assert.Equal(t, want, k.ok("listen", "start")["port"])
	}
	var found []float64
	for _, l := range k.ok("discover")["listeners"].([]any) {
		found = append(found, l.(map[string]any)["port"].(float64))
	}
	assert.ElementsMatch(t, []float64{9001, 9002}, found)
}

// The system shows one listening socket for the port, on loopback, and the sidecar owns it, not the command that started it.
func TestK32_C36_C50_asTheSystemSeesIt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ss"); err != nil {
		t.Skip("no ss, which tells who listens: install iproute2")
	}
	k := newTalker(t)
	port := aFreePort(t)
	start := k.command(thisProgram(), "talk", "listen", "start", "--port", port)
	require.NoError(t, start.Run())
	out, err := exec.CommandContext(t.Context(), "ss", "-Hltnp", "sport = :"+port).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 1, strings.Count(string(out), "\n"), "%s", out)
	assert.Equal(t, "127.0.0.1:"+port, strings.Fields(string(out))[3])
	sidecar := k.sidecarOf("")
	assert.Contains(t, string(out), fmt.Sprintf("pid=%d,", sidecar))
	assert.NotEqual(t, start.Process.Pid, sidecar)
}

// Connections that announce more than a message may have, or as much without sending it, cost the sidecar hardly any memory.
func TestK36_whatIsPromisedTakesNoMemory(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	require.NoError(t, os.Mkdir(filepath.Join(k.env["HOME"], ".ai-talk"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(k.env["HOME"], ".ai-talk", "config.json"), []byte(`{"rate":100000,"burst":100000}`), 0o600))
	port := aFreePort(t)
	pid := int(k.ok("listen", "start", "--port", port)["pid"].(float64))
	most := func() (kib int) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Skip("only Linux tells what a process uses")
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		_, err = fmt.Sscan(rest, &kib)
		require.NoError(t, err)
		return kib
	}
	before := most()
	for i := range 600 {
		c, err := net.Dial("tcp4", "127.0.0.1:"+port)
		require.NoError(t, err)
		defer c.Close()
		if i%3 == 0 {
			_, _ = io.WriteString(c, "1048576:")
			continue
		}
		_, _ = io.WriteString(c, []string{"", "1048577:", "99999999999:"}[i%3]+strings.Repeat("x", 10_000))
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, err = c.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it is closed")
	}
	assert.Less(t, most()-before, 60<<10, "KiB, of 600 MiB that were promised")
	until(t, func() bool {
		_, code := k.says("send", "--to-port", port, "--from-port", "9001", "--message", "honest")
		return code == 0
	})
	assert.Equal(t, []string{"honest"}, bodies(k.ok("check", "--port", port)))
}

func TestK35_K39_K41_K43_K45_K50_errors(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	for _, bad := range []string{"1024", "80", "0", "70000", "abc"} {
		for _, words := range [][]string{
			{"listen", "start", "--port", bad},
			{"listen", "stop", "--port", bad},
			{"listen", "status", "--port", bad},
			{"check", "--port", bad},
			{"listen-once", "--port", bad},
			{"send", "--to-port", bad, "--from-port", "9001", "--message", "x"},
			{"send", "--to-port", "9002", "--from-port", bad, "--message", "x"},
		} {
			k.fails("INVALID_PORT", words...)
		}
	}
	port := aFreePort(t)
	details := k.fails("CONNECTION_REFUSED", "send", "--to-port", port, "--from-port", "9001", "--message", "x")
	assert.Equal(t, map[string]any{"port": toFloat(t, port), "timeout": 10.0}, details)
	out, code := k.says("send", "--to-port", port, "--from-port", "9001", "--message", "x", "--timeout", "1.5")
	assert.Equal(t, 1, code)
	assert.JSONEq(t, `{"status":"error","error_code":"CONNECTION_REFUSED","error_message":"Could not connect to port `+port+`: Connection refused","details":{"port":`+port+`,"timeout":1.5}}`, out)
	big := filepath.Join(k.env["HOME"], "big")
	require.NoError(t, os.WriteFile(big, make([]byte, 1<<20+1), 0o600))
	k.fails("MESSAGE_TOO_LARGE", "send", "--to-port", port, "--from-port", "9001", "--message-file", big)
	k.fails("FILE_ERROR", "send", "--to-port", port, "--from-port", "9001", "--message-file", "none")
	for _, wrong := range [][]string{
		{"send", "--to-port", port, "--from-port", "9001", "--message", "x", "--message-file", big},
		{"send", "--to-port", port, "--from-port", "9001"},
		{"send", "--from-port", "9001", "--message", "x"},
		{"send", "--to-port", port, "--to-all", "--from-port", "9001", "--message", "x"},
		{"send", "--to-port", port, "--message", "x"},
		{"check"},
		{"check", "--port", port, "--limit", "0"},
		{"check", "--port", port, "more"},
		{"listen", "stop"},
		{"listen-once"},
		{"frobnicate"},
		{"listen-once", "--port", port, "--timeout", "-1"},
		{"listen-once", "--port", port, "--timeout", "NaN"},
	} {
		out, code := k.says(wrong...)
		assert.Equal(t, 2, code, "%v", wrong)
		assert.Empty(t, out, "%v", wrong)
	}
	for _, help := range []string{"listen start", "listen stop", "listen status", "listen-once", "check", "send", "discover", "receipts"} {
		out, code := k.says(append(strings.Fields(help), "--help")...)
		assert.Zero(t, code)
		assert.Contains(t, out, "intercom talk "+help)
	}
}

func TestK40_K46_K52_portsInUse(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	s, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer s.Close()
	taken := strconv.Itoa(s.Addr().(*net.TCPAddr).Port)
	assert.Equal(t, map[string]any{"port": toFloat(t, taken)}, k.fails("PORT_IN_USE", "listen", "start", "--port", taken))
	assert.NoDirExists(t, filepath.Join(k.env["HOME"], ".ai-talk", taken))

	port := aFreePort(t)
	results := make(chan map[string]any, 10)
	for range cap(results) {
		go func() {
			got, _ := k.talks("listen", "start", "--port", port)
			results <- got
		}()
	}
	var pid any
	var refused []map[string]any
	for range cap(results) {
		if got := <-results; got["status"] == "started" {
			assert.Nil(t, pid, "exactly one")
			pid = got["pid"]
		} else {
			assert.Equal(t, "PORT_IN_USE", got["error_code"])
			refused = append(refused, got["details"].(map[string]any))
		}
	}
	require.Len(t, refused, 9)
	written, err := os.ReadFile(filepath.Join(k.env["HOME"], ".ai-talk", port, "listener.pid"))
	require.NoError(t, err)
	assert.Equal(t, pid, toFloat(t, string(written)))
	assert.Equal(t, pid, float64(ownerOfSocket(t, port)))
	for _, details := range refused {
		assert.Equal(t, map[string]any{"port": toFloat(t, port), "pid": pid, "already_running": true}, details)
	}
}

// The document's example session works when its lines are typed unchanged into two panes.
func TestK47_K30_C30_exampleSession(t *testing.T) {
	t.Parallel()
	if alone(t) {
		return
	}
	for _, port := range []string{"9001", "9002"} {
		s, err := net.Listen("tcp4", "127.0.0.1:"+port)
		if err != nil {
			t.Skipf("port %s of the document's example is in use here: end what listens there", port)
		}
		s.Close()
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3: install it to run the document's scripts")
	}
	k := newTalker(t)
	bin := filepath.Join(k.env["HOME"], "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	tmuxtest.Program(t, filepath.Join(bin, "uv"), "#!/bin/sh\nshift\nexec python3 \"$@\"\n")
	k.env["PATH"] = bin + string(filepath.ListSeparator) + k.env["PATH"]
	out, err := k.command(thisProgram(), "compat", "install", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 5, strings.Count(string(out), ".py\n"))
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	const prompt = "\n$ "
	terminal := func() func(text string) map[string]any {
		environ := []string{"-C", k.env["HOME"], "PS1=$ "}
		for name, value := range k.env {
			environ = append(environ, name+"="+value)
		}
		pane := server.NewPane("env", append(environ, "sh")...)
		server.Run("resize-window", "-t", pane, "-x", "250", "-y", "50")
		shown := func() string {
			return "\n" + strings.TrimRight(server.Run("capture-pane", "-pJ", "-t", pane), " \n") + " "
		}
		return func(text string) (got map[string]any) {
			t.Helper()
			tmuxtest.WaitFor(t, "the prompt", func() bool { return strings.HasSuffix(shown(), prompt) })
			server.Run("send-keys", "-l", "-t", pane, text)
			server.Run("send-keys", "-t", pane, "Enter")
			said := ""
			tmuxtest.WaitFor(t, "the next prompt after "+text, func() bool {
				_, after, _ := strings.Cut(shown(), prompt+text)
				var back bool
				said, back = strings.CutSuffix(after, prompt)
				return back
			})
			require.NoError(t, json.Unmarshal([]byte(said), &got), "%s: %s", text, said)
			server.Run("send-keys", "-R", "-t", pane)
			server.Run("clear-history", "-t", pane)
			server.Run("send-keys", "-t", pane, "Enter")
			return got
		}
	}
	a, b := terminal(), terminal()
	assert.Equal(t, "started", a(`uv run scripts/listen.py start --port 9001`)["status"])
	assert.Equal(t, "started", b(`uv run scripts/listen.py start --port 9002`)["status"])
	assert.Equal(t, "sent", a(`uv run scripts/send.py --to-port 9002 --from-port 9001 --message "Hello AI-B!"`)["status"])
	assert.Equal(t, []string{"Hello AI-B!"}, bodies(b(`uv run scripts/check.py --port 9002 --clear`)))
	assert.Equal(t, "sent", b(`uv run scripts/send.py --to-port 9001 --from-port 9002 --message "Hello AI-A! Nice to meet you."`)["status"])
	got := a(`uv run scripts/check.py --port 9001 --clear`)
	assert.Equal(t, []string{"Hello AI-A! Nice to meet you."}, bodies(got))
	assert.Equal(t, 9002.0, got["messages"].([]any)[0].(map[string]any)["sender_port"])
	assert.Len(t, a(`uv run scripts/discover.py`)["listeners"], 2)
	assert.Equal(t, "no message", b(`uv run scripts/listen-once.py --port 9001 --timeout 0.1`)["status"])
	left := func(port string) string {
		out, err := k.command("find", filepath.Join(".ai-talk", port), "-type", "f", "-printf", "%f ").Output()
		require.NoError(t, err)
		return " " + string(out)
	}
	for _, port := range []string{"9001", "9002"} {
		for _, name := range []string{" listener.pid ", " inbox.jsonl "} {
			assert.Contains(t, left(port), name, port)
		}
		for _, none := range []string{" callback ", " outbox.jsonl ", " config.json "} {
			assert.NotContains(t, left(port), none, port)
		}
	}
	k.ok("send", "--to-port", "9002", "--from-port", "9001", "--message", "unread", "--log-sent")
	assert.Contains(t, left("9002"), " callback ")
	assert.Contains(t, left("9001"), " outbox.jsonl ")

	again, err := k.command(thisProgram(), "compat", "install", ".").CombinedOutput()
	require.NoError(t, err, "%s", again)
	require.NoError(t, os.WriteFile(filepath.Join(k.env["HOME"], "scripts", "send.py"), []byte("print('mine')\n"), 0o600))
	refused, err := k.command(thisProgram(), "compat", "install", ".").CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(refused), "intercom did not write it")
}

// aloneVar is set in a test that runs in a network of its own.
const aloneVar = "INTERCOM_TEST_ALONE"

// alone runs the test again in a network of its own, in which every port is free, and reports whether it could. If not, the test
// goes on where it is.
func alone(t *testing.T) bool {
	if os.Getenv(aloneVar) != "" || exec.Command("unshare", "-rn", "ip", "link", "set", "lo", "up").Run() != nil {
		return false
	}
	cmd := exec.Command("unshare", "-rn", "sh", "-c", `ip link set lo up && exec "$0" -test.count=1 -test.v -test.run="^$1$"`, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), aloneVar+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- ")
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	return true
}

// The binary alone suffices: no Python, no uv, an empty home.
func TestK49_C31_noDependencies(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	k.env["PATH"] = "/nonexistent"
	port := aFreePort(t)
	k.ok("listen", "start", "--port", port)
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "x")
	assert.Equal(t, []string{"x"}, bodies(k.ok("check", "--port", port)))
}

func TestK2_K33_K37_bareSockets(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	k.ok("listen", "start", "--port", port)
	bare := func(text string) error {
		c, err := net.Dial("tcp4", "127.0.0.1:"+port)
		require.NoError(t, err)
		defer c.Close()
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
		_, err = io.ReadAll(c)
		return err
	}
	require.NoError(t, bare("13:Hello, World!"))
	assert.Equal(t, []string{"Hello, World!"}, bodies(k.ok("check", "--port", port, "--clear")))
	require.NoError(t, bare(strings.Repeat("1:x", 100)))
	k.fails("INBOX_FULL", "send", "--to-port", port, "--from-port", "9001", "--message", "x")
	assert.Error(t, bare("1:x"))
	assert.Equal(t, 100.0, k.ok("check", "--port", port, "--clear")["message_count"])
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "x")
}

func TestF1_F2_F3_F4_F5_F6_commands(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	alpha, beta, secret := aFreePort(t), aFreePort(t), aFreePort(t)
	k.ok("listen", "start", "--port", alpha, "--name", "alpha")
	assert.Equal(t, "beta", k.ok("listen", "start", "--port", beta, "--name", "beta")["name"])
	k.ok("listen", "start", "--port", secret, "--tls")
	k.fails("NAME_IN_USE", "listen", "start", "--port", aFreePort(t), "--name", "beta")
	k.fails("INVALID_NAME", "listen", "start", "--port", aFreePort(t), "--name", "Beta")
	names := ""
	for _, l := range k.ok("discover")["listeners"].([]any) {
		one := l.(map[string]any)
		names += fmt.Sprint(one["name"]) + " "
		assert.Equal(t, fmt.Sprint(one["port"]) == secret, one["tls"] == true, "%v", one)
	}
	assert.Contains(t, names, "beta")

	k.ok("send", "--to-port", secret, "--from-port", alpha, "--message", "x", "--tls")
	k.fails("TLS_REQUIRED", "send", "--to-port", secret, "--from-port", alpha, "--message", "x")
	k.fails("NOT_SUPPORTED", "send", "--to-port", beta, "--from-port", alpha, "--message", "x", "--tls")

	binary := string([]byte{0, 255, 10, 254})
	require.NoError(t, os.WriteFile(filepath.Join(k.env["HOME"], "binary"), []byte(binary), 0o600))
	k.ok("send", "--to", "beta", "--from-port", alpha, "--message-file", "binary", "--type", "binary")
	out, code := k.says("check", "--port", beta, "--clear", "--raw")
	assert.Zero(t, code)
	assert.Equal(t, binary, out)
	k.ok("send", "--to", "beta", "--from-port", alpha, "--message", `{"a":1}`, "--type", "json", "--thread", "T")
	k.fails("INVALID_MESSAGE", "send", "--to", "beta", "--from-port", alpha, "--message", `{`, "--type", "json")
	k.ok("send", "--to", "beta", "--from-port", alpha, "--message", "other")
	got := k.ok("check", "--port", beta, "--thread", "T")
	assert.Equal(t, []string{`{"a":1}`}, bodies(got))
	assert.ElementsMatch(t, []string{"timestamp", "sender_port", "message", "type", "thread"}, talkKeys(got["messages"].([]any)[0]))
	k.ok("check", "--port", beta, "--clear")

	sent := k.ok("send", "--to", "beta", "--from-port", alpha, "--message", "x", "--receipt")
	assert.Equal(t, "stored", sent["delivery"])
	receipt := func() map[string]any {
		return k.ok("receipts", "--port", alpha)["receipts"].([]any)[0].(map[string]any)
	}
	assert.Equal(t, sent["id"], receipt()["id"])
	assert.NotContains(t, receipt(), "read")
	k.ok("check", "--port", beta, "--clear")
	assert.Contains(t, receipt(), "read")

	nobody := aFreePort(t)
	all, code := k.talks("send", "--to-port", beta+","+nobody, "--from-port", alpha, "--message", "all")
	assert.Equal(t, 1, code)
	assert.Equal(t, []any{"partial", 1.0, 1.0}, []any{all["status"], all["sent"], all["failed"]})
	assert.Len(t, all["results"], 2)
	k.ok("listen", "stop", "--port", secret)
	all = k.ok("send", "--to-all", "--from-port", alpha, "--message", "everybody")
	assert.Equal(t, []any{"sent", 1.0, 0.0}, []any{all["status"], all["sent"], all["failed"]})
	assert.Equal(t, []string{"all", "everybody"}, bodies(k.ok("check", "--port", beta, "--clear")))

	k.ok("listen", "stop", "--port", beta)
	moved := aFreePort(t)
	k.ok("listen", "start", "--port", moved, "--name", "beta")
	k.ok("send", "--to", "beta", "--from-port", alpha, "--message", "moved")
	assert.Equal(t, []string{"moved"}, bodies(k.ok("check", "--port", moved)))
	k.fails("NAME_UNKNOWN", "send", "--to", "gamma", "--from-port", alpha, "--message", "x")
}
