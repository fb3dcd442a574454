package labtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// An Agent is a real agent in a pane.
type Agent struct {
	Kind Kind
	Name string
	Pane string // %3
	PID  int    // of the program in the pane, the leader of its session
	Dir  string // contains all of the agent's files
	Home string
	Work string // its working directory
	URL  string // of its model

	tmp     string
	shared  bool   // other agents use its home too
	started string // when PID was started, in the form of process.started
	lab     *Lab
	server  *tmuxtest.Server
}

// run starts the program in a pane, or in a shell in a pane. It has only the agent's own environment and the variables
// that tmux sets for the pane.
func (a *Agent) run(program, environ []string, s start) {
	a.lab.t.Helper()
	var script strings.Builder
	fmt.Fprintf(&script, "#!/bin/sh\ncd %s || exit 1\nexec", quote(a.Work))
	for _, word := range a.lab.network.enter {
		script.WriteString(" " + quote(word))
	}
	script.WriteString(` env -i TERM="$TERM" TMUX="$TMUX" TMUX_PANE="$TMUX_PANE"`)
	environ = append([]string{
		"HOME=" + a.Home, "TMPDIR=" + a.tmp, "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "SHELL=/bin/sh", "USER=lab",
	}, environ...)
	for _, word := range append(environ, program...) {
		script.WriteString(" \\\n\t" + quote(word))
	}
	script.WriteString("\n")
	file := filepath.Join(a.Dir, "start")
	if err := os.WriteFile(file, []byte(script.String()), 0o700); err != nil {
		a.lab.t.Fatalf("start of %s: %v", a.Name, err)
	}
	if s.begin != nil {
		a.Pane, a.PID = s.begin(file)
	} else {
		a.open(file, s)
	}
	for _, p := range processes("") {
		if p.pid == a.PID {
			a.started = p.started
		}
	}
	a.lab.t.Cleanup(a.finish)
	if s.shell && s.begin == nil {
		a.WaitForText("$")
		a.server.Run("send-keys", "-t", a.Pane, "-l", quote(file), ";", "send-keys", "-t", a.Pane, "Enter")
	}
}

// open opens a window in the server's session "base" that runs the program, or a shell.
func (a *Agent) open(file string, s start) {
	a.lab.t.Helper()
	command := quote(file)
	if s.shell {
		command = "sh"
	}
	out := a.server.Run(
		"set-option", "-t", "base:", "default-size", fmt.Sprintf("%dx%d", s.width, s.height), ";",
		"new-window", "-d", "-P", "-F", "#{pane_id} #{pane_pid}", "-n", a.Name, "-t", "base:", "exec "+command,
	)
	if _, err := fmt.Sscanf(out, "%s %d", &a.Pane, &a.PID); err != nil {
		a.lab.t.Fatalf("pane of %s: %q: %v", a.Name, out, err)
	}
}

// starting limits how many agents start at once: starting is most of their load on a machine.
var starting = make(chan struct{}, 2)

// startsWithin is how long at most an agent that starts makes others wait: some begin with a dialog.
const startsWithin = 10 * time.Second

// awaitTurn waits until few others are starting. Call the returned function when the agent has been started; it lets
// others start once the agent shows its composer or a dialog.
func (a *Agent) awaitTurn() (started func()) {
	starting <- struct{}{}
	release := sync.OnceFunc(func() { <-starting })
	ctx, cancel := context.WithTimeout(context.Background(), startsWithin)
	var watch sync.WaitGroup
	a.lab.t.Cleanup(func() { cancel(); watch.Wait(); release() })
	return func() {
		watch.Go(func() {
			defer release()
			for ctx.Err() == nil {
				if s, err := a.capture(); err == nil && (a.kind().ready(s) || a.kind().asks(s)) {
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(300 * time.Millisecond):
				}
			}
		})
	}
}

// quote quotes a word for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// finish ends the agent at the end of its test. If the test failed, it first logs the screen and the exchanges.
func (a *Agent) finish() {
	if a.lab.t.Failed() {
		if s, err := a.capture(); err == nil {
			a.lab.t.Logf("%s at the end:\n%s", a.Name, s)
		}
		for _, x := range a.lab.Model.Exchanges(a.Name) {
			a.lab.t.Logf("%s, model %d: side %q user %q results %d answer %q call %v status %d held %t cut %t over %t",
				a.Name, x.N, x.Side, x.User, len(x.Results), clip(x.Answer, 200), x.Call != nil, x.Status, x.Held, x.Cut, x.Over)
		}
	}
	a.end(syscall.SIGKILL, tmuxtest.Patience) // how it ends does not matter any more
}

// Stop ends the agent and everything that it has started, by pid: some agents outlive their terminal, and some leave
// servers running.
func (a *Agent) Stop() {
	a.lab.t.Helper()
	if !a.end(syscall.SIGTERM, time.Second) {
		a.end(syscall.SIGKILL, tmuxtest.Patience)
	}
}

// end sends a signal to all processes of the agent, and reports whether all of them ended in time. A process that
// survives SIGKILL is an error of the test.
func (a *Agent) end(signal syscall.Signal, patience time.Duration) bool {
	a.lab.t.Helper()
	for _, pid := range a.Processes() {
		_ = syscall.Kill(pid, signal)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left := a.Processes()
		if len(left) == 0 {
			return true
		}
		if signal == syscall.SIGKILL { // including those started in the meantime
			for _, pid := range left {
				_ = syscall.Kill(pid, signal)
			}
		}
	}
	if signal == syscall.SIGKILL {
		a.lab.t.Errorf("%s: its processes %v do not end", a.Name, a.Processes())
	}
	return false
}

