package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A killed process loses nothing that it had confirmed, and leaves no part of a step. The rounds
// use the same directory, so that each start finds the remains of the last one.
func TestCrash_killedBetweenAndDuringCommits(t *testing.T) {
	t.Parallel()
	const rounds = 20
	dir := private(t)
	total, unconfirmed := 0, 0
	for round := range rounds {
		child, lines := startChild(t, "commit", dir, fmt.Sprint("r", round))
		want, acknowledged := 1+rand.IntN(12), []string{}
		for line := range lines {
			acknowledged = append(acknowledged, line)
			if len(acknowledged) == want {
				// Somewhere in the next commit, which takes about a millisecond, or after it.
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				require.NoError(t, child.Process.Kill())
			}
		}
		err := child.Wait()
		require.Equal(t, "signal: killed", fmt.Sprint(err))
		require.GreaterOrEqual(t, len(acknowledged), want)

		j, err := Open(t.Context(), dir)
		require.NoError(t, err)
		require.Empty(t, j.Notice())
		require.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
		for _, id := range acknowledged {
			seen, err := j.Seen(t.Context(), message.ID(id))
			require.NoError(t, err)
			require.True(t, seen, "%s was confirmed and is lost", id)
		}
		total += len(acknowledged)
		written := wholeSteps(t, j)
		require.GreaterOrEqual(t, written, total+unconfirmed)
		require.LessOrEqual(t, written, total+unconfirmed+1)
		unconfirmed = written - total
		require.NoError(t, j.Close())
	}
	t.Logf("%d kills: %d steps confirmed, %d more written but not yet confirmed", rounds, total, unconfirmed)
}

// A full disk refuses writes with that reason and leaves nothing half written. Reading goes on, and
// so does writing as soon as there is room.
func TestDisk_full(t *testing.T) {
	out := inOwnMount(t, "full")
	assert.Contains(t, out, "done")
	t.Log(strings.TrimSpace(out))
}

// A file system that the kernel makes read-only after finding an error in it refuses writes with
// that reason as long as it is read-only, and reading goes on. Everything that was confirmed is
// there once it is mounted again.
func TestDisk_becomesReadOnly(t *testing.T) {
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("mounts a file system and has the kernel report an error in it: set INTERCOM_LONG=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a file system that has errors")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	mount := func(script string, words ...string) []string {
		return append([]string{"unshare", "-m", "sh", "-ec", `mount -o loop,errors=remount-ro "$0" "$1"; shift; ` + script, image, dir}, words...)
	}
	if out, err := exec.CommandContext(t.Context(), "mkfs.ext4", "-q", image, "8M").CombinedOutput(); err != nil {
		t.Skipf("no file system can be made here: %v: %s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", mount("true")[1:]...).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	for _, child := range []string{"becomesReadOnly", "wasReadOnly"} {
		out, err := childCommand(t, child, dir, "", mount(`exec "$@"`)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "done")
		t.Log(strings.TrimSpace(string(out)))
	}
}

// Without an inode or write permission Open refuses with the reason; it opens once there is one.
func TestDisk_readOnlyOrOutOfFiles(t *testing.T) {
	out := inOwnMount(t, "refusing")
	assert.Contains(t, out, "done")
	t.Log(strings.TrimSpace(out))
}

// A failed fsync or write is reported and not confirmed. The journal recovers by itself when the
// disk works again, after a fresh look at its files.
func TestDisk_inputOutputErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inject string
		reopen bool   // reopen before it goes on
		says   string // about the disk
	}{
		"fsync":             {"fsync:error=EIO:when=24..26", true, ""},
		"fsync for longer":  {"fsync:error=EIO:when=24..64", true, ""},
		"fsync over quota":  {"fsync:error=EDQUOT:when=24..64", true, message.DiskFull},
		"write":             {"pwrite64:error=EIO:when=230..235", true, ""},
		"no space":          {"pwrite64:error=ENOSPC:when=190..230", false, message.DiskFull},
		"over quota":        {"pwrite64:error=EDQUOT:when=190..229", false, message.DiskFull},
		"read-only":         {"pwrite64:error=EROFS:when=190..229", false, message.DiskReadOnly},
		"reading":           {"pread64:error=EIO:when=12..20", false, ""},
		"descriptors":       {"open:error=EMFILE:when=4..6", false, ""},
		"fsync, then files": {"fsync,open:error=EIO:when=22..24", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := private(t)
			faults := underFaults(t, dir, c.inject)
			require.NotEmpty(t, faults.refused, "the fault was not met")
			assert.Equal(t, c.reopen, faults.reopened)
			if c.says == "" {
				assert.NotContains(t, faults.refused[0], "journal: disk ")
			} else {
				assert.Contains(t, faults.refused[0], "journal: "+c.says+": ")
			}
			t.Logf("%d confirmed, %d refused, first: %s", len(faults.confirmed), len(faults.refused), faults.refused[0])
			checkAfterFaults(t, dir, faults.confirmed)
		})
	}
}

