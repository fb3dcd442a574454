package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// members is a rig with a team in a project of its own.
type members struct {
	*rig
	team.Dir
}

func newMembers(t *testing.T) members {
	m := members{rig: newRig(t, launches(t))}
	m.Path = filepath.Join(m.dir, "project")
	require.NoError(t, os.Mkdir(m.Path, 0o700))
	return m
}

// spawn starts a line program as a teammate and waits until it is idle.
func (m members) spawn(name string, flags ...string) *agent {
	m.t.Helper()
	a := m.agentOf(name)
	spawned, err := api.Call(m.t.Context(), m.client.Client, api.SpawnMember, api.SpawnRequest{
		Dir: m.Path, Name: name, Role: "dev", Command: append(append(a.command(), "--reply", "done"), flags...), As: "line",
	})
	require.NoError(m.t, err)
	a.session, a.pane = spawned.Session, spawned.Session.Pane
	m.stands(name, team.Idle)
	return a
}

// stands waits until config.json has this status for a teammate.
func (m members) stands(name string, want team.Status) {
	m.t.Helper()
	m.waitFor(name+" is "+string(want), func() bool {
		c, err := m.Config()
		require.NoError(m.t, err)
		for _, one := range c.Members {
			if one.Name == name {
				return one.Status == want
			}
		}
		return false
	})
}

// killed runs do with a sidecar in a process of its own that is killed at this moment, and then starts another one.
func (m members) killed(moment string, do func()) {
	m.t.Helper()
	require.NoError(m.t, m.end())
	c := m.childKilled(moment)
	do()
	m.dies(c)
	m.start()
}

// says lets a teammate make a request by a program of its own. The request may fail.
func (m members) says(a *agent, op string, req any) (reply api.HandshakeReply, err error) {
	m.t.Helper()
	self, err := os.Executable()
	require.NoError(m.t, err)
	file := filepath.Join(m.dir, string(message.NewID()))
	data, err := json.Marshal(req)
	require.NoError(m.t, err)
	require.NoError(m.t, os.WriteFile(file, data, 0o600))
	m.waitFor(a.name+" runs no other program", func() bool { return a.count(persona.EventChild) == a.count(persona.EventChildEnd) })
	a.do(":exec INTERCOM_TEST_SESSION=%s %s %s %s", file, self, m.cfg.Paths.Socket, op)
	var out []byte
	m.waitFor("the answer", func() bool {
		var missing error
		out, missing = os.ReadFile(file + ".out")
		return missing == nil
	})
	told := &api.Error{}
	if json.Unmarshal(out, told) == nil && told.Text != "" {
		return reply, told
	}
	return reply, json.Unmarshal(out, &reply)
}

func (m members) asksToEnd(name string) (api.HandshakeReply, error) {
	return api.Call(m.t.Context(), m.client.Client, api.RequestShutdown, api.ShutdownRequest{Dir: m.Path, Teammate: name})
}

func (m members) reviews(id string, approve bool) error {
	_, err := api.Call(m.t.Context(), m.client.Client, api.ReviewPlan, api.PlanReview{RequestID: id, Approve: &approve})
	return err
}

func (m members) standing(id string) string {
	m.t.Helper()
	tracker, err := api.Call(m.t.Context(), m.client.Client, api.ShutdownStatus, api.HandshakeQuery{RequestID: id})
	require.NoError(m.t, err)
	return tracker.Status
}

// heard waits until a teammate has received a text that matches the pattern, after the first since texts, and
// returns the match.
func (m members) heard(a *agent, since int, pattern string) (match []string) {
	m.t.Helper()
	re := regexp.MustCompile(pattern)
	m.waitFor(a.name+" hears "+pattern, func() bool {
		for _, text := range a.received()[since:] {
			if match = re.FindStringSubmatch(text); match != nil {
				return true
			}
		}
		return false
	})
	return match
}

// once waits until a teammate is idle, and checks that it has received one text that matches the pattern, and no
// second one.
func (m members) once(a *agent, pattern string) {
	m.t.Helper()
	m.stands(a.name, team.Idle)
	re, n := regexp.MustCompile(pattern), 0
	for _, text := range a.received() {
		if re.MatchString(text) {
			n++
		}
	}
	assert.Equal(m.t, 1, n, "%s heard %s: %q", a.name, pattern, a.received())
}

// lines counts the entries for a request in the lead's inbox: those of the request itself, or of its answer.
func (m members) lines(id string, answers bool) (n int) {
	m.t.Helper()
	all, _, err := m.Peek(team.Lead)
	require.NoError(m.t, err)
	for _, one := range all {
		if one.RequestID == id && (one.Approve != nil) == answers {
			n++
		}
	}
	return n
}

