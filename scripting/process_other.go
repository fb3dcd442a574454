//go:build !linux

package scripting

import (
	"os"
	"syscall"
)

// errPipe is the error of a write to a worker that has ended.
const errPipe = syscall.EPIPE

// apart keeps a Ctrl-C in our terminal from reaching a worker. The worker itself checks whether its parent still
// exists.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ourselves returns the path of the file from which this program was started.
func ourselves() (string, error) { return os.Executable() }
