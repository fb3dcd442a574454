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

// stat holds the fields that we need from /proc/PID/stat.
type stat struct {
	Process
	state   byte // of its first thread
	threads int
	group   int
	stack   uint64 // where its stack begins, 0 if the system hides that from us
	session int    // pid of its session's leader
	tty     uint64 // device number of the controlling terminal, 0 without one
	ttyPgrp int    // foreground group of that terminal, -1 without one
}

// readStat reads /proc/PID/stat. If the process has ended, the error is ErrNoProcess. This is most
// of the cost of a pane at rest, every other second. So it makes three system calls, where
// os.ReadFile makes five.
func readStat(pid int) (stat, error) {
	var room [2048]byte // the system fills a third of it at most
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

// statOf returns the text of the stat of a process, or of a thread, PID/task/TID. The system
// returns it whole in one read.
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

// statFields is the number of fields of /proc/PID/stat that we read behind the name, from field 3,
// the state.
const statFields = 26

// parseStat parses the text of /proc/PID/stat. The name stands in parentheses and may contain
// blanks and parentheses, so the last parenthesis ends it.
func parseStat(data []byte) (stat, error) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("stat %q: no name", string(data))
	}
	var fields [statFields][]byte
	n, rest, more := 0, data[end+1:], true // a loop by hand: an iterator would go to the heap
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

// over reports whether the process has ended, and at most waits for its parent. A process whose
// first thread has ended goes on as long as another thread does: while that one executes another
// program, for as long as a busy machine takes.
func (s stat) over() bool { return (s.state == 'Z' || s.state == 'X') && s.threads <= 1 }

// Start returns the start time of a process in clock ticks since boot, which with the pid
// identifies the process for good. If the process has ended, the error is ErrNoProcess.
func Start(pid int) (uint64, error) {
	s, err := readStat(pid)
	if err == nil && s.over() {
		return 0, fmt.Errorf("process %d: %w: it has ended, but its parent has not reaped it yet", pid, ErrNoProcess)
	}
	return s.Start, err
}

// Identify identifies a process. If it has ended, the error is ErrNoProcess.
func Identify(pid int) (Identity, error) {
	s, err := readStat(pid)
	if err == nil && s.over() {
		err = fmt.Errorf("process %d: %w: it has ended, but its parent has not reaped it yet", pid, ErrNoProcess)
	}
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Process: s.Process, Group: s.group, Exec: Hidden}
	// Do not synchronise with the holder of the file: a dead file server must not stop us.
	var file unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/exe", unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &file)
	if err == nil && s.stack == 0 && tellsStacks() {
		// Whoever may read the file may read the stack too, so its new stack does not exist yet.
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrExecuting)
	}
	if err == nil && s.stack != 0 {
		what := fmt.Appendf(make([]byte, 0, 64), "%d:%d %d %d", file.Dev_major, file.Dev_minor, file.Ino, s.stack)
		sum := sha256.Sum256(what) // do not reveal addresses
		id.Exec = hex.EncodeToString(sum[:8])
	}
	return id, nil
}

// tellsStacks reports whether the system tells where stacks start. We test it with our own stack.
var tellsStacks = sync.OnceValue(func() bool {
	s, err := readStat(os.Getpid())
	return err == nil && s.stack != 0
})

// Leaving reports whether a process has given its memory back but still exists: it is ending, or it
// executes another program by a thread other than its first, for as long as a busy machine takes.
// Meanwhile nobody can tell what it executes.
func Leaving(pid int) bool {
	_, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return errors.Is(err, fs.ErrNotExist)
}

// Program returns the path of the file that a process executes, or "" if the process keeps that
// from us or the file no longer exists.
func Program(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return ""
	}
	return path
}

// Executable returns the name of the file that a process executes, without its directory, or "" if
// the process keeps that from us.
func Executable(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSuffix(path, " (deleted)"))
}

// Arguments returns the arguments of a process, its name first. The process may have changed them.
// It returns nil if they cannot be read.
func Arguments(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// Abroad reports whether a process numbers processes differently from us, since it is in a pid
// namespace of its own, and whether it belongs to another user.
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
		case "Uid": // real, effective, saved and file system user ids
			user = slices.ContainsFunc(values, func(uid string) bool { return uid != strconv.Itoa(os.Geteuid()) })
		}
	}
	return namespace, user
}

// Ancestors lists the ancestors of a process, the nearest first, up to the first process of the
// system.
func Ancestors(pid int) ([]Process, error) {
	s, err := readStat(pid)
	if err != nil {
		return nil, err
	}
	var all []Process
	for s.Parent > 0 && len(all) < 1000 { // parents may change meanwhile: no endless walk
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

// TerminalOf returns the path of a process's controlling terminal if it is one that tmux or a
// terminal program made, and otherwise "".
func TerminalOf(pid int) string {
	s, err := readStat(pid)
	if major := unix.Major(s.tty); err != nil || major < 136 || major > 143 {
		return ""
	}
	return fmt.Sprintf("/dev/pts/%d", (unix.Major(s.tty)-136)<<8+unix.Minor(s.tty))
}

// PaneOf returns the pane in which a process was started, from TMUX_PANE in its environment at that
// time. It is "" if there is no such variable or it cannot be read. Anybody may give a process any
// value, so PaneOf can be evidence against a process, never for it.
func PaneOf(pid int) string {
	env, _ := Environment(pid, "TMUX_PANE")
	return env["TMUX_PANE"]
}

// Environment reads a few named variables of a process as they were when it began, and nothing
// else, because secrets stand beside them. It reports false if they cannot be read.
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

// WorkingDir returns the working directory of a process, or "" if it cannot be read.
func WorkingDir(pid int) string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return ""
	}
	return dir
}

