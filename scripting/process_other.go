//go:build !linux

package scripting

import (
	"os"
	"syscall"
)

// errPipe is what a write to a worker that has ended gives.
const errPipe = syscall.EPIPE

// apart keeps a Ctrl-C in our terminal from a worker. Whether its parent is still there it
// looks itself.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ourselves is the file from which this program was started.
func ourselves() (string, error) { return os.Executable() }
