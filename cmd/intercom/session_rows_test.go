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
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Three agents give a worker a task in the same turn, and the worker's hook reports its stop twice: each of the three is told
// once. The hook is `intercom hook`, run below the agent, with and without a readable transcript.
func TestT16_theStopHookIsCalledTwice(t *testing.T) {
	t.Parallel()
	for _, transcript := range []string{"on", "garbage"} {
		t.Run("transcript "+transcript, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, tmuxtest.Versions(t)[0])
			worker := st.coderNamed("claude", "Worker", "--transcript", transcript)
			callers := []*coder{st.coderNamed("claude", "Ann"), st.coderNamed("claude", "Ben"), st.coderNamed("claude", "Cid")}
			for _, a := range append(callers, worker) {
				out, code := st.intercom("adopt", a.pane, "--name", a.kind)
				require.Zero(t, code, out)
			}
			const turn = ":turn hold | say done"
			hook := func(event string, more map[string]string) { worker.hooks(t, event, more) }
			prompted := func(n int) {
				t.Helper()
				tmuxtest.WaitFor(t, "it is given something", func() bool { return len(worker.received()) == n })
				hook("UserPromptSubmit", map[string]string{"prompt": worker.received()[n-1]})
				tmuxtest.WaitFor(t, "it works", func() bool { return st.sessionNamed("Worker").State == message.Working })
			}
			sends := func(a *coder, text string) {
				t.Helper()
				out := a.inShell(t, thisProgram()+" send Worker '"+text+"' --timeout 0s")
				assert.Regexp(t, `exit [45]\n$`, out, "the worker is at work")
			}

			// A person's turn is in progress when the three send.
			worker.do(turn)
			out, code := st.intercom("send", "Worker", "first", "--timeout", "0s")
			require.Contains(t, []int{0, 4, 5}, code, out)
			prompted(1)
			for _, a := range callers {
				sends(a, "a task of "+a.kind)
			}
			worker.do(turn)
			worker.do(":go")
			hook("Stop", map[string]string{"last_assistant_message": "done"})
			prompted(2)
			for _, a := range callers {
				require.Contains(t, worker.received()[1], "a task of "+a.kind, "one turn takes all three")
				assert.Empty(t, a.received(), "that was another turn's end")
			}

			// The worker stops, and its hook says so twice.
			worker.do(":go")
			hook("Stop", map[string]string{"last_assistant_message": "done"})
			hook("Stop", map[string]string{"last_assistant_message": "done"})
			notice := `AI[local:` + string(st.sessionNamed("Worker").ID) + `] | [notice] "Worker" stopped: turn ended`
			for _, a := range callers {
				a.gets(t, notice)
			}

			// Ann asks for another turn. Any further notice that the first stop had caused would have come before that turn's.
			tmuxtest.WaitFor(t, "it rests", func() bool { return st.sessionNamed("Worker").State == message.Idle })
			worker.do(turn)
			callers[0].inShell(t, thisProgram()+" send Worker 'one more' --timeout 0s")
			prompted(3)
			worker.do(":go")
			hook("Stop", map[string]string{"last_assistant_message": "done"})
			hook("Stop", map[string]string{"last_assistant_message": "done"})
			tmuxtest.WaitFor(t, "Ann is told again", func() bool { return len(callers[0].received()) >= 2 })
			assert.Equal(t, []string{notice, notice}, callers[0].received())
			assert.Equal(t, []string{notice}, callers[1].received())
			assert.Equal(t, []string{notice}, callers[2].received())
		})
	}
}

