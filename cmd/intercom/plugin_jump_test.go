package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestU20_NextWait(t *testing.T) {
	waits := []message.Wait{{Name: "a", Pane: "%1"}, {Words: "to approve"}, {Name: "b", Pane: "%2"}}
	for from, want := range map[string]string{"%0": "a", "%1": "b", "%2": "a", "": "a"} {
		next, ok := nextWait(waits, from)
		assert.True(t, ok)
		assert.Equal(t, want, next.Name, "from %q", from)
	}
	_, ok := nextWait(waits[1:2], "%1")
	assert.False(t, ok)
}

// What waits at no pane is named as the status line counts it, the stop first, each kind with the key to press next.
func TestJump_whatWaitsAtNoPane(t *testing.T) {
	t.Parallel()
	byKeys := func(command string) string { return comeback.ByKeys("prefix + B", command) }
	stop := message.Wait{Kind: message.WaitPaused, Words: "all stopped", Next: "intercom chat resume --all"}
	paused := message.Wait{Kind: message.WaitPaused, Words: "paused", Chat: message.NewID(), Next: "intercom chat resume 4d0c8ed2"}
	limit := message.Wait{Kind: message.WaitHeld, Words: "at a limit", Next: "intercom chat resume --all"}
	approve := message.Wait{Kind: message.WaitApprove, Words: "to approve", Next: "intercom inbox approve 4d0c8ed2"}
	dialog := message.Wait{Kind: message.WaitDialog, Words: "dialog", Name: "ada", Pane: "%1", Next: "answer it in its pane"}
	wrong := api.Status{}
	wrong.Degrade(api.ProblemLeft, "policy: earlier policies are in use")
	wrong.Degrade(api.ProblemPolicy, "policy: init.lua:14: syntax error")
	for _, c := range []struct {
		waits  []message.Wait
		status api.Status
		want   string
	}{
		{nil, api.Status{}, ""},
		{[]message.Wait{dialog}, api.Status{}, ""},
		{nil, wrong, "policy error → prefix + B, e"},
		{[]message.Wait{approve, paused, stop, dialog}, api.Status{}, "all stopped, 1 paused → prefix + B, r; 1 to approve → prefix + B, i"},
		{[]message.Wait{approve, paused, approve, limit, paused}, wrong, "2 paused, at a limit → prefix + B, r; 2 to approve → prefix + B, i; policy error → prefix + B, e"},
	} {
		assert.Equal(t, c.want, atNoPane(c.waits, c.status, byKeys))
	}
	assert.Equal(t, "1 paused → intercom chat resume 4d0c8ed2; 2 to approve → intercom inbox list",
		atNoPane([]message.Wait{approve, paused, approve}, api.Status{}, func(command string) string { return command }), "no key opens the menu")
}

// At a narrow terminal a notice and the answer to a key are shown row by row. If the key is pressed again, the old answer's rest
// is not shown as well.
func TestJump_atANarrowTerminal(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, _ := st.gated()
	st.load()
	me := st.sit("base")
	me.resize(60, 20)
	st.askedAbout(claude, "rm -rf everything")
	me.saw("intercom: claude's message to codex awaits your approval:")
	me.saw("prefix + B, i (the chat is set to approve=claude)")

	out, code := st.intercom("chat", "pause", "--all")
	require.Zero(t, code, out)
	st.statusSays("all stopped, 1 paused, 1 to approve")
	me.press("C-b", "J")
	me.saw("all stopped, 1 paused → prefix + B, r; 1 to approve →")
	me.press("C-b", "J")
	const rest = "prefix + B, i; no pane waits for you"
	me.saw(rest)
	tmuxtest.WaitFor(t, "the end of what the keys tell", func() bool {
		return !slices.ContainsFunc(st.processes(), func(p string) bool { return strings.Contains(p, " plugin ") })
	})
	before := ""
	for line := range strings.Lines(st.Run("show-messages")) {
		if _, text, shown := strings.Cut(line, " "+me.client+" message: "); shown {
			text = strings.TrimSpace(text)
			assert.False(t, text == rest && before == rest, "the end of the first is told after the second")
			before = text
		}
	}
}