// If a write fails on a disk that accepts a probe right afterwards, it is tried once more after a
// fresh look at the files: a disk that becomes writable again at that moment costs nothing.
func TestDisk_refusedOnce(t *testing.T) {
	t.Parallel()
	dir := private(t)
	faults := underFaults(t, dir, "pwrite64:error=EROFS:when=200")
	assert.Empty(t, faults.refused)
	assert.True(t, faults.reopened, "the fault was not met")
	checkAfterFaults(t, dir, faults.confirmed)
}

// A sidecar that starts over its quota cannot fold the log of the last run into the database yet.
// Still it reads, and says why it cannot write.
func TestDisk_openOverQuota(t *testing.T) {
	t.Parallel()
	dir, confirmed := leftByKilled(t)
	// After the writes that replace the index of the log.
	faults := underFaults(t, dir, "pwrite64:error=EDQUOT:when=9..48")
	require.NotEmpty(t, faults.refused, "the fault was not met")
	assert.Contains(t, faults.refused[0], "journal: disk full: ")
	checkAfterFaults(t, dir, append(confirmed, faults.confirmed...))
}

// The log that a killed process left holds everything that it had confirmed. If the index of the
// log can be opened only half, SQLite would delete the log unread when it closes.
func TestDisk_logOutlivesAnIndexThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir, confirmed := leftByKilled(t)
	// Opening for reading and writing is refused, then for reading only, then for reading and
	// writing again.
	faults := underFaults(t, dir, "open:error=EIO:when=1..3", "-P", filepath.Join(dir, fileName+"-shm"))
	require.NotEmpty(t, faults.refused, "the fault was not met")
	checkAfterFaults(t, dir, append(confirmed, faults.confirmed...))
}

// A page that cannot be read for a moment looks like damage, but is none.
func TestDisk_unreadableForAMomentIsNotDamaged(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5, 7, 9} {
		dir := private(t)
		j := mustOpen(t, dir)
		var confirmed []string
		for range 10 {
			step := wholeStep(message.NewID())
			mustCommit(t, j, step)
			confirmed = append(confirmed, string(step.Received[0].ID))
		}
		require.NoError(t, j.Close())
		faults := underFaults(t, dir, fmt.Sprintf("pread64:error=EIO:when=%d", n), "-P", filepath.Join(dir, fileName))
		t.Logf("read %d fails: refused %q", n, faults.refused)
		checkAfterFaults(t, dir, append(confirmed, faults.confirmed...))
	}
}

// Helpers of the tests.

func init() {
	maps.Copy(children, map[string]func() int{
		"commit": childCommit, "faulty": childFaulty, "full": childFull, "refusing": childRefusing,
		"becomesReadOnly": childBecomesReadOnly, "wasReadOnly": childWasReadOnly,
	})
}

