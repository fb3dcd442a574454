package service

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

const (
	// commandWithin is how long a person's notice command may run, and commandMost the most bytes that it may
	// print; nobody reads its output.
	commandWithin = 10 * time.Second
	commandMost   = 64 << 10
	// maxCommands is how many notice commands run at once. A notice beyond them is shown without running one.
	maxCommands = 4
)

// tellWaits gives a person one notice of each new wait at a pane, unless they look at that pane. The relay
// gives the notices of approvals and pauses.
func (s *Face) tellWaits(ctx context.Context) {
	for _, w := range s.Waits.untold() {
		// The pane itself reports an unrecognised screen once it is sure, with the row (pane/vouch.go).
		if w.Pane == "" || w.Words == unknownScreen || s.looksAt(ctx, w.Pane) {
			continue
		}
		text := w.Name + " (" + w.Pane + ") waits for you: " + w.Words
		if w.Text != "" {
			text += ": " + w.Text
		}
		if w.Kind == message.WaitHeld {
			text += "; " + w.Next
		}
		if err := s.Relay.Notify(ctx, w.Peer, text); err != nil && ctx.Err() == nil {
			s.Log.Warn("tell of a wait", "pane", w.Pane, "err", err)
		}
	}
}

// looksAt reports whether a terminal shows the pane as its active one.
func (s *Face) looksAt(ctx context.Context, pane string) bool {
	clients, err := s.Tmux.Clients(ctx)
	if err != nil {
		s.Log.Warn("list clients", "err", err)
		return false
	}
	for _, c := range clients {
		if !c.Control && !c.Suspended && c.Pane == pane {
			return true
		}
	}
	return false
}

// alert announces a notice in the ways that init.lua names besides tmux's status line.
func (s *Face) alert(ctx context.Context, clients []tmux.Attached, text string) {
	if s.Policies.Set == nil {
		return
	}
	how := s.Policies.Set.Settings().Notices
	sequence, shown := "", printable(text)
	if how.Bell {
		sequence += "\a"
	}
	if how.OSC9 {
		sequence += "\x1b]9;" + shown + "\x1b\\"
	}
	if how.OSC777 {
		sequence += "\x1b]777;notify;intercom;" + shown + "\x1b\\"
	}
	for _, c := range clients {
		if sequence == "" {
			break
		}
		if err := tmux.Alert(c, sequence); err != nil {
			s.Log.Warn("alert", "client", c.Name, "err", err)
		}
	}
	if len(how.Command) > 0 {
		s.command(ctx, how.Command, shown)
	}
}

// command runs a person's own command for a notice and does not wait for it. If the command fails, a notice
// says so, once until it has succeeded again; the command itself can hardly announce that notice.
func (s *Face) command(ctx context.Context, argv []string, text string) {
	select {
	case s.running <- struct{}{}:
	default:
		s.Log.Warn("the command for notices is not run: too many of them run", "notice", text)
		return
	}
	home, _ := os.UserHomeDir()
	go func() {
		defer func() { <-s.running }()
		bounded, cancel := context.WithTimeout(ctx, commandWithin)
		defer cancel()
		if _, err := process.Run(bounded, process.Command{Argv: append(argv[:len(argv):len(argv)], text), Dir: home, Limit: commandMost}); err != nil {
			s.Log.Warn("the command for notices", "err", err)
			if ctx.Err() == nil && !s.unheard.Swap(true) {
				_ = s.Relay.Notify(ctx, "", fmt.Sprintf("the command for notices (notices.command in init.lua): %v", err))
			}
			return
		}
		s.unheard.Store(false)
	}()
}

// printable returns a text without the characters that act on a terminal or change how it reads.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if plain.Acts(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// untold returns the waits that a person is to be told of now and has not been told of.
func (s *Waits) untold() []message.Wait {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.board.Tell(time.Now())
}
