package daemon_test

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// becomes reads lines behind a prompt, and at SIGUSR1 executes another program in its own place: the one in the file
// named by INTERCOM_TEST_BECOMES, one argument a line.
func becomes() int {
	prompt := os.Getenv("INTERCOM_TEST_PROMPT")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	fmt.Print(prompt)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Print("heard\n", prompt)
		}
	}()
	<-signals
	plan, err := os.ReadFile(os.Getenv("INTERCOM_TEST_BECOMES"))
	if err != nil {
		return 1
	}
	words := strings.Split(strings.TrimSuffix(string(plan), "\n"), "\n")
	for name, value := range map[string]string{"INTERCOM_TEST_PROGRAM": "runs", "PS1": prompt, "HISTFILE": ""} {
		_ = os.Setenv(name, value)
	}
	_ = syscall.Exec(words[0], words, os.Environ())
	return 1
}

// runs notes each line that it reads, as a program that would run it. It shows nothing: a prompt stands there
// already.
func runs(dir string) int {
	if err := os.WriteFile(filepath.Join(dir, "became"), nil, 0o600); err != nil {
		return 1
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f, err := os.OpenFile(filepath.Join(dir, "ran"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		fmt.Fprintln(f, lines.Text())
		f.Close()
	}
	return 0
}

// changeling starts a line program that can become another one: a shell in a file of this program's name, or this
// program with other arguments. turn makes it become that, and returns when it has.
func (r *rig) changeling(t *testing.T, name, into string) (a *agent, turn func()) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Join(r.dir, name)
	require.NoError(t, os.Mkdir(dir, 0o700))
	plan := []string{self, dir}
	became := func() bool { _, err := os.Stat(filepath.Join(dir, "became")); return err == nil }
	if into == "shell" {
		need(t, "bash")
		bash, err := exec.LookPath("bash")
		require.NoError(t, err)
		plan = []string{filepath.Join(dir, filepath.Base(self)), "--rcfile", filepath.Join(dir, "rc"), "--noprofile", "-i"}
		tmuxtest.Program(t, plan[2], ": >"+dir+"/became\nset +H\n")
		out, err := exec.Command("cp", bash, plan[0]).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plan"), []byte(strings.Join(plan, "\n")), 0o600))
	a = r.agentOf(name)
	a.pane = r.NewPane("env", "INTERCOM_TEST_PROGRAM=becomes", "INTERCOM_TEST_PROMPT="+a.prompt, "INTERCOM_TEST_BECOMES="+filepath.Join(dir, "plan"), self, name)
	r.WaitForText(a.pane, strings.TrimSpace(a.prompt))
	return a, func() {
		if err := syscall.Kill(a.session.Foreground.PID, syscall.SIGUSR1); err != nil {
			t.Error(err)
		}
		tmuxtest.WaitFor(t, "it has become another", became)
	}
}

// ends waits until an agent's session has ended.
func (r *rig) ends(a *agent) {
	r.t.Helper()
	r.waitFor(a.name+" is gone", func() bool {
		sessions, err := r.client.Sessions(r.t.Context())
		for _, s := range sessions {
			if s.ID == a.session.ID {
				return false
			}
		}
		return err == nil
	})
}

// An adopted program executes another one in its own place: a shell under its own name, or itself with other
// arguments, behind the same prompt. Whenever it does, no text is run there.
func TestS26_AnyExecIsAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, into := range []string{"shell", "itself"} {
		t.Run(into, func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			ran := func(a *agent) {
				t.Helper()
				dir := filepath.Join(r.dir, a.name)
				assert.NoFileExists(t, filepath.Join(dir, "ran"))
				assert.NoFileExists(t, filepath.Join(dir, "touched"))
				shown := r.Run("capture-pane", "-p", "-t", a.pane)
				assert.NotContains(t, shown, "syntax error")
				assert.NotContains(t, shown, "not found")
			}
			body := func(a *agent) string { return "please | touch " + filepath.Join(r.dir, a.name, "touched") }

			t.Run("before the message", func(t *testing.T) {
				a, turn := r.changeling(t, "Ada", into)
				a.adopt("line")
				require.Equal(t, message.Submitted, r.send(a, "hello", api.WaitSubmitted, patience).State)
				turn()
				sent, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: body(a)})
				if err == nil { // the change was not noticed before
					r.waitFor("failed", func() bool { return r.last(sent.Message) == "failed: agent gone" })
				}
				r.ends(a)
				assert.NotContains(t, r.Run("capture-pane", "-p", "-t", a.pane), "please")
				ran(a)
			})
			t.Run("before the paste", func(t *testing.T) {
				a, turn := r.changeling(t, "Ben", into)
				a.adopt("line")
				g.plan(a.pane, "paste unchecked", turn)
				id := r.post(a, body(a))
				r.waitFor("failed", func() bool { return r.last(id) == "failed: agent gone" })
				assert.Contains(t, r.trail(id), "held: pane changed while we looked")
				assert.NotContains(t, r.Run("capture-pane", "-p", "-t", a.pane), "please")
				ran(a)
			})
			for i, moment := range []string{"pasted", "enter unchecked"} {
				t.Run(moment, func(t *testing.T) {
					a, turn := r.changeling(t, []string{"Cyd", "Dan"}[i], into)
					a.adopt("line")
					g.plan(a.pane, moment, turn)
					id := r.post(a, body(a))
					r.waitFor("uncertain", func() bool { return r.last(id) == "uncertain: agent gone" })
					ran(a)
				})
			}
			t.Run("while no sidecar runs", func(t *testing.T) {
				a, turn := r.changeling(t, "Eve", into)
				a.adopt("line")
				require.NoError(t, r.end())
				turn()
				r.start()
				r.ends(a)
				_, err := r.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: body(a)})
				require.Error(t, err)
				ran(a)
			})
		})
	}
}

