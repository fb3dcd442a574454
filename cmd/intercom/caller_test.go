package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// battery writes a script that tries everything an agent would like to do as a person. It returns the script and the file with
// the results.
func (st *stage) battery(name string, claude, codex *coder, other string) (script, result string) {
	st.t.Helper()
	result = filepath.Join(st.home, name)
	lines := "#!/bin/sh\n"
	for _, words := range []string{
		"send " + codex.pane + " 'psst from " + name + "' --timeout 0s", "chat say pair 'I am the person'", "chat resume --all",
		"chat start " + claude.pane + " " + other, "chat stop pair", "adopt " + other, "release " + codex.pane, "down",
		"session start --dir / --server=" + st.Socket + " -- touch " + result + ".trace", "session end " + codex.pane, "session data " + codex.pane,
	} {
		lines += fmt.Sprintf("%s %s --server=%s >>%s.part 2>&1 </dev/null; echo \"exit $? of %s\" >>%[4]s.part\n", thisProgram(), words, st.Socket, result, strings.ReplaceAll(words, "'", ""))
	}
	tmuxtest.Program(st.t, result+".sh", lines+"mv "+result+".part "+result+"\n")
	return result + ".sh", result
}

// From inside an adopted pane whose messages need approval, every way of running the program counts as the agent or as nobody.
// Nothing that only a person may do is done, and what is sent waits for approval too.
func TestS28_S12_M7_NoWayOutOfAPaneMakesAPerson(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.gated()
		other := st.shell()
		me := st.sit("base")
		tmux := v.Bin + " -S " + st.Socket + " "
		bare := `env -i PATH="$PATH" HOME="$HOME" INTERCOM_TEST_MAIN=$INTERCOM_TEST_MAIN XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" `
		agent, unverified := "this runs inside", "this process is not verified"
		for i, c := range []struct{ way, says string }{
			{"SCRIPT", agent},
			{"env -u TMUX_PANE -u TMUX SCRIPT", agent},
			{"env TMUX_PANE=nowhere SCRIPT", agent},
			{"nohup sh -c '(SCRIPT) &' >/dev/null 2>&1", "only a person may"},
			{"setsid -f SCRIPT", "only a person may"},
			{"setsid -f " + bare + "SCRIPT", unverified},
			{tmux + "run-shell -b SCRIPT", unverified},
			{tmux + "run-shell -b 'setsid -f " + bare + "SCRIPT'", unverified},
			{tmux + "if-shell -b SCRIPT ''", unverified},
			{tmux + "new-window -d SCRIPT", unverified},
			{tmux + "new-window -d 'SCRIPT; sleep 1'", unverified},
			{tmux + "new-window -d '(SCRIPT) & sleep 20'", unverified},
			{tmux + "new-window -d 'set -m; SCRIPT; true'", unverified},
			{tmux + "new-window -d 'script -qc SCRIPT /dev/null; true'", unverified},
			{tmux + "split-window -d -t " + other + " SCRIPT", unverified},
			{tmux + "display-popup -c " + me.client + " -E SCRIPT", unverified},
			{tmux + "pipe-pane -t " + other + " 'env XDG_RUNTIME_DIR=" + st.run + " XDG_STATE_HOME=" + st.env["XDG_STATE_HOME"] + " SCRIPT'", unverified},
			{tmux + `set-hook -g session-created 'run-shell "SCRIPT"' \; new-session -d -s hooked cat`, unverified},
			{"script -qc SCRIPT /dev/null </dev/null", agent},
			{"setsid -f script -qc SCRIPT /dev/null </dev/null", agent},
			{"setsid -f " + bare + "script -qc SCRIPT /dev/null </dev/null", unverified},
			{"setsid -f " + bare + "script -qc 'sh -c \"(sleep 0.3; exec SCRIPT)\"' /dev/null </dev/null", unverified},
			{bare + v.Bin + " -S " + st.Socket + "2 -f /dev/null new-session -d 'sh -c \"SCRIPT; sleep 20\"'", unverified},
		} {
			script, result := st.battery(fmt.Sprint("way", i), claude, codex, other)
			claude.do(":exec " + strings.ReplaceAll(c.way, "SCRIPT", script))
			var told string
			defer func() {
				if t.Failed() {
					part, _ := os.ReadFile(result + ".part")
					t.Logf("%s: %s", c.way, part)
				}
			}()
			tmuxtest.WaitFor(t, c.way, func() bool {
				data, err := os.ReadFile(result)
				told = string(data)
				return err == nil
			})
			for _, line := range regexp.MustCompile(`(?m)^exit .*$`).FindAllString(told, -1) {
				// Sending waits for approval; the participants of a chat may read each other's session data.
				if !strings.Contains(line, " of send ") && (c.says == unverified || !strings.Contains(line, " of session data ")) {
					assert.Contains(t, line, "exit 1 of ", c.way)
				}
			}
			assert.Equal(t, 11, strings.Count(told, "exit "), c.way)
			assert.NoFileExists(t, result+".trace", c.way)
			assert.Contains(t, told, c.says, "%s:\n%s", c.way, told)
			assert.Contains(t, told, "intercom: hint: ", c.way)
			if c.says != unverified {
				assert.NotContains(t, told, unverified, c.way)
			}
		}
		s := st.status()
		require.Len(t, s.Sessions, 2, "nobody came, and nobody went")
		require.Len(t, s.Chats, 1)
		assert.Equal(t, message.ChatOn, s.Chats[0].State)
		waiting := 0
		for _, one := range st.held() {
			waiting++
			assert.Equal(t, message.AwaitingApproval, one.Reason, "%s", one.Envelope.Body)
			assert.NotEqual(t, message.OriginHuman, one.Envelope.Origin)
		}
		assert.Positive(t, waiting)
		assert.Empty(t, codex.received())
		log, err := os.ReadFile(s.Log)
		require.NoError(t, err)
		assert.Contains(t, string(log), `msg="refused to an unverified caller"`)

		// Once a person approves a waiting message of an unverified sender, it is delivered without a name to answer to.
		for _, one := range st.held() {
			if one.From != string(message.Unverified) {
				continue
			}
			st.Run("send-keys", "-t", other, "-l", thisProgram()+" inbox approve "+one.Message.Short()+" --server="+st.Socket)
			st.Run("send-keys", "-t", other, "Enter")
			st.WaitForText(other, "[y/N]")
			st.Run("send-keys", "-t", other, "y")
			tmuxtest.WaitFor(t, "a person's yes", func() bool { return len(codex.received()) == 1 })
			assert.Regexp(t, `^AI\[local:unverified\] \| psst from way\d+$`, codex.received()[0])
			break
		}
	})
}

