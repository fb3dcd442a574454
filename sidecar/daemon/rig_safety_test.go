package daemon_test

import (
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func init() {
	if mode := os.Getenv("INTERCOM_TEST_PROGRAM"); mode != "" {
		os.Exit(testProgram(mode))
	}
}

// testProgram runs this test program in one of its other roles.
func testProgram(mode string) int {
	switch mode {
	case "parent":
		// Starts a persona in a foreground group of its own, and does not wait for its end.
		child := exec.Command(os.Args[1], os.Args[2:]...)
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
		if err := child.Start(); err != nil {
			return 1
		}
		time.Sleep(time.Hour)
	case "becomes":
		return becomes()
	case "runs":
		return runs(os.Args[1])
	case "repl":
		return repl(os.Args[1], os.Args[2])
	case "mute":
		return mute(os.Args[1], os.Args[2])
	case "sidecar":
		return sidecarMain()
	}
	return 0
}

// inGap sets a function that is called between a look and the typing that rests on it.
func inGap(do func(pane, moment string)) option {
	return func(c *daemon.Config) { c.Gap = do }
}

// over chooses the transport.
func over(transport string) option {
	return func(c *daemon.Config) { c.Transport = transport }
}

// transports are the ways to a tmux server. (Control mode on an old version is for servers of tests only.)
var transports = []string{"process", "native", "control"}

// eachServer runs test in a rig of its own, on the version of tmux and over the transport that the test's name
// selects. If INTERCOM_LONG is set, it runs test on every version over every transport. g plans what happens in the
// rig's gaps.
func eachServer(t *testing.T, test func(t *testing.T, r *rig, g *gaps)) {
	t.Helper()
	all := tmuxtest.Versions(t)
	turn := crc32.ChecksumIEEE([]byte(t.Name()))
	for i, v := range all {
		for j, transport := range transports {
			if !longTest() && (turn%uint32(len(all)) != uint32(i) || turn/16%uint32(len(transports)) != uint32(j)) {
				continue
			}
			t.Run(v.Name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				g := &gaps{}
				test(t, newRigOn(t, v, over(transport), g.option()), g)
			})
		}
	}
}

// dealt runs test on every version at hand, over one transport after the other, and deals out n cases to the
// versions: mine reports whether a case belongs to this one. If INTERCOM_LONG is set, each version has all cases
// over all transports.
func dealt(t *testing.T, test func(t *testing.T, r *rig, g *gaps, mine func(n int) bool)) {
	t.Helper()
	all := tmuxtest.Versions(t)
	for i, v := range all {
		for j, transport := range transports {
			if !longTest() && i%len(transports) != j {
				continue
			}
			t.Run(v.Name+"/"+transport, func(t *testing.T) {
				t.Parallel()
				g := &gaps{}
				test(t, newRigOn(t, v, over(transport), g.option()), g, func(n int) bool { return longTest() || n%len(all) == i })
			})
		}
	}
}

// eachTransport runs test either on the oldest version at hand by short processes or on the newest in control mode,
// as the test's name selects. If INTERCOM_LONG is set, it runs test on both.
func eachTransport(t *testing.T, test func(t *testing.T, r *rig), opts ...option) {
	t.Helper()
	all := tmuxtest.Versions(t)
	turn := crc32.ChecksumIEEE([]byte(t.Name())) / 16 % 2
	for i, v := range []tmuxtest.Version{all[0], all[len(all)-1]} {
		if !longTest() && turn != uint32(i) {
			continue
		}
		transport := []string{"process", "control"}[i]
		t.Run(v.Name+"/"+transport, func(t *testing.T) {
			t.Parallel()
			test(t, newRigOn(t, v, append(opts, over(transport))...))
		})
	}
}

// longTest reports whether tests are to take their full length.
func longTest() bool { return os.Getenv("INTERCOM_LONG") != "" }

// inTheTable skips a test of something that pure code decides. The lines name the entries of the tables that prove
// the same in milliseconds, for example "pane/core_test.go: it is echoed". `make long` and `make teeth` run the
// test on a real server all the same.
func inTheTable(t *testing.T, lines ...string) {
	t.Helper()
	require.NotEmpty(t, lines)
	for _, line := range lines {
		file, name, _ := strings.Cut(line, ": ")
		text, err := os.ReadFile(filepath.Join("..", file))
		require.NoError(t, err)
		require.True(t, strings.Contains(string(text), strconv.Quote(name)) || strings.Contains(string(text), "func "+name+"("), "no line %q", line)
	}
	if !onServersToo() {
		t.Skip("INTERCOM_LONG shows on a real server what a table proves")
	}
}

// onServersToo reports whether tests run on real servers although a table proves the same.
func onServersToo() bool {
	_, teeth := os.LookupEnv("INTERCOM_GATE_OFF")
	return teeth || longTest()
}

// need skips a test whose program is not on this machine.
func need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("no %s here: install the package %q", program, program)
	}
}

// told returns a receipt in short: its state, and the reason if there is one.
func told(r message.Receipt) string {
	if r.Reason == "" {
		return string(r.State)
	}
	return string(r.State) + ": " + string(r.Reason)
}

// post sends a message and does not wait for anything.
func (r *rig) post(to *agent, text string) message.ID {
	r.t.Helper()
	sent, err := r.client.Send(r.t.Context(), api.SendRequest{To: to.pane, Text: text})
	require.NoError(r.t, err, "send")
	return sent.Message
}

