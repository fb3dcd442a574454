package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The document's flow "Long-Running Task with Health Check" works between two computers with a network, HOME and tmux server
// each, by commands that agents run in their panes, with the document's two messages. Then the hub and both sidecars are stopped
// for some seconds each while messages go both ways: each message arrives once and in order, unless its sender was told that it
// failed.
func TestT40_N3_TwoNetworksThatStop(t *testing.T) {
	t.Parallel()
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("INTERCOM_LONG=1 runs it: it takes a minute")
	}
	n := newTwo(t, newNetworks(t))
	worker := filepath.Join(n.home("server"), "worker")
	n.join(t, `"send", "answer", "start", "read"`, fmt.Sprintf("sessions = { allow = { %q }, roots = { %q } }, ", worker, n.home("server")))
	tmuxtest.Program(t, worker, "#!/bin/sh\nexec '"+strings.Join(append([]string{personatest.Program(t)}, n.flags("Worker")...), "' '")+"'\n")
	n.line("laptop", "Master", "--reply", "none", "--bracketed", "--control", n.control("Master"))
	n.line("laptop", "Near", "--reply", "none", "--bracketed")
	n.line("server", "Far", "--reply", "none", "--bracketed")
	server := n.name("server")
	tmuxtest.WaitFor(t, "they know each other", func() bool {
		here, ok := n.computer("laptop", server)
		there, too := n.computer("server", "laptop")
		return ok && too && here.Present && there.Present && here.Sessions == 1
	})

	t.Run("T40", func(t *testing.T) {
		master := n.session("laptop", "Master")
		header := func(computer string, id any) string { return fmt.Sprintf("AI[%s:%s] | ", computer, id) }

		// 1, 2: the master delegates a long task, and the worker begins it.
		var started api.StartedSession
		said := n.runs("Master", "intercom", "session", "start", "--json", "--computer", server, "--dir", n.home("server"), "--agent", worker, "--title", "X", "--message", "a long task")
		require.NoError(t, json.Unmarshal([]byte(said), &started), said)
		there := started.Session
		n.hears("Worker", header("laptop", master.ID)+"a long task")
		programs := func() string {
			return n.run("server", "tmux", "list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_dead}")
		}
		before := programs()

		// 3, 4: the master asks with a header in its text; the worker gets the text with one header.
		check := header("laptop", master.ID) + "Status check: Are you still working on X?"
		n.runs("Master", "intercom", "send", server+"/"+string(there.ID), check)
		n.hears("Worker", check)
		assert.Len(t, n.took("Worker"), 2)

		// 5: the worker reports its progress to the session named in the header that it got.
		progress := header(server, there.ID) + "Progress update: Currently at step 3 of 5, ETA 5 more minutes."
		n.runs("Worker", "intercom", "send", "laptop/"+string(master.ID), progress)

		// 6, 7: the worker goes on as the same program. The master gets the report, and a notice at the end.
		n.hears("Master", progress)
		assert.Equal(t, before, programs())
		require.NoError(t, persona.Control(n.control("Worker"), ":say the task is done"))
		n.hears("Master", header(server, there.ID)+`[notice] "X" stopped: turn ended`)
	})
	t.Run("N3 what stops for a while", func(t *testing.T) {
		const all, stopped = 60, 4 * time.Second
		stop := func(pid int) {
			assert.NoError(t, unix.Kill(pid, unix.SIGSTOP))
			time.Sleep(stopped) // the pause is what is tested
			assert.NoError(t, unix.Kill(pid, unix.SIGCONT))
		}
		told := map[string][]int{} // the messages whose sender was told of a failure
		var mu sync.Mutex
		done := make(chan struct{}, 2)
		for from, to := range map[string]string{"laptop": server + "/Far", "server": "laptop/Near"} {
			go func() {
				for i := range all {
					switch {
					case from == "laptop" && i == 10:
						go stop(n.pids(t, "server", "intercom-hub")[0])
					case from == "laptop" && i == 30:
						go stop(n.sidecar(t, "server"))
					case from == "server" && i == 50:
						go stop(n.sidecar(t, "laptop"))
					}
					if out, err := n.try(from, "intercom", "send", to, fmt.Sprintf("%s %d.", from, i)); err != nil && !isHeld(err) {
						t.Logf("%s %d: %v: %s", from, i, err, out)
						mu.Lock()
						told[from] = append(told[from], i)
						mu.Unlock()
					}
				}
				done <- struct{}{}
			}()
		}
		<-done
		<-done
		for session, from := range map[string]string{"Far": "laptop", "Near": "server"} {
			var got []int
			tmuxtest.WaitFor(t, "all at "+session, func() bool {
				got = nil
				for _, text := range n.took(session) {
					if _, number, ok := strings.Cut(text, from+" "); ok {
						i, err := strconv.Atoi(strings.TrimSuffix(number, "."))
						require.NoError(t, err, text)
						got = append(got, i)
					}
				}
				for i := range all {
					if !slices.Contains(got, i) && !slices.Contains(told[from], i) {
						return false
					}
				}
				return true
			})
			assert.True(t, slices.IsSorted(got), "%v", got)
			assert.Len(t, slices.Compact(slices.Clone(got)), len(got), "%v", got)
			assert.Less(t, len(told[from]), all/4)
			t.Logf("%d of %d from %s, each once, in order; of %d its sender was told that it failed", len(got), all, from, len(told[from]))
		}
	})
}

