package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Two computers, each with its own network, HOME and tmux server, are joined as docs/computers.md says, with a NATS server
// between them. They find each other, and three sessions talk in a chat. Everything arrives once and in order although the cable
// is cut ten times while both send, and the server and a sidecar are killed. A revoked key is refused, and local work goes on.
func TestN1_N3_TwoNetworks(t *testing.T) {
	t.Parallel()
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("INTERCOM_LONG=1 runs it: it takes minutes")
	}
	n := newTwo(t, newNetworks(t))
	startHub := n.join(t, `"send", "answer", "chat"`, "")
	n.line("laptop", "One", "--reply", "none", "--bracketed")
	n.line("laptop", "Two", "--reply", "none", "--bracketed")
	n.line("server", "Far", "--reply", "well", "--bracketed")
	n.line("server", "Sink", "--reply", "none", "--bracketed")
	far := n.name("server") + "/Far"
	t.Run("N1 they find each other", func(t *testing.T) {
		defer func() {
			if t.Failed() {
				for _, name := range []string{"laptop", "server"} {
					text, err := os.ReadFile(filepath.Join(n.home(name), ".config", "intercom", "init.lua"))
					t.Logf("%s: %s %v\n%s", name, n.run(name, "intercom", "computers"), err, text)
				}
			}
		}()
		for here, there := range map[string]string{"laptop": n.name("server"), "server": "laptop"} {
			tmuxtest.WaitFor(t, there+" is here", func() bool {
				c, ok := n.computer(here, there)
				return ok && c.Present && c.RoundTrip > 0 && c.Sessions == 2
			})
		}
		t.Log("\n" + n.run("laptop", "intercom", "computers"))
	})
	t.Run("R37 a chat of three", func(t *testing.T) {
		n.run("laptop", "intercom", "chat", "start", "One", "Two", far, "--say", "how are you all", "--turns", "1")
		tmuxtest.WaitFor(t, "all have heard", func() bool {
			return len(n.took("Two")) == 2 && len(n.took("One")) == 1 && len(n.took("Far")) == 1
		})
		assert.Regexp(t, `^\[\S+\] \(0\): how are you all$`, n.took("Far")[0])
		said := fmt.Sprintf("[Far.%s] (3): well", n.name("server"))
		assert.Equal(t, []string{said}, n.took("One"))
		assert.Equal(t, said, n.took("Two")[1])
		t.Logf("One: %q", n.took("One"))
	})
	t.Run("N3 cut ten times, the server killed, a sidecar killed", func(t *testing.T) {
		all := 120
		cut := make(chan struct{})
		go func() {
			defer close(cut)
			for range 10 {
				time.Sleep(500 * time.Millisecond)
				n.ip(t, "-n", n.ns("laptop"), "link", "set", "dev", "cable", "down")
				time.Sleep(300 * time.Millisecond)
				n.ip(t, "-n", n.ns("laptop"), "link", "set", "dev", "cable", "up")
			}
		}()
		done := make(chan error, 2)
		for from, to := range map[string]string{"laptop": n.name("server") + "/Sink", "server": "laptop/Two"} {
			go func() {
				for i := range all {
					if out, err := n.try(from, "intercom", "send", to, fmt.Sprintf("%s %d.", from, i)); err != nil && !isHeld(err) {
						done <- fmt.Errorf("%s %d: %w: %s", from, i, err, out)
						return
					}
					if from == "laptop" && i == all/2 {
						n.kill(t, "server", "intercom-hub") // without any notice to the sidecars
						startHub()
					}
					if from == "server" && i == all/3 {
						n.killSidecar(t, "laptop")
					}
				}
				done <- nil
			}()
		}
		first, second := <-done, <-done
		<-cut
		require.NoError(t, first)
		require.NoError(t, second)
		for session, from := range map[string]string{"Sink": "laptop", "Two": "server"} {
			var got []string
			tmuxtest.WaitFor(t, "all at "+session, func() bool {
				got = slices.DeleteFunc(n.took(session), func(s string) bool { return !strings.Contains(s, from+" ") })
				return len(got) >= all
			})
			require.Len(t, got, all)
			for i, text := range got {
				require.True(t, strings.HasSuffix(text, fmt.Sprintf("%s %d.", from, i)), "%d: %q", i, text)
			}
			t.Logf("%d of %d from %s, each once, in order", len(got), all, from)
		}
	})
	t.Run("N5 revoked", func(t *testing.T) {
		t.Log(n.run("server", "intercom-hub", "revoke", "laptop"))
		tmuxtest.WaitFor(t, "laptop is told", func() bool { c, _ := n.computer("laptop", "laptop"); return c.Why != "" })
		out, err := n.try("laptop", "intercom", "send", n.name("server")+"/Sink", "let me in")
		assert.True(t, isHeld(err), "it waits here: %s %v", out, err)
		before := len(n.took("One"))
		n.run("laptop", "intercom", "send", "One", "local work goes on", "--wait", "submitted")
		assert.Len(t, n.took("One"), before+1)
		n.run("server", "intercom", "send", "Sink", "the last word", "--wait", "submitted") // anything sent before it has arrived
		tmuxtest.WaitFor(t, "it has arrived", func() bool {
			return slices.ContainsFunc(n.took("Sink"), func(s string) bool { return strings.HasSuffix(s, "the last word") })
		})
		for _, text := range n.took("Sink") {
			assert.NotContains(t, text, "let me in")
		}
		t.Log("\n" + n.run("laptop", "intercom", "computers"))
	})
}

