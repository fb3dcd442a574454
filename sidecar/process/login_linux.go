package process

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// OfAnother reports whether a process is another user's through and through, also where /proc hides
// those: neither its real nor its saved user id is ours. A program of ours that is set-uid keeps our
// real one. To root no process is.
func OfAnother(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.EPERM) }

// Login is the session of the system's audit in which a process is: it gets a new one at a login (by
// pam_loginuid), hands it on to what it starts, and cannot change it. 0: there was no login, or the
// system does not say.
func Login(pid int) uint32 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/sessionid")
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 32)
	if err != nil || n == math.MaxUint32 {
		return 0
	}
	return uint32(n)
}