// childCommand runs the test binary as a child, with the words of wrap before it.
func childCommand(t *testing.T, child, dir, arg string, wrap ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	line := append(wrap, self, dir, arg)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), childVariable+"="+child)
	return cmd
}

func startChild(t *testing.T, child, dir, arg string) (*exec.Cmd, <-chan string) {
	t.Helper()
	cmd := childCommand(t, child, dir, arg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return cmd, lines
}

// faults is the result of a child whose system calls failed.
type faults struct {
	confirmed, refused []string
	reopened           bool
}

// leftByKilled returns the directory of a killed process, and the steps that the process had
// confirmed.
func leftByKilled(t *testing.T) (dir string, confirmed []string) {
	t.Helper()
	dir = private(t)
	child, lines := startChild(t, "commit", dir, "killed")
	for line := range lines {
		if confirmed = append(confirmed, line); len(confirmed) == 5 {
			require.NoError(t, child.Process.Kill())
		}
	}
	_ = child.Wait() // it was killed
	return dir, confirmed
}

// underFaults runs the child faulty with strace making its system calls fail.
func underFaults(t *testing.T, dir, inject string, more ...string) faults {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which system calls are made to fail: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	call, _, _ := strings.Cut(inject, ":")
	wrap := append([]string{strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=" + inject}, more...)
	out, err := childCommand(t, "faulty", dir, "40", wrap...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var f faults
	for line := range strings.Lines(string(out)) {
		switch word, rest, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "ack":
			f.confirmed = append(f.confirmed, rest)
		case "err", "open":
			f.refused = append(f.refused, rest)
		case "reopened":
			f.reopened = true
		}
	}
	require.NotEmpty(t, f.confirmed, "%s", out)
	require.Equal(t, "last", f.confirmed[len(f.confirmed)-1], "it did not go on: %s", out)
	return f
}

func checkAfterFaults(t *testing.T, dir string, confirmed []string) {
	t.Helper()
	j := mustOpen(t, dir)
	assert.Empty(t, j.Notice())
	aside, err := filepath.Glob(filepath.Join(dir, "*.damaged-*"))
	require.NoError(t, err)
	assert.Empty(t, aside, "a sound journal was set aside")
	assert.Equal(t, "ok", scalar(t, j, "PRAGMA integrity_check"))
	wholeSteps(t, j)
	for _, id := range confirmed {
		seen, err := j.Seen(t.Context(), message.ID(id))
		require.NoError(t, err)
		assert.True(t, seen, "%s was confirmed and is lost", id)
	}
}

// inOwnMount runs a child with its own tmpfs on its directory, and returns the child's output.
func inOwnMount(t *testing.T, child string) string {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("no unshare here to mount a small disk")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), unshare, "-rm", "mount", "-t", "tmpfs", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a user may not mount a small disk here: %v: %s", err, out)
	}
	out, err := childCommand(t, child, dir, "", unshare, "-rm").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// wholeSteps counts the steps in the journal, after checking that none is there in part.
func wholeSteps(t testing.TB, j *Journal) int {
	t.Helper()
	count := func(query string) int {
		n, err := strconv.Atoi(scalar(t, j, query))
		require.NoError(t, err)
		return n
	}
	n := count(`SELECT count(*) FROM messages`)
	assert.Equal(t, wholeEvents*n, count(`SELECT count(*) FROM events`))
	assert.Equal(t, n, count(`SELECT count(*) FROM words`))
	assert.Equal(t, n, count(`SELECT count(*) FROM events WHERE kind = 'notice'`))
	assert.Equal(t, n, count(`SELECT count(*) FROM messages m WHERE
		(SELECT count(*) FROM verdicts WHERE message = m.seq) = 1 AND
		(SELECT count(*) FROM deliveries WHERE message = m.seq AND last IS NOT NULL) = 2 AND
		(SELECT count(*) FROM receipts WHERE message = m.seq) = 2`), "a step is there in part")
	return n
}

// childCommit commits steps until it is killed, and reports each.
func childCommit() int {
	j, err := Open(context.Background(), os.Args[1])
	if err != nil {
		return complain(err)
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", os.Args[2], n)
		if err := j.Commit(context.Background(), wholeStep(message.ID(id))); err != nil {
			return complain(err)
		}
		fmt.Println(id)
	}
}

// childFaulty commits steps, however many fail, and finally one that must succeed.
func childFaulty() int {
	runtime.LockOSThread() // faults are counted per thread
	var j *Journal
	for try := 0; ; try++ {
		var err error
		if j, err = Open(context.Background(), os.Args[1]); err == nil {
			break
		}
		fmt.Println("open", err)
		if try == 20 {
			return 1
		}
	}
	commit := func(id string) bool {
		before := j.writer
		defer func() {
			if j.writer != nil && j.writer != before {
				fmt.Println("reopened")
			}
		}()
		err := j.Commit(context.Background(), wholeStep(message.ID(id)))
		if err != nil {
			fmt.Println("err", err)
			return false
		}
		fmt.Println("ack", id)
		return true
	}
	count, _ := strconv.Atoi(os.Args[2])
	for n := range count {
		commit(fmt.Sprintf("m%d", n))
	}
	for try := range 200 {
		if commit(fmt.Sprintf("try%d", try)) {
			break
		}
	}
	if !commit("last") {
		return 1
	}
	if err := j.Close(); err != nil {
		return complain(err)
	}
	return 0
}

func childFull() int {
	root := os.Args[1]
	mount := func(flags uintptr, options string) error {
		return syscall.Mount("tmpfs", root, "tmpfs", flags, options)
	}
	if err := mount(0, "size=1m,mode=700"); err != nil {
		return complain(err)
	}
	j, err := Open(context.Background(), filepath.Join(root, "j"))
	if err != nil {
		return complain(err)
	}
	n := 0
	commit := func() error {
		err := j.Commit(context.Background(), wholeStep(message.ID(fmt.Sprint("m", n))))
		if err == nil {
			n++
		}
		return err
	}
	whole := func() error {
		log, err := j.Events(context.Background(), Query{Limit: 1 << 20})
		if err == nil && len(log) != n*wholeEvents {
			err = fmt.Errorf("%d events of %d confirmed steps", len(log), n)
		}
		return err
	}
	for err = nil; err == nil && n < 10000; {
		err = commit()
	}
	fmt.Printf("after %d steps: %v\n", n, err)
	if code(err)&0xff != codeFull {
		return complain(errors.New("not refused as full"))
	}
	for range 5 {
		if err := commit(); code(err)&0xff != codeFull {
			return complain(fmt.Errorf("full, and yet: %w", err))
		}
		if err := whole(); err != nil {
			return complain(fmt.Errorf("read while full: %w", err))
		}
	}
	// A sidecar that starts now can read, and says why it cannot write, once folding the log into
	// the database gains nothing more.
	for before := -1; before != n; {
		before = n
		_ = j.Close() // it may report the disk
		if j, err = Open(context.Background(), filepath.Join(root, "j")); err != nil {
			return complain(fmt.Errorf("open while full: %w", err))
		}
		for err = nil; err == nil && n < 10000; {
			err = commit()
		}
		if code(err)&0xff != codeFull {
			return complain(fmt.Errorf("full, and yet: %w", err))
		}
	}
	if err := whole(); err != nil {
		return complain(fmt.Errorf("read while full: %w", err))
	}
	if err := mount(syscall.MS_REMOUNT, "size=20m"); err != nil {
		return complain(err)
	}
	for range 50 {
		if err := commit(); err != nil {
			return complain(fmt.Errorf("with room again: %w", err))
		}
	}
	if err := errors.Join(whole(), j.Close()); err != nil {
		return complain(err)
	}
	if j, err = Open(context.Background(), filepath.Join(root, "j")); err != nil {
		return complain(err)
	}
	if err := errors.Join(whole(), commit(), j.Close()); err != nil {
		return complain(err)
	}
	fmt.Println("done with", n)
	return 0
}

func childRefusing() int {
	root := os.Args[1]
	dir := filepath.Join(root, "j")
	mount := func(flags uintptr, options string) error {
		return syscall.Mount("tmpfs", root, "tmpfs", flags, options)
	}
	try := func(want syscall.Errno) error {
		j, err := Open(context.Background(), dir)
		switch {
		case err == nil && want == 0:
			return errors.Join(j.Commit(context.Background(), wholeStep(message.NewID())), j.Close())
		case err == nil:
			return errors.Join(fmt.Errorf("opened in spite of %w", want), j.Close())
		case want == 0:
			return err
		}
		fmt.Println(err)
		if (want == syscall.EROFS || want == syscall.ENOSPC) && !errors.Is(err, want) && code(err) == 0 {
			return fmt.Errorf("another error than %w: %w", want, err)
		}
		return nil
	}
	for _, step := range []struct {
		flags   uintptr
		options string
		want    syscall.Errno
	}{
		{0, "size=2m,nr_inodes=2,mode=700", syscall.ENOSPC}, // the directory, and no file in it
		{syscall.MS_REMOUNT, "nr_inodes=3", syscall.ENOSPC}, // the database, and no log
		{syscall.MS_REMOUNT, "nr_inodes=20", 0},
		{syscall.MS_REMOUNT | syscall.MS_RDONLY, "", syscall.EROFS},
		{syscall.MS_REMOUNT, "", 0},
	} {
		if err := mount(step.flags, step.options); err != nil {
			return complain(fmt.Errorf("mount with %q: %w", step.options, err))
		}
		if err := try(step.want); err != nil {
			return complain(err)
		}
	}
	fmt.Println("done")
	return 0
}

// beforeReadOnly is how many steps are confirmed before the disk becomes read-only.
const beforeReadOnly = 20

func childBecomesReadOnly() int {
	root := os.Args[1]
	j, err := Open(context.Background(), filepath.Join(root, "j"))
	if err != nil {
		return complain(err)
	}
	commit := func(n int) error {
		return j.Commit(context.Background(), wholeStep(message.ID(fmt.Sprint("m", n))))
	}
	for n := range beforeReadOnly {
		if err := commit(n); err != nil {
			return complain(err)
		}
	}
	var at syscall.Stat_t
	if err := syscall.Stat(root, &at); err != nil {
		return complain(err)
	}
	trigger := fmt.Sprintf("/sys/fs/ext4/loop%d/trigger_fs_error", at.Dev&0xff)
	if err := os.WriteFile(trigger, []byte("a test of tmux-intercom"), 0); err != nil {
		return complain(err)
	}
	for range 5 {
		err := commit(beforeReadOnly)
		fmt.Println(err)
		if refused, is := errors.AsType[*message.UnwritableError](err); !is || refused.Why != message.DiskReadOnly {
			return complain(fmt.Errorf("read-only, and yet: %w", err))
		}
		log, err := j.Events(context.Background(), Query{Limit: 1 << 20})
		if err != nil || len(log) != beforeReadOnly*wholeEvents {
			return complain(fmt.Errorf("read while it is read-only: %d events: %w", len(log), err))
		}
	}
	fmt.Println("done")
	return 0
}

func childWasReadOnly() int {
	j, err := Open(context.Background(), filepath.Join(os.Args[1], "j"))
	if err != nil {
		return complain(err)
	}
	log, err := j.Events(context.Background(), Query{Limit: 1 << 20})
	if err != nil || len(log) != beforeReadOnly*wholeEvents {
		return complain(fmt.Errorf("%d events: %w", len(log), err))
	}
	if err := errors.Join(j.Commit(context.Background(), wholeStep("after")), j.Close()); err != nil {
		return complain(err)
	}
	fmt.Println("done")
	return 0
}

func complain(err error) int {
	fmt.Fprintln(os.Stderr, "child:", err)
	return 1
}
