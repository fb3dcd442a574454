package scripting

import "syscall"

// errPipe is the error of a write to a worker that has ended.
const errPipe = syscall.EPIPE

// apart keeps a Ctrl-C in our terminal from reaching a worker, and has the kernel kill the worker when the thread that
// started it ends, whatever the worker is doing.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ourselves returns a path to this very program, which stays valid when its file is replaced after the start.
func ourselves() (string, error) { return "/proc/self/exe", nil }
