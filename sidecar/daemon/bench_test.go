package daemon_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/naivetest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Most benchmarks measure the sidecar and the reference of package naivetest on servers of the same version, in the
// same run. They print a ratio, so that the machine cancels out. Only those of bench_times_test.go assert a time. One
// round of each takes longer than the testing package wants to repeat it (-benchtime 1s), and all of them together
// take less than ten minutes. docs/benchmarks.md has the figures.

// ends are the oldest and the newest version of tmux at hand: short processes on the one,
// control mode on the other.
func ends(b *testing.B) []tmuxtest.Version {
	all := tmuxtest.Versions(b)
	return slices.Compact([]tmuxtest.Version{all[0], all[len(all)-1]})
}

// quietly counts the warnings of a sidecar, and reports them when the benchmark is over.
func quietly(b *testing.B) option {
	w := &warnings{}
	b.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.n > 0 {
			b.Logf("%d warnings of the sidecar, the last: %s", w.n, w.last)
		}
	})
	return func(cfg *daemon.Config) {
		cfg.Log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
}

// warnings is a log that keeps its last line only.
type warnings struct {
	mu   sync.Mutex
	n    int
	last string
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	w.last = strings.TrimRight(string(p), "\n")
	return len(p), nil
}

// times are measured durations.
type times []time.Duration

// at is the quantile q: half of the times are no longer than at(0.5).
func (t times) at(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// ms writes a duration in milliseconds.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/1e6) }

// report makes a metric of a duration.
func report(b *testing.B, d time.Duration, name string) {
	b.ReportMetric(float64(d)/1e6, name+"-ms")
}

// table prints rows of cells, the first of them the head, in columns. The testing package
// cuts what a benchmark logs at ten lines, so there are at most eight rows.
func table(b *testing.B, title string, rows ...[]string) {
	b.Helper()
	width := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s; %s", title, load())
	for _, row := range rows {
		out.WriteString("\n  ")
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i == 0 {
				out.WriteString(cell + pad)
			} else {
				out.WriteString("  " + pad + cell)
			}
		}
	}
	b.Log(out.String())
}

// load is the load of the machine, this benchmark included.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "load unknown"
	}
	one, _, _ := strings.Cut(string(data), " ")
	return "load " + one
}

// Lines from persona to persona. All processes of a machine share the clock that times them.

// diary follows the log of a persona.
type diary struct {
	*agent
	file *os.File
	in   *bufio.Reader
	half []byte
}

// follow opens the diary of an agent at its end.
func (a *agent) follow() *diary {
	a.t.Helper()
	f, err := os.Open(a.log)
	require.NoError(a.t, err)
	a.t.Cleanup(func() { f.Close() })
	_, err = f.Seek(0, io.SeekEnd)
	require.NoError(a.t, err)
	return &diary{agent: a, file: f, in: bufio.NewReader(f)}
}

// next reads on to the next record that is wanted, and returns it with the records before it.
func (d *diary) next(wanted func(persona.Record) bool) (persona.Record, []persona.Record, error) {
	var skipped []persona.Record
	for deadline := time.Now().Add(tmuxtest.Patience); time.Now().Before(deadline); {
		part, err := d.in.ReadBytes('\n')
		d.half = append(d.half, part...)
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		var r persona.Record
		if err := json.Unmarshal(d.half, &r); err != nil {
			return r, skipped, fmt.Errorf("log of %s: %w", d.name, err)
		}
		d.half = d.half[:0]
		if wanted(r) {
			return r, skipped, nil
		}
		skipped = append(skipped, r)
	}
	return persona.Record{}, skipped, fmt.Errorf("%s: waited %v in vain", d.name, tmuxtest.Patience)
}

// hop is one line of words on its way from one persona to others.
type hop struct {
	number int // counts from 1
	text   string
	said   int64              // when the last byte was written
	taken  []int64            // when each recipient submitted it
	before [][]persona.Record // what each recipient logged before that
}

// latency is from the last byte to the submission in the recipient i.
func (h hop) latency(i int) time.Duration { return time.Duration(h.taken[i] - h.said) }

// sorted are the latencies of all recipients, the shortest first.
func (h hop) sorted() times {
	var all times
	for i := range h.taken {
		all = append(all, h.latency(i))
	}
	slices.Sort(all)
	return all
}

// carry has the first persona of a chat say a line, and waits until each of the others has got it, whole,
// with its attribution.
func carry(from *diary, to []*diary, text string) (hop, error) {
	h := hop{text: text}
	if err := persona.Control(from.control, ":say "+text); err != nil {
		return h, err
	}
	said, _, err := from.next(func(r persona.Record) bool { return r.Event == persona.EventUnasked && r.Text == text })
	if err != nil {
		return h, err
	}
	h.said = said.Time
	want := fmt.Sprintf("[%s] (1): %s", from.name, text)
	for _, d := range to {
		got, before, err := d.next(func(r persona.Record) bool { return r.Event == persona.EventReceived })
		if err != nil {
			return h, fmt.Errorf("%q was not delivered: %w", want, err)
		}
		if got.Text != want {
			return h, fmt.Errorf("%s got %q, not %q", d.name, got.Text, want)
		}
		h.taken, h.before = append(h.taken, got.Time), append(h.before, before)
	}
	return h, nil
}

// hops carries n lines, with a random pause of up to longest before each, so that they fall anywhere between the
// ticks of the sidecar or of the reference. after, which may be nil, gets each hop.
func hops(b *testing.B, from *diary, to []*diary, n int, longest time.Duration, after func(hop)) []hop {
	b.Helper()
	var all []hop
	for i := range n {
		time.Sleep(rand.N(longest))
		h, err := carry(from, to, fmt.Sprintf("line %d, of a common length, %08x", i, rand.Uint32()))
		h.number = i + 1
		if err != nil {
			b.Error(err)
			break
		}
		all = append(all, h)
		if after != nil {
			after(h)
		}
	}
	return all
}

