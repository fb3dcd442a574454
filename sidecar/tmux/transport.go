package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
)

// transport carries commands to the server. run executes cmds in order with nothing in between, and
// returns the output of each. If the server refuses a command, run returns the replies to the
// commands before it and a *commandError; the commands after it did not run.
type transport interface {
	run(ctx context.Context, cmds []command.Command) ([]string, error)
}

// errConnection says that a transport could not carry commands. It is not known whether they ran.
var errConnection = errors.New("connection to tmux lost")

// short is the transport of short processes: one tmux process per batch. It has no state and leaves
// none in the server.
type short struct {
	bin, socket string
	lasting     bool   // its processes may last, and must not outlive ours; see bindToUs
	pane        string // the pane that its processes claim to be in; "" for none
}

// run implements transport.
func (s short) run(ctx context.Context, cmds []command.Command) ([]string, error) {
	replies, err := s.try(ctx, cmds)
	if errors.Is(err, ErrNoServer) {
		if other := s.there(ctx); other != nil {
			return nil, other
		}
	}
	return replies, err
}

// try is run, except that it believes the tmux program if that says that there is no server.
func (s short) try(ctx context.Context, cmds []command.Command) ([]string, error) {
	return inFrames(ctx, cmds, func(framed []command.Command) ([]byte, string, error) {
		return s.start(ctx, []string{"-N", "-S", s.socket}, framed, nil)
	})
}

// inFrames runs cmds as one command line between marks and splits the output into replies.
func inFrames(ctx context.Context, cmds []command.Command, start func([]command.Command) ([]byte, string, error)) ([]string, error) {
	nonce := newNonce()
	out, stderr, err := start(framed(nonce, cmds))
	replies, complete := unframe(out, nonce, len(cmds))
	if complete {
		return replies, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("tmux %s: %w", cmds[0].Name(), context.Cause(ctx))
	case stderr != "" && hasStatus(err):
		return replies, &commandError{index: len(replies), text: strings.TrimSpace(stderr)}
	case err == nil: // no command was refused, and yet replies are missing
		return nil, fmt.Errorf("tmux %s: %w", cmds[0].Name(), errNoAnswer)
	default:
		return nil, fmt.Errorf("tmux %s: %w", cmds[0].Name(), err)
	}
}

// hasStatus reports whether a command line ran to its end with a status other than 0.
func hasStatus(err error) bool {
	var ended *native.ExitError
	var exit *exec.ExitError
	return errors.As(err, &ended) || errors.As(err, &exit) && exit.Exited()
}

// start runs one process to its end, or kills it when ctx ends. It always asks for UTF-8 (-u):
// otherwise tmux replaces characters that it thinks the terminal cannot show. The process has a
// process group of its own, so that no Ctrl-C in our terminal ends it between two steps. It knows
// no pane or server but those that it is given.
func (s short) start(ctx context.Context, options []string, cmds []command.Command, stdin []byte) (stdout []byte, stderr string, err error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, s.bin, append(append([]string{"-u"}, options...), command.Argv(cmds)...)...)
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.Env = environment()
	if s.pane != "" {
		cmd.Env = append(cmd.Env, "TMUX_PANE="+s.pane)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.lasting {
		// The system ends the process with the thread that started it, so keep this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		bindToUs(cmd.SysProcAttr)
	}
	// The longest time to read the output after the process has ended. It takes that long only on a
	// busy machine, but a shorter limit would cut the output silently.
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error {
		// A server that does not read holds the other ends of our pipes in its queue, and they stay
		// open.
		cmd.WaitDelay = givenUp
		return cmd.Process.Kill()
	}
	err = cmd.Run()
	return out.Bytes(), complaint.String(), err
}

// givenUp is the longest time to read the output of a process after it was given up.
const givenUp = 100 * time.Millisecond

// environment returns our environment without the variables that would tie a tmux process to the
// pane in which we were started.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); name != "TMUX" && name != "TMUX_PANE" {
			env = append(env, kv)
		}
	}
	return env
}
