package process

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// stat is what we need of /proc/PID/stat.
type stat struct {
	Process
	state   byte // of its first thread
	threads int
	group   int
	stack   uint64 // where its stack begins, 0 where that is not for us to know
	session int    // pid of its session's leader
	tty     uint64 // device number of the controlling terminal, 0 without one
	ttyPgrp int    // foreground group of that terminal, -1 without one
}

// readStat reads /proc/PID/stat. A process that has ended is ErrNoProcess. This is most of what a pane at rest costs, every other
// second: hence the system is called three times, where os.ReadFile calls it five times.
func readStat(pid int) (stat, error) {
	var room [2048]byte // of which the system fills a third at most
	data, err := statOf(strconv.Itoa(pid), room[:])
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return stat{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	}
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	s, err := parseStat(data)
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return s, nil
}

// statOf is the text of the stat of a process, or of a thread, PID/task/TID, which the system gives whole in one read.
func statOf(of string, room []byte) (data []byte, err error) {
	fd := -1
	for again := true; again; again = errors.Is(err, unix.EINTR) {
		fd, err = unix.Open("/proc/"+of+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("open its stat: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	n := 0
	for again := true; again; again = errors.Is(err, unix.EINTR) {
		n, err = unix.Read(fd, room)
	}
	if err != nil {
		return nil, fmt.Errorf("read its stat: %w", err)
	}
	return room[:n], nil
}

// statFields are those of /proc/PID/stat behind the name, from field 3, the state, as far as they are read here.
const statFields = 26

// parseStat reads the text of /proc/PID/stat. The name stands in parentheses and may hold
// blanks and parentheses of its own, so the last one ends it.
func parseStat(data []byte) (stat, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("stat %q: no name", string(data))
	}
	var fields [statFields][]byte
	n, rest, more := 0, data[end+1:], true // by hand: what a function walks goes to the heap
	for n < statFields && more {
		var field []byte
		if field, rest, more = bytes.Cut(rest, []byte(" ")); len(field) > 0 {
			fields[n] = field
			n++
		}
	}
	if n < statFields {
		return stat{}, fmt.Errorf("stat %q: %d fields", string(data), n)
	}
	var bad error
	number := func(s []byte) int {
		v, err := strconv.Atoi(string(s))
		bad = cmp.Or(bad, err)
		return v
	}
	s := stat{state: fields[0][0], group: number(fields[2]), session: number(fields[3])}
	s.Parent, s.threads = number(fields[1]), number(fields[17])
	s.PID, s.Name = number(bytes.TrimSpace(data[:open])), string(data[open+1:end])
	nr := uint32(number(fields[4]))
	s.tty = unix.Mkdev(nr>>8&0xfff, nr&0xff|nr>>12&0xfff00)
	s.ttyPgrp = number(fields[5])
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	stack, stackErr := strconv.ParseUint(string(fields[25]), 10, 64)
	if err := cmp.Or(err, stackErr, bad); err != nil {
		return stat{}, fmt.Errorf("stat %q: %w", string(data), err)
	}
	s.Start, s.stack = start, stack
	return s, nil
}

// over reports whether it has ended, and at most waits for its parent. A process whose first thread has ended goes
// on while another does: while that one executes another program, for as long as a busy machine takes.
func (s stat) over() bool { return (s.state == 'Z' || s.state == 'X') && s.threads <= 1 }

// Start is the start time of a process in clock ticks since boot: with the pid it names the
// process for good. A process that has ended is ErrNoProcess.
func Start(pid int) (uint64, error) {
	s, err := readStat(pid)
	if err == nil && s.over() {
		return 0, fmt.Errorf("process %d: %w: its parent has not taken note yet", pid, ErrNoProcess)
	}
	return s.Start, err
}

// Identify tells who a process is by now. One that has ended is ErrNoProcess.
func Identify(pid int) (Identity, error) {
	s, err := readStat(pid)
	if err == nil && s.over() {
		err = fmt.Errorf("process %d: %w: its parent has not taken note yet", pid, ErrNoProcess)
	}
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Process: s.Process, Group: s.group, Exec: Hidden}
	// Nothing is synchronised with whatever holds the file: a dead server of files must not
	// stop us.
	var file unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/exe", unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &file)
	if err == nil && s.stack == 0 && tellsStacks() {
		// Who may read the one may read the other: its new stack is not there yet.
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrExecuting)
	}
	if err == nil && s.stack != 0 {
		what := fmt.Appendf(make([]byte, 0, 64), "%d:%d %d %d", file.Dev_major, file.Dev_minor, file.Ino, s.stack)
		sum := sha256.Sum256(what) // addresses are nobody's business
		id.Exec = hex.EncodeToString(sum[:8])
	}
	return id, nil
}

