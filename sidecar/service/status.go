package service

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Status reports the sidecar's status, and ends the sidecar.
type Status struct {
	Callers *Callers
	Waits   *Waits
	Returns *comeback.Returns
	Relay   condition
	Journal interface {
		Path() string
		Notice() string
		Held(ctx context.Context) (int, error)
	}
	Policies *Policies
	// Tmux is nil where the sidecar is headless.
	Tmux interface {
		Info() tmux.Info
		Trigger() string
		Silent(ctx context.Context) (time.Duration, error)
	}
	About api.Status // the fields that do not change
	End   context.CancelFunc
	Log   *slog.Logger
}

// Offer registers the operations with a server.
func (s *Status) Offer(server *api.Server) {
	api.Handle(server, api.ShowStatus, s.ShowStatus)
	api.Handle(server, api.Down, s.Down)
	api.Handle(server, api.MayEnd, s.MayEnd)
}

// condition is the part of the relay that tells its state.
type condition interface {
	present
	Stopped() bool
	Trouble() error
}

// ShowStatus returns the status of the sidecar.
func (s *Status) ShowStatus(ctx context.Context, _ api.Caller, _ api.None) (api.Status, error) {
	snap := s.Relay.Snapshot()
	st := s.About
	st.Computer, st.Journal, st.Stopped, st.Sessions, st.Chats = message.LocalComputer, s.Journal.Path(), s.Relay.Stopped(), inPanes(snap), open(snap)
	scarce := process.Scarce(os.Getpid())
	if scarce != "" {
		st.Degrade(api.ProblemScarce, scarce)
	}
	if s.Tmux != nil {
		info := s.Tmux.Info()
		st.Tmux, st.TmuxPID, st.Transport, st.Why, st.Trigger = info.Version, info.PID, info.Transport, info.Why, s.Tmux.Trigger()
		switch since, err := s.Tmux.Silent(ctx); {
		case since > 0:
			st.Degrade(api.ProblemTmux, tmuxSilent(since))
		case process.Starved(err) && scarce == "":
			st.Degrade(api.ProblemScarce, "the system refuses this sidecar more resources: "+err.Error())
		}
	}
	if set := s.Policies.Set; set != nil {
		st.Computer = cmp.Or(set.Settings().Computer, st.Computer)
		if problem := set.Problem(); problem != "" {
			st.Degrade(api.ProblemPolicy, "policy: "+problem)
		} else if set.Left() {
			st.Degrade(api.ProblemLeft, "policy: earlier policies are in use until you change one of your files, or restore them to those policies")
		}
	}
	if err := s.Relay.Trouble(); err != nil {
		st.Degrade(api.ProblemDisk, troubleOf(err))
	}
	if notice := s.Journal.Notice(); notice != "" {
		st.Degrade(api.ProblemJournal, notice)
	}
	var err error
	if st.Returned, err = s.returned(ctx); err != nil {
		s.Log.Warn("look for agents that are back", "err", err)
	}
	if st.Held, err = s.Journal.Held(ctx); err != nil {
		return st, err
	}
	waits, err := s.Waits.List(ctx)
	st.Needs = needs(waits)
	return st, err
}

// tmuxSilent returns the text about a tmux server that does not answer.
func tmuxSilent(since time.Duration) string {
	return fmt.Sprintf("tmux has not answered for %v: panes are neither read nor typed into until it does", since.Round(time.Second))
}

// Down ends the sidecar.
func (s *Status) Down(ctx context.Context, from api.Caller, ask api.None) (none api.None, _ error) {
	if _, err := s.MayEnd(ctx, from, ask); err != nil {
		return none, err
	}
	s.Log.Info("asked to end", "by", from.PID)
	s.End()
	return none, nil
}

// MayEnd returns an error for a caller that may not end the sidecar.
func (s *Status) MayEnd(ctx context.Context, from api.Caller, _ api.None) (none api.None, _ error) {
	if s.Callers.succeeds(ctx, from) {
		return none, nil
	}
	return none, s.Callers.mayEnd(ctx, from)
}

// returned returns the chats whose agents are back, for the status.
func (s *Status) returned(ctx context.Context) (told []api.Returned, err error) {
	all, err := s.Returns.Now(ctx, "")
	snap := s.Relay.Snapshot()
	for _, one := range all {
		r := api.Returned{Chat: one.Chat.ID, Name: one.Chat.Name, State: one.Chat.State, Since: one.Since}
		for _, lost := range one.Gone {
			r.Agents = append(r.Agents, api.ReturnedAgent{Name: lost.As.Name, Agent: lost.Was.Profile, Pane: lost.Was.Pane})
			r.Panes = append(r.Panes, lost.Was.Pane)
		}
		for _, p := range one.Chat.Participants {
			if session, ok := s.Returns.SessionOf(snap, p.Peer); ok && !p.Left && !slices.Contains(r.Panes, session.Pane) {
				r.Panes = append(r.Panes, session.Pane)
			}
		}
		told = append(told, r)
	}
	return told, err
}
