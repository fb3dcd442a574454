package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// tmuxServer starts a private tmux server of the person, and ends it with the test.
func (k *talker) tmuxServer(name string) (socket string) {
	k.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		k.t.Skip("no tmux: install tmux 3.2a or newer")
	}
	socket = filepath.Join(k.env["XDG_RUNTIME_DIR"], name)
	out, err := k.command("tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "80", "-y", "24", "sleep 600").CombinedOutput()
	require.NoError(k.t, err, "%s", out)
	k.t.Cleanup(func() {
		k.endAll() // first, because a sidecar whose server ends starts another for the ports, whose lock does not exist yet
		_ = k.command("tmux", "-S", socket, "kill-server").Run()
	})
	return socket
}

// sidecarOf is the process id of the sidecar of a tmux server, or with "" of the headless one; 0 if none runs.
func (k *talker) sidecarOf(socket string) int {
	p, err := api.Places(k.getenv, socket)
	require.NoError(k.t, err)
	return api.Holder(p.Lock)
}

// in makes the person's commands belong to a tmux server.
func (k *talker) in(socket string) *talker {
	other := *k
	other.env = map[string]string{"INTERCOM_SERVER": socket}
	for key, value := range k.env {
		if key != "INTERCOM_SERVER" {
			other.env[key] = value
		}
	}
	return &other
}

// A port outlives the tmux server in which it was started.
func TestK1_C50_outlivesItsTmuxServer(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	socket := k.tmuxServer("one")
	port := aFreePort(t)
	pid := k.in(socket).ok("listen", "start", "--port", port)["pid"]
	assert.Equal(t, float64(k.sidecarOf(socket)), pid, "it is the server's own sidecar that listens")
	assert.Zero(t, k.sidecarOf(""))
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "before")
	require.NoError(t, k.command("tmux", "-S", socket, "kill-server").Run())
	until(t, func() bool {
		headless := k.sidecarOf("")
		return headless > 0 && k.ok("listen", "status", "--port", port)["pid"] == float64(headless)
	})
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "after")
	assert.Equal(t, []string{"before", "after"}, bodies(k.ok("check", "--port", port)))
	assert.Equal(t, "stopped", k.ok("listen", "stop", "--port", port)["status"])
}

// Two tmux servers and a headless sidecar share one port and one repository, and are ended in two orders, in a long run in every
// order. Each message arrives or is processed once, and while one of them lives both the port and the repository are served.
func TestC50_endedInEveryOrder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes several seconds: run it without -short")
	}
	orders := [][]int{{0, 1, 2}, {2, 1, 0}} // the headless one first, and last
	if os.Getenv("INTERCOM_LONG") != "" {
		orders = [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	}
	for _, order := range orders {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			k := newTalker(t)
			port := aFreePort(t)
			servers := []string{"", k.tmuxServer("one"), k.tmuxServer("two")}
			for _, socket := range servers {
				out, err := k.in(socket).command(thisProgram(), "up").CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			k.in(servers[order[0]]).ok("listen", "start", "--port", port)
			asker, target := filepath.Join(k.env["HOME"], "asker"), filepath.Join(k.env["HOME"], "target")
			for _, dir := range []string{asker, target} {
				require.NoError(t, os.Mkdir(dir, 0o700))
				k.runsIn(dir, "aea", "install")
			}
			logged := func() string {
				text, _ := os.ReadFile(filepath.Join(target, ".aea", "agent.log"))
				return string(text)
			}
			var told, sent []string
			say := func(text string) {
				var one struct{ File string }
				require.NoError(t, json.Unmarshal([]byte(k.runsIn(asker, "aea", "send", "--to", "claude-target", "--type", "update", "--priority", "low", "--subject", text, "--message", text, "--json")), &one))
				sent = append(sent, filepath.Base(one.File))
				until(t, func() bool { return strings.Contains(logged(), "/"+filepath.Base(one.File)+" -> ") })
				until(t, func() bool {
					_, code := k.says("send", "--to-port", port, "--from-port", "9001", "--message", text)
					return code == 0
				})
				told = append(told, text)
			}
			say("first")
			for n, which := range order {
				socket := servers[which]
				if pid := k.sidecarOf(socket); pid > 0 {
					if socket != "" {
						require.NoError(t, k.command("tmux", "-S", socket, "kill-server").Run())
					} else {
						require.NoError(t, syscall.Kill(pid, syscall.SIGTERM))
					}
				}
				until(t, func() bool { return k.sidecarOf(socket) == 0 || socket == "" && n > 0 })
				if n < len(order)-1 || slices.Index(order, 0) < len(order)-1 {
					say(fmt.Sprintf("after %d", which))
				}
			}
			assert.Equal(t, strings.Join(told, ", "), strings.Join(bodies(k.ok("check", "--port", port)), ", "))
			assert.Equal(t, len(sent), strings.Count(logged(), "] "), "%s", logged())
			for _, file := range sent {
				assert.Equal(t, 1, strings.Count(logged(), "] Processed: .aea/"+file+" -> acknowledged\n"), "%s: %s", file, logged())
			}
		})
	}
}