// tellsStacks reports whether the system tells where stacks start: that of our own is readable.
var tellsStacks = sync.OnceValue(func() bool {
	s, err := readStat(os.Getpid())
	return err == nil && s.stack != 0
})

// Leaving reports whether a process has given its memory back and is still there: it ends, or executes another program by
// another thread than its first, for as long as a busy machine takes. Nobody can tell what it executes then.
func Leaving(pid int) bool {
	_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return errors.Is(err, fs.ErrNotExist)
}

// Program is the path of the file that a process executes, "" where the process keeps that from us
// or the file is no longer there.
func Program(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return ""
	}
	return path
}

// Executable is the name of the file that a process executes, without its directory, ""
// where the process keeps that from us.
func Executable(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSuffix(path, " (deleted)"))
}

// Arguments are those of a process, its name first. It may have changed them. Nil where they
// cannot be read.
func Arguments(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// Abroad reports whether a process numbers processes in another way than we do, being in a
// pid namespace of its own, and whether it is another user's.
func Abroad(pid int) (namespace, user bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false, true
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		switch values := strings.Fields(value); name {
		case "NSpid":
			namespace = len(values) > 1
		case "Uid": // real, effective, saved, of its files
			user = slices.ContainsFunc(values, func(uid string) bool { return uid != strconv.Itoa(os.Geteuid()) })
		}
	}
	return namespace, user
}

// Ancestors lists the parents of a process, the nearest first, up to the first process of
// the system.
func Ancestors(pid int) ([]Process, error) {
	s, err := readStat(pid)
	if err != nil {
		return nil, err
	}
	var all []Process
	for s.Parent > 0 && len(all) < 1000 { // parents may change under us: no endless walk
		if s, err = readStat(s.Parent); err != nil {
			return all, err
		}
		all = append(all, s.Process)
	}
	return all, nil
}

// HasTerminal reports whether tty is the controlling terminal of a process.
func HasTerminal(pid int, tty string) bool {
	s, err := readStat(pid)
	if err != nil || s.tty == 0 {
		return false
	}
	var st unix.Stat_t
	return unix.Stat(tty, &st) == nil && uint64(st.Rdev) == s.tty
}

// AtTerminal reports whether a process has a controlling terminal at all.
func AtTerminal(pid int) bool {
	s, err := readStat(pid)
	return err == nil && s.tty != 0
}

// TerminalOf is the path of a process's controlling terminal, where it is one of those that
// tmux and terminal programs make; else "".
func TerminalOf(pid int) string {
	s, err := readStat(pid)
	if major := unix.Major(s.tty); err != nil || major < 136 || major > 143 {
		return ""
	}
	return fmt.Sprintf("/dev/pts/%d", (unix.Major(s.tty)-136)<<8+unix.Minor(s.tty))
}

// PaneOf is the pane in which a process was started, as its environment had it then: what
// TMUX_PANE says. "" where it says nothing or cannot be read. A process may have been given
// any value, so that it can tell against somebody and never for them.
func PaneOf(pid int) string {
	env, _ := Environment(pid, "TMUX_PANE")
	return env["TMUX_PANE"]
}

// Environment reads a few named variables of a process as they were when it began, and nothing
// else: secrets stand beside them. It is false where they cannot be read.
func Environment(pid int, names ...string) (map[string]string, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(data) == 0 {
		return nil, false
	}
	env := map[string]string{}
	for pair := range bytes.SplitSeq(data, []byte{0}) {
		name, value, ok := bytes.Cut(pair, []byte{'='})
		if _, twice := env[string(name)]; ok && !twice && slices.Contains(names, string(name)) {
			env[string(name)] = string(value)
		}
	}
	return env, true
}