// join starts a hub on server and links both computers as the document says. may is what each may do at the other, lua is the
// rest of server's configuration. startHub starts the hub again after it has ended.
func (n *two) join(t *testing.T, may, lua string) (startHub func()) {
	t.Helper()
	var hub *exec.Cmd
	startHub = func() {
		if hub != nil {
			_ = hub.Wait()
		}
		hub = n.in(t, "server", "intercom-hub", "--listen", "192.0.2.2:4222")
		said := &bytes.Buffer{}
		hub.Stdout, hub.Stderr = said, said
		require.NoError(t, hub.Start())
	}
	startHub()
	line := ""
	tmuxtest.WaitFor(t, "the hub takes who is added", func() bool {
		out, err := n.try("server", "intercom", "link", "add", "laptop")
		line = regexp.MustCompile(`(?m)^\s*(intercom link \S+.*)$`).FindString(out)
		if err != nil || line == "" {
			t.Log(out)
		}
		return err == nil && line != ""
	})
	require.NotContains(t, line, "'") // because the line is split at blanks
	t.Log(n.run("laptop", strings.Fields(line)...))
	n.allows(may, lua)
	return startHub
}

// allows writes into each init.lua what the other computer may do there, and limits too high to matter here; lua is the rest of
// server's configuration.
func (n *two) allows(may, lua string) {
	n.t.Helper()
	for name, other := range map[string]string{"laptop": n.name("server"), "server": "laptop"} {
		path := filepath.Join(n.home(name), ".config", "intercom", "init.lua")
		text, err := os.ReadFile(path)
		require.NoError(n.t, err, "%s has none", name)
		more := fmt.Sprintf(`intercom.configure { computers = { [%q] = { may = { %s } } }, brakes = { own_minute = 100000, own_hour = 100000, rate = 100000 }, `, other, may)
		if name == "server" {
			more += lua
		}
		text = bytes.Replace(text, []byte("intercom.configure { "), []byte(more), 1)
		require.NoError(n.t, os.WriteFile(path, text, 0o600))
	}
}

// isHeld reports whether a message waits: exit codes 4 and 5.
func isHeld(err error) bool {
	e, ok := errors.AsType[*exec.ExitError](err)
	return ok && (e.ExitCode() == 4 || e.ExitCode() == 5)
}

// two is the two computers with the programs that run there.
type two struct {
	*sshWorld
	t *testing.T
}

func newTwo(t *testing.T, w *sshWorld) *two {
	t.Helper()
	n := &two{w, t}
	tmux, err := exec.LookPath("tmux")
	require.NoError(t, err)
	for _, name := range []string{"laptop", "server"} {
		n.run(name, tmux, "new-session", "-d", "-x", "200", "-y", "50", "cat")
	}
	return n
}

// name is the name of a computer in the link.
func (n *two) name(of string) string {
	if of == "server" {
		return ownName()
	}
	return of
}

func (n *two) try(name string, argv ...string) (string, error) {
	cmd := n.in(n.t, name, append([]string{"TMUX_TMPDIR=" + n.home(name), "XDG_RUNTIME_DIR=" + n.home(name), "INTERCOM_SERVER=" + filepath.Join(n.home(name), "tmux-0", "default")}, argv...)...)
	cmd.Stdin = nil
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	return out.String() + errs.String(), err
}

