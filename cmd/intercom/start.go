package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

const (
	startPause   = 10 * time.Millisecond
	maxComplaint = 64 << 10 // bytes of old complaints that are kept
	maxTrace     = 16 << 20 // bytes of complaints in which a crash is looked for
	maxGist      = 4 << 10  // bytes that are kept if there are more
)

// start starts the sidecar at p, and returns once it answers. A sidecar that somebody else starts at the same time is
// as good: only one of them gets the lock, and the other ends.
func (a *app) start(ctx context.Context, p api.Paths) error {
	if err := serverThere(p); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		child, err := a.spawn(p)
		if err != nil {
			return notStarted(err)
		}
		again, err := awaitAnswer(ctx, p, child, cmp.Or(a.OthersTime, othersTimeout))
		told := child.told.read()
		child.told.file.Close()
		switch {
		case err == nil:
			return nil
		case again:
			// Another sidecar had the lock, and has ended since.
		case told != nil:
			return told
		case silent(err):
			return err // a sidecar is there
		case errors.Is(err, context.Canceled):
			return api.Errorf(api.CodeFailed, "interrupted while the sidecar was being started").WithHint("intercom status says whether it runs by now")
		default:
			return notStarted(err)
		}
	}
}

// silent reports whether a sidecar is there and does not answer.
func silent(err error) bool {
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Code == api.CodeTimeout
}

// serverThere refuses a place where no tmux server can be, before anything is created for it.
func serverThere(p api.Paths) error {
	if p.Server == "" {
		return nil
	}
	info, err := os.Stat(p.Server)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noServer(p)
	case err == nil && info.Mode()&fs.ModeSocket == 0:
		return api.Errorf(api.CodeNoSidecar, "%q is not the socket of a tmux server", p.Server).
			WithHint("in a pane of the server you mean, tmux display-message -p '#{socket_path}' prints it")
	}
	return nil
}

// noServer returns the error of a command that needs a tmux server, if none runs.
func noServer(p api.Paths) *api.Error {
	hint := "start tmux first, or name another server's socket: --server SOCKET"
	if daemon.JournalHeld(p) {
		hint = servedStill
	} else if _, err := os.Stat(p.State); err == nil {
		hint = fmt.Sprintf("its history is kept in %s, and available when tmux runs there again; --server SOCKET names another server", p.State)
	}
	return api.Errorf(api.CodeNoSidecar, noServerText+"%q", p.Server).WithHint("%s", hint)
}

// servedStill is the hint if a sidecar still serves that server.
const servedStill = "a sidecar serves it still: if a sandbox hides its socket here, run this outside, else try again"

// noServerText is the beginning of that error, also when a sidecar complains of it.
const noServerText = "no tmux server runs at "

// awaitAnswer waits until a sidecar at p answers, and child is that sidecar or has ended: a child that is only slow
// could otherwise take the place of a sidecar that somebody has just ended. A sidecar of somebody else has the time
// others to answer. again says that it makes sense to start another child.
func awaitAnswer(ctx context.Context, p api.Paths, child *child, others time.Duration) (again bool, err error) {
	c := &api.Client{Socket: p.Socket}
	ended := child.ended
	var late <-chan time.Time // fires if somebody else's sidecar is late
	for {
		status, err := api.Call(ctx, c, api.ShowStatus, api.None{})
		if err == nil && (ended == nil || status.PID == child.pid) {
			return false, nil
		}
		unanswered := func(within time.Duration) error {
			if pid := api.Holder(p.Lock); pid > 0 && pid != child.pid {
				return api.Silent(p.Lock, err)
			}
			return fmt.Errorf("it did not answer within %v; its log may say why: %q", within, p.Log)
		}
		select {
		case <-ctx.Done():
			switch {
			case err == nil:
				return false, nil
			case errors.Is(ctx.Err(), context.Canceled):
				return false, ctx.Err()
			}
			return false, unanswered(startTimeout)
		case <-late:
			if err == nil {
				return false, nil
			}
			return false, unanswered(others)
		case end := <-ended:
			if end != nil && err != nil {
				return false, fmt.Errorf("it ended at once: %w", end)
			}
			// The child found the lock taken. The sidecar that has it answers soon, or ends.
			ended, late = nil, time.After(others)
		case <-time.After(startPause):
			if ended == nil && free(p.Lock) {
				return true, err
			}
		}
	}
}

// free reports whether nobody holds the lock now.
func free(lock string) bool {
	look, cancel := context.WithCancel(context.Background())
	cancel() // only checks, and does not wait
	return api.WaitReleased(look, lock) == nil
}

// child is a sidecar that we have started.
type child struct {
	pid   int
	ended <-chan error // receives once how it ended
	told  complaints
}

