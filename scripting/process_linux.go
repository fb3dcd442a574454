package scripting

import "syscall"

// errPipe is what a write to a worker that has ended gives.
const errPipe = syscall.EPIPE

// apart keeps a Ctrl-C in our terminal from a worker, and ends it with the thread that started
// it, whatever it is doing.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// ourselves is this very program, also where its file was replaced since it was started.
func ourselves() (string, error) { return "/proc/self/exe", nil }
