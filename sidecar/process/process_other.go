//go:build !linux

package process

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Start returns the start time of a process. Here it returns ErrUnsupported.
func Start(pid int) (uint64, error) {
	return 0, fmt.Errorf("process %d: %w", pid, ErrUnsupported)
}

// Identify identifies a process. Here it returns ErrUnsupported, because nothing shows that a
// process has executed another program in its own place.
func Identify(pid int) (Identity, error) {
	return Identity{}, fmt.Errorf("process %d: %w", pid, ErrUnsupported)
}

// Program is not known here.
func Program(int) string { return "" }

// Executable cannot tell here.
func Executable(int) string { return "" }

// Scarce cannot tell here.
func Scarce(int) string { return "" }

// Arguments cannot tell here.
func Arguments(int) []string { return nil }

// Abroad cannot tell here, and takes no process for a stranger.
func Abroad(int) (namespace, user bool) { return false, false }

// Ancestors lists the ancestors of a process. Here it returns ErrUnsupported.
func Ancestors(pid int) ([]Process, error) {
	return nil, fmt.Errorf("process %d: %w", pid, ErrUnsupported)
}

// Front returns the foreground of a pane's terminal. Here it returns ErrUnsupported.
func Front(tty string, _ int) (FrontGroup, error) {
	return FrontGroup{}, fmt.Errorf("foreground of %q: %w", tty, ErrUnsupported)
}

// Attending cannot tell here, and assumes that every member may read.
func Attending(front FrontGroup, _ string) []Process { return front.Members }

// Now cannot tell here.
func Now() uint64 { return 0 }

// HasTerminal cannot tell here.
func HasTerminal(int, string) bool { return false }

// AtTerminal cannot tell here, and refuses nobody.
func AtTerminal(int) bool { return true }

// TerminalOf cannot tell here.
func TerminalOf(int) string { return "" }

// PaneOf cannot tell here.
func PaneOf(int) string { return "" }

// FrontLeader returns ErrUnsupported, like Front.
func FrontLeader(tty string, panePID int) (FrontGroup, error) { return Front(tty, panePID) }

// CheckTerminal cannot prove anything here.
func CheckTerminal(string, int) error { return ErrUnsupported }

// Calls cannot tell here.
func Calls(int) (reads, writes uint64) { return 0, 0 }

// Writing cannot tell here.
func Writing([]Process, string) bool { return false }

// Usage cannot tell here.
func Usage(string, int) (uses Uses, ok bool) { return Uses{}, false }

// UsageSoFar cannot tell here.
func UsageSoFar(string, int) (uses Uses, ok bool) { return Uses{}, false }

// Unused does nothing here.
func Unused(string) {}

// Holds cannot tell here.
func Holds(int, string) (holds, told bool) { return false, false }

// Lives reports whether a process with that number exists.
func Lives(pid int, _ uint64) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Leaving cannot tell here.
func Leaving(int) bool { return false }

// ReadsByName cannot tell here.
func ReadsByName(int) bool { return false }

// Reads reports whether a process could read the input of a terminal. Here the system does not
// tell, so each could.
func Reads(int, string) bool { return true }

// Lineage returns a process and its ancestors. Here it returns ErrUnsupported.
func Lineage(pid, _ int) ([]Relative, error) {
	return nil, fmt.Errorf("process %d: %w", pid, ErrUnsupported)
}

// All returns ErrUnsupported here.
func All() ([]int, error) { return nil, ErrUnsupported }

// Environment cannot be read here.
func Environment(int, ...string) (map[string]string, bool) { return nil, false }

// WorkingDir cannot be read here.
func WorkingDir(int) string { return "" }

// Writes cannot tell here.
func Writes(int, func(string) bool) []string { return nil }

// Runs cannot tell here.
func Runs(int, string) bool { return false }

// OfAnother cannot tell here.
func OfAnother(int) bool { return false }

// Login cannot tell here.
func Login(int) uint32 { return 0 }

// Display cannot tell here.
func Display(int) time.Time { return time.Time{} }

func age(uint64) time.Duration { return 0 }
