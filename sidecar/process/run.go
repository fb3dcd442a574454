package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Command is a program that a person named, with its arguments: no shell sees them.
type Command struct {
	Argv  []string
	Dir   string // its working directory
	Input string // what it reads
	Limit int    // bytes of its output; with more, it is ended
	Alone bool   // in a session of its own: it has no terminal
}

// ErrTooMuch says that a program had more to say than it may.
var ErrTooMuch = errors.New("too much output")

// killed is how long the output of a program is awaited once it was ended.
const killed = 2 * time.Second

// Run runs a program in a process group of its own and returns what it wrote to its standard
// output. When ctx ends, or it writes too much, the whole group is killed. The error of one that
// fails ends with the last line of its standard error.
func Run(ctx context.Context, c Command) (string, error) {
	if len(c.Argv) == 0 {
		return "", errors.New("run: no program is named")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	out := &limited{most: c.Limit, full: func() { cancel(ErrTooMuch) }}
	told := &limited{most: 4 << 10}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, strings.NewReader(c.Input), out, told
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !c.Alone, Setsid: c.Alone}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killed
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	lines := strings.Split(strings.TrimSpace(told.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return out.String(), fmt.Errorf("run %q: %w: %.200s", c.Argv[0], err, last)
	}
	return out.String(), fmt.Errorf("run %q: %w", c.Argv[0], err)
}

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	most int
	full func() // nil: the rest is dropped
}

func (l *limited) Write(p []byte) (int, error) {
	if room := l.most - l.Len(); len(p) > room {
		l.Buffer.Write(p[:max(room, 0)])
		if l.full != nil {
			l.full()
		}
		return len(p), nil
	}
	return l.Buffer.Write(p)
}

// Find is the absolute path of a program: of a name, the first in PATH.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil && !filepath.IsAbs(path) {
		err = fmt.Errorf("%q is not an absolute path", path)
	}
	return path, err
}

// Mark is what stands in the environment of a program that was started for a session, and of all that
// it starts, whoever their parents are: by it they are found again.
func Mark(session string) string { return markName + "=" + session }

// markName does not begin as the names do that a sidecar takes over from whoever starts it: one is not
// its session's.
const markName = "TMUX_INTERCOM_SESSION"

// Become replaces this process by a program, with its arguments, that works in a directory and has
// more in its environment. The directory is given by its absolute path without links: it is entered
// first and asked for its path then, so that nobody can put another one in its place in between. It
// returns only an error.
func Become(dir string, argv []string, more ...string) error {
	if len(argv) == 0 {
		return errors.New("become: no program is named")
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("become %q: %w", argv[0], err)
	}
	is, err := syscall.Getwd() // os.Getwd believes $PWD
	if err == nil && is != dir {
		err = fmt.Errorf("directory %q is %q by now", dir, is)
	}
	if err != nil {
		return fmt.Errorf("become %q: %w", argv[0], err)
	}
	more = append(more, "PWD="+dir)
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "OLDPWD" || slices.ContainsFunc(more, func(one string) bool { return strings.HasPrefix(one, name+"=") })
	})
	if err := syscall.Exec(argv[0], argv, append(env, more...)); err != nil {
		return fmt.Errorf("become %q: %w", argv[0], err)
	}
	return nil
}