// Front returns the foreground of a pane's terminal, and the terminal's modes. panePID is the
// process that tmux started in the pane. Its controlling terminal must be tty, else the error is
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

// byAge orders processes by their start, the earliest first. Pids do not tell the order: on many
// systems they begin anew at 32,768, and then a child has a smaller pid than its parent.
func byAge(a, b Process) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID)) }

// threads reports whether so holds for each thread of a process, by its state and its id. For a
// process that has ended it does.
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

// asleep reports whether no thread of a process runs or waits for a processor. The state of a
// process is that of its first thread alone.
func asleep(pid int) bool {
	return threads(pid, func(state byte, _ string) bool { return state == 'S' || state == 'Z' || state == 'X' })
}

// elsewhere are prefixes of the kernel functions in which a thread waits for time, a child, a pipe,
// a lock or a signal, and not for a terminal. A sleep in any other may be a read.
var elsewhere = []string{
	"hrtimer_nanosleep", "do_nanosleep", "common_nsleep", "do_wait", "kernel_wait", "pipe_read", "anon_pipe_read", "pipe_wait",
	"futex_", "do_futex", "do_sigtimedwait", "sigsuspend", "__do_sys_pause", "__x64_sys_pause", "__arm64_sys_pause",
}

// Attending returns the members of the foreground that may be waiting for input: each has the
// terminal open, and is not deaf.
func Attending(front FrontGroup, tty string) []Process {
	return slices.DeleteFunc(slices.Clone(front.Members), func(m Process) bool { return deaf(m.PID) || !Reads(m.PID, tty) })
}

// deaf reports whether no thread of a process can be waiting for input, because each is stopped or
// sleeps for something else. A thread that runs may be about to read, and a thread of which the
// system does not tell may be reading.
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

// pollsTerminal reports whether an epoll of a process may watch a terminal. It may unless
// everything that each epoll watches is known to be something else.
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

// harmless reports whether the file that an epoll watches, by its line of fdinfo, is neither a
// terminal nor something that may stand for one. The descriptor may have become another file's
// since, so a file with an inode of its own is compared by that.
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

// FrontLeader is Front with the leader as the only member. It takes a few reads, where Front goes
// through every process of the computer. That is enough to say what a pane is doing, but not enough
// to type.
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
		return front, s, nil // no foreground: only the session leader is left, or not even that
	}
	leader, err := readStat(s.ttyPgrp)
	if err == nil && leader.group == s.ttyPgrp && leader.tty == s.tty && !leader.over() {
		front.Leader, front.Members = leader.Process, []Process{leader.Process}
	}
	return front, s, nil
}

// inGroup lists the processes that were in a process group a moment ago, and those that do not
// tell. It asks every process of the computer, so it opens and reads nothing.
func inGroup(group int) ([]int, error) {
	all, err := All()
	return slices.DeleteFunc(all, func(pid int) bool {
		of, err := unix.Getpgid(pid)
		return err == nil && of != group || errors.Is(err, unix.ESRCH)
	}), err
}

// All returns the numbers of the processes that existed a moment ago: of all that live, and perhaps
// of some that have ended.
func All() ([]int, error) { return census.all() }

// listAll reads the numbers from /proc, which makes an entry for each. That is most of the cost of
// looking who is in front.
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

// readModes opens the terminal without becoming its owner or waiting for anything, checks that it
// is the one of s, and reads its modes.
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

// CheckTerminal checks, by device number and owner, that tty is the controlling terminal of the
// process that tmux started in a pane.
func CheckTerminal(tty string, panePID int) error {
	_, err := atTerminal(tty, panePID)
	return err
}

// atTerminal returns the process that tmux started in a pane, after checking that it has that
// terminal.
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

// Lives reports whether a process exists and is the one with that start time; 0 stands for any. A
// process that has ended and waits for its parent does not live.
func Lives(pid int, start uint64) bool {
	s, err := readStat(pid)
	if errors.Is(err, ErrNoProcess) {
		return false
	}
	return err != nil || !s.over() && (start == 0 || s.Start == start)
}

// Reads reports whether a process has the terminal open in a way in which it could read input: as
// its standard input, or opened by itself. Having only its output there is not enough. A process of
// which the system does not tell counts as reading.
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

// ReadsByName reports whether a process is known to have its own terminal open under the name
// /dev/tty, so that it may read it by that name.
func ReadsByName(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, err := os.Readlink(dir + "/" + e.Name())
		return err == nil && to == "/dev/tty" && e.Name() != "1" && e.Name() != "2"
	})
}

// Writes returns the paths that a process has open for writing and for which want is true, each
// once.
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

// Holds reports whether a process has the file of that path open for writing, under whatever name,
// and whether the system tells that.
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

// Runs reports whether a process runs the file that now stands at that path.
func Runs(pid int, program string) bool {
	var runs, is unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid)+"/exe", &runs) == nil && unix.Stat(program, &is) == nil &&
		runs.Dev == is.Dev && runs.Ino == is.Ino
}

// tick is the length of a clock tick of /proc, on every Linux on which Go runs.
const tick = time.Second / 100

// Now returns the start time of a process that would begin at this instant, or 0 if the system does
// not tell.
func Now() uint64 { return uint64(sinceBoot() / tick) }

func age(start uint64) time.Duration {
	now := sinceBoot()
	if start == 0 || now == 0 {
		return 0
	}
	return now - time.Duration(start)*tick
}

// sinceBoot returns how long the system has been up, asleep or not.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
