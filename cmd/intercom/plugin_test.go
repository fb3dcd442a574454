package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestU3_U9_keys(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		if os.Getenv("INTERCOM_LONG") == "" && v != all[0] && v != all[len(all)-1] {
			t.Skip("the oldest and the newest: make long has those between")
		}
		t.Parallel()
		st := newStage(t, v)
		st.Run("set-option", "-gu", chatKeyOption)
		lines := func() []string { return strings.Split(st.Run("list-keys"), "\n") }
		our := func(line string) bool {
			return strings.Contains(line, originOption) || strings.Contains(line, "-T intercom ")
		}
		ours := func() (keys []string) {
			for _, line := range lines() {
				if strings.Contains(line, originOption) {
					keys = append(keys, strings.Fields(line)[3])
				}
			}
			return keys
		}
		before := lines()

		st.load()
		want := []string{"@", "B", "J"}
		if v.AtLeast(3, 8) {
			want = []string{"B", "J"} // tmux's own @ stays
		}
		assert.Equal(t, want, ours())
		assert.Equal(t, before, slices.DeleteFunc(lines(), our), "bindings of others")
		assert.Contains(t, st.Run("list-keys", "-N", "-T", "prefix"), "intercom: menu")
		loaded := lines()
		st.load()
		assert.Equal(t, loaded, lines(), "a second load changes nothing")

		// Other keys: several, and none.
		st.Run("set-option", "-g", chatKeyOption, "V M-v", ";", "set-option", "-g", menuKeyOption, "", ";", "set-option", "-g", jumpKeyOption, "none")
		st.load()
		assert.Equal(t, []string{"V", "M-v"}, ours())
		st.Run("set-option", "-g", chatKeyOption, "none")
		st.load()
		assert.Empty(t, ours())
		assert.Equal(t, before, lines())

		// Keys that are bound by others.
		st.Run("set-option", "-gu", menuKeyOption, ";", "set-option", "-g", chatKeyOption, "d")
		st.Run("bind-key", "B", "display-message", "mine")
		st.load()
		assert.Empty(t, ours())
		assert.Regexp(t, `-T prefix +B +display-message mine`, st.Run("list-keys"))
		assert.Regexp(t, `-T prefix +d +detach-client`, st.Run("list-keys"))
		out, _ := st.intercom("doctor")
		assert.Contains(t, out, "prefix + B was already bound to something else")
		assert.Contains(t, out, "prefix + d was already bound to something else")
		assert.Contains(t, out, menuKeyOption+" KEY")
		st.Run("unbind-key", "B")
		st.load()
		assert.Equal(t, []string{"B"}, ours())
		st.Run("bind-key", "B", "display-message", "mine")
		out, _ = st.intercom("doctor")
		assert.Contains(t, out, "prefix + B was the plugin's, and was bound to something else since")
		st.Run("unbind-key", "B")
		st.load()
		assert.Equal(t, []string{"B"}, ours())
		out, _ = st.intercom("doctor")
		assert.NotContains(t, out, "prefix + B is bound")
	})
}

