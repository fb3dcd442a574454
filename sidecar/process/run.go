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

// Command is a program that a person named, with its arguments. No shell interprets them.
type Command struct {
	Argv  []string
	Dir   string // its working directory
	Input string // its standard input
	Limit int    // maximum bytes of output; a program that writes more is ended
	Alone bool   // in a session of its own, without a terminal
}

// ErrTooMuch says that a program wrote more output than it may.
var ErrTooMuch = errors.New("too much output")

// killed is how long to wait for the output of a program after it was ended.
const killed = 2 * time.Second

// Run runs a program in a process group of its own and returns its standard output. When ctx ends,
// or the program writes too much, Run kills the whole group. If the program fails, the error ends
// with the last line of its standard error.
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
	// While one process of the group lives, the system gives its number to no other. If none does,
	// another group could have it only after all other numbers were given out.
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // processes that it left behind
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

// limited keeps the beginning of the data written to it.
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

// Find returns the absolute path of a program; a bare name means the first such program in PATH.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil && !filepath.IsAbs(path) {
		err = fmt.Errorf("%q is not an absolute path", path)
	}
	return path, err
}

// Mark returns a variable for the environment of a program that is started for a session. All
// descendants of the program inherit it, and are found by it, whoever their parents are.
func Mark(session string) string { return markName + "=" + session }

// markName does not begin like the names of the variables that a sidecar takes over from the
// program that starts it, because a sidecar does not belong to the session of that program.
const markName = "TMUX_INTERCOM_SESSION"

// Become replaces this process by a program, with its arguments, in a working directory, with more
// added to its environment. dir is an absolute path without links. Become enters the directory
// first and then asks for its path, so that nobody can put another directory in its place in
// between. It returns only an error.
func Become(dir string, argv []string, more ...string) error {
	if len(argv) == 0 {
		return errors.New("become: no program is named")
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("become %q: %w", argv[0], err)
	}
	is, err := syscall.Getwd() // os.Getwd trusts $PWD
	if err == nil && is != dir {
		err = fmt.Errorf("directory %q now leads to %q", dir, is)
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
