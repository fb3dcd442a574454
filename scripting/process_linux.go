package scripting

import "syscall"

// errPipe is what a write to a worker that has ended gives.
const errPipe = syscall.EPIPE

// dieWithUs lets a worker end with the process that started it, whatever it is doing.
func dieWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// ourselves is this very program, also where its file was replaced since it was started.
func ourselves() (string, error) { return "/proc/self/exe", nil }