// WorkingDir is the directory in which a process works, "" if it cannot be read.
func WorkingDir(pid int) string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return ""
	}
	return dir
}

// Front tells who has the terminal of a pane in front, and the terminal's modes. panePID is
// what tmux started in the pane; its controlling terminal must be tty, or the error is
// ErrOtherTerminal.
func Front(tty string, panePID int) (FrontGroup, error) {
	front, of, err := frontLeader(tty, panePID)
	if err != nil || of.ttyPgrp <= 0 {
		return front, err
	}
	pids, err := inGroup(of.ttyPgrp)
	if err != nil {
		return FrontGroup{}, fmt.Errorf("foreground of %q: %w", tty, err)
	}
	front.Members, front.Asleep = nil, true
	for _, pid := range pids {
		m, err := readStat(pid)
		if err != nil || m.group != of.ttyPgrp || m.tty != of.tty || m.over() {
			continue // ended meanwhile, or not of this group
		}
		front.Members = append(front.Members, m.Process)
		front.Asleep = front.Asleep && asleep(pid)
	}
	slices.SortFunc(front.Members, byAge)
	return front, nil
}

// byAge has what was started earlier first. Numbers do not tell: they begin anew at 32,768 on many systems, and who was started
// then has a smaller one than who started it.
func byAge(a, b Process) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID)) }

// threads reports whether something is so of each thread of a process, by its state and its id. Of one that
// has ended it is.
func threads(pid int, so func(state byte, id string) bool) bool {
	all, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	var room [2048]byte
	for _, t := range all {
		data, err := statOf(strconv.Itoa(pid)+"/task/"+t.Name(), room[:])
		_, after, ok := bytes.Cut(data[bytes.LastIndexByte(data, ')')+1:], []byte(" "))
		switch {
		case err != nil: // the thread has ended
		case !ok || len(after) == 0 || !so(after[0], t.Name()):
			return false
		}
	}
	return true
}

// asleep reports whether no thread of a process runs or waits for a processor: the state of the
// process is that of its first thread alone.
func asleep(pid int) bool {
	return threads(pid, func(state byte, _ string) bool { return state == 'S' || state == 'Z' || state == 'X' })
}

// elsewhere are the kernel's functions, by how their names begin, in which a thread waits for time, a
// child, a pipe, a lock or a signal, and not for a terminal. A sleep in any other may be a read.
var elsewhere = []string{
	"hrtimer_nanosleep", "do_nanosleep", "common_nsleep", "do_wait", "kernel_wait", "pipe_read", "anon_pipe_read", "pipe_wait",
	"futex_", "do_futex", "do_sigtimedwait", "sigsuspend", "__do_sys_pause", "__x64_sys_pause", "__arm64_sys_pause",
}

// Attending are those in front who may be waiting for what is typed: each has the terminal, and is not deaf.
func Attending(front FrontGroup, tty string) []Process {
	return slices.DeleteFunc(slices.Clone(front.Members), func(m Process) bool { return deaf(m.PID) || !Reads(m.PID, tty) })
}

// deaf reports whether no thread of a process can be waiting for what is typed: each is stopped, or sleeps
// for something else. A thread that runs may be about to read, and one of which the system does not tell
// may be reading.
func deaf(pid int) bool {
	polls := sync.OnceValue(func() bool { return pollsTerminal(pid) })
	return threads(pid, func(state byte, id string) bool {
		switch state {
		case 'T', 't', 'Z', 'X':
			return true
		case 'S':
			where, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + id + "/wchan")
			if err != nil {
				return errors.Is(err, fs.ErrNotExist) // the thread has ended
			}
			if strings.HasPrefix(string(where), "ep_poll") || strings.HasPrefix(string(where), "do_epoll_wait") {
				return !polls()
			}
			return slices.ContainsFunc(elsewhere, func(f string) bool { return strings.HasPrefix(string(where), f) }) || awaitsNothing(pid, id)
		}
		return false
	})
}