// activity is the second of the last key at a seat's terminal, as tmux reports it.
func (st *stage) activity(s *seat) int64 {
	st.t.Helper()
	for line := range strings.Lines(st.Run("list-clients", "-F", "#{client_activity} #{client_name}")) {
		if at, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == s.client {
			n, err := strconv.ParseInt(at, 10, 64)
			require.NoError(st.t, err)
			return n
		}
	}
	st.t.Fatal("no client")
	return 0
}

// A person is anybody who types in the shell of a pane, with or without pipes, or whose processes are older than the tmux server,
// with or without a terminal. A claim to be a person does not count.
func TestS28_APersonIs(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		_, codex := st.gated()
		cmd := exec.Command("setsid", "-w", thisProgram(), "chat", "say", "pair", "by a script", "--server="+st.Socket)
		cmd.Env = st.environ()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)

		byDefault := st.Run("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "base:")
		for i, pane := range []string{st.shell(), byDefault} {
			said := fmt.Sprintf("by a person in %d", i)
			st.Run("send-keys", "-t", pane, "-l", "echo | "+thisProgram()+" chat say pair '"+said+"' --server="+st.Socket+" | cat; echo exit $?")
			st.Run("send-keys", "-t", pane, "Enter")
			tmuxtest.WaitFor(t, said, func() bool { return strings.Contains(strings.Join(codex.received(), "\n"), said) })
		}

		// The same command, run by an agent that nobody has adopted, is refused.
		loose := st.coderOf("loose")
		command := loose.command()
		command[slices.Index(command, "loose")-1] = filepath.Join(filepath.Dir(st.home), "claude")
		command[slices.Index(command, "loose")] = "claude"
		require.NoError(t, os.Symlink(personatest.Program(t), filepath.Join(filepath.Dir(st.home), "claude")))
		loose.pane = st.NewPane(command[0], command[1:]...)
		tmuxtest.WaitFor(t, "it reads keys", func() bool { return len(loose.records(persona.EventReady)) > 0 })
		result := filepath.Join(st.home, "loose")
		script := filepath.Join(st.home, "loose.sh")
		tmuxtest.Program(t, script, fmt.Sprintf("#!/bin/sh\n%s release %s --server=%s >%s.part 2>&1\nmv %[4]s.part %[4]s\n", thisProgram(), codex.pane, st.Socket, result))
		loose.do(":exec " + script)
		tmuxtest.WaitFor(t, "it is refused", func() bool {
			data, _ := os.ReadFile(result)
			return strings.Contains(string(data), "this runs inside pane "+loose.pane+", in which claude runs")
		})

		// A key that the user bound is not a key of the plugin: its command may pause, but not stop or resume.
		st.load()
		me := st.sit("base")
		run := func(key, words string) string {
			result := filepath.Join(st.home, "key-"+key)
			st.Run("bind-key", "-T", "prefix", key, "run-shell", "-b", thisProgram()+" "+words+" --server="+st.Socket+" >"+result+".part 2>&1; mv "+result+".part "+result)
			me.press("C-b", key)
			var told string
			tmuxtest.WaitFor(t, words, func() bool {
				data, err := os.ReadFile(result)
				told = string(data)
				return err == nil
			})
			return told
		}
		assert.Contains(t, run("F5", "chat stop pair"), "this process is not verified")
		assert.NotContains(t, run("F6", "chat pause pair"), "error")
		assert.Equal(t, message.ChatPaused, st.status().Chats[0].State)
		assert.Contains(t, run("F7", "chat resume pair"), "this process is not verified")

		// A command from a key of the plugin is a person's, however long its menu or popup stays open.
		st.Run("select-window", "-t", codex.pane)
		me.menu("s")
		me.sees("Enter send")
		moment := st.activity(me)
		tmuxtest.WaitFor(t, "a moment", func() bool { return time.Now().Unix() > moment+4 })
		require.Equal(t, moment, st.activity(me), "keys in it are none to tmux")
		me.types("by a popup")
		me.press("Enter")
		tmuxtest.WaitFor(t, "it is said", func() bool {
			return slices.ContainsFunc(st.held(), func(h api.Held) bool {
				return h.Envelope.Body == "by a popup" && h.Envelope.Origin == message.OriginHuman
			})
		})
		me.seesNot("Enter send")
		me.press("C-b", "B")
		me.sees("stop the chat")
		moment = st.activity(me)
		tmuxtest.WaitFor(t, "a moment", func() bool { return time.Now().Unix() > moment+4 })

		// A command that no key press started is nobody's; a menu item chosen late is a person's.
		me.press("x")
		tmuxtest.WaitFor(t, "the chat has ended", func() bool { return len(st.status().Chats) == 0 })
		again := "'" + st.root + "/tmux-plugin/intercom-cli' plugin pause --origin '" + me.client + " " + codex.pane + "'"
		moment = st.activity(me)
		tmuxtest.WaitFor(t, "a moment", func() bool { return time.Now().Unix() > moment+4 })
		st.Run("run-shell", again+" >/dev/null 2>&1 || :")
		st.Run("run-shell", "'"+st.root+"/tmux-plugin/intercom-cli' plugin resume --origin '"+me.client+" "+codex.pane+"' >/dev/null 2>&1 || :")
		assert.True(t, st.status().Stopped, "everybody may pause, and a person alone resumes")
	})
}