func (n *two) run(name string, argv ...string) string {
	n.t.Helper()
	out, err := n.try(name, argv...)
	require.NoError(n.t, err, "%v: %s", argv, out)
	return out
}

func (n *two) log(session string) string { return filepath.Join(n.dir, session+".jsonl") }

// line starts a line program in a pane and adopts it.
func (n *two) line(name, session string, args ...string) {
	n.t.Helper()
	n.lineAs("line", name, session, args...)
}

// lineAs is like line, with another profile.
func (n *two) lineAs(as, name, session string, args ...string) {
	n.t.Helper()
	argv := append([]string{personatest.Program(n.t), "line", "--name", session, "--prompt", session + "> ", "--log", n.log(session)}, args...)
	pane := strings.TrimSpace(n.run(name, append([]string{"tmux", "new-window", "-d", "-P", "-F", "#{pane_id}"}, argv...)...))
	tmuxtest.WaitFor(n.t, session+" is adopted", func() bool {
		out, err := n.try(name, "intercom", "adopt", pane, "--as", as, "--name", session)
		if err != nil {
			n.t.Log(out)
		}
		return err == nil
	})
}

// meet waits until a computer knows a session of another one.
func (n *two) meet(here, there string) {
	n.t.Helper()
	tmuxtest.WaitFor(n.t, there+" is here", func() bool {
		c, ok := n.computer(here, there)
		return ok && c.Present && c.Sessions > 0
	})
}

// sends sends a message as a computer's person by a request to the sidecar, which is faster than a process for each.
func (n *two) sends(name, to, text string) {
	n.t.Helper()
	p, err := api.Places(func(key string) string {
		return map[string]string{"HOME": n.home(name), "XDG_RUNTIME_DIR": n.home(name)}[key]
	}, filepath.Join(n.home(name), "tmux-0", "default"))
	require.NoError(n.t, err)
	sent, err := api.Call(n.t.Context(), &api.Client{Socket: p.Socket}, api.Send, api.SendRequest{To: to, Text: text})
	require.NoError(n.t, err, text)
	require.NotContains(n.t, []message.ReceiptState{message.Failed, message.Expired}, sent.Receipt.State, "%s: %s", text, sent.Receipt.Reason)
}

// gets waits until a session has got at least that many numbered texts from a computer, in order from 0 on.
func (n *two) gets(session, from string, least int) {
	n.t.Helper()
	numbered := regexp.MustCompile(from + ` (\d+)\.`)
	for got := 0; got < least; {
		tmuxtest.WaitFor(n.t, fmt.Sprintf("more than %d of %d at %s", got, least, session), func() bool {
			found := numbered.FindAllStringSubmatch(strings.Join(n.took(session), "\n"), -1)
			for i, one := range found {
				require.Equal(n.t, fmt.Sprint(i), one[1], "of %s", session)
			}
			more := len(found) > got
			got = len(found)
			return more
		})
	}
}

// took are the texts that a program in a pane was given, in order.
func (n *two) took(session string) (all []string) {
	n.t.Helper()
	data, err := os.ReadFile(n.log(session))
	require.NoError(n.t, err)
	for line := range bytes.Lines(data) {
		var r persona.Record
		if json.Unmarshal(line, &r) == nil && r.Event == persona.EventReceived {
			all = append(all, r.Text)
		}
	}
	return all
}

func (n *two) computer(here, there string) (c api.Computer, ok bool) {
	out, err := n.try(here, "intercom", "computers", "--json")
	var all []api.Computer
	if err != nil || json.Unmarshal([]byte(out), &all) != nil {
		return c, false
	}
	i := slices.IndexFunc(all, func(c api.Computer) bool { return strings.EqualFold(c.Name, there) })
	if i < 0 {
		return c, false
	}
	return all[i], true
}

// kill kills a program in the network of a computer.
func (n *two) kill(t *testing.T, name, program string) {
	for _, pid := range n.pids(t, name, program) {
		assert.NoError(t, unix.Kill(pid, unix.SIGKILL))
	}
}

// killSidecar kills the sidecar of a computer and starts another.
func (n *two) killSidecar(t *testing.T, name string) {
	assert.NoError(t, unix.Kill(n.sidecar(t, name), unix.SIGKILL))
	_, err := n.try(name, "intercom", "up")
	assert.NoError(t, err)
}
