package soaktest_test

import "syscall"

func mount(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512m,mode=700") }

func unmount(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }
