package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// reference is the document's check.py and send.py, written in a few lines of Python's standard library: the naive way, with one
// process for each message.
var reference = map[string]string{
	"send": `
import argparse, json, socket, datetime
p = argparse.ArgumentParser(); p.add_argument("--to-port", type=int); p.add_argument("--from-port", type=int); p.add_argument("--message")
a = p.parse_args()
d = a.message.encode()
with socket.create_connection(("127.0.0.1", a.to_port), timeout=10) as s:
    s.sendall(b"%d:%s" % (len(d), d)); s.shutdown(socket.SHUT_WR); s.recv(1)
print(json.dumps({"status": "sent", "to_port": a.to_port, "from_port": a.from_port, "message_length": len(d), "timestamp": datetime.datetime.now().isoformat()}))
`,
	"check": `
import argparse, json, os
p = argparse.ArgumentParser(); p.add_argument("--port", type=int); p.add_argument("--clear", action="store_true")
a = p.parse_args()
path = os.path.expanduser("~/.ai-talk/%d/inbox.jsonl" % a.port)
with open(path) as f:
    messages = [json.loads(line) for line in f]
if a.clear:
    open(path, "w").close()
print(json.dumps({"port": a.port, "message_count": len(messages), "messages": messages}))
`,
}

// Compares the processor time of one process for each message, and one for each check, with the reference.
func BenchmarkQ6_process(b *testing.B) {
	if _, err := exec.LookPath("python3"); err != nil {
		b.Skip("no python3: install it to have something to compare with")
	}
	found, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	require.NoError(b, err)
	python := strings.TrimSpace(string(found)) // the first python3 may be a script that looks for one
	program := build(b)
	run, err := os.MkdirTemp("/tmp", "ic")
	require.NoError(b, err)
	defer os.RemoveAll(run)
	home := b.TempDir()
	environ := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH")}
	cost := func(name string, words ...string) (cpu, wall time.Duration) {
		cmd := exec.Command(name, words...)
		cmd.Env = environ
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begun)
	}
	for name, text := range reference {
		require.NoError(b, os.WriteFile(filepath.Join(home, name+".py"), []byte(text), 0o600))
	}
	require.NoError(b, os.Mkdir(filepath.Join(home, ".ai-talk"), 0o700))
	require.NoError(b, os.WriteFile(filepath.Join(home, ".ai-talk", "config.json"), []byte(`{"max_inbox":1000000}`), 0o600))
	cost(program, "talk", "listen", "start", "--port", "19701")
	defer cost(program, "down")
	defer cost(program, "talk", "listen", "stop", "--port", "19701")
	for name, words := range map[string][]string{
		"send":  {"--to-port", strconv.Itoa(19701), "--from-port", "9001", "--message", "Hello from the other AI!"},
		"check": {"--port", strconv.Itoa(19701), "--clear"},
	} {
		b.Run(name, func(b *testing.B) {
			var ours, theirs, oursWall, theirsWall time.Duration
			n := 0
			for b.Loop() {
				for range 50 {
					cpu, wall := cost(program, append([]string{"talk", name}, words...)...)
					ours, oursWall = ours+cpu, oursWall+wall
					cpu, wall = cost(python, append([]string{filepath.Join(home, name+".py")}, words...)...)
					theirs, theirsWall = theirs+cpu, theirsWall+wall
					n++
				}
			}
			ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n) }
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ms(ours), "ours-cpu-ms")
			b.ReportMetric(ms(theirs), "python-cpu-ms")
			b.ReportMetric(ms(oursWall), "ours-ms")
			b.ReportMetric(ms(theirsWall), "python-ms")
			b.ReportMetric(float64(theirs)/float64(ours), "times-less-cpu")
		})
	}
}
