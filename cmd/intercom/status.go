package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// statusReply is what `status --json` prints.
type statusReply struct {
	Running bool   `json:"running"`
	Server  string `json:"server,omitempty"`
	Socket  string `json:"socket"`
	Guard   int    `json:"guard,omitempty"` // process that restarts a sidecar that has died
	Down    string `json:"down,omitempty"`  // why none runs, as the guard says
	*api.Status
}

func (a *app) status() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the sidecar, the adopted panes and the chats",
		Long: `Show the sidecar of this tmux server, the adopted panes and the chats. It starts
nothing: without a sidecar it says so and exits 3.`,
		Example: `  intercom status`,
		Args:    between(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var reply statusReply
			err := do(a, func(cmd *cobra.Command, _ []string) (statusReply, error) {
				ctx, cancel := within(cmd.Context())
				defer cancel()
				c, p, running, err := a.running(ctx)
				reply = statusReply{Running: running, Server: p.Server, Socket: p.Socket}
				if there, _ := api.GuardOf(p); !running {
					reply.Guard, reply.Down = there.PID, there.Says
				} else {
					reply.Guard = there.PID
				}
				if err != nil || !running {
					return reply, err
				}
				status, err := api.Call(ctx, c, api.ShowStatus, api.None{})
				if absent(err) {
					reply.Running = false // it was ending as we asked
					return reply, nil
				}
				if err == nil {
					a.noteVersion(status.Version)
				}
				reply.Status = &status
				return reply, err
			}, a.showStatus)(cmd, args)
			if err == nil && !reply.Running {
				return exitCode(api.CodeNoSidecar.Exit())
			}
			return err
		},
	}
	a.completes(cmd)
	return cmd
}

func (a *app) showStatus(r statusReply) {
	a.noteHeadless(r.Server)
	switch {
	case !r.Running && r.Down != "":
		a.say("no sidecar runs for %s: %s; intercom up starts it now", serverName(r.Server), plainLine(r.Down))
		return
	case !r.Running && r.Guard > 0:
		a.say("no sidecar runs for %s: it died, and is being restarted", serverName(r.Server))
		return
	case !r.Running && noSocket(r.Server):
		a.say("no sidecar runs for %s, and no tmux server does", serverName(r.Server))
		return
	case !r.Running:
		a.say("no sidecar runs for %s; intercom up starts it", serverName(r.Server))
		return
	}
	s := r.Status
	a.say("sidecar %s, pid %d, since %s", plainLine(s.Version), s.PID, day(s.Started))
	if s.Server != "" {
		a.say("tmux    %s, by %s, %s: %s", plainLine(s.Tmux), plainLine(s.Transport), plainLine(s.Trigger), plainLine(s.Server))
	}
	if s.Log != "" {
		a.say("log     %s", plainLine(s.Log))
		told := filepath.Join(filepath.Dir(s.Log), complaintsFile)
		if info, err := os.Stat(told); err == nil && info.Size() > 0 {
			a.say("problems of earlier starts, last %s: %s", day(info.ModTime()), plainLine(told))
		}
	}
	for _, need := range s.Needs {
		if need.For == api.NeedApproval {
			a.say("%d to approve: intercom inbox list", need.N)
		} else {
			a.say("%s (%s) needs you: %s", plainLine(need.Name), plainLine(need.Pane), plainLine(need.For))
		}
	}
	if s.Held > 0 {
		a.say("held    %d: intercom inbox list says what each is waiting for, and lists what is queued, too", s.Held)
	}
	if s.Stopped {
		a.sayStopped()
	}
	for _, d := range s.Degraded {
		a.say("degraded: %s", plainLine(d))
	}
	a.say("")
	a.showSessions(s.Sessions)
	for _, session := range s.Sessions {
		if session.Shut() {
			a.say("nothing more is typed into %s (%s): %s; intercom explain %s says what ends that",
				plainLine(session.Pane), plainLine(session.Name), plainLine(string(session.Closed)), plainLine(session.Pane))
		}
	}
	if len(s.Chats) > 0 {
		a.say("")
		a.showChats(s.Chats, s.Stopped)
	}
	if len(s.Returned) > 0 {
		a.say("")
		a.showReturned(s.Returned)
	}
}

// noSocket reports whether there is certainly no tmux server at a socket.
func noSocket(socket string) bool { return socket != "" && api.NobodyAt(socket) }

// noteHeadless notes outside of tmux that the command is about headless use, if a tmux server runs that may have been
// meant.
func (a *app) noteHeadless(server string) {
	socket := tmux.SocketPath(a.Getenv)
	if server == "" && !api.NobodyAt(socket) {
		a.note("this is not a tmux pane, so this is about headless use; the tmux server that runs is --server %s", plaintext.ShellWord(socket))
	}
}

// sayStopped says that a person has stopped all typing, and how to resume it.
func (a *app) sayStopped() { a.say("%s: %s", message.Stopped, resumeAll) }

// everythingStopped reports whether a person has stopped all typing.
func everythingStopped(ctx context.Context, c *api.Client) bool {
	s, err := quickStatus(ctx, c)
	return err == nil && s.Stopped
}

// noteVersion says that a sidecar is of another version than this program.
func (a *app) noteVersion(theirs string) {
	if ours := built().Version; !sameBuild(theirs, ours) {
		a.note("the sidecar is version %s, this program %s: intercom up replaces the sidecar", cmp.Or(theirs, "unknown"), ours)
	}
}

func (a *app) showSessions(sessions []message.Peer) {
	if len(sessions) == 0 {
		a.say("no pane is adopted")
		return
	}
	rows := [][]string{{"PANE", "NAME", "PROFILE", "STATE", "PROGRAM", "WHY"}}
	for _, s := range sessions {
		rows = append(rows, []string{s.Pane, s.Name, s.Profile, string(s.State), program(s.Foreground), sessionWhy(s)})
	}
	a.table(rows)
}

// sessionWhy returns why a session is in its state, or why nothing is typed there at all.
func sessionWhy(s message.Peer) string {
	if s.Shut() {
		return "closed: " + string(s.Closed)
	}
	return s.StateWhy
}

func program(p message.Process) string {
	if p.PID == 0 {
		return p.Name
	}
	return fmt.Sprintf("%s (%d)", p.Name, p.PID)
}
