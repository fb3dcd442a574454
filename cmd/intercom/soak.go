//go:build soak

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/clocktest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// In a program that is built for the soak, the sidecar reads from a file by how many seconds its clock is wrong, and
// each process writes its number of goroutines into a file of its own. Both are in the directory that the environment
// names.
func init() {
	dir := os.Getenv("INTERCOM_SOAK_DIR")
	if dir == "" || len(os.Args) < 2 || os.Args[1] != "sidecar" {
		return
	}
	var wrong atomic.Int64
	sidecarClock = func() time.Time { return clocktest.Ahead(time.Now(), wrong.Load()) }
	read := func() {
		text, _ := own.Read(filepath.Join(dir, "clock"), 64)
		var seconds int64
		_, _ = fmt.Sscan(string(text), &seconds)
		wrong.Store(seconds)
	}
	read()
	go func() {
		for ; ; time.Sleep(500 * time.Millisecond) {
			read()
			_ = atomicfile.Write(filepath.Join(dir, fmt.Sprintf("goroutines-%d", os.Getpid())), fmt.Appendln(nil, runtime.NumGoroutine()), 0o600)
		}
	}()
}
