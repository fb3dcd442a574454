package journal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// killCalls are the system calls that change a journal, or prepare a change. The second of two
// names is for architectures that lack the first.
var killCalls = []string{"open", "openat", "pwrite64", "fsync", "fdatasync", "ftruncate", "unlink", "unlinkat", "mmap"}

// A process is killed at the n-th call of each system call that its journal makes, from the first,
// with which the journal is made, to the last, with which it is closed: over Commits, a Prune, and
// the upgrade of a journal of schema 1. Everything confirmed before is there whole, nothing of the
// rest is there in part, and a second run does all of it.
func TestD1_journalKilledAtEverySyscall(t *testing.T) {
	t.Parallel()
	strace := tracer(t)
	for name, begin := range map[string]func(t *testing.T, dir string){
		"a new journal": func(*testing.T, string) {},
		"an upgrade": func(t *testing.T, dir string) {
			golden, err := os.ReadFile(filepath.Join("testdata", "schema1.db"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, fileName), golden, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			begin(t, dir)
			clean := filepath.Join(t.TempDir(), "trace")
			out, err := underStrace(t, strace, dir, "-o", clean, "-e", "trace="+strings.Join(known(killCalls), ",")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			checkKilled(t, dir, string(out))
			trace, err := os.ReadFile(clean)
			require.NoError(t, err)

			var points []killPoint
			for _, call := range killCalls {
				made := strings.Count(string(trace), " "+call+"(")
				t.Logf("%-10s %3d calls", call, made)
				if made == 0 {
					continue
				}
				// Go beyond the last call, since calls are counted per thread, and a run may
				// differ.
				n := made + 3
				most := n
				switch {
				case underRace:
					most = 1
				case os.Getenv("INTERCOM_LONG") == "":
					most = 2
				}
				for i := range min(n, most) {
					points = append(points, killPoint{call, 1 + i*n/min(n, most)})
				}
			}
			var killed, confirmed atomic.Int64
			t.Run("points", func(t *testing.T) {
				for _, lane := range lanes(points) {
					t.Run("", func(t *testing.T) {
						t.Parallel()
						for _, p := range lane {
							dir := private(t)
							begin(t, dir)
							var out bytes.Buffer
							cmd := underStrace(t, strace, dir, "-o", "/dev/null", "-e", "trace="+p.call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", p.call, p.n))
							cmd.Stdout, cmd.Stderr = &out, &out
							if err := cmd.Run(); err != nil {
								require.Equal(t, "signal: killed", err.Error(), "%v: %s", p, &out)
								killed.Add(1)
							}
							confirmed.Add(int64(strings.Count(out.String(), "ack ")))
							if !checkKilled(t, dir, out.String()) {
								t.Errorf("killed at %v", p)
							}
						}
					})
				}
			})
			t.Logf("%d points: %d killed, %d runs ended before; %d steps were confirmed in all", len(points), killed.Load(), int64(len(points))-killed.Load(), confirmed.Load())
			assert.Greater(t, int(killed.Load()), len(points)/2, "hardly any run was killed: this proves nothing")
		})
	}
}

// Helpers of the tests.

func init() {
	maps.Copy(children, map[string]func() int{"through": func() int {
		runtime.LockOSThread() // calls are counted per thread
		if err := through(os.Args[1], os.Stdout); err != nil {
			return complain(err)
		}
		return 0
	}})
}

type killPoint struct {
	call string
	n    int
}

// through takes a journal through its life, and says what is confirmed. It does not repeat the work
// of an earlier run.
func through(dir string, out io.Writer) error {
	ctx := context.Background()
	j, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	commit := func(id message.ID, at time.Time) error {
		if seen, err := j.Seen(ctx, id); err != nil || seen {
			return err
		}
		err := j.writing(ctx, func(ctx context.Context, w *writer) error { return w.commit(ctx, at, wholeStep(id)) })
		if err == nil {
			fmt.Fprintln(out, "ack", id)
		}
		return err
	}
	for n := range 3 {
		if err := commit(message.ID(fmt.Sprint("old", n)), testTime.Add(-100*day)); err != nil {
			return err
		}
	}
	for n := range 2 {
		if err := commit(message.ID(fmt.Sprint("new", n)), testTime); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "pruning")
	if _, err := j.Prune(ctx, Retention{}, testTime); err != nil {
		return err
	}
	if err := commit("last", testTime); err != nil {
		return err
	}
	return j.Close()
}

// checkKilled checks the journal left by a run with output out, and then runs it again.
func checkKilled(t *testing.T, dir, out string) bool {
	t.Helper()
	look := func(confirmed []string) bool {
		j, err := Open(t.Context(), dir)
		if !assert.NoError(t, err) {
			return false
		}
		ok := assert.Empty(t, j.Notice()) && assert.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
		for _, id := range confirmed {
			seen, err := j.Seen(t.Context(), message.ID(id))
			ok = assert.NoError(t, err) && assert.True(t, seen, "%s was confirmed and is lost", id) && ok
		}
		// Only whole steps, besides those of the journal of schema 1.
		of := scalar(t, j, "SELECT count(*) FROM events WHERE seq <= 53 AND EXISTS (SELECT 1 FROM sessions)")
		ok = assert.Contains(t, []string{"0", "53"}, of) && ok
		whole := scalar(t, j, `SELECT count(*) FROM messages m WHERE m.id GLOB 'old[0-9]' OR m.id GLOB 'new[0-9]' OR m.id = 'last'`)
		parts := scalar(t, j, `SELECT group_concat(n) FROM (
			SELECT count(*) AS n FROM messages m JOIN verdicts v ON v.message = m.seq JOIN words ON words.rowid = m.seq
				WHERE m.id GLOB 'old[0-9]' OR m.id GLOB 'new[0-9]' OR m.id = 'last'
			UNION ALL SELECT count(*) FROM events WHERE kind = 'notice' AND doc LIKE 'notice %'
			UNION ALL SELECT count(*) / 2 FROM deliveries WHERE id GLOB '*-d[12]' AND last IS NOT NULL AND NOT open
			UNION ALL SELECT count(*) / 2 FROM receipts r JOIN deliveries d ON d.seq = r.delivery WHERE d.id GLOB '*-d[12]' AND r.seq = d.last)`)
		ok = assert.Equal(t, strings.Join([]string{whole, whole, whole, whole}, ","), parts, "a step is there in part") && ok
		const kept = `(id GLOB 'new[0-9]' OR id = 'last')`
		ok = assert.Equal(t, scalar(t, j, `SELECT count(*) FROM messages WHERE `+kept), scalar(t, j, `SELECT count(*) FROM records WHERE `+kept), "records") && ok
		return assert.NoError(t, j.Close()) && ok
	}
	var confirmed []string
	for line := range strings.Lines(out) {
		if id, ok := strings.CutPrefix(strings.TrimSpace(line), "ack "); ok {
			confirmed = append(confirmed, id)
		}
	}
	if strings.Contains(out, "pruning") {
		confirmed = slices.DeleteFunc(confirmed, func(id string) bool { return strings.HasPrefix(id, "old") })
	}
	return look(confirmed) && assert.NoError(t, through(dir, io.Discard), "the second run") && look([]string{"new0", "new1", "last"})
}

// tracer returns the path of strace, if strace may be used.
func tracer(t *testing.T) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which system calls are counted, and made to fail or kill: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	return strace
}

// underStrace returns the child through under strace, which traces only calls on the journal's
// files.
func underStrace(t *testing.T, strace, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path := filepath.Join(dir, fileName)
	wrap := append([]string{strace, "-f", "-qq"}, args...)
	for _, part := range parts {
		wrap = append(wrap, "-P", path+part)
	}
	return childCommand(t, "through", dir, "", append(wrap, "-P", dir)...)
}

// known marks names of system calls that an architecture may lack.
func known(calls []string) []string {
	out := make([]string, len(calls))
	for i, call := range calls {
		out[i] = "?" + call
	}
	return out
}

// lanes divides the points into as many lanes as may run at the same time.
func lanes(points []killPoint) [][]killPoint {
	out := make([][]killPoint, min(len(points), runtime.GOMAXPROCS(0)))
	for i, p := range points {
		out[i%len(out)] = append(out[i%len(out)], p)
	}
	return out
}