// If a sidecar is killed after it has started a teammate and before it has entered it in the team, its next life
// enters it.
func TestP28_KilledBeforeItsSeat(t *testing.T) {
	t.Parallel()
	m := newMembers(t)
	for _, moment := range []string{"opened", "adopted"} {
		a := m.agentOf("m-" + moment)
		m.killed(moment, func() {
			_, err := api.Call(m.t.Context(), m.client.Client, api.SpawnMember, api.SpawnRequest{
				Dir: m.Path, Name: a.name, Role: "dev", Command: append(a.command(), "--reply", "done"), As: "line",
			})
			assert.Error(t, err)
		})
		m.stands(a.name, team.Idle)
		m.once(a, "You are '"+a.name+"'")
		request, err := m.asksToEnd(a.name)
		require.NoError(t, err, "it has its seat")
		assert.Equal(t, request.RequestID, m.heard(a, 0, asked)[1])
	}
}

const asked = `shutdown request ([0-9a-f]{8})`

// If a sidecar is killed by SIGKILL at a step of a handshake for a shutdown or a plan, the state is certain
// afterwards. A request is there once although its asker got an error, it is answered once, and an approved
// shutdown is carried out. `make long` kills the sidecar at all steps.
func TestD1_P26_KilledAtEachStepOfAHandshake(t *testing.T) {
	t.Parallel()
	m := newMembers(t)
	alice := m.spawn("alice")
	answer := func(a *agent, id string, approve bool) error {
		_, err := m.says(a, "shutdown-response", api.ShutdownAnswer{RequestID: id, Approve: &approve, Reason: "busy"})
		return err
	}

	few := func(all []string, some ...string) []string {
		if longTest() {
			return all
		}
		return some
	}
	for _, moment := range few([]string{"asked", "request written"}, "asked") {
		since := len(alice.received())
		m.killed(moment, func() {
			_, err := m.asksToEnd("alice")
			assert.Error(t, err, "who asked is told that it came to nothing certain")
		})
		id := m.heard(alice, since, asked)[1]
		m.once(alice, "shutdown request "+id)
		assert.Equal(t, "pending", m.standing(id), moment)
		require.NoError(t, answer(alice, id, false))
		assert.Equal(t, "rejected", m.standing(id))

		m.killed(moment, func() {
			_, err := m.says(alice, "plan", api.PlanRequest{Plan: "plan " + moment})
			assert.Error(t, err)
		})
		id = ""
		m.waitFor("the plan is in the lead's inbox", func() bool {
			all, _, err := m.Peek(team.Lead)
			require.NoError(t, err)
			for _, one := range all {
				if one.Plan != nil && *one.Plan == "plan "+moment {
					id = one.RequestID
				}
			}
			return id != ""
		})
		require.NoError(t, m.reviews(id, true))
		m.heard(alice, 0, "Your plan "+id+" is approved")
		m.once(alice, "Your plan "+id)
		assert.Equal(t, 1, m.lines(id, false), "%s: the plan stands there once", moment)
	}

	for _, moment := range few([]string{"answered", "answer written"}, "answer written") {
		since := len(alice.received())
		request, err := m.asksToEnd("alice")
		require.NoError(t, err)
		assert.Equal(t, request.RequestID, m.heard(alice, since, asked)[1])
		m.killed(moment, func() { assert.Error(t, answer(alice, request.RequestID, false)) })
		assert.Equal(t, "rejected", m.standing(request.RequestID), moment)
		assert.Error(t, answer(alice, request.RequestID, true), "it has its answer")
		assert.Equal(t, "rejected", m.standing(request.RequestID))
		m.waitFor("the lead has the answer", func() bool { return m.lines(request.RequestID, true) > 0 })
		assert.Equal(t, 1, m.lines(request.RequestID, true), moment)

		plan, err := m.says(alice, "plan", api.PlanRequest{Plan: "p"})
		require.NoError(t, err)
		m.killed(moment, func() { assert.Error(t, m.reviews(plan.RequestID, true)) })
		m.heard(alice, since, "Your plan "+plan.RequestID+" is approved")
		assert.Error(t, m.reviews(plan.RequestID, false), "it has its answer")
		m.once(alice, "Your plan "+plan.RequestID)
	}

	for _, moment := range few([]string{"answered", "answer written", "ending", "ended", "end written"}, "answered", "ended") {
		a := m.spawn("m-" + regexp.MustCompile(" ").ReplaceAllString(moment, "-"))
		request, err := m.asksToEnd(a.name)
		require.NoError(t, err)
		m.heard(a, 0, asked)
		m.stands(a.name, team.Idle)
		m.killed(moment, func() { _ = answer(a, request.RequestID, true) })
		m.stands(a.name, team.Ended)
		assert.False(t, system.Lives(a.session.Foreground.PID, a.session.Foreground.Start), moment)
		assert.Equal(t, "approved", m.standing(request.RequestID), moment)
		assert.Equal(t, 1, m.lines(request.RequestID, true), moment)
		m.once(alice, "You are 'alice'") // no later life has greeted it again
	}
}
