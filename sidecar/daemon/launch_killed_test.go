package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// windows are the panes in which a program of that name was started for a session.
func (r *rig) windows(name string) (panes []string) {
	for line := range strings.Lines(r.Run("list-panes", "-a", "-F", "#{pane_id} #{pane_start_command}")) {
		if strings.Contains(line, " session-exec ") && strings.Contains(line, " "+name+" ") {
			panes = append(panes, strings.Fields(line)[0])
		}
	}
	return panes
}

// listedIn reports whether one session of that name is listed for a pane, which is marked as its.
func (r *rig) listedIn(pane string, name string) bool {
	n := 0
	for _, one := range r.listed() {
		if one.Name == name && string(one.ID) == r.Run("show-options", "-pqv", "-t", pane, "@intercom-session") {
			n++
		}
	}
	return n == 1
}

// heardOnce waits for a text in a worker's log, and asserts that the worker receives it no second time.
func (r *rig) heardOnce(log, text string) {
	r.t.Helper()
	r.waitFor(text, hasText(log, text))
	r.stays(func() bool {
		data, err := os.ReadFile(log)
		require.NoError(r.t, err)
		n := 0
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, `"received"`) && strings.Contains(line, text) {
				n++
			}
		}
		return n <= 1
	})
}

func (r *rig) toldOf(text string) (n int) {
	for _, one := range r.notices() {
		if strings.Contains(one, text) {
			n++
		}
	}
	return n
}

// killedAt runs a sidecar as a process, which is killed at that moment of do, and then starts another one.
func (r *rig) killedAt(moment string, do func()) {
	r.t.Helper()
	require.NoError(r.t, r.end())
	c := r.childKilled(moment)
	do()
	r.dies(c)
	r.start()
}

// A sidecar is killed in the middle of a start. It leaves one window, which the next sidecar knows, and whose program
// gets its first message once; or it leaves none, and a notice says so.
func TestM7_T31_KilledAtEachStepOfAStart(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"begun", "opened", "adopted"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, launches(t))
			command, log := r.worker("Worker")
			r.killedAt(moment, func() {
				_, err := api.Call(t.Context(), r.client.Client, api.StartSession, api.StartSessionRequest{
					Dir: r.dir, Title: "Worker", Message: "do it", Command: command, As: "line",
				})
				assert.Error(t, err, "who asked is told that it came to nothing certain")
			})
			if moment == "begun" {
				r.waitFor("it is told", func() bool {
					return r.toldOf("failed: the sidecar ended before it was done, and it has no window") == 1
				})
				assert.Empty(t, r.windows("Worker"))
				assert.Empty(t, r.listed())
				all := r.notices()
				id := regexp.MustCompile(`intercom log ([0-9a-f]+) has its first message`).FindStringSubmatch(all[len(all)-1])
				require.NotNil(t, id, all)
				kept, err := api.Call(t.Context(), r.client.Client, api.Log, api.LogQuery{ID: id[1]})
				require.NoError(t, err)
				require.NotEmpty(t, kept)
				assert.Equal(t, []string{"tester", "do it"}, []string{kept[0].Message.From.Name, kept[0].Message.Body})
				found, err := api.Call(t.Context(), r.client.Client, api.Log, api.LogQuery{Search: "do it"})
				require.NoError(t, err)
				assert.NotEmpty(t, found, "it is found by its words")
				require.NoError(t, r.end())
				r.start()
				r.stays(func() bool { return len(r.windows("Worker")) == 0 && r.toldOf(", failed: ") == 1 })
				return
			}
			r.heardOnce(log, "[tester] (0): do it")
			panes := r.windows("Worker")
			require.Len(t, panes, 1)
			r.waitFor("the session is known", func() bool { return r.listedIn(panes[0], "Worker") })
			assert.Len(t, r.listed(), 1)
			told := 0
			if moment == "opened" {
				told = 1
			}
			assert.Equal(t, told, r.toldOf("after a restart of the sidecar, "))
			_, err := r.endsSession("Worker")
			require.NoError(t, err)
			assert.Empty(t, r.windows("Worker"))
		})
	}
}

