package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// All is as a person has it: the program itself, hooks installed by its own command, and a sidecar that `chat start`
// starts. A turn that both hooks and transcripts report is one message.
func TestLab_W1_W10_W11_ChatWithHooksByTheProgram(t *testing.T) {
	t.Parallel()
	turns := long(5, 10)
	l, intercom := newProgramLab(t)
	where := l.shared()
	hooked := func(kind labtest.Kind) *labAgent {
		return l.launch(kind, append(where, labtest.Configured(func(a *labtest.Agent) {
			cmd := exec.Command(intercom.path, "hooks", "install", string(kind))
			cmd.Env = []string{"HOME=" + a.Home, "PATH=/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		}))...)
	}
	pairs := [][2]*labAgent{
		{hooked(labtest.Claude), hooked(labtest.Codex)},
		{hooked(labtest.Claude), hooked(labtest.Claude)},
		{hooked(labtest.Codex), hooked(labtest.Codex)},
	}
	for _, pair := range pairs {
		pair[0].WaitForIdle()
		pair[1].WaitForIdle()
	}
	person, err := user.Current()
	require.NoError(t, err)
	l.lab.Model.Converse("seed")
	var talks []*conversation
	for _, pair := range pairs {
		c := &conversation{l: l, first: pair[0], second: pair[1], line: "Let us talk, " + pair[0].Name + ".", person: person.Username, turns: turns}
		c.begins()
		intercom.run(t, &c.chat, "chat", "start", pair[0].Pane, pair[1].Pane, "--say", c.line, "--turns", fmt.Sprint(2*turns))
		c.names = [2]string{c.chat.Participants[0].Name, c.chat.Participants[1].Name}
		talks = append(talks, c)
	}
	for _, c := range talks {
		c.check(t)
		for _, a := range []*labAgent{c.first, c.second} {
			told := false
			for _, g := range a.explain().Evidence {
				told = told || g.Source == "hook"
			}
			assert.True(t, told, "%s told by its hooks: %+v", a.Name, a.explain().Evidence)
			assert.Equal(t, "transcript", a.explain().WordsFrom)
		}
	}
	l.lab.Model.Converse("")

	// A turn with a tool in it, by an agent of each kind, reported by both sources.
	for _, words := range []string{"last", "all"} {
		for _, a := range pairs[0] {
			ben := l.adopted("Ben-"+a.Name+"-"+words, bracketed...)
			var chat message.Chat
			intercom.run(t, &chat, "chat", "start", a.Pane, ben.pane, "--set", "words="+words)
			a.Prompt("[[before I shall look at it first.]] [[bash touch proof-" + words + "]] [[say It is done.]]")
			a.WaitForDialog()
			a.WaitForStill(labtest.Stillness) // a key that comes while it is still being drawn is lost
			a.Enter()
			a.WaitForAnswer("It is done.")
			want := map[string]string{"last": "It is done.", "all": "I shall look at it first.\n\nIt is done."}[words]
			ben.hears(attributed(a.session().Name, 1, []string{want})[0])
			assert.Equal(t, []string{want}, l.bodiesOf(chat, a), "one message of %s, words=%s", a.Name, words)
			l.over(chat)
		}
	}
}

// program is the program itself, run as a person runs it at a terminal outside tmux.
type program struct {
	path    string
	environ []string
}

// run runs a command with --json and reads what it prints.
func (p *program) run(t *testing.T, reply any, words ...string) {
	t.Helper()
	cmd := exec.Command(p.path, append(words, "--json")...)
	cmd.Env = p.environ
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "intercom %q: %s%s", words, out, stderr.String())
	require.NoError(t, json.Unmarshal(out, reply), "intercom %q: %s", words, out)
}

// newProgramLab is newLab without a sidecar: the program starts one.
func newProgramLab(t *testing.T) (*labRig, *program) {
	t.Helper()
	l := &labRig{stage: &stage{T: t}}
	l.failed = l.tell
	l.lab = labtest.New(l.stage, labtest.Claude, labtest.Codex)
	l.rig = &rig{Server: tmuxtest.NewServer(l.stage, tmuxtest.Versions(t)[0]), t: l.stage, heard: &heard{}}
	var err error
	l.rig.dir, err = os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(l.rig.dir) })
	require.NoError(t, os.Mkdir(filepath.Join(l.rig.dir, "run"), 0o700))
	paths, err := api.Places(l.getenv, l.Socket)
	require.NoError(t, err)
	l.client = clientAt(paths.Socket)

	p := &program{path: filepath.Join(l.rig.dir, "intercom")}
	out, err := exec.Command("go", "build", "-o", p.path, "../../cmd/intercom").CombinedOutput()
	require.NoError(t, err, "build: %s", out)
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"} {
		p.environ = append(p.environ, name+"="+l.getenv(name))
	}
	p.environ = append(p.environ, "INTERCOM_SERVER="+l.Socket, "USER=tester", "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8")
	t.Cleanup(func() {
		var down map[string]any
		p.run(t, &down, "down")
	})
	return l, p
}
