package tmux

import "syscall"

// bindToUs makes a process end with ours, even if ours is killed.
func bindToUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
