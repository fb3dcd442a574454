package process

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Calls is how often a process has read and written anything by now, of files and terminals; zero where the system does not tell.
func Calls(pid int) (reads, writes uint64) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		switch {
		case err != nil:
		case name == "syscr":
			reads = n
		case name == "syscw":
			writes = n
		}
	}
	return reads, writes
}

// Writing reports whether one of these is known to be in the midst of a write to a terminal: of that the system tells nobody
// before it ends, and a long one takes a while. One that runs may be, and is looked at again for some milliseconds. It is known
// to whoever may debug the process.
func Writing(all []Process, tty string) bool {
	for range 5 {
		var writing, runs bool
		for _, one := range all {
			threads(one.PID, func(state byte, id string) bool {
				number, arguments, known := callOf(one.PID, id)
				writing = writing || known && (number == unix.SYS_WRITE || number == unix.SYS_WRITEV) && opened(one.PID, arguments[0], tty)
				runs = runs || state == 'R'
				return true
			})
		}
		if writing || !runs {
			return writing
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// opened reports whether a descriptor, as a call has it, is of the terminal.
func opened(pid int, descriptor, tty string) bool {
	n, err := strconv.ParseUint(descriptor, 0, 31)
	if err != nil {
		return false
	}
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, n))
	return err == nil && (to == tty || to == "/dev/tty")
}

// callOf is the call of the system that a thread waits in, with its arguments as the system writes them; known is false where
// it is in none, or the system does not tell.
func callOf(pid int, thread string) (number int, arguments []string, known bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + thread + "/syscall")
	words := strings.Fields(string(data))
	if err != nil || len(words) < 3 {
		return 0, nil, false
	}
	number, err = strconv.Atoi(words[0])
	return number, words[1:], err == nil
}

// awaitsNothing reports whether a thread is known to wait in select or poll for no descriptor at all, which is
// a way to sleep. The system tells it to whoever may debug the process; otherwise the thread may be reading.
func awaitsNothing(pid int, thread string) bool {
	number, arguments, known := callOf(pid, thread)
	switch {
	case !known:
	case number == unix.SYS_PSELECT6, runtime.GOARCH == "amd64" && number == 23: // select
		return arguments[0] == "0x0"
	case number == unix.SYS_PPOLL, runtime.GOARCH == "amd64" && number == 7: // poll
		return arguments[1] == "0x0"
	}
	return false
}
