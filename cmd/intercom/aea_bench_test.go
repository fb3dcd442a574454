package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aeaBench is a user with two repositories, one of which writes to the other.
type aeaBench struct {
	b             *testing.B
	program       string
	environ       []string
	asker, target string
}

func newAEABench(b *testing.B) *aeaBench {
	b.Helper()
	run, err := os.MkdirTemp("/tmp", "ic")
	require.NoError(b, err)
	home := b.TempDir()
	a := &aeaBench{b: b, program: build(b), environ: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH")}, asker: home + "/asker", target: home + "/target"}
	b.Cleanup(func() {
		a.in(a.target, a.program, "down")
		_ = os.RemoveAll(run)
	})
	for _, dir := range []string{a.asker, a.target} {
		require.NoError(b, os.Mkdir(dir, 0o700))
		a.in(dir, a.program, "aea", "install")
	}
	return a
}

// in runs a program in a directory, ignores its exit status, and returns how long it took.
func (a *aeaBench) in(dir, name string, words ...string) time.Duration {
	wall, _ := a.costs(dir, name, words...)
	return wall
}

// costs is like in, and also returns the processor time of the program and of the children that it waited for.
func (a *aeaBench) costs(dir, name string, words ...string) (wall, cpu time.Duration) {
	cmd := exec.Command(name, words...)
	cmd.Dir, cmd.Env = dir, a.environ
	begun := time.Now()
	_, _ = cmd.CombinedOutput()
	return time.Since(begun), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// drop puts n updates that need no answer into the target.
func (a *aeaBench) drop(n int) {
	for i := range n {
		text := fmt.Sprintf(`{"protocol_version":"1.0","message_type":"update","priority":"low","requires_response":false,`+
			`"from":{"agent_id":"claude-asker","repo_path":%q},"message":{"subject":"news %d","body":"nothing to do"}}`, a.asker, i)
		name := filepath.Join(a.target, ".aea", dropped(i))
		require.NoError(a.b, os.WriteFile(name, []byte(text), 0o600))
	}
}

func dropped(i int) string {
	return fmt.Sprintf("message-20251014T%02d%02d%02dZ-from-claude-asker.json", i/3600, i/60%60, i%60)
}

// documentsCheck is the loop in AEA's document that checks a repository.
const documentsCheck = `for msg in .aea/message-*.json; do
	if [ ! -f ".aea/.processed/$(basename $msg)" ]; then
		echo "Unprocessed: $msg"
	fi
done`

// documentsProcessing is the document's steps for each message, from reading it to logging it.
const documentsProcessing = `mkdir -p .aea/.processed
for msg in .aea/message-*.json; do
	if [ ! -f ".aea/.processed/$(basename $msg)" ]; then
		msg_content=$(cat "$msg")
		msg_type=$(echo "$msg_content" | jq -r '.message_type')
		priority=$(echo "$msg_content" | jq -r '.priority')
		touch ".aea/.processed/$(basename $msg)"
		echo "[$(date -u +%Y-%m-%dT%H:%M:%SZ)] Processed: $msg -> Action taken" >> .aea/agent.log
	fi
done`

// Compares one check, run as a process with that many pending messages, with the document's loop.
func BenchmarkQ7_check(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("pending=%d", n), func(b *testing.B) {
			a := newAEABench(b)
			a.in(a.target, a.program, "aea", "monitor", "stop")
			a.drop(n)
			var ours, theirs times
			for b.Loop() {
				for range 10 {
					ours = append(ours, a.in(a.target, a.program, "aea", "check"))
					theirs = append(theirs, a.in(a.target, "sh", "-c", documentsCheck))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(ours.middle(), "ours-p50-ms")
			b.ReportMetric(ours.least(), "ours-least-ms")
			b.ReportMetric(theirs.middle(), "document-p50-ms")
			b.ReportMetric(theirs.least(), "document-least-ms")
			b.ReportMetric(theirs.middle()/ours.middle(), "times-faster")
		})
	}
}

// Compares processing a thousand pending messages that need nothing with the document's own commands, which decide nothing.
// Ours is timed from the command that starts the monitor until the last message is marked.
func BenchmarkQ7_process(b *testing.B) {
	if _, err := exec.LookPath("jq"); err != nil {
		b.Skip("no jq: install it to have something to compare with")
	}
	const n = 1000
	var ours, theirs, oursCPU, theirsCPU times
	for b.Loop() {
		a := newAEABench(b)
		a.in(a.target, a.program, "aea", "monitor", "stop")
		a.drop(n)
		before := a.used()
		begun := time.Now()
		_, cpu := a.costs(a.target, a.program, "aea", "monitor", "start")
		for !a.hasMarked(n-1) || a.marked() < n { // listing a directory blocks new files in it, so look at one file first
			require.Less(b, time.Since(begun), 5*time.Minute, "%d of %d", a.marked(), n)
			time.Sleep(2 * time.Millisecond)
		}
		ours, oursCPU = append(ours, time.Since(begun)), append(oursCPU, cpu+a.used()-before)
		a.in(a.target, a.program, "aea", "monitor", "stop")
		require.NoError(b, os.RemoveAll(filepath.Join(a.target, ".aea", ".processed")))
		wall, cpu := a.costs(a.target, "sh", "-c", documentsProcessing)
		theirs, theirsCPU = append(theirs, wall), append(theirsCPU, cpu)
		require.Equal(b, n, a.marked())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours.middle(), "ours-ms")
	b.ReportMetric(theirs.middle(), "document-ms")
	b.ReportMetric(theirs.middle()/ours.middle(), "times-faster")
	b.ReportMetric(oursCPU.middle(), "ours-cpu-ms")
	b.ReportMetric(theirsCPU.middle(), "document-cpu-ms")
	b.ReportMetric(theirsCPU.middle()/oursCPU.middle(), "times-less-cpu")
}

// used is the processor time of the sidecar and its worker so far; 0 if none runs or the system has no /proc.
func (a *aeaBench) used() (cpu time.Duration) {
	var status struct{ PID int }
	cmd := exec.Command(a.program, "aea", "monitor", "status", "--json")
	cmd.Dir, cmd.Env = a.target, a.environ
	if out, err := cmd.Output(); err != nil || json.Unmarshal(out, &status) != nil || status.PID == 0 {
		return 0
	}
	all := []string{strconv.Itoa(status.PID)}
	of, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", status.PID))
	for _, file := range of {
		text, _ := os.ReadFile(file)
		all = append(all, strings.Fields(string(text))...)
	}
	for _, pid := range all {
		text, _ := os.ReadFile("/proc/" + pid + "/stat")
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 12 {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			cpu += time.Duration(user+system) * 10 * time.Millisecond // the kernel counts in hundredths of a second
		}
	}
	return cpu
}

// hasMarked reports whether the ith dropped message is marked. Messages are marked in order.
func (a *aeaBench) hasMarked(i int) bool {
	_, err := os.Lstat(filepath.Join(a.target, ".aea", ".processed", dropped(i)))
	return err == nil
}

func (a *aeaBench) marked() (n int) {
	all, _ := os.ReadDir(filepath.Join(a.target, ".aea", ".processed"))
	for _, one := range all {
		if strings.HasPrefix(one.Name(), "message-") {
			n++
		}
	}
	return n
}

// times are the durations of repeated runs.
type times []time.Duration

func (t times) least() (ms float64) { return float64(slices.Min(t).Microseconds()) / 1000 }

func (t times) middle() (ms float64) {
	s := slices.Sorted(slices.Values(t))
	return float64(s[len(s)/2].Microseconds()) / 1000
}
