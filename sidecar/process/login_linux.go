package process

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// OfAnother reports whether a process belongs to another user altogether, with neither its real nor
// its saved user id ours. It works even if /proc hides such processes. A set-uid program of ours
// keeps our real user id. For root it is always false.
func OfAnother(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.EPERM) }

// Login returns the audit session of a process. A process gets a new one at a login (by
// pam_loginuid), passes it on to its children, and cannot change it. 0 means that there was no
// login, or that the system does not tell.
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