// reader starts a line program in a pane of a new tmux server of the person, adopted as Ada.
func (k *talker) reader(name string) (in *talker, screen func() string) {
	k.t.Helper()
	socket := k.tmuxServer(name)
	in = k.in(socket)
	pane, err := in.command("tmux", "-S", socket, "new-window", "-d", "-P", "-F", "#{pane_id}", thisProgram()+" persona --name Ada --prompt 'ada> '").CombinedOutput()
	require.NoError(k.t, err, "%s", pane)
	screen = func() string {
		out, _ := in.command("tmux", "-S", socket, "capture-pane", "-p", "-J", "-t", strings.TrimSpace(string(pane))).Output()
		return string(out)
	}
	until(k.t, func() bool { return strings.Contains(screen(), "ada>") })
	in.runs("adopt", strings.TrimSpace(string(pane)), "--as", "line", "--name", "Ada")
	return in, screen
}

// runs runs a command that must succeed.
func (k *talker) runs(words ...string) string {
	k.t.Helper()
	out, err := k.command(thisProgram(), words...).CombinedOutput()
	require.NoError(k.t, err, "%v: %s", words, out)
	return string(out)
}

// runsIn is like runs, in a directory.
func (k *talker) runsIn(dir string, words ...string) string {
	k.t.Helper()
	cmd := k.command(thisProgram(), words...)
	cmd.Dir = dir
	out, err := cmd.Output()
	require.NoError(k.t, err, "%v: %s", words, out)
	return string(out)
}