// pollsTerminal reports whether an epoll of a process may tell it of a terminal: unless all that each of them
// watches is known for something else, it may.
func pollsTerminal(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if to, err := os.Readlink(dir + "/fd/" + e.Name()); err != nil || to != "anon_inode:[eventpoll]" {
			continue
		}
		info, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + e.Name())
		if err != nil {
			return true
		}
		for line := range strings.Lines(string(info)) {
			if strings.HasPrefix(line, "tfd:") && !harmless(dir, line) {
				return true
			}
		}
	}
	return false
}

// harmless reports whether what an epoll watches, by its line of fdinfo, is no terminal nor what may stand
// for one. A number may have become another file's since: what has an inode of its own is compared by that.
func harmless(dir, line string) bool {
	words := strings.Fields(line)
	if len(words) < 2 {
		return false
	}
	to, err := os.Readlink(dir + "/fd/" + words[1])
	if err != nil {
		return false
	}
	switch to {
	case "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[signalfd]", "anon_inode:inotify", "anon_inode:[pidfd]":
		return true
	}
	for _, word := range words {
		if hex, ok := strings.CutPrefix(word, "ino:"); ok {
			inode, err := strconv.ParseUint(hex, 16, 64)
			return err == nil && (to == fmt.Sprintf("socket:[%d]", inode) || to == fmt.Sprintf("pipe:[%d]", inode))
		}
	}
	return false
}

// FrontLeader is Front without the members but for the leader: a few reads, where Front
// goes through every process of the computer. It is enough to say what a pane is doing,
// and too little to type on.
func FrontLeader(tty string, panePID int) (FrontGroup, error) {
	front, _, err := frontLeader(tty, panePID)
	return front, err
}

func frontLeader(tty string, panePID int) (FrontGroup, stat, error) {
	s, err := readStat(panePID)
	if err != nil {
		return FrontGroup{}, s, fmt.Errorf("foreground of %q: %w", tty, err)
	}
	front := FrontGroup{Leader: Process{PID: s.ttyPgrp}}
	if err := front.readModes(tty, s); err != nil {
		return FrontGroup{}, s, fmt.Errorf("foreground of %q: %w", tty, err)
	}
	if s.ttyPgrp <= 0 {
		return front, s, nil // nobody: the session leader alone is left, or not even that
	}
	leader, err := readStat(s.ttyPgrp)
	if err == nil && leader.group == s.ttyPgrp && leader.tty == s.tty && !leader.over() {
		front.Leader, front.Members = leader.Process, []Process{leader.Process}
	}
	return front, s, nil
}

// inGroup lists the processes that were in a process group a moment ago, and those that do not
// tell. Every process of the computer is asked, so nothing is opened or read.
func inGroup(group int) ([]int, error) {
	all, err := All()
	return slices.DeleteFunc(all, func(pid int) bool {
		of, err := unix.Getpgid(pid)
		return err == nil && of != group || errors.Is(err, unix.ESRCH)
	}), err
}

// All are the numbers of the processes that there were a moment ago: of all that live, and perhaps of some
// that have ended.
func All() ([]int, error) { return census.all() }

// listAll reads them from /proc, which makes an entry for each: most of what it costs to look who is in front.
func listAll() (pids []int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// readModes opens the terminal without becoming its owner or waiting for anything, proves
// that it is the one of s, and reads its modes.
func (f *FrontGroup) readModes(tty string, s stat) error {
	fd, err := foreign.Terminal(tty)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if err := sameTerminal(&st, s); err != nil {
		return err
	}
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("modes: %w", err)
	}
	if f.Unread, err = unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil {
		return fmt.Errorf("unread: %w", err)
	}
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return fmt.Errorf("size: %w", err)
	}
	f.Columns, f.Rows = int(size.Col), int(size.Row)
	f.Canonical, f.Echo = modes.Lflag&unix.ICANON != 0, modes.Lflag&unix.ECHO != 0
	f.Discards = modes.Lflag&unix.ISIG != 0 && modes.Lflag&unix.NOFLSH == 0
	return nil
}