// `session list` and its JSON show a master its workers: who started each, its state, how long ago it last said something, and
// who is told of its end.
func TestT41_whatSessionListShows(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.startsClaudeBy(t, "--turn", "'say looking | hold | say done'")
	project := st.project("project")
	master, other := st.coderIn("claude", project), st.coderNamed("claude", "Other")
	tools := st.mcpIn(master)
	var begun delegated
	into(t, calls(t, tools, "start_session", map[string]any{"computer": "local", "project_dir": project, "title": "The Task", "message": "/next-work"}), &begun)
	worker := st.started(t, begun.SessionID)
	worker.gets(t, "/next-work")
	out, code := st.intercom("adopt", other.pane, "--name", "Other")
	require.Zero(t, code, out)
	other.inShell(t, thisProgram()+" send The-Task 'and this' --timeout 0s")
	rows := func() (cells map[string][]string) {
		t.Helper()
		out, code := st.intercom("session", "list")
		require.Zero(t, code, out)
		cells = map[string][]string{}
		for line := range strings.Lines(out) {
			row := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
			cells[row[0]] = row
		}
		return cells
	}
	assert.Equal(t, []string{"NAME", "ID", "AGENT", "STATE", "CALLER", "LAST OUTPUT", "SUBSCRIBED BY", "COMPUTER", "WHY", "TITLE"}, rows()["NAME"])
	tmuxtest.WaitFor(t, "both are told of it, and it works", func() bool {
		row := rows()["The-Task"]
		return len(row) == 10 && row[3] == "working" && row[6] == "claude, Other"
	})
	worker.do(":turn say looking | hold | say done")
	worker.do(":go")
	tmuxtest.WaitFor(t, "it works on what Other sent", func() bool { return len(worker.received()) == 2 && rows()["The-Task"][3] == "working" })
	worker.do(":go")
	var row []string
	tmuxtest.WaitFor(t, "it has said something and rests", func() bool { row = rows()["The-Task"]; return row[3] == "idle" && row[5] != "-" })
	age, err := time.ParseDuration(row[5])
	require.NoError(t, err)
	assert.Less(t, age, tmuxtest.Patience)
	assert.Equal(t, []string{"The-Task", begun.SessionID.Short(), "claude", "idle", "claude", row[5], "claude, Other", "local", "-", "The Task"}, row)
	beside := rows()["Other"]
	assert.Equal(t, []string{"-", "-"}, []string{beside[4], beside[6]}, "nobody started it, nobody is told")

	out, code = st.intercom("session", "list", "--json")
	require.Zero(t, code, out)
	var all []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	i := slices.IndexFunc(all, func(one map[string]any) bool { return one["name"] == "The-Task" })
	require.GreaterOrEqual(t, i, 0)
	said, err := time.Parse(time.RFC3339Nano, all[i]["last_output"].(string))
	require.NoError(t, err)
	assert.WithinRange(t, said, time.Now().Add(-tmuxtest.Patience), time.Now())
	masterID, otherID := string(st.sessionNamed("claude").ID), string(st.sessionNamed("Other").ID)
	assert.Equal(t, map[string]any{
		"session_id": string(begun.SessionID), "name": "The-Task", "title": "The Task", "computer": "local", "agent": "claude", "state": "idle",
		"caller": masterID, "last_output": all[i]["last_output"], "subscribers": []any{masterID, otherID},
	}, all[i])

	out, code = st.intercom("chat", "stop", "--all")
	require.Zero(t, code, out)
	assert.Equal(t, string(message.Stopped), rows()["The-Task"][8], "nothing is typed there now")
}