// A key that somebody else has bound is left alone however it is spelled. A key that tmux does not know does not stop the others
// from being bound.
func TestPlugin_keysOfOtherNames(t *testing.T) {
	t.Parallel()
	ends(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		keys := func(with string) (n int) { return strings.Count(st.Run("list-keys", "-T", "prefix"), with) }
		names := `space ^y PageUp C-; M-' M-" M-\`
		st.Run("set-option", "-g", chatKeyOption, names+" V NoKey", ";", "set-option", "-g", menuKeyOption, `\`)
		mine := []string{"Space", "C-y", "PPage", `C-\;`, "M-'", `M-"`, `M-\`, `\`}
		for _, key := range mine {
			st.Run("bind-key", key, "display-message", "mine")
		}
		st.load()
		assert.Equal(t, len(mine), keys("display-message mine"))
		assert.Equal(t, names+` \`, st.Run("show-options", "-gqv", takenOption))
		assert.Equal(t, "V J", st.Run("show-options", "-gqv", keysOption))

		for _, key := range mine {
			st.Run("unbind-key", key)
		}
		st.load()
		assert.Empty(t, st.Run("show-options", "-gqv", takenOption))
		assert.Equal(t, names+` V J \`, st.Run("show-options", "-gqv", keysOption))
		assert.Equal(t, len(mine)+2, keys(originOption))
		for _, option := range []string{chatKeyOption, menuKeyOption, jumpKeyOption} {
			st.Run("set-option", "-g", option, "none")
		}
		st.load()
		assert.Zero(t, keys(originOption))
		assert.NotContains(t, st.Run("list-keys"), "intercom")
	})
}

func TestU4_U14_pickAndChat(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.two()
		st.load()
		me, other := st.sit("base"), st.sit("base")

		// One key press, if there is one other pane.
		me.press("C-b", st.chatKey)
		me.sees("claude (1) ↔ codex (2): on; the next answer goes across → prefix + B, s says a line")
		assert.NotContains(t, other.screen(), "↔", "the other terminal")
		chats := st.status().Chats
		require.Len(t, chats, 1)
		assert.Equal(t, "claude (1), codex (2)", participants(chats[0]))
		assert.Equal(t, me.client+" "+claude.Pane, st.Run("show-options", "-gqv", originOption))

		// A second press is an error with the next step, in a row of its own if it does not fit.
		me.press("C-b", st.chatKey)
		me.sees("intercom: ")
		me.sees("prefix + B, then x, in a pane of that chat ends it")
		assert.NotContains(t, other.screen(), "intercom:")
		me.menu("x")
		me.sees("claude (1) ↔ codex (2): ended; nothing more is relayed")
		assert.Empty(t, st.status().Chats)

		// With more panes, a list: agents first, then the panes that would be refused, with the reason.
		shell := st.Run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", codex.Pane, "exec sh")
		far := st.agent("codex", "")
		me.press("C-b", st.chatKey)
		me.sees("chat claude (" + claude.Pane + ") with")
		me.sees("q closes")
		var rows []string
		for line := range strings.Lines(me.screen()) {
			if _, after, ok := strings.Cut(line, "│"); ok && strings.Contains(after, "%") {
				rows = append(rows, strings.Join(strings.Fields(strings.Trim(after, "│ \n")), " "))
			}
		}
		require.Len(t, rows, 5, me.screen()) // the first is the heading, the last the base pane with cat
		assert.Regexp(t, `^1 `+codex.Pane+` codex codex \w+ base:\d`, rows[1])
		assert.Regexp(t, `^2 `+far.Pane+` - codex \w+ base:\d`, rows[2])
		assert.Regexp(t, `^`+shell+` base:\d .*a shell: it would run what is typed into it`, rows[3])
		assert.Regexp(t, `^`+st.Base+` base:0 .*which is not a known agent`, rows[4])
		assert.Contains(t, me.screen(), "These would be refused:")
		me.press("j", "j", "Enter") // the shell
		me.sees(shell + " cannot be picked: ")
		me.press("j", "Enter")
		me.sees(st.Base + " cannot be picked: ")
		me.sees("intercom adopt " + st.Base + " --as line")
		me.press("q")
		me.seesNot("cannot be picked")
		assert.Empty(t, st.status().Chats)

		me.menu("c") // the same from the menu
		me.sees("q closes")
		me.press("q")
		me.seesNot("q closes")
		assert.Empty(t, st.status().Chats)
		me.press("C-b", st.chatKey, "2") // typed blind, before anything is shown
		me.sees("claude (1) ↔ codex-2 (2): on")

		for _, r := range []*tmuxtest.Recorder{claude, codex, far} {
			assert.Empty(t, received(t, r), "keys that were meant for us")
		}
	})
}

func TestPlugin_fastTypingLeaksNothing(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.two()
		st.agent("codex", "")
		shell := st.NewPane("sh")
		st.load()
		me := st.sit("base")
		for range 2 {
			me.press("C-b", "B", "p")
			me.sees("everything is stopped")
			me.press("C-b", "B", "r")
			me.sees("messages are typed again")
			me.press("C-b", "B", "c", "1")
			me.sees("on; the next answer goes across")
			me.seesNot("q closes") // a popup swallows keys while it closes
			me.press("C-b", "B", "x")
			me.sees("nothing more is relayed")
		}
		st.Run("join-pane", "-d", "-s", shell, "-t", codex.Pane) // three panes, so the key opens the list
		for range 2 {
			me.press("C-b", st.chatKey, "1")
			me.sees("on; the next answer goes across")
			me.seesNot("q closes") // a popup swallows keys while it closes
			me.press("C-b", "B", "x")
			me.sees("nothing more is relayed")
		}
		assert.Empty(t, received(t, claude), "what was typed while a popup or menu was on its way")
		assert.Empty(t, received(t, codex))
		me.press("z") // keys meant for the pane still arrive there
		tmuxtest.WaitFor(t, "a key in the pane", func() bool { return received(t, claude) == "z" })
	})
}

// Keys that tmux reads together with the key that opens a popup reach neither the popup, which is not there yet, nor the agent
// below it once the popup is closed.
func TestU5_keysReadTogether(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.two()
		shell := st.NewPane("sh")
		st.load()
		st.Run("join-pane", "-d", "-s", shell, "-t", codex.Pane) // three panes, so the key opens the list
		me := st.sit("base")
		// Before tmux 3.7 the third key would count as the start of a paste (assume-paste-time).
		typed := "1\r"
		if v.AtLeast(3, 7) {
			typed = "y12345\r"
		}
		atOnce := func(keys string) {
			hex := []string{"send-keys", "-t", me.pane, "-H"}
			for _, b := range []byte(keys) {
				hex = append(hex, fmt.Sprintf("%02x", b))
			}
			st.outer.Run(hex...)
		}
		atOnce("\x02" + st.chatKey + typed)
		me.sees("q closes")
		me.press("q")
		me.seesNot("q closes")
		atOnce("\x02B" + typed)
		me.sees("stop the chat")
		atOnce("l" + typed)
		me.sees("q closes")
		me.press("q")
		me.seesNot("q closes")
		assert.Equal(t, "root 0", st.Fact(claude.Pane, "#{client_key_table} #{client_prefix}"))
		me.press("z")
		tmuxtest.WaitFor(t, "a key in the pane", func() bool { return strings.HasSuffix(received(t, claude), "z") })
		assert.Equal(t, "z", received(t, claude), "what was typed before the popup was there")
	})
}

func TestU7_statusAndNotices(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.two()
		st.Run("new-session", "-d", "-s", "away", "exec cat")
		st.load()
		st.Run("set-option", "-g", "status-right", "<#{@intercom-status}>", ";", "set-option", "-g", "status-interval", "0")
		near, far := st.sit("base"), st.sit("away")
		near.sees("<>")

		says := func(want string, act ...string) {
			t.Helper()
			out, code := st.intercom(act...)
			require.Contains(t, []int{0, 5}, code, out)
			st.statusSays(want)
		}
		says("1 chat", "chat", "start", claude.Pane, codex.Pane, "--name", "plans")
		near.sees("<1 chat>")
		far.sees("<1 chat>")
		says("1 paused", "chat", "pause", "plans")
		says("1 paused", "chat", "say", "plans", "hello")
		says("all stopped, 1 paused", "chat", "pause", "--all")
		out, code := st.intercom("chat", "resume", "--all")
		require.Contains(t, []int{0, 5}, code, out)
		// These panes show no agent's screen.
		st.statusSays("1 chat, claude: unknown screen, codex: unknown screen", "1 chat, codex: unknown screen, claude: unknown screen")
		near.sees(": unknown screen, ")

		// A notice that nobody asked for is shown once, at the terminal where the chat is.
		st.Run("kill-pane", "-t", codex.Pane)
		near.sees(`intercom: chat "plans"`)
		assert.NotContains(t, far.screen(), "intercom: ")
		tmuxtest.WaitFor(t, "a status without a chat", func() bool { return !strings.Contains(st.Run("show-options", "-sqv", "@intercom-status"), "chat") })

		out, code = st.intercom("down")
		require.Zero(t, code, out)
		assert.NotContains(t, st.Run("show-options", "-s"), "@intercom-")
	})
}

func TestS16_H31_nothingShownIsRun(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		trap := filepath.Join(st.home, "TRAP")
		evil := "#(touch " + trap + ")#[fg=red]#{pid}%H"
		claude, codex := st.two()
		st.Run("split-window", "-d", "-t", codex.Pane, "exec sh")
		st.load()
		st.Run("set-option", "-g", "set-titles", "off", ";", "set-option", "-g", "status-left", "", ";", "set-option", "-g", "status-right", "#{@intercom-status}")
		st.Run("set-option", "-g", "window-status-format", "-", ";", "set-option", "-g", "window-status-current-format", "-")
		me := st.sitUnnamed()
		st.outer.Run("set-option", "-s", "set-clipboard", "on")
		st.Run("set-option", "-w", "-t", codex.Pane, "allow-rename", "on")
		st.Print(codex.Pane, "\x1bk"+evil+"\x1b\\") // by its program, since rename-window would expand it
		tmuxtest.WaitFor(t, "the name", func() bool { return strings.Contains(st.Fact(codex.Pane, "#{window_name}"), "touch") })
		name := st.Fact(codex.Pane, "#{window_name}") // as tmux changed it: 3.7 and later remove more
		t.Logf("tmux %s: the window is called %s", v.Name, name)
		st.Print(codex.Pane, "\x1b]2;"+evil+"\x07")

		me.press("C-b", st.chatKey)
		me.sees("base:1 " + name[:strings.Index(name, "/")]) // shown in the list as it is
		me.press("q")
		me.seesNot("q closes")

		osc := "\x1b]52;c;" + "aGVsbG8=" + "\x07"
		out, code := st.intercom("chat", "start", claude.Pane, codex.Pane, "--name", "plans")
		require.Zero(t, code, out)
		out, code = st.intercom("chat", "pause", "plans")
		require.Zero(t, code, out)
		out, code = st.intercom("chat", "say", "plans", "before "+evil+osc+" after")
		require.Equal(t, 5, code, out) // the message is held
		me.menu("l")
		me.sees("before " + evil)
		me.press("q")

		// Refusals, notices and the shell scripts' own lines show names too.
		st.Run("run-shell", st.root+"/tmux-plugin/notice.sh 'told "+strings.ReplaceAll(strings.ReplaceAll(evil, "#", "##"), "%", "%%")+"' "+me.client)
		me.sees("told #(touch")
		assert.NoFileExists(t, trap)
		assert.Empty(t, st.outer.Run("list-buffers"), "OSC 52 reached a terminal")
	})
}

// sitUnnamed is like sit, with a status line that does not show the session's name.
func (st *stage) sitUnnamed() *seat {
	st.t.Helper()
	left := st.Run("show-options", "-gv", "status-left")
	st.Run("set-option", "-g", "status-left", "[base]")
	me := st.sit("base")
	st.Run("set-option", "-g", "status-left", left)
	return me
}

func TestU11_uninstall(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.two()
		me := st.sit("base")
		st.Run("set-option", "-g", chatKeyOption, st.chatKey, ";", "set-option", "-gqu", menuKeyOption)
		before := st.traces()

		st.Run("set-hook", "-g", "session-created[3]", "display-message mine", ";", "set-option", "-g", "@mine", "@intercom-origin")
		st.load()
		me.press("C-b", st.chatKey)
		me.sees("claude (1) ↔ codex (2): on")
		out, code := st.intercom("hooks", "install", "claude")
		require.Zero(t, code, out)
		assert.FileExists(t, filepath.Join(st.Dir, ".claude", "settings.json"))
		out, code = st.intercom("mcp", "install", "claude", "--skill")
		require.Zero(t, code, out)
		skill := filepath.Join(st.Dir, ".claude", "skills", "intercom", "SKILL.md")
		assert.FileExists(t, skill)

		// What another sidecar would go on serving: a port, and a repository's messages.
		port := aFreePort(t)
		out, code = st.intercom("talk", "listen", "start", "--port", port)
		require.Zero(t, code, out)
		repo := filepath.Join(st.home, "repo")
		require.NoError(t, exec.Command("git", "init", "-q", repo).Run())
		out, code = st.intercom("aea", "install", "--repository", repo)
		require.Zero(t, code, out)

		out, code = st.intercom("uninstall")
		require.Zero(t, code, out)
		assert.Contains(t, out, "rm -r "+filepath.Join(repo, ".aea"))
		stop := plaintext.ShellWord(thisProgram()) + " talk listen stop --port " + port
		assert.Contains(t, out, "    "+stop+"\n", "nothing is left that makes intercom a command")
		assert.Less(t, strings.Index(out, stop), strings.Index(out, " rm -r "), "the program goes with the last of those")
		assert.Contains(t, out, "AEA messages and scripts of a repository; lines in its CLAUDE.md ")
		assert.Contains(t, out, "panes released: claude, codex")
		assert.Contains(t, out, "removed from the tmux server: 3 keys")
		assert.Contains(t, out, "your own options stay in the tmux server: @intercom-bin, "+chatKeyOption+"\n")
		assert.Contains(t, out, "journals and logs of all tmux servers")
		assert.Contains(t, out, "rm -r "+filepath.Join(st.env["XDG_STATE_HOME"], "intercom"))
		assert.Equal(t, "@intercom-origin", st.Run("show-options", "-gqv", "@mine"), "what is not ours")
		assert.Contains(t, st.Run("show-hooks", "-g"), "display-message mine")
		st.Run("set-hook", "-gu", "session-created[3]", ";", "set-option", "-gu", "@mine")
		me.press("C-c") // clears the message
		assert.Equal(t, before, st.traces())
		assert.DirExists(t, filepath.Join(st.env["XDG_STATE_HOME"], "intercom"))
		assert.NoFileExists(t, filepath.Join(st.Dir, ".claude", "settings.json"))
		assert.NoFileExists(t, filepath.Join(st.Dir, ".claude.json"))
		assert.NoFileExists(t, skill)
		tmuxtest.WaitFor(t, "the key", func() bool { return received(t, claude) == "\x03" })
		assert.Empty(t, received(t, codex))

		// A second uninstall finds nothing to remove. No sidecar is left that could tell who calls, so it asks.
		shell := st.shell()
		st.Run("send-keys", "-t", shell, "-l", thisProgram()+" uninstall --server="+st.Socket+"; echo exit $?")
		st.Run("send-keys", "-t", shell, "Enter")
		st.WaitForText(shell, "[y/N]")
		st.Run("send-keys", "-t", shell, "y")
		st.WaitForText(shell, "exit 0")
		out = st.Run("capture-pane", "-p", "-J", "-t", shell)
		assert.Contains(t, out, "removed from the tmux server: 0 keys, 0 options")
		assert.NotContains(t, out, "sidecar ended")
		for _, line := range [][]string{{"inbox", "list"}, {"chat", "list"}, {"log"}, {"session", "list"}, {"aea", "list"}, {"talk", "discover"}} {
			out, _ = st.intercom(line...)
			assert.Empty(t, st.processes(), "%s started a sidecar: %s", line, out)
		}
		told := exec.Command("sh", "-c", stop) // the command that uninstall printed
		told.Env = st.environ()
		text, err := told.CombinedOutput()
		assert.NoError(t, err, "%s", text)
		assert.Contains(t, string(text), port)
		out, code = st.intercom("inbox", "list")
		assert.Equal(t, 3, code, out)
		assert.Contains(t, out, "intercom up starts it again")
		out, code = st.intercom("up")
		require.Zero(t, code, out)
		out, code = st.intercom("inbox", "list")
		assert.Zero(t, code, out)
	})
}