// trail returns all receipts of a message in short, in order.
func (r *rig) trail(id message.ID) (all []string) {
	r.t.Helper()
	for _, receipt := range r.receiptsOf(id) {
		all = append(all, told(receipt))
	}
	return all
}

func (r *rig) receiptsOf(id message.ID) (all []message.Receipt) {
	r.t.Helper()
	for _, receipt := range r.receipts() {
		if receipt.Message == id {
			all = append(all, receipt)
		}
	}
	return all
}

// last returns the last receipt of a message in short. An answered message was submitted too, so its receipt begins
// with "submitted" as well.
func (r *rig) last(id message.ID) string {
	r.t.Helper()
	all := r.trail(id)
	if len(all) == 0 {
		return ""
	}
	return strings.Replace(all[len(all)-1], "answered", "submitted (answered)", 1)
}

// trails returns the last receipt of each delivery of a message in short, by its target.
func (r *rig) trails(id message.ID) map[message.ID]string {
	r.t.Helper()
	last := map[message.ID]string{}
	for _, receipt := range r.receiptsOf(id) {
		last[receipt.Target] = told(receipt)
	}
	return last
}

// stays checks for a while, longer than a sidecar puts off a look, that something that must not happen does not
// happen. This proves little by itself; use it beside an order of events that proves more.
func (r *rig) stays(holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(time.Duration(long(350, 600)) * time.Millisecond); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		require.True(r.t, holds())
	}
}

// shelled starts a line persona as a person does, from an interactive shell in a pane. The shell's prompt equals
// the persona's.
func (r *rig) shelled(name, shell string, flags ...string) *agent {
	r.t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		r.t.Skipf("no %s here: install the package %q", shell, shell)
	}
	a := r.agentOf(name)
	inputrc := filepath.Join(r.dir, "inputrc") // makes each line break that the shell reads an Enter
	require.NoError(r.t, os.WriteFile(inputrc, []byte("set enable-bracketed-paste off\n"), 0o600))
	a.pane = r.NewPane("env", "PS1="+a.prompt, "INPUTRC="+inputrc, "HISTFILE=", shell, "--norc", "--noprofile", "-i")
	r.WaitForText(a.pane, strings.TrimSpace(a.prompt))
	r.Run("send-keys", "-l", "-t", a.pane, a.script(flags...))
	r.Run("send-keys", "-t", a.pane, "Enter")
	r.waitFor(name+" reads keys", func() bool { return a.count(persona.EventReady) > 0 })
	return a
}

// program starts this test program in another role, in which it shows an agent's prompt.
func (r *rig) program(name, mode string) *agent {
	r.t.Helper()
	a := r.agentOf(name)
	self, err := os.Executable()
	require.NoError(r.t, err)
	a.pane = r.NewPane("env", append([]string{"INTERCOM_TEST_PROGRAM=" + mode, self}, a.command()...)...)
	r.WaitForText(a.pane, strings.TrimSpace(a.prompt))
	return a
}

// again puts another persona with the same prompt into an agent's pane.
func (r *rig) again(was *agent, name string) *agent {
	r.t.Helper()
	a := r.agentOf(name)
	a.prompt, a.pane = was.prompt, was.pane
	words := append([]string{"respawn-pane", "-k", "-t", a.pane}, a.command()...)
	r.Run(append(words, "--reply", "none")...)
	r.waitFor(name+" reads keys", func() bool { return a.count(persona.EventReady) > 0 })
	return a
}

func (r *rig) agentOf(name string) *agent {
	return &agent{
		rig: r, name: name, prompt: strings.ToLower(name) + "> ",
		log: filepath.Join(r.dir, name+".jsonl"), control: filepath.Join(r.dir, name+".ctl"),
	}
}

// command is the command line of the agent's persona.
func (a *agent) command() []string {
	a.t.Helper()
	return []string{personatest.Program(a.t), "line", "--name", a.name, "--prompt", a.prompt, "--log", a.log, "--control", a.control}
}

// script writes a program that starts the agent's persona, and returns its path.
func (a *agent) script(flags ...string) string {
	a.t.Helper()
	path := filepath.Join(a.dir, a.name+".sh")
	line := "#!/bin/sh\nexec"
	for _, word := range append(a.command(), flags...) {
		line += " '" + word + "'"
	}
	tmuxtest.Program(a.t, path, line+"\n")
	return path
}

// kill ends the agent by SIGKILL and waits until it is gone.
func (a *agent) kill() {
	a.t.Helper()
	of := a.session.Foreground
	require.NoError(a.t, syscall.Kill(of.PID, syscall.SIGKILL))
	a.waitFor("its end", func() bool { return !system.Lives(of.PID, of.Start) }) // this takes a while on a busy machine
}

// touch returns a message that makes a file if a shell reads it.
func (a *agent) touch() string { return "please\ntouch " + a.dir + "/touched\nthank you" }

// untouched checks that the shell in the pane has run nothing: there is no file of touch, and the screen has no
// "command not found". It shows text; if that is empty, the last row must be the bare prompt.
func (a *agent) untouched(text string) {
	a.t.Helper()
	a.stays(func() bool { return true })
	assert.NoFileExists(a.t, a.dir+"/touched")
	rows := strings.Split(strings.TrimRight(a.Run("capture-pane", "-p", "-t", a.pane), "\n"), "\n")
	last := rows[len(rows)-1]
	if text == "" {
		assert.Equal(a.t, strings.TrimSpace(a.prompt), strings.TrimSpace(last))
	}
	assert.Contains(a.t, strings.Join(rows, "\n"), text)
	assert.NotContains(a.t, strings.Join(rows, "\n"), "command not found")
}