// The ids that agents get over MCP are those of the command line, and both show the same fields.
func TestT38_whoIsThere(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.startsClaudeBy(t)
	project := st.project("project")
	master := st.coderIn("claude", project)
	tools := st.mcpIn(master)
	var begun delegated
	into(t, calls(t, tools, "start_session", map[string]any{"computer": "local", "project_dir": project, "title": "The Task"}), &begun)
	st.started(t, begun.SessionID)
	tmuxtest.WaitFor(t, "both rest", func() bool {
		return st.sessionNamed("claude").State == message.Idle && st.sessionNamed("The-Task").State == message.Idle
	})
	byTool := func(tool string) (all []map[string]any) {
		t.Helper()
		into(t, calls(t, tools, tool, nil), &all)
		return all
	}
	byCommand := func(words ...string) (all []map[string]any) {
		t.Helper()
		out, code := st.intercom(append(words, "--json")...)
		require.Zero(t, code, out)
		require.NoError(t, json.Unmarshal([]byte(out), &all), out)
		return all
	}

	sessions := byTool("list_sessions")
	require.Len(t, sessions, 2)
	want := map[string]any{"session_id": string(begun.SessionID), "title": "The Task", "computer": "local", "status": "idle"}
	for field, value := range want {
		assert.Equal(t, value, sessions[1][field], field)
	}
	for _, one := range sessions {
		assert.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, one["session_id"])
		assert.Equal(t, one["state"], one["status"])
		delete(one, "status")
	}
	assert.Equal(t, sessions, byCommand("session", "list"))

	computers := byTool("list_computers")
	require.Len(t, computers, 1)
	for field, value := range map[string]any{"name": "local", "local": true, "present": true, "sessions": 2.0} {
		assert.Equal(t, value, computers[0][field], field)
	}
	for _, field := range []string{"round_trip_ms", "since"} {
		assert.Contains(t, computers[0], field)
	}
	assert.Equal(t, computers, byCommand("computers"))
}

// A sender is one of three kinds: an agent, whose header names its session; a person, who has no header; and an unverified
// caller, whose header names nobody. The last header can be parsed, but not replied to.
func TestC49_threeKindsOfCallers(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	agent, reader := st.coderNamed("claude", "Agent"), st.coderNamed("claude", "Reader")
	for _, a := range []*coder{agent, reader} {
		out, code := st.intercom("adopt", a.pane, "--name", a.kind)
		require.Zero(t, code, out)
	}
	type header struct {
		AI       bool
		Computer *string
		Session  *string `json:"session_id"`
		Content  string
	}
	parsed := func(text string) (h header) {
		t.Helper()
		out, code := st.intercom("header", "parse", text)
		require.Zero(t, code, out)
		require.NoError(t, json.Unmarshal([]byte(out), &h), out)
		return h
	}
	shell := st.shell()
	local, nobody := "local", "unverified"
	own := string(st.sessionNamed("Agent").ID)
	send := func(text string) string { return thisProgram() + " send Reader '" + text + "' --timeout 0s" }
	for _, c := range []struct {
		kind  string
		sends func(text string)
		want  header
	}{
		{"agent", func(text string) { agent.inShell(t, send(text)) }, header{true, &local, &own, "by an agent"}},
		{"person", func(text string) {
			st.Run("send-keys", "-t", shell, "-l", send(text)+" --server="+st.Socket)
			st.Run("send-keys", "-t", shell, "Enter")
		}, header{Content: "by a person"}},
		{"unverified", func(text string) { // a person has to approve it
			st.Run("run-shell", "-b", send(text)+" --server="+st.Socket+" >/dev/null 2>&1")
			var held []api.Held // the person's message is there too until it is submitted
			tmuxtest.WaitFor(t, "it is held", func() bool {
				held = st.held()
				return len(held) == 1 && held[0].From == nobody
			})
			st.Run("send-keys", "-t", shell, "-l", thisProgram()+" inbox approve "+held[0].Message.Short()+" --server="+st.Socket)
			st.Run("send-keys", "-t", shell, "Enter")
			st.WaitForText(shell, "[y/N]")
			st.Run("send-keys", "-t", shell, "y")
		}, header{true, &local, &nobody, "by nobody"}},
	} {
		c.sends(c.want.Content)
		reader.gets(t, c.want.Content)
		got := parsed(reader.received()[len(reader.received())-1])
		if c.kind == "person" {
			assert.Regexp(t, `^\[[^]]+\] \(0\):\s+by a person$`, got.Content)
			got.Content = c.want.Content
		}
		assert.Equal(t, c.want, got, c.kind)
	}

	// A reply to "unverified" fails.
	out := agent.inShell(t, thisProgram()+" send unverified 'are you there'")
	assert.Contains(t, out, "exit 1", out)
	assert.Contains(t, out, "unverified", out)
}

