package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticks of a second, in which /proc counts: the kernel fixes it for programs.
const ticks = 100

// started is the start time of a process in clock ticks since boot.
func started(pid int) (uint64, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// startedAt is the same as a time of day, exact to about a second; zero if it is not known.
func startedAt(start uint64) time.Time {
	data, err := os.ReadFile("/proc/stat")
	if err != nil || start == 0 {
		return time.Time{}
	}
	for line := range strings.Lines(string(data)) {
		if boot, ok := strings.CutPrefix(line, "btime "); ok {
			sec, err := strconv.ParseInt(strings.TrimSpace(boot), 10, 64)
			if err != nil {
				return time.Time{}
			}
			return time.Unix(sec, 0).Add(time.Duration(start) * time.Second / ticks)
		}
	}
	return time.Time{}
}

// lives reports whether a process is there and the one that started then.
func lives(pid int, start uint64) bool {
	s, err := started(pid)
	return err == nil && (start == 0 || s == start)
}

// arguments are those of a process, nil if they cannot be read.
func arguments(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}

// environment reads a few named variables of a process as they were when it started, and
// nothing else: secrets stand beside them. What cannot be read is taken from our own.
func environment(pid int, names ...string) map[string]string {
	env := map[string]string{}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(data) == 0 {
		return ownEnvironment(names)
	}
	for pair := range bytes.SplitSeq(data, []byte{0}) {
		name, value, ok := bytes.Cut(pair, []byte{'='})
		if ok && slices.Contains(names, string(name)) {
			env[string(name)] = string(value)
		}
	}
	return env
}

// WorkingDir is the directory in which a process works, "" if it cannot be read.
func WorkingDir(pid int) string {
	dir, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	if err != nil {
		return ""
	}
	return dir
}

// neighboursOf are the processes of an agent's kind that work in its directory and with its
// files, but for those of its own process group. Of a process and one that it has started,
// both of that kind, both count.
func neighboursOf(a Agent) neighbours {
	entries, err := os.ReadDir("/proc")
	if err != nil || a.Dir == "" {
		return neighbours{}
	}
	near := neighbours{known: true}
	own := group(a.Process.PID)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || slices.Contains(a.Tried, pid) {
			continue
		}
		dir := WorkingDir(pid)
		if dir != a.Dir {
			continue
		}
		comm, _ := os.ReadFile("/proc/" + e.Name() + "/comm")
		kind, ok := kindOf(strings.TrimSpace(string(comm)), arguments(pid))
		if !ok || kind != a.Kind || own != 0 && group(pid) == own || homeOf(kind, pid, dir) != a.Home {
			continue
		}
		start, err := started(pid)
		if err != nil {
			continue // it has ended
		}
		near.starts = append(near.starts, startedAt(start))
	}
	return near
}

// group is the process group of a process, 0 if it cannot be told.
func group(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 3 {
		return 0
	}
	n, _ := strconv.Atoi(fields[2])
	return n
}

// openFiles are the paths that a process has open for writing and that a function wants. A
// Codex that starts also reads what others of its home write.
func openFiles(pid int, want func(path string) bool) []string {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		path, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err == nil && want(path) && !slices.Contains(paths, path) && writes(pid, e.Name()) {
			paths = append(paths, path)
		}
	}
	return paths
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