// A session of an older version does not tell what its process executes. The sidecar looks once more: the same
// program goes on, and is known from then on; the session of another one ends.
func TestS26_SessionsOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, turn := r.changeling(t, "Ada", "itself")
	a.adopt("line")
	b, _ := r.changeling(t, "Ben", "itself")
	b.adopt("line")
	c := r.coder("claude", "Cyd", silent...)
	c.adopt("")
	for _, one := range []*agent{a, b, c} {
		require.NotEmpty(t, one.session.Foreground.Exec)
	}
	older := func(change string) {
		t.Helper()
		require.NoError(t, r.end())
		db, err := sql.Open("sqlite", "file:"+filepath.Join(r.cfg.Paths.State, "journal.db"))
		require.NoError(t, err)
		_, err = db.Exec("UPDATE sessions SET doc = " + change)
		require.NoError(t, err)
		require.NoError(t, db.Close())
		r.start()
	}
	older("json_remove(doc, '$.foreground.exec')")
	for _, one := range []*agent{a, b, c} {
		require.Equal(t, message.Submitted, r.send(one, "hello", api.WaitSubmitted, patience).State, one.name)
		sessions, err := r.client.Sessions(t.Context())
		require.NoError(t, err)
		for _, s := range sessions {
			if s.ID == one.session.ID {
				assert.Equal(t, one.session.Foreground, s.Foreground)
			}
		}
	}
	turn() // from here on, another program is noticed as always
	r.ends(a)
	// A program whose name has changed since cannot be told to be the same.
	older("json_set(json_remove(doc, '$.foreground.exec'), '$.foreground.name', 'other')")
	r.ends(b)
	require.Equal(t, message.Submitted, r.send(c, "hello again", api.WaitSubmitted, patience).State, "an agent is recognised")
}

