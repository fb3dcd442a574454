package tmux

import "syscall"

// bindToUs has a process end with ours, even if that is killed.
func bindToUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
