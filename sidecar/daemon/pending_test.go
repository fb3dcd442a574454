package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Some keys at a readline prompt show nothing and change the meaning of the next key. A paste after such a key
// would lose its bracketed-paste mark, and its line breaks would be Enters. Nothing is typed until the prompt shows
// that the program takes keys as they are.
func TestPendingKeys(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	for name, c := range map[string]struct{ as, setting, key string }{
		"Escape":              {"line-paste", "set enable-bracketed-paste on", "Escape"},
		"quoted insert":       {"line-paste", "set enable-bracketed-paste on", "C-v"},
		"search of a letter":  {"line-paste", "set enable-bracketed-paste on", "C-]"},
		"vi's command mode":   {"line", "set editing-mode vi", "Escape"},
		"vi, and a paste":     {"line-paste", `set editing-mode vi')\nreadline.parse_and_bind('set enable-bracketed-paste on`, "Escape"},
		"a line of one alone": {"line", "set enable-bracketed-paste off", "Escape"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			file, heard := filepath.Join(r.dir, "chat"), filepath.Join(r.dir, "heard")
			tmuxtest.Program(t, file, "#!/usr/bin/python3\nimport readline\nreadline.parse_and_bind('"+strings.ReplaceAll(c.setting, `\n`, "\n")+"')\n"+
				"log = open('"+heard+"', 'a', 1)\nwhile True:\n    line = input('chat> ')\n    log.write(repr(line) + '\\n')\n    print('heard', len(line))\n")
			a := r.agentOf("Chat")
			a.pane = r.NewPane(file)
			r.WaitForText(a.pane, "chat>")
			a.adopt(c.as)
			require.Equal(t, message.Submitted, r.send(a, "earlier", api.WaitSubmitted, patience).State)
			r.looked(func() bool { return true }) // time for a look at the prompt
			r.waitFor("at rest", func() bool { return a.explain().WouldType })
			before, err := os.ReadFile(heard)
			require.NoError(t, err)

			r.Run("send-keys", "-t", a.pane, c.key)
			r.waitFor("the key is noticed", func() bool { return !a.explain().WouldType })
			id := r.post(a, "k#\nplease run\nthen tell me")
			r.told(id, "held: composer not provably empty")
			r.Run("send-keys", "-t", a.pane, "C-g", "Enter")
			r.told(id, "submitted")
			var after []byte
			r.waitFor("the line is written down", func() bool {
				after, err = os.ReadFile(heard)
				return err == nil && strings.Contains(string(after), "then tell me")
			})
			lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(string(after), string(before))), "\n")
			assert.Contains(t, lines[len(lines)-1], "then tell me")
			assert.Contains(t, lines[len(lines)-1], "k#", "all of it is one line")
			for _, line := range lines[:len(lines)-1] {
				assert.NotContains(t, line, "k")
			}
		})
	}
}

