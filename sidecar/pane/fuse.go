package pane

import (
	"fmt"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// signals is what an agent tells of itself beside its screen. All of it is exact: the agent
// wrote it down, or called a hook.
type signals struct {
	read    bool         // its transcript is found and read to its end
	trouble string       // why not
	lost    bool         // what is known is too old, and may no longer be true
	turn    *agent.Turn  // the open one, nil if none is
	ended   time.Time    // of the last turn
	status  agent.Status // zero: it has no status file
	hook    hooked
	now     time.Time
}

// hooked is what the agent's hooks told last.
type hooked struct {
	state message.PaneState // Working, Blocked or Idle; "" where none was called
	event string
	at    time.Time
}

// live reports whether a hook's word still holds, since nothing later says otherwise. At the end of a
// turn that a person interrupts, no hook is called.
func (s signals) live(h hooked) bool {
	switch {
	case h.state == "":
		return false
	case s.read && s.turn == nil && s.ended.After(h.at):
		return false
	case (s.read || s.status.State != "") && s.now.Sub(h.at) > hookGrace:
		return false // what it told of has been written down by now, or never happened
	case s.status.State == agent.StatusIdle && s.status.Since.After(h.at):
		return false
	}
	return true
}

// exact returns the state that the agent's own signals give, "" if they say nothing. The first signal
// that speaks against idle decides.
func (s signals) exact() (state message.PaneState, says message.Evidence) {
	if s.lost {
		return "", message.Evidence{}
	}
	waits := s.status.State == agent.StatusWaiting
	switch {
	case s.turn != nil && waits:
		return message.Blocked, exactly("status", fmt.Sprintf("a turn is open, and it waits for %q", s.status.For))
	case s.turn != nil:
		return message.Working, exactly("transcript", "a turn is open"+tools(s.turn))
	case waits:
		return message.Blocked, exactly("status", fmt.Sprintf("it waits for %q", s.status.For))
	case s.status.State != "" && s.status.PaneState() != message.Idle:
		return message.Working, exactly("status", fmt.Sprintf("it says %q", s.status.State))
	case s.live(s.hook) && s.hook.state != message.Idle:
		return s.hook.state, exactly("hook", s.hook.event)
	case s.read:
		return message.Idle, exactly("transcript", "no turn is open")
	case s.status.State != "":
		return message.Idle, exactly("status", fmt.Sprintf("it says %q", s.status.State))
	case s.live(s.hook):
		return message.Idle, exactly("hook", s.hook.event)
	}
	return "", message.Evidence{}
}

// tools names the calls that have no result yet.
func tools(t *agent.Turn) string {
	var names []string
	for _, one := range t.OpenTools {
		names = append(names, one.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return ", without a result of " + strings.Join(names, ", ")
}

func exactly(source, says string) message.Evidence {
	return message.Evidence{Source: source, Says: says, Weight: "exact"}
}

// fuse makes one state of what the screen shows and what the agent tells of itself. The
// screen never raises the state above what the agent tells; it may always lower it.
func fuse(v screen.Verdict, s signals) screen.Reading {
	r := screen.Reading{State: v.State, MayType: v.MayType, Why: v.Why, Composer: v.Composer, Evidence: v.Evidence}
	if s.lost {
		return unseen(r)
	}
	state, says := s.exact()
	if state == "" {
		return r
	}
	r.Evidence = append([]message.Evidence{says}, r.Evidence...)
	if state == message.Idle || !gate.Stands("pane:exact") || v.State == message.History || v.State == message.Blocked {
		return r
	}
	r.State, r.MayType, r.Why = state, false, message.AgentWorking
	if state == message.Blocked {
		r.Why = screen.DialogOpen
	}
	return r
}

// unseen returns the reading of an agent whose account cannot be relied upon, from its screen alone:
// a screen that looks ready may be that of an open turn.
func unseen(r screen.Reading) screen.Reading {
	r.MayType = false
	if r.State == message.Idle || r.Why == "" {
		r.State, r.Why = message.Unknown, message.TranscriptLost
	}
	return r
}

// grounds returns the signals as `explain` prints them, the weightiest first.
func (s signals) grounds(now time.Time) (all []message.Ground) {
	add := func(source, says string, since time.Time) {
		g := message.Ground{Source: source, Says: says, Weight: "exact"}
		if !since.IsZero() {
			g.AgeMS = max(0, now.Sub(since).Milliseconds())
		}
		all = append(all, g)
	}
	if s.lost {
		return nil
	}
	switch {
	case !s.read:
	case s.turn != nil:
		add("transcript", "a turn is open"+tools(s.turn), s.turn.Began)
	default:
		add("transcript", "no turn is open", s.ended)
	}
	if s.status.State != "" {
		says := fmt.Sprintf("it says %q", s.status.State)
		if s.status.For != "" {
			says += fmt.Sprintf(", for %q", s.status.For)
		}
		add("status", says, s.status.Since)
	}
	if s.hook.state != "" {
		says := fmt.Sprintf("%s: %s", s.hook.event, s.hook.state)
		if !s.live(s.hook) {
			says += " (there is later word)"
		}
		add("hook", says, s.hook.at)
	}
	return all
}
