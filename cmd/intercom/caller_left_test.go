package main

import (
	"bufio"
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

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// outsider is a program with a prompt that tries to pass for a person. A line is "again SCRIPT": replace itself with this
// program again, which runs the script; "leave SCRIPT": start the script and end; or "front SCRIPT": the same, but the
// script takes the terminal. The command line takes the same words.
func outsider() {
	run := func(attr *syscall.SysProcAttr, words ...string) *exec.Cmd {
		cmd := exec.Command(words[0], words[1:]...)
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return cmd
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	obey := func(verb, script string) {
		switch verb {
		case "again":
			fmt.Println(syscall.Exec(self, []string{"outsider", "is", script}, os.Environ()))
		case "is":
			_ = run(nil, "sh", script).Wait()
		case "leave":
			run(&syscall.SysProcAttr{Setpgid: true}, "sh", script)
			os.Exit(0)
		case "front":
			tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
			if err != nil {
				panic(err)
			}
			run(&syscall.SysProcAttr{Foreground: true, Ctty: int(tty.Fd())}, "sh", script)
			os.Exit(0)
		}
	}
	if len(os.Args) > 2 {
		obey(os.Args[1], os.Args[2])
	}
	for in := bufio.NewScanner(os.Stdin); ; {
		fmt.Print("evil> ")
		if !in.Scan() {
			return
		}
		if verb, script, ok := strings.Cut(in.Text(), " "); ok {
			obey(verb, script)
		}
	}
}

// Programs that an agent leaves in its pane when it ends count as nobody: one that has taken over its process, a job whose
// parents have ended, a job that takes the terminal. The shell from which a person started the agent is the person's again.
func TestS28_S12_WhatAnAgentLeaves(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.gated()
		other := st.shell()
		program := "env -u INTERCOM_TEST_MAIN " + filepath.Join(filepath.Dir(thisProgram()), "outsider")
		types := func(pane, text string) {
			st.Run("send-keys", "-t", pane, "-l", text, ";", "send-keys", "-t", pane, "Enter")
		}
		told := func(what, result string) (told string) {
			tmuxtest.WaitFor(t, what, func() bool {
				data, err := os.ReadFile(result)
				told = string(data)
				return err == nil
			})
			return told
		}
		refused := func(what, told, why string) {
			for _, line := range regexp.MustCompile(`(?m)^exit .*$`).FindAllString(told, -1) {
				if !strings.Contains(line, " of send ") {
					assert.Contains(t, line, "exit 1 of ", what)
				}
			}
			assert.Equal(t, 11, strings.Count(told, "exit "), what)
			assert.Contains(t, told, why, what)
		}
		home := st.shell()
		for _, c := range []struct{ verb, why string }{
			{"again", `this runs inside what was "Evil" until that session ended`},
			{"leave", "this process is not verified: what started it in that pane has ended"},
		} {
			types(home, program)
			st.WaitForText(home, "evil>")
			out, code := st.intercom("adopt", home, "--as", "line", "--name", "Evil")
			require.Zero(t, code, out)
			script, result := st.battery(c.verb, claude, codex, other)
			wait := script + ".go"
			tmuxtest.Program(t, script+".later", "#!/bin/sh\nuntil [ -e "+wait+" ]; do sleep 0.1; done\nexec sh "+script+"\n")
			types(home, c.verb+" "+script+".later")
			tmuxtest.WaitFor(t, "the session ends", func() bool { return len(st.status().Sessions) == 2 })
			require.NoError(t, os.WriteFile(wait, nil, 0o600))
			refused(c.verb, told(c.verb, result), c.why)
			if c.verb == "again" {
				st.WaitForText(home, "evil>")
				st.Run("send-keys", "-t", home, "C-d")
			}
			types(home, "clear; echo at  the shell")
			st.WaitForText(home, "at the shell")
		}

		// An agent that nobody has adopted, and that keeps running.
		loose := st.coderOf("loose")
		command := loose.command()
		command[slices.Index(command, "loose")-1] = filepath.Join(filepath.Dir(st.home), "claude")
		command[slices.Index(command, "loose")] = "claude"
		require.NoError(t, os.Symlink(personatest.Program(t), filepath.Join(filepath.Dir(st.home), "claude")))
		pane := st.shell()
		types(pane, strings.Join(command, " "))
		tmuxtest.WaitFor(t, "it reads keys", func() bool { return len(loose.records(persona.EventReady)) > 0 })
		script, result := st.battery("front", claude, codex, other)
		loose.do(":run " + program + " front " + script)
		refused("front", told("front", result), "this process is not verified: what started it in that pane has ended")

		s := st.status()
		require.Len(t, s.Sessions, 2, "nobody came, and nobody went")
		assert.Empty(t, codex.received())
		types(home, thisProgram()+" chat say pair 'by a person' --server="+st.Socket)
		tmuxtest.WaitFor(t, "a person's words", func() bool { return strings.Contains(strings.Join(codex.received(), "\n"), "by a person") })
	})
}
