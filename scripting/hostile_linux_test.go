package scripting

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// notRun marks rows that take too long for every run.
const notRun = "not run: INTERCOM_LONG is not set"

// allowed is how long a script may delay a message, whatever it does, on an idle machine.
const allowed = 1100 * time.Millisecond

func TestL7_H66_hostileScripts(t *testing.T) {
	t.Parallel()
	table := newTable(t, "class", "script", "ended by", "verdict", "ms", "next ms", "worker MB", "here MB")
	slow := map[string]bool{}
	for _, h := range hostiles {
		if os.Getenv("INTERCOM_LONG") == "" {
			if h.slow && slow[h.class] || h.slow && h.class == "strings" {
				table.row(h.class, h.name, notRun, "-", "-", "-", "-", "-")
				continue
			}
			slow[h.class] = slow[h.class] || h.slow
		}
		texts := []string{`intercom.on("decide", function(msg, ctx) ` + h.body + ` end)`, `intercom.on("decide", function() return intercom.deliver() end)`}
		if h.ends == refused {
			_, err := New(Options{}).Compile(t.Context(), files(texts...))
			require.Error(t, err, h.name)
			table.row(h.class, h.name, "refused: "+clipped(err.Error()), "-", "-", "-", "-", "-")
			continue
		}
		r := newRig(t, texts...)
		before := resident(t, "self")
		worker := r.set.worker
		begun := time.Now()
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		took := time.Since(begun)
		grown := resident(t, "self") - before
		require.Len(t, v.Outcomes, 1, h.name)
		assert.Less(t, grown, 10<<20, h.name)
		ended := "by itself"
		if h.ends == byItself {
			assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb, h.name)
			assert.Empty(t, v.Failures, h.name)
		} else if assert.NotEmpty(t, v.Failures, h.name) {
			assert.Equal(t, message.VerbAsk, v.Outcomes[0].Verb, h.name)
			f := v.Failures[0]
			if err != nil {
				f = v.Failures[len(v.Failures)-1]
			}
			ended = string(f.Kind) + ": " + clipped(f.Text)
		}

		begun = time.Now()
		next, _ := r.engine.Evaluate(t.Context(), said("are you still there?"))
		again := time.Since(begun)
		require.Len(t, next.Outcomes, 1)
		r.engine.Close()
		table.row(h.class, h.name, ended, v.Outcomes[0].Verb, took.Milliseconds(), again.Milliseconds(), peak(worker)>>20, grown>>20)
	}
}

// BenchmarkL7_hostileScripts measures how long a script delays its message and the next one. If a time is too long, the
// least of three counts: other load on the machine can only add to it.
func BenchmarkL7_hostileScripts(b *testing.B) {
	for b.Loop() {
		longest := time.Duration(0)
		for _, h := range hostiles {
			if h.ends == refused {
				continue
			}
			least := time.Hour
			for n := 0; n < 3 && least > allowed; n++ {
				engine := New(Options{})
				set, err := engine.Compile(b.Context(), files(`intercom.on("decide", function(msg, ctx) `+h.body+` end)`))
				require.NoError(b, err, h.name)
				engine.Use(set)
				slowest := time.Duration(0)
				for _, text := range []string{"hello", "are you still there?"} {
					begun := time.Now()
					_, _ = engine.Evaluate(b.Context(), said(text))
					slowest = max(slowest, time.Since(begun))
				}
				engine.Close()
				least = min(least, slowest)
			}
			assert.LessOrEqual(b, least, allowed, h.name)
			longest = max(longest, least)
		}
		b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	}
}

func TestL7_sourcesThatHurtTheCompiler(t *testing.T) {
	t.Parallel()
	table := newTable(t, "source", "bytes", "ended by", "ms", "here MB")
	all := bombs()
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if os.Getenv("INTERCOM_LONG") == "" && i%3 != 0 {
			table.row(name, len(all[name]), notRun, "-", "-")
			continue
		}
		engine := New(Options{})
		before := resident(t, "self")
		begun := time.Now()
		set, err := engine.Compile(t.Context(), files(all[name]))
		took := time.Since(begun)
		problems := ProblemsError{}
		// If the worker only came too late, the machine was busy.
		for late := begun.Add(patience); err != nil && !errors.As(err, &problems) && time.Now().Before(late); {
			begun = time.Now()
			set, err = engine.Compile(t.Context(), files(all[name]))
			took = time.Since(begun)
		}
		grown := resident(t, "self") - before
		ended := "compiled"
		if err != nil {
			_, told := errors.AsType[ProblemsError](err)
			assert.True(t, told, "%s: %v", name, err)
			ended = clipped(err.Error())
		} else {
			set.Close()
		}
		assert.Less(t, grown, 10<<20, name)
		table.row(name, len(all[name]), ended, took.Milliseconds(), grown>>20)
	}
}

// BenchmarkL7_sourcesThatHurtTheCompiler measures how long the compiler takes for such a source.
func BenchmarkL7_sourcesThatHurtTheCompiler(b *testing.B) {
	for b.Loop() {
		longest := time.Duration(0)
		for name, source := range bombs() {
			least := time.Hour
			for n := 0; n < 3 && least > allowed; n++ {
				begun := time.Now()
				set, err := New(Options{}).Compile(b.Context(), files(source))
				least = min(least, time.Since(begun))
				if err == nil {
					set.Close()
				}
			}
			assert.LessOrEqual(b, least, allowed, name)
			longest = max(longest, least)
		}
		b.ReportMetric(float64(longest.Milliseconds()), "longest-ms")
	}
}