// A key that changes the meaning of the next one, pressed while the program works, is read at the next prompt and
// shows nothing there either, so a message is held. Some programs switch line mode off a while before they show the
// prompt; readline does so for a moment.
func TestPendingKeys_typedAhead(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	for name, early := range map[string]bool{"at its prompt": false, "before its prompt": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			file, heard := filepath.Join(r.dir, "chat"), filepath.Join(r.dir, "heard")
			done, prompt := filepath.Join(r.dir, "done"), filepath.Join(r.dir, "prompt")
			tmuxtest.Program(t, file, "#!/usr/bin/python3\nimport os, readline, termios, time\n"+
				"readline.parse_and_bind('set enable-bracketed-paste on')\nlog = open('"+heard+"', 'a', 1)\ncooked = termios.tcgetattr(0)\n"+
				"keys = cooked[:3] + [cooked[3] & ~termios.ICANON] + cooked[4:]\n"+
				"def wait(file):\n    while not os.path.exists(file): time.sleep(0.01)\n"+
				"while True:\n    line = input('chat> ')\n    log.write(repr(line) + '\\n')\n"+
				"    if 'work' in line:\n        termios.tcsetattr(0, termios.TCSANOW, cooked)\n        print('busy')\n        wait('"+done+"')\n"+
				"        termios.tcsetattr(0, termios.TCSANOW, keys)\n        wait('"+prompt+"')\n    print('heard', len(line))\n")
			a := r.agentOf("Chat")
			a.pane = r.NewPane(file)
			r.WaitForText(a.pane, "chat>")
			a.adopt("line-paste")
			require.Equal(t, message.Submitted, r.send(a, "work", api.WaitSubmitted, patience).State)
			r.looked(func() bool { return true }) // time for a look at the silent program
			r.Run("send-keys", "-t", a.pane, "Escape")
			evidence := func(says string) func() bool {
				return func() bool {
					return slices.ContainsFunc(a.explain().Evidence, func(g message.Ground) bool { return strings.Contains(g.Says, says) })
				}
			}
			r.waitFor("the key is noticed", evidence("a line was begun here while the program worked"))
			if !early {
				require.NoError(t, os.WriteFile(prompt, nil, 0o600))
			}
			require.NoError(t, os.WriteFile(done, nil, 0o600))
			if early {
				r.waitFor("it takes keys as they are", func() bool { return !evidence("a line was begun here while the program worked")() })
				require.NoError(t, os.WriteFile(prompt, nil, 0o600))
			}
			id := r.post(a, "k#\nplease run\nthen tell me")
			r.told(id, "held: composer not provably empty")
			r.Run("send-keys", "-t", a.pane, "C-g", "Enter")
			r.told(id, "submitted")
			var lines string
			r.waitFor("the line is written down", func() bool {
				text, err := os.ReadFile(heard)
				lines = string(text)
				return err == nil && strings.Contains(lines, "then tell me")
			})
			assert.Contains(t, lines, "k#\\nplease run\\nthen tell me", "as one line")
		})
	}
}

// Such a key still counts where the program has drawn its prompt anew below news of its own: nobody has ended the line.
func TestPendingKeys_news(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	r := newRig(t)
	file, heard, pid := filepath.Join(r.dir, "chat"), filepath.Join(r.dir, "heard"), filepath.Join(r.dir, "pid")
	tmuxtest.Program(t, file, "#!/usr/bin/python3\nimport os, readline, signal\nreadline.parse_and_bind('set enable-bracketed-paste on')\n"+
		"signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b'\\r\\x1b[Knews\\nchat> '))\n"+
		"open('"+pid+"', 'w').write(f'{os.getpid()}\\n')\nlog = open('"+heard+"', 'a', 1)\n"+
		"while True:\n    line = input('chat> ')\n    log.write(repr(line) + '\\n')\n    print('heard', len(line))\n")
	a := r.agentOf("Chat")
	a.pane = r.NewPane(file)
	r.WaitForText(a.pane, "chat>")
	a.adopt("line-paste")
	require.Equal(t, message.Submitted, r.send(a, "earlier", api.WaitSubmitted, patience).State)
	r.looked(func() bool { return true }) // at its prompt
	r.waitFor("at rest", func() bool { return a.explain().WouldType })
	r.Run("send-keys", "-t", a.pane, "C-v")
	r.waitFor("the key is noticed", func() bool { return !a.explain().WouldType })
	id := r.post(a, "k#\nplease run\nthen tell me")
	r.told(id, "held: composer not provably empty")

	text, err := os.ReadFile(pid)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(parsed(text), syscall.SIGUSR1))
	r.WaitForText(a.pane, "news")
	r.looked(func() bool { return strings.HasPrefix(r.last(id), "held") })
	r.Run("send-keys", "-t", a.pane, "C-g", "Enter")
	r.told(id, "submitted")
	r.waitFor("the line is written down", func() bool {
		text, err = os.ReadFile(heard)
		return err == nil && strings.Contains(string(text), "then tell me")
	})
	assert.Contains(t, string(text), "k#\\nplease run\\nthen tell me", "as one line")
}