// lines starts n personas that answer nothing.
func (r *rig) lines(n int) []*agent {
	r.t.Helper()
	var all []*agent
	for i := range n {
		all = append(all, r.line(fmt.Sprintf("P%d", i+1), "--reply", "none"))
	}
	return all
}

// adoptAll adopts agents as line programs.
func adoptAll(agents []*agent) {
	for _, a := range agents {
		a.adopt("line")
	}
}

func followAll(agents []*agent) []*diary {
	var all []*diary
	for _, a := range agents {
		all = append(all, a.follow())
	}
	return all
}

// submitted is how many deliveries of a chat were submitted or answered.
func (r *rig) submitted(chat message.Chat) int {
	r.t.Helper()
	stats, err := r.client.Stats(r.t.Context(), string(chat.ID))
	require.NoError(r.t, err)
	return stats.Deliveries[message.Submitted] + stats.Deliveries[message.Answered]
}

// bare is a rig without a sidecar, for the reference.
func bare(b *testing.B, v tmuxtest.Version) *rig {
	b.Helper()
	r := &rig{Server: tmuxtest.NewServer(b, v), t: b, heard: &heard{}}
	var err error
	r.dir, err = os.MkdirTemp("", "ic")
	require.NoError(b, err)
	b.Cleanup(func() { os.RemoveAll(r.dir) })
	require.NoError(b, os.Mkdir(filepath.Join(r.dir, "run"), 0o700))
	return r
}

// Processes whose cost is read from outside.

// process is the sidecar or the reference as a process of its own.
type process struct {
	*exec.Cmd
	t testing.TB
}

// launch starts a process and, if says is set, waits for its first line, which says that it is ready. The process
// ends with the benchmark, if not before.
func launch(t testing.TB, cmd *exec.Cmd, says bool) *process {
	t.Helper()
	var out io.ReadCloser
	var err error
	if says {
		out, err = cmd.StdoutPipe()
		require.NoError(t, err)
	}
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	p := &process{cmd, t}
	t.Cleanup(p.stop)
	if says {
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err, "%s is ready", filepath.Base(cmd.Path))
	}
	return p
}

// stop ends the process in order.
func (p *process) stop() {
	if p.ProcessState != nil {
		return
	}
	_ = p.Process.Signal(syscall.SIGTERM)
	_ = p.Wait()
}

// naive is the command of the reference; mode is relay or watch.
func (r *rig) naive(mode string, panes ...naivetest.Pane) *exec.Cmd {
	r.t.Helper()
	self, err := os.Executable()
	require.NoError(r.t, err)
	args := []string{r.Version.Bin, r.Socket, mode}
	for _, p := range panes {
		args = append(args, p.Name+"="+p.ID)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_NAIVE=1")
	return cmd
}

// intercom builds the program itself, as it is built for people.
func intercom(b *testing.B) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), "intercom")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "../../cmd/intercom")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(b, err, "build intercom: %s", out)
	return bin
}

// proc is what /proc tells of one process.
type proc struct {
	parent int
	cpu    time.Duration // its own, and that of its children that have ended
}

// tick is the unit of times in /proc; every Linux that Go runs on has this one.
const tick = 10 * time.Millisecond

// readProc reads the times of a process.
func readProc(pid int) (proc, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, err
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	var p proc
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return proc{}, err
	}
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.Atoi(field)
		if err != nil {
			return proc{}, err
		}
		p.cpu += time.Duration(n) * tick
	}
	return p, nil
}

// cpuOf is the processor time of a process and of its children, dead or alive.
func cpuOf(b testing.TB, pid int) time.Duration {
	b.Helper()
	p, err := readProc(pid)
	require.NoError(b, err)
	sum := p.cpu
	entries, err := os.ReadDir("/proc")
	require.NoError(b, err)
	for _, entry := range entries {
		if child, err := strconv.Atoi(entry.Name()); err == nil {
			if c, err := readProc(child); err == nil && c.parent == pid {
				sum += c.cpu
			}
		}
	}
	return sum
}

// busy is the processor time that the whole machine has spent since it was started.
func busy(b *testing.B) time.Duration {
	b.Helper()
	data, err := os.ReadFile("/proc/stat")
	require.NoError(b, err)
	first, _, _ := strings.Cut(string(data), "\n")
	var sum time.Duration
	for i, field := range strings.Fields(first)[1:9] { // user nice system idle iowait irq softirq steal
		n, err := strconv.Atoi(field)
		require.NoError(b, err)
		if i != 3 && i != 4 {
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// memoryOf is the memory of a process in MB, now and at its most.
func memoryOf(b *testing.B, pid int) (now, most float64) {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(b, err)
	for line := range strings.Lines(string(data)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			now = kb / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			most = kb / 1024
		}
	}
	return now, most
}

// needProc skips the benchmark if the system does not tell about processes as Linux does.
func needProc(b *testing.B) {
	if _, err := readProc(os.Getpid()); err != nil {
		b.Skip("no /proc here: run it on Linux")
	}
}

// monotonic reads the clock of the personas' logs. ahead is how far the wall clock is ahead of it.
func monotonic(b *testing.B) (now int64, ahead time.Duration) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		b.Fatal(err)
	}
	return ts.Nano(), time.Duration(time.Now().UnixNano() - ts.Nano())
}