// An agent that executes itself anew in its own place, as after an update, is another agent, and can be adopted.
func TestS26_V12_AgentThatStartsItselfAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.agentOf("Ada")
	script := a.coderScript("claude", silent...)
	plan := filepath.Join(r.dir, "plan")
	require.NoError(t, os.WriteFile(plan, []byte("/usr/bin/env\n-u\nINTERCOM_TEST_PROGRAM\n"+script), 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	old := filepath.Join(r.dir, "claude")
	require.NoError(t, os.Symlink(self, old))
	a.pane = r.NewPane("env", "INTERCOM_TEST_PROGRAM=becomes", "INTERCOM_TEST_PROMPT=updating", "INTERCOM_TEST_BECOMES="+plan, old)
	r.WaitForText(a.pane, "updating")
	a.adopt("")
	was := &agent{rig: r, name: a.name, session: a.session}
	require.NoError(t, syscall.Kill(a.session.Foreground.PID, syscall.SIGUSR1))
	r.ends(was)
	r.waitFor("it reads keys", func() bool { return a.count(persona.EventReady) > 0 })
	a.adopt("")
	assert.Equal(t, was.session.Foreground.PID, a.session.Foreground.PID)
	assert.NotEqual(t, was.session.Foreground.Exec, a.session.Foreground.Exec)
	r.told(r.post(a, "hello"), "submitted")
}

// At adoption the executable counts, not the name that a program gives itself.
func TestS26_InterpretersByTheirExecutable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	refused := func(t *testing.T, pane, why string) (told *api.Error) {
		t.Helper()
		explained := (&agent{rig: r, pane: pane}).explain()
		assert.False(t, explained.Lines)
		for _, as := range []string{"line", "line-paste", "tui", ""} {
			_, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: pane, As: as})
			require.ErrorAs(t, err, &told, "adopted as %q", as)
			assert.Contains(t, told.Text, why)
			assert.NotContains(t, told.Hint, "--as line")
		}
		return told
	}
	t.Run("python by another name", func(t *testing.T) {
		need(t, "python3")
		file := filepath.Join(r.dir, "named.py")
		require.NoError(t, os.WriteFile(file, []byte("open('/proc/self/comm', 'w').write('chat')\n"), 0o600))
		pane := r.NewPane("python3", "-q", "-i", file)
		r.WaitForText(pane, ">>>")
		comm := strings.TrimSpace(r.Run("display-message", "-p", "-t", pane, "#{pane_pid}"))
		name, err := os.ReadFile("/proc/" + comm + "/comm")
		require.NoError(t, err)
		require.Equal(t, "chat\n", string(name))
		refused(t, pane, "is an interpreter")
	})
	t.Run("node by the name of its thread", func(t *testing.T) {
		need(t, "node")
		pane := r.NewPane("node", "-i", "-e", "require('fs').writeFileSync('/proc/self/comm', 'MainThread')")
		r.WaitForText(pane, ">")
		refused(t, pane, "is an interpreter")
	})
	t.Run("nslookup", func(t *testing.T) {
		need(t, "nslookup")
		pane := r.NewPane("nslookup")
		r.WaitForText(pane, ">")
		refused(t, pane, "is an interpreter")
	})
	t.Run("gdb by its other name", func(t *testing.T) {
		need(t, "gdb")
		gdb, err := exec.LookPath("gdb")
		require.NoError(t, err)
		link := filepath.Join(r.dir, "gdb-multiarch")
		require.NoError(t, os.Symlink(gdb, link))
		pane := r.NewPane(link, "-q", "-nx")
		r.WaitForText(pane, "(gdb)")
		refused(t, pane, "is an interpreter")
	})
	t.Run("a script by env", func(t *testing.T) {
		need(t, "python3")
		file := filepath.Join(r.dir, "by-env")
		tmuxtest.Program(t, file, "#!/usr/bin/env python3\ninput('chat> ')\n")
		pane := r.NewPane(file)
		r.WaitForText(pane, "chat>")
		told := refused(t, pane, "is an interpreter")
		assert.Contains(t, told.Hint, "#!/usr/bin/python3, without env")
	})
	t.Run("a script by its own name", func(t *testing.T) {
		need(t, "python3")
		file := filepath.Join(r.dir, "chat")
		tmuxtest.Program(t, file, "#!/usr/bin/python3\nimport sys\nwhile True:\n    print('chat> ', end='', flush=True)\n    print('heard ' + sys.stdin.readline().strip())\n")
		a := r.agentOf("Chat")
		a.pane = r.NewPane(file)
		r.WaitForText(a.pane, "chat>")
		assert.True(t, a.explain().Lines, "the list of panes offers what adopt takes")
		a.adopt("line")
		assert.Equal(t, message.Submitted, r.send(a, "hello", api.WaitSubmitted, patience).State)
	})
}