// A direct message connects its author and its target in a chat by one MCP call, and `chat list` shows the two. The same message
// without direct arrives as the same bytes and connects nobody; its author gets a notice of the turn's end, which authors in a
// chat do not get.
func TestR1_R2_R13_R19_R20_directOverMCP(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	ann, ben := st.coderNamed("claude", "Ann", "--reply", "none"), st.coderNamed("claude", "Ben")
	for _, a := range []*coder{ann, ben} {
		out, code := st.intercom("adopt", a.pane, "--name", a.kind)
		require.Zero(t, code, out)
	}
	tools := st.mcpIn(ann)
	header := "AI[local:" + string(st.sessionNamed("Ann").ID) + "] | "
	with := map[string]any{"computer": "local", "session_id": "Ben", "message": "hello"}
	chats := func() (all []message.Chat) {
		t.Helper()
		out, code := st.intercom("chat", "list", "--json")
		require.Zero(t, code, out)
		require.NoError(t, json.Unmarshal([]byte(out), &all), out)
		return all
	}
	notices := func() (n int) {
		for _, text := range ann.received() {
			n += strings.Count(text, "[notice]")
		}
		return n
	}

	ben.do(":turn say the first answer")
	into(t, calls(t, tools, "send_message", with), new(map[string]any))
	ann.gets(t, `[notice] "Ben" stopped: turn ended`)
	assert.Equal(t, []string{header + "hello"}, ben.received())
	assert.Empty(t, chats())
	assert.Len(t, ann.received(), 1, "its words are not relayed")

	ben.do(":turn say the second answer")
	with["direct"] = true
	into(t, calls(t, tools, "send_message", with), new(map[string]any))
	ann.gets(t, "[Ben] (2):\n\nthe second answer")
	assert.Equal(t, []string{header + "hello", header + "hello"}, ben.received(), "once, and as ever")
	all := chats()
	require.Len(t, all, 1)
	require.Len(t, all[0].Participants, 2)
	assert.Equal(t, []string{"Ann", "Ben"}, []string{all[0].Participants[0].Name, all[0].Participants[1].Name})
	assert.True(t, calls(t, tools, "send_message", with).IsError, "they are connected already")

	delete(with, "direct")
	with["message"], with["close_link"] = "", true
	into(t, calls(t, tools, "send_message", with), new(map[string]any))
	assert.Empty(t, chats())
	assert.Equal(t, 1, notices(), "none while they were connected")
}

// A session that a person started and only adopted is ended only after the person's yes.
func TestSession_endAsksAboutWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	pane := st.NewPane(personatest.Program(t), "line", "--name", "Ada", "--prompt", "ada> ", "--reply", "none")
	tmuxtest.WaitFor(t, "it is adopted", func() bool {
		_, code := st.intercom("adopt", pane, "--as", "line")
		return code == 0
	})
	cmd := &exec.Cmd{Path: thisProgram(), Args: []string{"intercom", "session", "end", pane, "--server=" + st.Socket}, Env: st.environ()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal nobody can be asked
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "was running before it was adopted")
	assert.Contains(t, string(out), "intercom: hint: intercom session end --force ")
	require.Len(t, st.status().Sessions, 1)
	out2, code := st.answers("n", "session", "end", pane)
	assert.Equal(t, 1, code, out2)
	require.Len(t, st.status().Sessions, 1)
	out2, code = st.answers("y", "session", "end", pane)
	assert.Zero(t, code, out2)
	assert.Empty(t, st.status().Sessions)
}

// If it cannot be found out whether a yes is needed, nothing is ended. The session that is ended is the one asked about, even if
// another has its name by then.
func TestSession_endsWhatItAskedAbout(t *testing.T) {
	w, one := newWorld(t), message.NewID()
	b := &fakeBackend{endAsks: func(api.EndSessionRequest) (api.EndAsked, error) {
		return api.EndAsked{}, api.Errorf(api.CodeTimeout, "no answer in time")
	}}
	w.serve(t, b)
	r := w.run("session", "end", "ada")
	assert.Equal(t, 4, r.code, r.err)
	assert.Contains(t, r.err, "no answer in time")
	assert.Nil(t, b.ended)

	b.endAsks = func(req api.EndSessionRequest) (api.EndAsked, error) {
		return api.EndAsked{Session: req.Session, ID: one}, nil
	}
	r = w.run("session", "end", "ada")
	assert.Zero(t, r.code, r.err)
	assert.Equal(t, &api.EndSessionRequest{Session: string(one)}, b.ended)
}

