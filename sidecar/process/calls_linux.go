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

// Calls returns the numbers of read and write calls of a process so far, on files and terminals.
// They are zero if the system does not tell.
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

// Writing reports whether one of these processes is known to be in the middle of a write to a
// terminal. The system reports a write only when it ends, and a long one takes a while. A process
// that runs may be about to write, so Writing looks at it again for some milliseconds. Only
// somebody who may debug a process can see its writes.
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

// opened reports whether a descriptor, as in the arguments of a call, is the terminal.
func opened(pid int, descriptor, tty string) bool {
	n, err := strconv.ParseUint(descriptor, 0, 31)
	if err != nil {
		return false
	}
	to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, n))
	return err == nil && (to == tty || to == "/dev/tty")
}

// callOf returns the system call in which a thread waits, with its arguments as the system writes
// them. known is false if the thread is in no call, or the system does not tell.
func callOf(pid int, thread string) (number int, arguments []string, known bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + thread + "/syscall")
	words := strings.Fields(string(data))
	if err != nil || len(words) < 3 {
		return 0, nil, false
	}
	number, err = strconv.Atoi(words[0])
	return number, words[1:], err == nil
}

// awaitsNothing reports whether a thread is known to wait in select or poll for no descriptor at
// all, which is a way to sleep. The system tells this to those who may debug the process; to others
// the thread may be reading.
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