// A message to a port is not typed anywhere by itself. With the shipped example in use it waits for approval, and a policy that
// delivers it has it typed. A policy can route a person's message to a pane to a port instead, or to both, by its type, text and
// priority.
func TestK34_C9_L4_whereAPolicySaysSo(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	in, screen := k.reader("policy")
	port := aFreePort(t)
	in.ok("listen", "start", "--port", port, "--route")
	in.ok("send", "--to-port", port, "--from-port", "9002", "--message", "nobody decides")
	policies := filepath.Join(k.env["HOME"], ".config", "intercom", "policies")
	require.NoError(t, os.MkdirAll(policies, 0o700))
	example, err := os.ReadFile(filepath.Join("..", "..", "policies", "examples", "talk-port.lua"))
	require.NoError(t, err)
	text := strings.NewReplacer(`["9001"]`, `["`+port+`"]`, `"claude"`, `"Ada"`).Replace(string(example))
	save := func(name, text string) {
		inUse := func() int { return strings.Count(in.runs("policy", "log"), "in use") }
		before := inUse()
		require.NoError(t, os.WriteFile(filepath.Join(policies, name), []byte(text), 0o600))
		until(t, func() bool { return inUse() > before })
	}
	use := func(text, says string) {
		save("50-port.lua", text)
		in.ok("send", "--to-port", port, "--from-port", "9003", "--message", "not expected")
		in.ok("send", "--to-port", port, "--from-port", "9002", "--message", says)
		until(t, func() bool { return strings.Contains(in.runs("log"), says+"\n") })
	}
	use(text, "asked about")
	until(t, func() bool { return strings.Contains(in.runs("inbox", "list"), "asked about") })
	assert.NotContains(t, screen(), "asked about", "nobody has said yes")
	use(strings.Replace(text, "return intercom.ask {", "return intercom.deliver {", 1), "typed now")
	until(t, func() bool { return strings.Contains(screen(), "typed now") })
	for _, not := range []string{"nobody decides", "not expected", "asked about"} {
		assert.NotContains(t, screen(), not)
	}

	in.ok("check", "--port", port, "--clear")
	save("60-elsewhere.lua", strings.ReplaceAll(`local numbered = intercom.re [[(?i)\bissue \d+\b]]
intercom.on("route", function(msg)
  if msg.origin ~= "human" then return end
  if msg.type == "issue" and numbered:test(msg.body) then return "PORT" end
  if msg.priority == "urgent" then return { "PORT", "Ada" } end
end)`, "PORT", port))
	rests := regexp.MustCompile(`(?m)^Ada +.* idle `)
	for _, c := range []struct {
		text       string
		flags      []string
		port, pane bool
	}{
		{text: "see issue 12", flags: []string{"--type", "issue"}, port: true},
		{text: "see that issue", flags: []string{"--type", "issue"}, pane: true},
		{text: "to all of you", flags: []string{"--type", "update", "--priority", "urgent"}, port: true, pane: true},
		{text: "to you alone", pane: true},
	} {
		until(t, func() bool { return rests.MatchString(in.runs("peers")) })
		out, err := in.command(thisProgram(), append([]string{"send", "Ada", c.text}, c.flags...)...).CombinedOutput()
		assert.NoError(t, err, "%s: %s", c.text, out)
		tmuxtest.WaitFor(t, fmt.Sprintf("%q where it is to be: %s", c.text, out), func() bool {
			heard := slices.ContainsFunc(bodies(in.ok("check", "--port", port)), func(body string) bool { return strings.Contains(body, c.text) })
			return heard == c.port && strings.Contains(screen(), c.text) == c.pane
		})
	}
	assert.NotContains(t, screen(), "see issue 12", "what came after it is there")
	assert.Len(t, bodies(in.ok("check", "--port", port)), 2)
}

// In a chat of a pane and a port each hears the other, and the port answers as the document says.
func TestC9_aPaneAndAPortInAChat(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	in, screen := k.reader("chat")
	port := aFreePort(t)
	in.ok("listen", "start", "--port", port, "--name", "beta")
	assert.Contains(t, in.runs("send", port, "by number"), "submitted", "it is a peer at once")
	assert.Len(t, bodies(in.ok("check", "--port", port, "--clear")), 1)
	in.runs("chat", "start", "Ada", "beta", "--name", "mix", "--say", "Begin.")
	var got map[string]any
	until(t, func() bool {
		got = in.ok("check", "--port", port, "--clear")
		return len(bodies(got)) > 0
	})
	gate := fmt.Sprint(got["messages"].([]any)[0].(map[string]any)["sender_port"])
	in.ok("send", "--to-port", gate, "--from-port", port, "--message", "Hello, Ada.")
	until(t, func() bool { return strings.Contains(screen(), "[beta] (2): Hello, Ada.") })
	until(t, func() bool { return len(bodies(in.ok("check", "--port", port))) > 0 })
	assert.Contains(t, bodies(in.ok("check", "--port", port))[0], "[Ada] (1):\n\n")
}

// `intercom down --all` ends every sidecar, and none starts another for the ports.
func TestDown_all(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	socket := k.tmuxServer("down")
	port := aFreePort(t)
	k.in(socket).ok("listen", "start", "--port", port)
	k.runs("up")
	var ended []struct {
		Stopped bool
		PID     int
	}
	require.NoError(t, json.Unmarshal([]byte(k.runs("down", "--all", "--json")), &ended))
	assert.Len(t, ended, 2)
	for _, one := range ended {
		until(t, func() bool { return !process.Lives(one.PID, 0) })
	}
	assert.Zero(t, k.sidecarOf(""))
	assert.Zero(t, k.sidecarOf(socket))
	assert.JSONEq(t, "[]", k.runs("down", "--all", "--json"))
	assert.Equal(t, "not_running", k.ok("listen", "status", "--port", port)["status"])
	k.runs("up")
	until(t, func() bool { return k.ok("listen", "status", "--port", port)["status"] == "running" })
}