// The same holds for a start that an agent asked for and a person approved: the agent is told the outcome.
func TestM7_KilledAtEachStepOfAnApprovedStart(t *testing.T) {
	t.Parallel()
	for moment, told := range map[string]string{
		"approved": "was started in ", "begun": "but it failed: the sidecar ended before it was done, and it has no window",
		"opened": "was started in ", "adopted": "was started in ",
	} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, launches(t))
			command, log := r.worker("Qa")
			qa := filepath.Join(r.dir, "qa")
			tmuxtest.Program(t, qa, "#!/bin/sh\nexec "+quoted(command)+"\n")
			ada := r.adopted("Ada", silent...)
			held, err := asks[api.StartedSession](ada, "start", api.StartSessionRequest{Dir: r.dir, Agent: qa, Title: "Qa", Message: "do it"})
			require.NoError(t, err)
			require.Equal(t, api.StartHeld, held.Status)
			r.killedAt(moment, func() { _ = r.yes("approve", string(held.Request)) })

			heard := func() string { return strings.Join(ada.received(), "\n") }
			r.waitFor("the agent is told", func() bool { return strings.Contains(heard(), told) })
			assert.Error(t, r.yes("approve", string(held.Request)), "it is decided")
			if moment != "begun" {
				r.heardOnce(log, "AI[local:"+string(ada.session.ID)+"] | do it")
				r.waitFor("both are known", func() bool { return len(r.listed()) == 2 })
			}
			assert.Equal(t, 1, strings.Count(heard(), told), heard())
			windows := strings.Count(r.Run("list-panes", "-a", "-F", "#{pane_start_command}"), " session-exec "+string(held.Request))
			if moment == "begun" {
				assert.Zero(t, windows)
			} else {
				assert.Equal(t, 1, windows)
			}
		})
	}
}

// Whenever the sidecar is killed, a start has one window and one listed session, which gets its message once; or it
// has no window, and a notice or an error says that nothing came of it.
func TestM7_KilledWhenever(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	rounds := 4
	if longTest() {
		rounds = 60
	}
	require.NoError(t, r.end())
	for round := range rounds {
		name := fmt.Sprintf("W%d", round)
		command, log := r.worker(name)
		c := r.child()
		answered := make(chan error, 1)
		go func() {
			_, err := api.Call(t.Context(), r.client.Client, api.StartSession, api.StartSessionRequest{
				Dir: r.dir, Title: name, Message: "task " + name, Command: command, As: "line",
			})
			answered <- err
		}()
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond) // any moment of a start
		require.NoError(t, c.Process.Signal(syscall.SIGKILL))
		_ = c.Wait()
		err := <-answered
		r.start()
		lost := func() bool { return r.toldOf(", failed: ") > 0 }
		var panes []string
		r.waitFor("it is known, or told that nothing came of it, or never was", func() bool {
			panes = r.windows(name)
			known := len(panes) == 1 && r.listedIn(panes[0], name)
			return known || len(panes) == 0 && (lost() || err != nil && len(r.listed()) == 0)
		})
		if len(panes) == 1 {
			r.heardOnce(log, "task "+name)
			_, err := r.endsSession(name)
			require.NoError(t, err)
		}
		assert.Empty(t, r.windows(name))
		assert.Empty(t, r.listed())
		require.NoError(t, r.end())
	}
}

// A command that is no agent does not count as started: explain says what it is, and messages to it wait.
func TestStart_aProgramThatIsNotRecognised(t *testing.T) {
	t.Parallel()
	r := newRig(t, launches(t))
	s := r.started(api.StartSessionRequest{Dir: r.dir, Command: []string{"/bin/sleep", "1000"}, Message: "wait"})
	assert.Equal(t, api.StartUnrecognised, s.Status)
	assert.NotEmpty(t, s.Why)
	r.told(s.Message, "held: agent starting")
	for _, ref := range []string{s.Session.Pane, s.Session.Name} {
		r.waitFor("what it is", func() bool {
			seen, err := r.client.Explain(t.Context(), api.ExplainRequest{Pane: ref})
			require.NoError(t, err)
			assert.Equal(t, s.Session.Name, seen.Session, "it is a session, and adopt would refuse it")
			assert.False(t, seen.WouldType)
			assert.Contains(t, seen.Why, message.AgentStarting)
			return strings.HasSuffix(string(seen.Why), `no agent is recognised in it: "sleep" is in front`)
		})
	}

	agent := r.agentOf("Cody")
	require.NoError(t, r.end())
	r.cfg.Recognised = tmuxtest.Patience // however slow this machine is
	r.start()
	s = r.started(api.StartSessionRequest{Dir: r.dir, Command: []string{agent.coderScript("claude")}})
	assert.Equal(t, api.StartDone, s.Status)
	assert.Empty(t, s.Why)
	assert.Equal(t, "claude", s.Session.Profile)
}
