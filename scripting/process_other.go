//go:build !linux

package scripting

import (
	"os"
	"syscall"
)

// errPipe is what a write to a worker that has ended gives.
const errPipe = syscall.EPIPE

// dieWithUs asks for nothing: the worker looks itself whether its parent is still there.
func dieWithUs() *syscall.SysProcAttr { return nil }

// ourselves is the file from which this program was started.
func ourselves() (string, error) { return os.Executable() }
