package main

import (
	"encoding/json"
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

	"github.com/tmux-intercom/tmux-intercom/sidecar/porttest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// These are the time limits that the checklists of ai-talk and AEA set, measured with the commands as processes. Only these
// benchmarks assert them, no test does.

// BenchmarkK1_ListenStart measures how soon `listen start` returns if no sidecar runs yet: within half a second.
func BenchmarkK1_ListenStart(b *testing.B) {
	for b.Loop() {
		a := newAEABench(b)
		took := a.in(a.asker, a.program, "talk", "listen", "start", "--port", strconv.Itoa(porttest.Free(b)))
		b.ReportMetric(ms(took), "cold-ms")
		assert.Less(b, took, 500*time.Millisecond)
	}
}

// BenchmarkK22_Check measures a check while the listener is stopped: less than 50 ms.
func BenchmarkK22_Check(b *testing.B) {
	a := newAEABench(b)
	port := strconv.Itoa(porttest.Free(b))
	var started listening
	a.reads(&started, "talk", "listen", "start", "--port", port)
	a.in(a.asker, a.program, "talk", "send", "--to-port", port, "--from-port", "9001", "--message", "x")
	require.NoError(b, syscall.Kill(started.PID, syscall.SIGSTOP))
	b.Cleanup(func() { _ = syscall.Kill(started.PID, syscall.SIGCONT) })
	var all times
	for b.Loop() {
		for range 20 {
			var got checked
			began := time.Now()
			a.reads(&got, "talk", "check", "--port", port)
			all = append(all, time.Since(began))
			require.Equal(b, 1, got.Count)
		}
	}
	b.ReportMetric(all.middle(), "check-p50-ms")
	assert.Less(b, all.middle(), 50.0)
}

// BenchmarkK18_Timeout measures how long a send waits for a port that accepts no connection: ten seconds or the given timeout,
// plus or minus half a second.
func BenchmarkK18_Timeout(b *testing.B) {
	a := newAEABench(b)
	port := strconv.Itoa(deafPort(b))
	for b.Loop() {
		for more, want := range map[string]time.Duration{"": 10 * time.Second, "--timeout 1": time.Second} {
			var failed struct {
				Code string `json:"error_code"`
			}
			began := time.Now()
			a.reads(&failed, append([]string{"talk", "send", "--to-port", port, "--from-port", "9001", "--message", "x"}, strings.Fields(more)...)...)
			took := time.Since(began)
			assert.Equal(b, "CONNECTION_TIMEOUT", failed.Code)
			b.ReportMetric(ms(took), "after-"+want.String()+"-ms")
			assert.InDelta(b, want, took, float64(500*time.Millisecond))
		}
	}
}

// deafPort is a port whose queue of connections is full.
func deafPort(b *testing.B) int {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(b, err)
	b.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(b, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(b, syscall.Listen(fd, 0))
	at, err := syscall.Getsockname(fd)
	require.NoError(b, err)
	port := at.(*syscall.SockaddrInet4).Port
	for range 100 {
		c, err := net.DialTimeout("tcp4", "127.0.0.1:"+strconv.Itoa(port), 500*time.Millisecond)
		if err != nil {
			return port
		}
		b.Cleanup(func() { c.Close() })
	}
	b.Skip("the system takes any number of connections for a program that accepts none")
	return 0
}

// BenchmarkK24_K27_ListenOnce measures how long `listen-once` waits if nothing comes: five seconds plus or minus 0.3, and with
// --timeout 2 at most 2.3; and how soon it has a message that comes.
func BenchmarkK24_K27_ListenOnce(b *testing.B) {
	a := newAEABench(b)
	port, other := strconv.Itoa(porttest.Free(b)), strconv.Itoa(porttest.Free(b))
	a.in(a.asker, a.program, "talk", "listen", "start", "--port", port)
	once := func(words ...string) (got checked, took time.Duration) {
		began := time.Now()
		a.reads(&got, append([]string{"talk", "listen-once", "--port", port}, words...)...)
		return got, time.Since(began)
	}
	for b.Loop() {
		none, took := once()
		assert.Equal(b, "no message", none.Status)
		b.ReportMetric(ms(took), "none-ms")
		assert.InDelta(b, 5*time.Second, took, float64(300*time.Millisecond))
		none, took = once("--timeout", "2")
		assert.Equal(b, "no message", none.Status)
		b.ReportMetric(ms(took), "none-in-2s-ms")
		assert.GreaterOrEqual(b, took, 2*time.Second)
		assert.LessOrEqual(b, took, 2300*time.Millisecond)
		go a.in(a.asker, a.program, "talk", "send", "--to-port", port, "--from-port", other, "--message", "answer")
		got, took := once("--timeout", "2")
		assert.Equal(b, 1, got.Count)
		b.ReportMetric(ms(took), "answer-ms")
		assert.Less(b, took, 2*time.Second)
	}
}

// BenchmarkA34_Check measures the document's check on every interaction, with a thousand messages pending: at most 150 ms.
func BenchmarkA34_Check(b *testing.B) {
	a := newAEABench(b)
	a.in(a.target, a.program, "aea", "monitor", "stop")
	a.drop(1000)
	var all times
	for b.Loop() {
		for range 10 {
			all = append(all, a.in(a.target, "bash", "-c", "bash .aea/scripts/aea-check.sh || cat .aea/prompts/check-messages.md"))
		}
	}
	b.ReportMetric(all.middle(), "check-p50-ms")
	assert.LessOrEqual(b, all.middle(), 150.0)
}

// BenchmarkA61_Notice measures how soon a message that awaits approval is listed once its file is there: within a second.
func BenchmarkA61_Notice(b *testing.B) {
	a := newAEABench(b)
	a.in(a.target, a.program, "aea", "monitor", "start")
	waiting := func() int {
		var all []aeaApproval
		a.reads(&all, "aea", "approvals")
		return len(all)
	}
	n := 0
	for b.Loop() {
		var all times
		for range 5 {
			text := `{"message_type":"handoff","from":{"agent_id":"claude-asker","repo_path":` + strconv.Quote(a.asker) + `},"message":{"subject":"S","body":"B"}}`
			began := time.Now()
			require.NoError(b, os.WriteFile(filepath.Join(a.target, ".aea", dropped(n)), []byte(text), 0o600))
			n++
			for waiting() < n {
				require.Less(b, time.Since(began), time.Minute)
			}
			all = append(all, time.Since(began))
		}
		b.ReportMetric(all.middle(), "notice-p50-ms")
		assert.LessOrEqual(b, all.middle(), 1000.0)
	}
}

// BenchmarkC50_TakenOver measures how soon a port and a repository are served again after their sidecar has ended: within two
// seconds, by another running sidecar or by the headless one that follows.
func BenchmarkC50_TakenOver(b *testing.B) {
	for name, another := range map[string]bool{"by another": true, "by the headless one": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				k := newTalker(b)
				socket := k.tmuxServer("one")
				owner := k.in(socket)
				port := aFreePort(b)
				pid := int(owner.ok("listen", "start", "--port", port)["pid"].(float64))
				asker, target := owner.repositories("asker", "target")[0], filepath.Join(k.env["HOME"], "target")
				if another {
					k.in(k.tmuxServer("two")).runs("up")
				}
				require.NoError(b, k.command("tmux", "-S", socket, "kill-server").Run())
				until(b, func() bool { return !process.Lives(pid, 0) })
				ended := time.Now()
				text := `{"message_type":"update","priority":"low","from":{"agent_id":"claude-asker","repo_path":` + strconv.Quote(asker) + `},"message":{"subject":"S","body":"B"}}`
				file := filepath.Join(target, ".aea", dropped(0))
				require.NoError(b, os.WriteFile(file, []byte(text), 0o600))
				until(b, func() bool {
					c, err := net.Dial("tcp4", "127.0.0.1:"+port)
					if err == nil {
						c.Close()
					}
					return err == nil
				})
				served := time.Since(ended)
				until(b, func() bool {
					log, _ := os.ReadFile(filepath.Join(target, ".aea", "agent.log"))
					return strings.Contains(string(log), filepath.Base(file)+" -> ")
				})
				processed := time.Since(ended)
				b.ReportMetric(ms(served), "port-ms")
				b.ReportMetric(ms(processed), "repository-ms")
				assert.Less(b, served, 2*time.Second)
				assert.Less(b, processed, 2*time.Second)
			}
		})
	}
}

// reads runs a command of intercom that prints JSON, whatever its exit status.
func (a *aeaBench) reads(into any, words ...string) {
	a.b.Helper()
	cmd := exec.Command(a.program, words...)
	cmd.Dir, cmd.Env = a.asker, a.environ
	out, _ := cmd.Output()
	require.NoError(a.b, json.Unmarshal(out, into), "%q: %s", words, out)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