// What a worker has: no descriptors but its pipes, no environment, and limits.
func TestL7_workerHasNothing(t *testing.T) {
	// As a shell or flock may do it: descriptors that children inherit.
	var theirs [2]int
	require.NoError(t, syscall.Pipe2(theirs[:], 0))
	defer syscall.Close(theirs[0])
	defer syscall.Close(theirs[1])
	file, err := syscall.Open(t.TempDir()+"/lock", syscall.O_CREAT|syscall.O_RDWR, 0o600)
	require.NoError(t, err)
	defer syscall.Close(file)
	var held syscall.Stat_t
	require.NoError(t, syscall.Fstat(theirs[0], &held))

	r := newRig(t, ``)
	pid := r.set.worker.cmd.Process.Pid
	dir := fmt.Sprintf("/proc/%d/", pid)
	environ, err := os.ReadFile(dir + "environ")
	require.NoError(t, err)
	assert.Empty(t, environ)

	fds, err := os.ReadDir(dir + "fd")
	require.NoError(t, err)
	for _, fd := range fds {
		to, err := os.Readlink(dir + "fd/" + fd.Name())
		require.NoError(t, err)
		// The Go runtime itself reads how much of the processors it may use.
		assert.Regexp(t, `^(pipe:|anon_inode:|/sys/fs/cgroup/|/dev/null$)`, to, "descriptor %s", fd.Name())
		assert.NotEqual(t, fmt.Sprintf("pipe:[%d]", held.Ino), to, "descriptor %s", fd.Name())
	}
	limits, err := os.ReadFile(dir + "limits")
	require.NoError(t, err)
	for _, want := range []string{`Max data size +402653184 +402653184`, `Max open files +16 +16`, `Max core file size +0 +0`, `Max file size +0 +0`, `Max address space +[0-9]+ +[0-9]+`} {
		assert.Regexp(t, want, string(limits))
	}
	threads, err := filepath.Glob(dir + "task/*/status")
	require.NoError(t, err)
	require.NotEmpty(t, threads)
	for _, thread := range threads {
		status, err := os.ReadFile(thread)
		require.NoError(t, err)
		assert.Regexp(t, `NoNewPrivs:\s+1`, string(status))
	}

	// It ends when the process that asks it has gone.
	r.set.worker.in.Close()
	select {
	case <-r.set.worker.ended:
	case <-time.After(10 * time.Second):
		assert.Fail(t, "the worker outlives its input")
	}
}

// A worker that is killed at any time costs a message nothing.
func TestL7_killedWhileItWorks(t *testing.T) {
	r := newRig(t, `intercom.on("decide", function(msg) for i = 1, 20000 do end return intercom.deliver { reason = msg.body } end)`)
	killed := 0
	for i := 0; i < 100 && killed < 4; i++ {
		r.own(func(s *Set) { s.deaths = nil }) // this test is not about safe mode
		worker := r.set.worker
		timer := time.AfterFunc(time.Duration(i%8)*100*time.Microsecond, func() { _ = worker.cmd.Process.Kill() })
		v := r.evaluated(said("hello"))
		timer.Stop()
		assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb)
		assert.Equal(t, "hello", v.Outcomes[0].Reason)
		if r.set.worker != worker {
			killed++
			require.Len(t, v.Failures, 1)
			assert.Equal(t, policy.Died, v.Failures[0].Kind)
		}
	}
	assert.Equal(t, 4, killed, "it was never killed at work")
}

// A worker ends with the process that started it, not with one of its threads. A Ctrl-C in the terminal of that process
// does not reach it.
func TestL7_workerIsApart(t *testing.T) {
	command := []string{program(t), "policy-worker"}
	var p *process
	for thread := os.Getpid(); thread == os.Getpid(); { // the first thread never ends
		if p != nil {
			p.kill()
		}
		begun := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked, so that the thread ends with this goroutine
			thread = syscall.Gettid()
			var err error
			p, err = start(command)
			begun <- err
		}()
		require.NoError(t, <-begun)
		if thread != os.Getpid() {
			require.Eventually(t, func() bool {
				_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
				return errors.Is(err, os.ErrNotExist)
			}, 10*time.Second, time.Millisecond)
		}
	}
	defer p.kill()
	reply, _, failure := p.ask(wire.Request{Load: &wire.Load{}}, nil, time.Now().Add(10*time.Second), nil)
	require.Nil(t, failure)
	assert.NotNil(t, reply.Loaded)
	group, err := syscall.Getpgid(p.cmd.Process.Pid)
	require.NoError(t, err)
	assert.Equal(t, p.cmd.Process.Pid, group)
}

// Helpers.

// resident returns the resident memory of a process.
func resident(t *testing.T, pid string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

// peak returns the peak memory of a worker that has ended. It is at least that of this process, because a child begins
// with it.
func peak(p *process) int64 {
	<-p.ended
	usage, _ := p.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return usage.Maxrss << 10
}

func clipped(text string) string {
	if text, _, _ = strings.Cut(text, "\n"); len(text) > 70 {
		return text[:70] + "…"
	}
	return text
}

// table is printed when the test ends.
type table struct {
	w *tabwriter.Writer
}

func newTable(t *testing.T, columns ...any) *table {
	var b bytes.Buffer
	tab := &table{w: tabwriter.NewWriter(&b, 0, 1, 2, ' ', 0)}
	tab.row(columns...)
	t.Cleanup(func() {
		_ = tab.w.Flush()
		t.Log("\n" + b.String())
	})
	return tab
}

func (t *table) row(cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(t.w, "%v\t", c)
	}
	fmt.Fprintln(t.w)
}
