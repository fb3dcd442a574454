// Package naivetest implements the reference for the benchmarks: the obvious way to relay words between panes. Every
// second it captures each pane with a new process, treats new lines as words of that pane, types them into the other
// panes, waits a second, and presses Enter. It asks nobody, checks nothing, and writes nothing down; but it delivers.
// Nothing that is linked into intercom imports it.
//
// One goroutine, which runs Run, owns what was seen of every pane. Each typed text has a goroutine of its own, so that
// the second before its Enter delays no other pane. A pane is not captured while a text is typed into it.
//
// Where the design leaves a choice, this package is generous: it joins wrapped lines, and before Enter it marks as old
// what the recipient shows of the typed text, so that an immediate answer is not lost.
package naivetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Pane is one participant.
type Pane struct {
	ID   string // %7
	Name string
}

// Relay relays words between the panes of one tmux server.
type Relay struct {
	Bin    string // required: the tmux program
	Socket string // required: the socket of the server
	Panes  []Pane // numbered from 1 in this order

	Every  time.Duration // between two captures of a pane; 0 is a second
	Settle time.Duration // between text and Enter; 0 is a second

	WatchOnly bool   // only captures and compares; types nothing
	Watching  func() // called once the first state of all panes is known; may be nil
}

// watched is the state of one pane.
type watched struct {
	Pane
	old    map[string]bool // lines that count as old
	typing int             // texts being typed into it
	turn   sync.Mutex      // one text at a time
}

// typed reports that a text is in a pane, with what the pane showed before Enter.
type typed struct {
	to   *watched
	show []string
	err  error
}

// Run relays words until ctx ends, and then returns nil. It gives up at the first tmux command that fails.
func (r *Relay) Run(ctx context.Context) error {
	panes := make([]*watched, 0, len(r.Panes))
	for _, p := range r.Panes {
		w := &watched{Pane: p, old: map[string]bool{}}
		lines, err := r.capture(ctx, p.ID)
		if err != nil {
			return r.ended(ctx, err)
		}
		w.fresh(lines)
		panes = append(panes, w)
	}
	if r.Watching != nil {
		r.Watching()
	}
	var typing sync.WaitGroup
	defer typing.Wait()
	ctx, cancel := context.WithCancel(ctx) // a failure also ends the typing
	defer cancel()
	done := make(chan typed)
	tick := time.NewTicker(orSecond(r.Every))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-done:
			if t.err != nil {
				return r.ended(ctx, t.err)
			}
			t.to.fresh(t.show)
			t.to.typing--
		case <-tick.C:
			for i, from := range panes {
				if from.typing > 0 {
					continue
				}
				lines, err := r.capture(ctx, from.ID)
				if err != nil {
					return r.ended(ctx, err)
				}
				said := from.fresh(lines)
				if len(said) == 0 || r.WatchOnly {
					continue
				}
				text := fmt.Sprintf("[%s] (%d): %s", from.Name, i+1, strings.Join(said, " "))
				for _, to := range panes {
					if to == from {
						continue
					}
					to.typing++
					typing.Go(func() {
						show, err := r.typeInto(ctx, to, text)
						select {
						case done <- typed{to, show, err}:
						case <-ctx.Done():
						}
					})
				}
			}
		}
	}
}

// ended returns the error of Run: nil if it was asked to end.
func (r *Relay) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("naive relay: %w", err)
}

// fresh returns the new lines, and marks all lines as old.
func (w *watched) fresh(lines []string) []string {
	var said []string
	for _, line := range lines {
		if !w.old[line] && line != "" {
			said = append(said, line)
		}
	}
	for _, line := range lines {
		w.old[line] = true
	}
	return said
}

// capture returns what a pane shows.
func (r *Relay) capture(ctx context.Context, pane string) ([]string, error) {
	out, err := r.tmux(ctx, "capture-pane", "-p", "-J", "-t", pane)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines, nil
}

// typeInto types a text and, after a while, Enter. It returns what the pane showed in between.
func (r *Relay) typeInto(ctx context.Context, to *watched, text string) ([]string, error) {
	to.turn.Lock()
	defer to.turn.Unlock()
	if _, err := r.tmux(ctx, "send-keys", "-t", to.ID, "-l", "--", text); err != nil {
		return nil, err
	}
	select {
	case <-time.After(orSecond(r.Settle)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	show, err := r.capture(ctx, to.ID)
	if err != nil {
		return nil, err
	}
	_, err = r.tmux(ctx, "send-keys", "-t", to.ID, "Enter")
	return show, err
}

// tmux runs one tmux process.
func (r *Relay) tmux(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, r.Bin, append([]string{"-u", "-N", "-S", r.Socket}, args...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "TMUX=") || strings.HasPrefix(kv, "TMUX_PANE=")
	})
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w", args[0], err)
	}
	return string(out), nil
}

func orSecond(d time.Duration) time.Duration {
	if d == 0 {
		return time.Second
	}
	return d
}

// Main runs the relay as a process of its own, so that its cost can be measured from outside. Its arguments are the
// tmux program, the socket, "relay" or "watch", and NAME=ID for each pane. It prints one line when it begins to watch,
// and ends cleanly on SIGTERM.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if len(args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: naive TMUX SOCKET relay|watch NAME=ID…")
		return 2
	}
	r := Relay{
		Bin: args[0], Socket: args[1], WatchOnly: args[2] == "watch",
		Watching: func() { fmt.Println("watching") },
	}
	for _, pair := range args[3:] {
		name, id, _ := strings.Cut(pair, "=")
		r.Panes = append(r.Panes, Pane{ID: id, Name: name})
	}
	if err := r.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
