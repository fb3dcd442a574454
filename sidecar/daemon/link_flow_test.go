package daemon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The document's flow "Long-Running Task with Health Check" works on two computers, with the document's own two
// messages.
func TestT40_LongRunningTaskOnAnotherComputer(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "liner")
	raspi := linked(t, h, "raspi", fmt.Sprintf(`computers = { workstation = { may = { "send", "answer", "start", "read" } } }, sessions = { allow = { %q }, roots = { %q } }`, program, dir), launches(t))
	workstation := linked(t, h, "workstation", "")
	worker := raspi.agentOf("Worker")
	tmuxtest.Program(t, program, "#!/bin/sh\nexec "+quoted(append(worker.command(), silent...))+"\n")
	master := workstation.adopted("Master", bracketed...)
	workstation.waitFor("raspi is here", func() bool { all := workstation.computers(); return len(all) == 2 && all[1].Present })

	// 1: the master delegates a long task.
	started, err := asks[api.StartedSession](master, "start", api.StartSessionRequest{Computer: "raspi", Dir: dir, Agent: program, Title: "X", Message: "a long task"})
	require.NoError(t, err)
	there := started.Session
	own := func(computer string, id message.ID) string { return fmt.Sprintf("AI[%s:%s] | ", computer, id) }

	// 2: the worker begins with it, and says nothing.
	worker.hears(own("workstation", master.session.ID) + "a long task")
	for _, p := range raspi.status().Sessions {
		if p.ID == there.ID {
			worker.session = p
		}
	}
	require.Equal(t, there.ID, worker.session.ID)

	// 3, 4: the master asks, with its header in the text; the worker gets that with one header.
	check := own("workstation", master.session.ID) + "Status check: Are you still working on X?"
	_, err = asks[api.Sent](master, "send", api.SendRequest{Computer: "raspi", To: string(there.ID), Text: check})
	require.NoError(t, err)
	worker.hears(check)
	assert.Equal(t, []string{own("workstation", master.session.ID) + "a long task", check}, worker.received())

	// 5: the worker answers by the header that it has read, and puts its own header before the text.
	progress := own("raspi", there.ID) + "Progress update: Currently at step 3 of 5, ETA 5 more minutes."
	_, err = asks[api.Sent](worker, "send", api.SendRequest{Computer: "workstation", To: string(master.session.ID), Text: progress})
	require.NoError(t, err)

	// 6: it goes on with its task, as the same program.
	assert.True(t, system.Lives(worker.session.Foreground.PID, worker.session.Foreground.Start))

	// 7: the master has the update, and goes on watching: it is told of the end.
	master.hears(progress)
	told := slices.DeleteFunc(master.received(), func(text string) bool { return strings.Contains(text, `"X" is working since`) }) // C38: its check may meet a worker that is not seen to rest yet
	assert.Equal(t, []string{progress}, told)
	words, err := asks[api.SessionWords](master, "data", api.SessionDataQuery{Computer: "raspi", Session: string(there.ID)})
	require.NoError(t, err)
	assert.Contains(t, words.Words, "a long task")
	worker.do(":say the task is done")
	master.hears(own("raspi", there.ID) + `[notice] "X" stopped: turn ended`)
}
