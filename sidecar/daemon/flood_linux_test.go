package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// flooder is an awk program that shows a prompt, reads a line, and then prints without an end.
const flooder = `BEGIN { printf "flood> "; fflush(); getline < "-"; while (1) print "line " n++ " of a program that prints and prints, whoever reads it" }`

// 500 adopted programs print without a pause. Messages to a quiet one arrive, once each, a message to one that prints
// does not, and the sidecar's memory stays within twice of what it was for a fifth of them.
func TestD5_ProgramsThatFlood(t *testing.T) {
	if !longTest() {
		t.Skip("500 programs that print without an end: set INTERCOM_LONG=1")
	}
	awk, err := exec.LookPath("awk")
	if err != nil {
		t.Skip("no awk here: install mawk or gawk")
	}
	text, err := os.ReadFile(awk)
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "floods") // by its own name, awk counts as an interpreter
	tmuxtest.Program(t, program, string(text))
	const programs, first = 500, 100
	r := newRig(t)
	require.NoError(t, r.end())
	child, line := r.childBy(nil, "")
	require.Equal(t, "ready\n", line)
	quiet := r.adopted("Quiet", silent...)
	var panes []string
	for range programs {
		pane := r.NewPane(program, flooder)
		panes = append(panes, pane)
	}
	for _, pane := range panes {
		r.WaitForText(pane, "flood>")
		_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: pane, As: "line"})
		require.NoError(t, err)
	}
	sent := 0
	arrives := func() {
		text := fmt.Sprintf("word %d", sent)
		sent++
		got, err := r.client.Send(t.Context(), api.SendRequest{To: quiet.pane, Text: text, Wait: api.WaitSubmitted, Timeout: 10 * tmuxtest.Patience})
		require.NoError(t, err)
		require.Contains(t, []message.ReceiptState{message.Submitted, message.Answered}, got.Receipt.State, "%s", told(got.Receipt))
	}
	flood := func(panes []string) (most int) {
		for _, pane := range panes {
			r.Run("send-keys", "-t", pane, "Enter")
		}
		arrives()
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", child.Process.Pid))
		require.NoError(t, err)
		_, rest, ok := strings.Cut(string(text), "VmHWM:")
		require.True(t, ok)
		_, err = fmt.Sscan(rest, &most)
		require.NoError(t, err)
		return most << 10
	}
	some := flood(panes[:first])
	all := flood(panes[first:])
	t.Logf("%d MB at most while %d programs flood, %d MB while %d do", some>>20, first, all>>20, programs)
	assert.LessOrEqual(t, all, 2*some, "five times as many take no more than twice as much")

	held := r.send(&agent{rig: r, pane: panes[0]}, "not now", "", 0)
	arrives()
	assert.Regexp(t, "^(queued|held)", r.last(held.Message))
	assert.NotContains(t, r.Run("capture-pane", "-p", "-t", panes[0]), "not now")
	for i := range sent {
		assert.Equal(t, 1, strings.Count(string(quiet.bytes()), fmt.Sprintf("word %d\r", i)))
	}
	assert.True(t, r.Alive())
}

// An agent sends a thousand messages through the socket, as fast as it is answered: only a few are accepted. Messages
// that another agent and a person send to the same pane meanwhile arrive.
func TestH47_AFloodThroughTheSocket(t *testing.T) {
	if !longTest() {
		t.Skip("a thousand requests of one agent: set INTERCOM_LONG=1 (TestH47_H48_FloodOfOneAgent has it in the core)")
	}
	t.Parallel()
	r := newRig(t)
	ada, ben, cleo := r.adopted("Ada", silent...), r.adopted("Ben", silent...), r.adopted("Cleo", silent...)
	as := func(a *agent) *asker {
		return r.asker(a.name, func(env, program string) { a.do(":exec sh -c '%s %s &'", env, program) })
	}
	flooding, other := as(ada), as(cleo)
	send := func(k *asker, text string) message.Receipt {
		code, body := k.ask(api.Send.Name, api.SendRequest{To: ben.pane, Text: text}, nil)
		require.Empty(t, code, "%s", body)
		var sent api.Sent
		require.NoError(t, json.Unmarshal(body, &sent))
		return sent.Receipt
	}
	const all = 1000
	began := time.Now()
	count := map[message.ReceiptState]int{}
	for i := range all {
		if i == all/2 {
			send(other, "from Cleo")
			r.post(ben, "from the person")
		}
		count[send(flooding, fmt.Sprintf("flood %d", i)).State]++
	}
	minutes := 1 + int(time.Since(began)/time.Minute)
	t.Logf("%v in %v", count, time.Since(began))
	assert.GreaterOrEqual(t, count[message.Failed], all-20-10*minutes)
	assert.LessOrEqual(t, count[message.Held], 20+10*minutes, "those that wait for a person")
	r.waitFor("the others arrive", func() bool {
		text := strings.Join(ben.received(), "\n")
		return strings.Contains(text, "from Cleo") && strings.Contains(text, "from the person")
	})
	assert.LessOrEqual(t, strings.Count(strings.Join(ben.received(), "\n"), "flood "), 10*minutes)
}