// CheckTerminal proves that tty, by its device number and owner, is the controlling
// terminal of the process that tmux started in a pane.
func CheckTerminal(tty string, panePID int) error {
	_, err := atTerminal(tty, panePID)
	return err
}

// atTerminal is the process that tmux started in a pane, proven to have that terminal.
func atTerminal(tty string, panePID int) (stat, error) {
	var st unix.Stat_t
	if err := unix.Stat(tty, &st); err != nil {
		return stat{}, fmt.Errorf("stat: %w", err)
	}
	s, err := readStat(panePID)
	if err != nil {
		return stat{}, err
	}
	if uid := os.Geteuid(); uid != 0 && int(st.Uid) != uid {
		return stat{}, fmt.Errorf("owner is user %d: %w", st.Uid, ErrOtherTerminal)
	}
	return s, sameTerminal(&st, s)
}

func sameTerminal(st *unix.Stat_t, s stat) error {
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != s.tty || s.tty == 0 {
		return ErrOtherTerminal
	}
	return nil
}

// Lives reports whether a process exists and is the one that started then. One that has
// ended and waits for its parent does not live.
func Lives(pid int, start uint64) bool {
	s, err := readStat(pid)
	if errors.Is(err, ErrNoProcess) {
		return false
	}
	return err != nil || !s.over() && (start == 0 || s.Start == start)
}

// Reads reports whether a process has the terminal open in a way in which it could read what
// is typed there: as its input, or opened by itself. Only its output there is not enough. One
// of which the system does not tell counts as reading.
func Reads(pid int, tty string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if e.Name() == "1" || e.Name() == "2" {
			continue
		}
		if to, err := os.Readlink(dir + "/" + e.Name()); err == nil && (to == tty || to == "/dev/tty") {
			return true
		}
	}
	return false
}

// ReadsByName reports whether a process is known to have its own terminal open under the name /dev/tty, so that it may read it by that.
func ReadsByName(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, err := os.Readlink(dir + "/" + e.Name())
		return err == nil && to == "/dev/tty" && e.Name() != "1" && e.Name() != "2"
	})
}

// Writes are the paths that a process has open for writing and that a function wants, each once.
func Writes(pid int, want func(path string) bool) (paths []string) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		path, err := os.Readlink(dir + "/" + e.Name())
		if err == nil && want(path) && !slices.Contains(paths, path) && writes(pid, e.Name()) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Holds reports whether a process has the file of that path open for writing, under whatever name, and whether the system
// tells.
func Holds(pid int, path string) (holds, told bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	var file, open unix.Stat_t
	if err := unix.Stat(path, &file); err != nil {
		return false, false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		var self unix.Stat_t
		return false, errors.Is(err, fs.ErrNotExist) && unix.Stat("/proc/self", &self) == nil
	}
	for _, e := range entries {
		if unix.Stat(dir+"/"+e.Name(), &open) == nil && open.Dev == file.Dev && open.Ino == file.Ino && writes(pid, e.Name()) {
			return true, true
		}
	}
	return false, true
}

// writes reports whether a process has opened a descriptor for writing.
func writes(pid int, descriptor string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + descriptor)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseInt(strings.TrimSpace(value), 8, 64)
			return err == nil && flags&syscall.O_ACCMODE != syscall.O_RDONLY
		}
	}
	return false
}

// Runs reports whether a process runs the program of that path, as it is now.
func Runs(pid int, program string) bool {
	var runs, is unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid)+"/exe", &runs) == nil && unix.Stat(program, &is) == nil &&
		runs.Dev == is.Dev && runs.Ino == is.Ino
}

// tick is how long a clock tick of /proc is, on every Linux that Go runs on.
const tick = time.Second / 100

// Now is what the start time of a process would be that began at this instant, 0 where the system does not tell.
func Now() uint64 { return uint64(sinceBoot() / tick) }

func age(start uint64) time.Duration {
	now := sinceBoot()
	if start == 0 || now == 0 {
		return 0
	}
	return now - time.Duration(start)*tick
}

// sinceBoot is how long the system has been up, asleep or not.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
