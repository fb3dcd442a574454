package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// verdicts is what a screen may say. Only the verdict that the composer is live and empty allows
// typing.
func verdicts() map[string]screen.Verdict {
	live := screen.Composer{Live: true, Empty: true}
	says := []message.Evidence{{Source: "screen", Says: "so", Weight: "exact"}}
	return map[string]screen.Verdict{
		"idle":    {State: message.Idle, MayType: true, Composer: live, Evidence: says},
		"working": {State: message.Working, Why: message.AgentWorking, Composer: live, Evidence: says},
		"draft":   {State: message.Draft, Why: message.InComposer, Composer: screen.Composer{Live: true, Text: "words"}, Evidence: says},
		"blocked": {State: message.Blocked, Why: screen.DialogOpen, Evidence: says},
		"history": {State: message.History, Why: message.CopyMode, Evidence: says},
		"unknown": {State: message.Unknown, Why: message.UnknownScreen, Evidence: says},
		"no text": {State: message.Unknown, Why: message.NotEmpty, Composer: live, Evidence: says},
	}
}

// Each verdict with each signal that an agent may give. The table has what becomes of an idle screen,
// by the signals alone. Any other screen stays what it is or sinks, and is never typed into.
func TestFuse_eachVerdictWithEachSignal(t *testing.T) {
	turn := &agent.Turn{Open: true, OpenTools: []agent.Tool{{Name: "Bash"}}}
	status := func(state, waitsFor string, since time.Time) agent.Status {
		return agent.Status{State: state, For: waitsFor, Since: since}
	}
	hook := func(state message.PaneState, at time.Time) hooked {
		return hooked{state: state, event: "Some", at: at}
	}
	earlier, later := noon.Add(-time.Second), noon.Add(time.Second)
	for _, tt := range []struct {
		name string
		s    signals
		want message.PaneState // of an idle screen
		by   string            // the source of the first evidence; "" for none
	}{
		{"nothing", signals{}, message.Idle, ""},
		{"trouble", signals{trouble: "it cannot be read"}, message.Idle, ""},
		{"no turn", signals{read: true, ended: noon}, message.Idle, "transcript"},
		{"a turn", signals{read: true, turn: turn}, message.Working, "transcript"},
		{"a turn, and idle", signals{read: true, turn: turn, status: status(agent.StatusIdle, "", later)}, message.Working, "transcript"},
		{"a turn that waits", signals{read: true, turn: turn, status: status(agent.StatusWaiting, "permission prompt", noon)}, message.Blocked, "status"},
		{"no turn, and idle", signals{read: true, status: status(agent.StatusIdle, "", noon)}, message.Idle, "transcript"},
		{"no turn, and busy", signals{read: true, status: status(agent.StatusBusy, "", noon)}, message.Working, "status"},
		{"no turn, and waits", signals{read: true, status: status(agent.StatusWaiting, "input needed", noon)}, message.Blocked, "status"},
		{"no turn, and a word that nobody knows", signals{read: true, status: status("dreaming", "", noon)}, message.Working, "status"},
		{"only a status, idle", signals{status: status(agent.StatusIdle, "", noon)}, message.Idle, "status"},
		{"only a status, busy", signals{status: status(agent.StatusBusy, "", noon)}, message.Working, "status"},
		{"only a hook, working", signals{hook: hook(message.Working, noon)}, message.Working, "hook"},
		{"only a hook, blocked", signals{hook: hook(message.Blocked, noon)}, message.Blocked, "hook"},
		{"only a hook, idle", signals{hook: hook(message.Idle, noon)}, message.Idle, "hook"},
		{"a hook behind the last turn", signals{read: true, ended: earlier, hook: hook(message.Working, noon)}, message.Working, "hook"},
		{"a hook before its end", signals{read: true, ended: later, hook: hook(message.Working, noon)}, message.Idle, "transcript"},
		{"a hook before it said idle", signals{status: status(agent.StatusIdle, "", later), hook: hook(message.Blocked, noon)}, message.Idle, "status"},
		{"a hook after it said idle", signals{status: status(agent.StatusIdle, "", earlier), hook: hook(message.Blocked, noon)}, message.Blocked, "hook"},
		{"a hook of long ago, and no turn", signals{read: true, hook: hook(message.Working, noon), now: noon.Add(time.Hour)}, message.Idle, "transcript"},
		{"a hook of long ago, and idle", signals{status: status(agent.StatusIdle, "", earlier), hook: hook(message.Blocked, noon), now: noon.Add(time.Hour)}, message.Idle, "status"},
		{"only a hook of long ago", signals{hook: hook(message.Working, noon), now: noon.Add(time.Hour)}, message.Working, "hook"},
		{"a hook that says idle in a turn", signals{read: true, turn: turn, hook: hook(message.Idle, later)}, message.Working, "transcript"},
	} {
		for name, v := range verdicts() {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				r := fuse(v, tt.s)
				sound(t, v, tt.s, r)
				if v.State == message.Idle {
					assert.Equal(t, tt.want, r.State)
					assert.Equal(t, tt.want == message.Idle, r.MayType)
				}
				if tt.by == "" {
					assert.Equal(t, v.Evidence, r.Evidence)
				} else {
					assert.Equal(t, tt.by, r.Evidence[0].Source, "the exact signal stands first")
				}
			})
		}
	}
}