// One key goes from one waiting pane to the next, in whatever session. Each wait in a pane that nobody looks at is announced
// once, in the ways that init.lua names, and the pane's options say the same.
func TestU20_U21_JumpNoticeAndPaneOptions(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		told := filepath.Join(st.home, "told")
		program := filepath.Join(st.home, "tell")
		tmuxtest.Program(t, program, "#!/bin/sh\nprintf '%s|%s|%s\\n' \"$#\" \"$1\" \"$2\" >>"+told+"\n")
		config := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
		require.NoError(t, os.MkdirAll(config, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(config, "init.lua"), []byte(`intercom.configure { notices = { bell = true, osc9 = true, osc777 = true, command = { "`+program+`", "#(touch TRAP)" } } }`), 0o600))
		claude, codex := st.two()
		st.Run("new-session", "-d", "-s", "away", "exec cat")
		st.load()
		far := st.sit("away")
		raw := filepath.Join(st.home, "raw")
		st.outer.Run("pipe-pane", "-t", far.pane, "cat >'"+raw+"'")

		out, code := st.intercom("chat", "start", claude.Pane, codex.Pane, "--name", "plans")
		require.Zero(t, code, out)
		st.Run("copy-mode", "-t", claude.Pane, ";", "copy-mode", "-t", codex.Pane)
		for _, one := range []struct{ pane, status string }{
			{claude.Pane, "1 chat, claude: copy mode"},
			{codex.Pane, "1 chat, claude: copy mode, codex: copy mode"},
		} {
			out, code = st.intercom("send", one.pane, "hello $(touch TRAP)", "--timeout", "0s")
			require.Contains(t, []int{4, 5}, code, out)
			st.statusSays(one.status)
		}

		option := func(pane, name string) string { return st.Run("show-options", "-pqv", "-t", pane, name) }
		for name, pane := range map[string]string{"claude": claude.Pane, "codex": codex.Pane} {
			tmuxtest.WaitFor(t, "the options of "+name, func() bool {
				return option(pane, "@intercom-name") == name && option(pane, "@intercom-waits") == "copy mode" && option(pane, "@intercom-state") != ""
			})
		}

		// Nobody looked at either pane when it began to wait.
		tmuxtest.WaitFor(t, "two notices", func() bool {
			data, _ := os.ReadFile(told)
			return strings.Count(string(data), "\n") == 2
		})
		data, _ := os.ReadFile(told)
		for _, name := range []string{"claude", "codex"} {
			assert.Equal(t, 1, strings.Count(string(data), "2|#(touch TRAP)|intercom: "+name+" (%"), string(data))
		}
		tmuxtest.WaitFor(t, "what the terminal was sent", func() bool {
			data, _ := os.ReadFile(raw)
			return strings.Contains(string(data), "\x1b]9;intercom: claude (%") && strings.Contains(string(data), "\x1b]777;notify;intercom;intercom: claude (%") && strings.Contains(string(data), "\a")
		})
		at := func() string { return strings.TrimSpace(st.Run("list-clients", "-F", "#{session_name} #{pane_id}")) }
		goes := func(key, where string) {
			t.Helper()
			far.press("C-b", key)
			tmuxtest.WaitFor(t, "the client is at "+where, func() bool { return at() == where })
		}
		goes("J", "base "+claude.Pane)
		goes("J", "base "+codex.Pane)
		goes("J", "base "+claude.Pane)

		out, code = st.intercom("log", "--notices")
		assert.Zero(t, code)
		assert.Equal(t, 2, strings.Count(out, "waits for you: copy mode"), out)

		out, code = st.intercom("release", codex.Pane)
		require.Zero(t, code, out)
		left := func(pane string) (names []string) {
			for _, name := range []string{"@intercom-name", "@intercom-state", "@intercom-waits"} {
				if option(pane, name) != "" {
					names = append(names, name)
				}
			}
			return names
		}
		tmuxtest.WaitFor(t, "no option of a pane that is released", func() bool { return len(left(codex.Pane)) == 0 })
		out, code = st.intercom("down")
		require.Zero(t, code, out)
		assert.Empty(t, left(claude.Pane), "after the end")
		for _, dir := range []string{st.home, st.Dir} {
			assert.NoFileExists(t, filepath.Join(dir, "TRAP"))
		}
	})
}

// On every tmux the options of a pane follow the state of its agent, run no command when tmux expands them, and are gone after
// `intercom down`.
func TestU21_onEveryTmux(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		st.load()
		const trap = "#(touch TRAP)"
		claude := st.coderIn("claude", st.home)
		st.Run("set-option", "-g", "status-right", "#{E:@intercom-name} #{E:@intercom-state} #{E:@intercom-waits}")
		st.sit("base")
		out, code := st.intercom("adopt", claude.pane)
		require.Zero(t, code, out)
		options := func() string {
			return st.Run("display-message", "-p", "-t", claude.pane, "#{@intercom-name}|#{@intercom-state}|#{@intercom-waits}")
		}
		says := func(want string) {
			t.Helper()
			tmuxtest.WaitFor(t, want, func() bool { return strings.TrimSpace(options()) == want })
		}
		says("claude|idle|")
		st.Run("send-keys", "-l", "-t", claude.pane, trap)
		says("claude|draft|")
		out, code = st.intercom("send", claude.pane, trap, "--timeout", "0s")
		require.Contains(t, []int{4, 5}, code, out)
		says("claude|draft|your draft")
		st.Run("send-keys", "-t", claude.pane, "C-u")
		claude.gets(t, trap)
		says("claude|idle|")
		out, code = st.intercom("name", claude.pane, trap)
		assert.NotZero(t, code, out)

		out, code = st.intercom("down")
		require.Zero(t, code, out)
		assert.Equal(t, "||", strings.TrimSpace(options()))
		for _, dir := range []string{st.home, st.Dir} {
			assert.NoFileExists(t, filepath.Join(dir, "TRAP"))
		}
	})
}