// spawn starts our own program as the sidecar, on its own: in a session and a process group of its own, without a
// terminal, in no directory that it would keep busy, and with nothing of ours open but the file that gets its
// complaints.
func (a *app) spawn(p api.Paths) (*child, error) {
	if err := api.Private(p.State); err != nil {
		return nil, err
	}
	if err := noteServer(p); err != nil {
		return nil, err
	}
	told, err := openComplaints(filepath.Join(p.State, complaintsFile))
	if err != nil {
		return nil, err
	}
	cmd, err := a.detached("sidecar", p, told.file)
	if err != nil {
		told.file.Close()
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return &child{cmd.Process.Pid, ended, told}, nil
}

// detached starts our own program with a command that serves the tmux server of p from then on, whatever becomes of us.
// Its standard input and output are /dev/null.
func (a *app) detached(word string, p api.Paths, stderr *os.File) (*exec.Cmd, error) {
	exe, name := a.Executable, filepath.Base(a.Executable)
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, err
		}
		name = "intercom"
	}
	inheritNothing()
	cmd := &exec.Cmd{
		Path:        exe,
		Args:        []string{name, word, "--server=" + p.Server},
		Env:         a.inherited(),
		Dir:         "/",
		Stderr:      stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	return cmd, cmd.Start()
}

// inherited returns what a sidecar gets of the environment of whoever happens to start it. That may be an agent with
// keys in its environment, or a pane that will be gone tomorrow.
func (a *app) inherited() []string {
	names := []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TMUX_TMPDIR", "GOCOVERDIR"}
	prefixes := []string{"LC_", "XDG_", "INTERCOM_"}
	kept := []string{}
	if a.Environ == nil {
		return kept
	}
	for _, pair := range a.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		keep := slices.Contains(names, name) || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if keep && name != "INTERCOM_SERVER" {
			kept = append(kept, pair)
		}
	}
	return kept
}

// inheritNothing marks every file that we were given ourselves, beyond the standard streams, to be closed in the
// programs that we start: a shell that holds a lock or a pipe open on descriptor 9 must not wait for the end of the
// sidecar.
func inheritNothing() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

const (
	complaintsFile = "stderr.log"
	serverFile     = "server"
)

// noteServer writes beside the journal which server it belongs to: the name of the directory does not tell.
func noteServer(p api.Paths) error {
	path := filepath.Join(p.State, serverFile)
	if have, err := own.Read(path, maxComplaint); err == nil && string(have) == p.Server+"\n" {
		return nil
	}
	// Write the file whole: several sidecars may be starting.
	return atomicfile.Write(path, []byte(p.Server+"\n"), 0o600)
}

// complaints is the file that the sidecars of one server complain into before they have a log, and when they crash.
type complaints struct {
	file  *os.File
	since int64 // offset at which the complaints of this start begin
}

func openComplaints(path string) (complaints, error) {
	f, err := own.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return complaints{}, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return complaints{}, err
	}
	c := complaints{f, info.Size()}
	if c.since > maxComplaint {
		kept := gist(f, c.since)
		if f.Truncate(0) == nil {
			n, _ := f.Write(kept)
			c.since = int64(n)
		}
	}
	return c, nil
}

// gist returns what to keep of complaints that have become too many: the beginning of the last crash, since the traces
// of all goroutines follow it, or else the end.
func gist(f io.ReaderAt, size int64) []byte {
	from := max(0, size-maxTrace)
	text, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return nil
	}
	at := lastCrash(text)
	if at < 0 {
		at = max(0, len(text)-maxGist)
	}
	return text[at:min(len(text), at+maxGist)]
}

// lastCrash returns the place where a text last says, as the Go runtime does, that the runtime ended the program; -1 if
// nowhere. A line with a signal, followed by the PC, reports a fault of the runtime itself, which happens if it gets no
// memory.
func lastCrash(text []byte) int {
	all := regexp.MustCompile(`(?m)^(?:fatal error: |panic: |SIG[A-Z0-9]+: .*\nPC=)`).FindAllIndex(text, -1)
	if len(all) == 0 {
		return -1
	}
	return all[len(all)-1][0]
}

// read returns the error that a sidecar told before it ended; nil if it told none.
func (c complaints) read() error {
	// Not at the file's own position: the sidecar's writes move it.
	text, err := io.ReadAll(io.NewSectionReader(c.file, c.since, maxComplaint))
	if err != nil {
		return nil
	}
	var last, hint string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if h, ok := strings.CutPrefix(line, "intercom: hint: "); ok {
			hint = h
		} else if line != "" {
			last = strings.TrimPrefix(line, "intercom: error: ")
		}
	}
	if last == "" {
		return nil
	}
	if !strings.HasPrefix(last, noServerText) { // that text says it all
		last = "the sidecar could not be started: " + last
	}
	told := api.Errorf(api.CodeNoSidecar, "%s", last)
	if hint != "" {
		return told.WithHint("%s", hint)
	}
	return told
}

// notStarted gives an error of the start the exit code of a missing sidecar.
func notStarted(err error) error {
	told := api.Errorf(api.CodeNoSidecar, "the sidecar could not be started: %w", err)
	if inner, ok := errors.AsType[*api.Error](err); ok && inner.Hint != "" {
		return told.WithHint("%s", inner.Hint)
	}
	return told
}