// Paste pastes a text into the pane, as tmux does for a person, and returns when tmux has
// done so. Nothing is submitted.
func (a *Agent) Paste(text string) {
	a.lab.t.Helper()
	file := filepath.Join(a.Dir, "paste")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		a.lab.t.Fatalf("paste for %s: %v", a.Name, err)
	}
	a.server.Run("load-buffer", "-b", "lab", file, ";", "paste-buffer", "-d", "-p", "-r", "-b", "lab", "-t", a.Pane)
}

// Keys presses keys, by their tmux names: "Enter", "Escape", "C-c".
func (a *Agent) Keys(keys ...string) {
	a.lab.t.Helper()
	a.server.Run(append([]string{"send-keys", "-t", a.Pane}, keys...)...)
}

// Enter waits until the screen is still, and presses Enter. A client may take an Enter right after a paste for a part
// of it.
func (a *Agent) Enter() {
	a.lab.t.Helper()
	a.WaitForStill(Stillness)
	a.Keys("Enter")
}

// Prompt pastes a text, presses Enter, and waits until the model has received it. It does not wait for a composer:
// whatever the agent shows gets the text.
func (a *Agent) Prompt(text string) {
	a.lab.t.Helper()
	before, empty := len(a.Received()), strings.Join(a.lab.Capture(a).Plain, "\n")
	a.Paste(text)
	a.WaitFor("what was pasted", func(s Screen) bool { return strings.Join(s.Plain, "\n") != empty })
	if a.kind().joins {
		a.WaitForStill(3 * Stillness)
	}
	a.Enter()
	again := time.Now().Add(Patience / 5)
	a.WaitFor("its model to hear the prompt", func(Screen) bool {
		if a.kind().joins && time.Now().After(again) && len(a.Received()) == before {
			again = time.Now().Add(Patience)
			a.Keys("Enter")
		}
		return len(a.Received()) > before
	})
}

// Received returns the texts that the agent's model has received from its user; see Model.Received.
func (a *Agent) Received() []string { return a.lab.Model.Received(a.Name) }

// Answers returns what its model has said; see Model.Answers.
func (a *Agent) Answers() []string { return a.lab.Model.Answers(a.Name) }

// Exchanges returns the calls of its model; see Model.Exchanges.
func (a *Agent) Exchanges() []Exchange { return a.lab.Model.Exchanges(a.Name) }

// Conversation returns those exchanges that belong to the conversation with the user.
func (a *Agent) Conversation() []Exchange {
	return slices.DeleteFunc(a.Exchanges(), func(x Exchange) bool { return x.Side != "" })
}

// Patience is how long an agent may take to start, to answer and to end: some need ten
// seconds to start, and far more on a busy machine.
const Patience = 3 * time.Minute

// Stillness is how long a screen must be still before a key that decides something: some clients take an Enter right
// after a paste for a part of it, and some dialogs ignore keys at first.
const Stillness = 200 * time.Millisecond

// WaitFor waits until the agent's screen satisfies cond; what names the condition. It fails the test when Patience runs
// out or the agent ends.
func (a *Agent) WaitFor(what string, cond func(Screen) bool) {
	a.lab.t.Helper()
	a.waitFor(what, 150*time.Millisecond, cond)
}

// waitFor is WaitFor with a maximum time between two looks. Each look costs as much as a short process.
func (a *Agent) waitFor(what string, apart time.Duration, cond func(Screen) bool) {
	a.lab.t.Helper()
	pause := 20 * time.Millisecond
	for deadline := time.Now().Add(Patience); ; time.Sleep(pause) {
		pause = min(pause*3/2, apart)
		s, err := a.capture()
		switch {
		case err == nil && cond(s):
			return
		case err != nil && len(a.Processes()) == 0:
			a.lab.t.Fatalf("%s: waited for %s, and it has ended: %v", a.Name, what, err)
		case time.Now().After(deadline):
			a.lab.t.Fatalf("%s: waited %v for %s", a.Name, Patience, what)
		}
	}
}

// WaitForText waits until one row of the screen contains a text.
func (a *Agent) WaitForText(text string) {
	a.lab.t.Helper()
	a.WaitFor(strconv.Quote(text), func(s Screen) bool { return s.Contains(text) })
}

// WaitForAnswer waits until one row of the screen contains a text and the agent waits for its user again.
func (a *Agent) WaitForAnswer(text string) {
	a.lab.t.Helper()
	a.WaitFor(strconv.Quote(text)+" and its composer", func(s Screen) bool { return s.Contains(text) && a.kind().ready(s) })
}

// Idle reports whether the agent shows an empty composer and is not working.
func (a *Agent) Idle() bool {
	a.lab.t.Helper()
	return a.kind().ready(a.lab.Capture(a))
}

// WaitForIdle waits until the agent waits for its user.
func (a *Agent) WaitForIdle() {
	a.lab.t.Helper()
	a.WaitFor("its composer", a.kind().ready)
}

// WaitForDialog waits until the agent asks its user for a decision.
func (a *Agent) WaitForDialog() {
	a.lab.t.Helper()
	a.WaitFor("a dialog", a.kind().asks)
}

// WaitForStill waits until nothing on the screen has changed for that long. The title may change: that of Codex blinks
// while it asks something.
func (a *Agent) WaitForStill(still time.Duration) {
	a.lab.t.Helper()
	var last string
	var since time.Time
	a.waitFor("a screen that keeps still", 50*time.Millisecond, func(s Screen) bool {
		now := time.Now()
		if all := fmt.Sprint(s.Rows, s.CursorX, s.CursorY, s.CursorVisible); all != last || since.IsZero() {
			last, since = all, now
		}
		return now.Sub(since) >= still
	})
}