// Helpers.

// coderNamed is a stand-in for an agent of a kind, with a home of its own, so that there can be several.
func (st *stage) coderNamed(kind, name string, flags ...string) *coder {
	st.t.Helper()
	dir := st.project(name)
	program := filepath.Join(dir, kind)
	require.NoError(st.t, os.Symlink(personatest.Program(st.t), program))
	a := &coder{st: st, kind: name, log: program + ".jsonl", control: program + ".ctl"}
	command := fmt.Sprintf("cd %s && HOME=%[1]s exec %s %s --name %s --log %s --control %s --think 20ms %s", dir, program, kind, name, a.log, a.control, strings.Join(flags, " "))
	a.pane = st.NewPane("sh", "-c", command)
	tmuxtest.WaitFor(st.t, name+" reads keys", func() bool { return len(a.records(persona.EventReady)) > 0 })
	return a
}

// inShell has an agent run a line in a shell below it, and returns its output and exit code.
func (a *coder) inShell(t *testing.T, line string) string {
	t.Helper()
	before := len(a.records(persona.EventChildEnd))
	at := filepath.Join(a.st.home, fmt.Sprintf("%s.run%d", a.kind, before))
	tmuxtest.Program(t, at, "#!/bin/sh\nexport INTERCOM_TEST_MAIN=1\n{ "+line+"; echo exit $?; } >"+at+".out 2>&1\n")
	a.do(":run " + at)
	tmuxtest.WaitFor(t, line, func() bool { return len(a.records(persona.EventChildEnd)) > before })
	return read(t, at+".out")
}

// hooks has an agent call its hook.
func (a *coder) hooks(t *testing.T, event string, more map[string]string) {
	t.Helper()
	told := map[string]string{"hook_event_name": event, "session_id": a.thread(t)}
	for name, value := range more {
		told[name] = value
	}
	data, err := json.Marshal(told)
	require.NoError(t, err)
	at := filepath.Join(a.st.home, a.kind+".told")
	require.NoError(t, os.WriteFile(at, data, 0o600))
	assert.Equal(t, "exit 0\n", a.inShell(t, thisProgram()+" hook claude "+event+" <"+at))
}

// thread is the agent's own id of its conversation.
func (a *coder) thread(t *testing.T) string {
	t.Helper()
	out, code := a.st.intercom("explain", a.pane, "--json")
	require.Zero(t, code, out)
	var e struct{ Transcript string }
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	id := strings.TrimSuffix(filepath.Base(e.Transcript), ".jsonl")
	require.Len(t, id, 36, out)
	return id
}

func (st *stage) sessionNamed(name string) message.Peer {
	st.t.Helper()
	for _, one := range st.status().Sessions {
		if one.Name == name {
			return one
		}
	}
	st.t.Fatalf("no session %s", name)
	return message.Peer{}
}

// answers runs a command at a terminal where somebody presses key when asked.
func (st *stage) answers(key string, words ...string) (shown string, code int) {
	st.t.Helper()
	cmd := exec.Command(thisProgram(), append(words, "--server="+st.Socket)...)
	cmd.Env = st.environ()
	terminal, err := pty.Start(cmd)
	require.NoError(st.t, err)
	defer terminal.Close()
	part := make([]byte, 4096)
	for asked := false; err == nil; { // reading ends with an error when the program ends
		var n int
		n, err = terminal.Read(part)
		shown += string(part[:n])
		if !asked && strings.HasSuffix(shown, "[y/N] ") {
			asked = true
			_, _ = terminal.WriteString(key)
		}
	}
	_ = cmd.Wait()
	return shown, cmd.ProcessState.ExitCode()
}