// failer is a test, or one run of a property.
type failer interface {
	assert.TestingT
	Helper()
}

// sound checks what must hold of any fusion.
func sound(t failer, v screen.Verdict, s signals, r screen.Reading) {
	t.Helper()
	against := s.turn != nil || s.status.State != "" && s.status.State != agent.StatusIdle ||
		s.live(s.hook) && s.hook.state != message.Idle
	assert.Equal(t, v.MayType && !against, r.MayType, "typed into where the screen allows it and nothing exact speaks against it, and only there")
	if r.State == message.Idle {
		assert.Equal(t, message.Idle, v.State, "raised to idle")
	}
	if v.State == message.Blocked || v.State == message.History {
		assert.Equal(t, v.State, r.State, "what the screen shows is lower already")
		assert.Equal(t, v.Why, r.Why)
	}
	if against {
		assert.Contains(t, []message.PaneState{message.Working, message.Blocked, message.History}, r.State)
	} else {
		assert.Equal(t, v.State, r.State)
	}
	assert.Equal(t, r.MayType, r.Why == "", "a reason where it is not typed into")
	assert.Equal(t, v.Composer, r.Composer)
	if n := len(v.Evidence); assert.GreaterOrEqual(t, len(r.Evidence), n) {
		assert.Equal(t, v.Evidence, r.Evidence[len(r.Evidence)-n:])
	}
	for _, e := range r.Evidence {
		assert.Equal(t, "exact", e.Weight)
		assert.NotEmpty(t, e.Says)
	}
}

// Whatever the signals are, and whenever they came: nothing is ever raised.
func TestFuse_neverRaises(t *testing.T) {
	all := verdicts()
	var names []string
	for name := range all {
		names = append(names, name)
	}
	at := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "never") {
			return time.Time{}
		}
		return noon.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "seconds")) * time.Second)
	})
	rapid.Check(t, func(t *rapid.T) {
		v := all[rapid.SampledFrom(names).Draw(t, "screen")]
		s := signals{
			read:  rapid.Bool().Draw(t, "read"),
			ended: at.Draw(t, "ended"),
			status: agent.Status{
				State: rapid.SampledFrom([]string{"", agent.StatusIdle, agent.StatusBusy, agent.StatusWaiting, "shell", "?"}).Draw(t, "status"),
				For:   rapid.SampledFrom([]string{"", "permission prompt"}).Draw(t, "for"),
				Since: at.Draw(t, "since"),
			},
			hook: hooked{
				state: rapid.SampledFrom([]message.PaneState{"", message.Working, message.Blocked, message.Idle}).Draw(t, "hook"),
				event: "Some", at: at.Draw(t, "hooked"),
			},
			now: noon.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "now")) * time.Second),
		}
		if s.read && rapid.Bool().Draw(t, "open") {
			s.turn = &agent.Turn{Open: true, Began: at.Draw(t, "began")}
		}
		sound(t, v, s, fuse(v, s))
	})
}

// `explain` prints all signals, in the order in which they count, and none as from the future.
func TestSignals_grounds(t *testing.T) {
	s := signals{
		read: true, turn: &agent.Turn{Began: noon.Add(-3 * time.Second), OpenTools: []agent.Tool{{Name: "Bash"}, {Name: "Read"}}},
		status: agent.Status{State: agent.StatusWaiting, For: "input needed", Since: noon.Add(time.Second)},
		hook:   hooked{state: message.Blocked, event: "PermissionRequest", at: noon.Add(-time.Second)},
	}
	assert.Equal(t, []message.Ground{
		{Source: "transcript", Says: "a turn is open, without a result of Bash, Read", Weight: "exact", AgeMS: 3000},
		{Source: "status", Says: `it says "waiting", for "input needed"`, Weight: "exact"},
		{Source: "hook", Says: "PermissionRequest: blocked", Weight: "exact", AgeMS: 1000},
	}, s.grounds(noon))
	s = signals{read: true, ended: noon, hook: hooked{state: message.Working, event: "UserPromptSubmit", at: noon.Add(-time.Second)}}
	assert.Equal(t, []message.Ground{
		{Source: "transcript", Says: "no turn is open", Weight: "exact"},
		{Source: "hook", Says: "UserPromptSubmit: working (there is later word)", Weight: "exact", AgeMS: 1000},
	}, s.grounds(noon))
	assert.Empty(t, signals{trouble: "it cannot be read"}.grounds(noon))
}

// Signals that are too old count for nothing, and neither does the screen alone: a screen that looks
// ready may be that of an open turn.
func TestS25_TooOldCountsForNothing(t *testing.T) {
	for name, v := range verdicts() {
		s := signals{lost: true, read: true, status: agent.Status{State: agent.StatusIdle}, hook: hooked{state: message.Idle, at: noon}, now: noon}
		r := fuse(v, s)
		assert.False(t, r.MayType, name)
		assert.NotEqual(t, message.Idle, r.State, name)
		assert.NotEmpty(t, r.Why, name)
		assert.Equal(t, v.Evidence, r.Evidence, "nothing exact stands before what the screen shows")
		if v.State == message.Idle {
			assert.Equal(t, message.TranscriptLost, r.Why, name)
		}
		assert.Empty(t, s.grounds(noon))
	}
}
