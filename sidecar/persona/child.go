package persona

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// child is a program that the persona has started, on its terminal or beside it.
type child struct {
	process *os.Process
	done    chan struct{}
}

// start runs command with these streams in the persona's own process group. The loop calls ended with its exit code, or
// -1 if a signal ended it. A command of plain words is started directly, anything else by sh.
func (a *agent) start(command string, in, out *os.File, ended func(code int)) (*child, error) {
	argv := strings.Fields(command)
	if len(argv) == 0 {
		return nil, fmt.Errorf("nothing to run in %q", command)
	}
	if strings.ContainsAny(command, "|&;<>()$`\\\"'*?[]#~=%!{}\n") {
		argv = []string{"/bin/sh", "-c", command}
	}
	path, err := find(argv[0])
	if err != nil {
		return nil, err
	}
	process, err := os.StartProcess(path, argv, &os.ProcAttr{Files: []*os.File{in, out, out}})
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", command, err)
	}
	a.log.add(Record{Event: EventChild, N: process.Pid, Text: command})
	c := &child{process: process, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		code := -1
		if state, err := process.Wait(); err == nil {
			code = state.ExitCode()
		}
		a.loop.post(func() {
			a.log.add(Record{Event: EventChildEnd, N: code, Text: command})
			ended(code)
		})
	}()
	return c, nil
}

// end ends a child that still runs: with SIGHUP, and after half a second with SIGKILL.
func (c *child) end() {
	if c == nil {
		return
	}
	c.process.Signal(unix.SIGHUP)
	select {
	case <-c.done:
	case <-time.After(500 * time.Millisecond):
		c.process.Kill()
		<-c.done
	}
}

// find looks name up in $PATH, like exec.LookPath. This package does not use os/exec.
func find(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %q in $PATH", name)
}