func (n *two) control(session string) string { return filepath.Join(n.dir, session+".control") }

// flags are the flags of a line program that takes commands.
func (n *two) flags(session string) []string {
	return []string{"line", "--name", session, "--prompt", session + "> ", "--log", n.log(session), "--reply", "none", "--control", n.control(session)}
}

// runs has a session run a command in its pane, and returns the output.
func (n *two) runs(session string, argv ...string) string {
	n.t.Helper()
	out := filepath.Join(n.dir, session+".out")
	script := filepath.Join(n.dir, session+".sh")
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	_ = os.Remove(out)
	tmuxtest.Program(n.t, script, "#!/bin/sh\n"+strings.Join(words, " ")+" >"+out+".new 2>"+out+".err\nmv "+out+".new "+out+"\n")
	tmuxtest.WaitFor(n.t, session+" runs "+argv[0], func() bool { return persona.Control(n.control(session), ":exec "+script) == nil })
	var said []byte
	tmuxtest.WaitFor(n.t, "what that says", func() (ok bool) {
		var err error
		said, err = os.ReadFile(out)
		return err == nil
	})
	if errs, _ := os.ReadFile(out + ".err"); len(errs) > 0 {
		n.t.Logf("%v: %s", argv, errs)
	}
	return string(said)
}

// hears waits until a session has got a text.
func (n *two) hears(session, text string) {
	n.t.Helper()
	tmuxtest.WaitFor(n.t, session+" hears "+text, func() bool {
		if _, err := os.Stat(n.log(session)); err != nil {
			return false
		}
		return slices.Contains(n.took(session), text)
	})
}

// session is a session of a computer by its name or id.
func (n *two) session(name, ref string) api.Session {
	n.t.Helper()
	out := n.run(name, "intercom", "session", "list", "--json")
	var all []api.Session
	require.NoError(n.t, json.Unmarshal([]byte(out), &all), out)
	i := slices.IndexFunc(all, func(s api.Session) bool { return s.Name == ref || string(s.ID) == ref })
	require.GreaterOrEqual(n.t, i, 0, "%s: %s", ref, out)
	return all[i]
}

// pids are the processes of a program in the network of a computer.
func (n *two) pids(t *testing.T, name, program string) (all []int) {
	out, err := exec.Command("ip", "netns", "pids", n.ns(name)).Output()
	assert.NoError(t, err)
	for pid := range strings.FieldsSeq(string(out)) {
		argv, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		if first, _, _ := strings.Cut(string(argv), "\x00"); filepath.Base(first) == program {
			id, _ := strconv.Atoi(pid)
			all = append(all, id)
		}
	}
	return all
}

// sidecar is the process id of a computer's sidecar.
func (n *two) sidecar(t *testing.T, name string) int {
	out, err := n.try(name, "intercom", "status", "--json")
	assert.NoError(t, err, out)
	var s api.Status
	assert.NoError(t, json.Unmarshal([]byte(out), &s))
	return s.PID
}
