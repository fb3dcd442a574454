package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// documentsQuestion is a file exactly as AEA's document shows it: it names no agent.
const documentsQuestion = `{
  "message_type": "question",
  "priority": "normal",
  "message": {
    "subject": "Connection pool sizing for high throughput?",
    "question": "What pool_size should we use for 10k updates/sec?",
    "context": {
      "current_throughput": "10000 updates/sec",
      "batch_size": 100
    }
  }
}
`

// The document's question is dropped into a repository in which a real agent works. The agent's answer comes back as a file in
// the asker's repository.
func TestLab_A64_anAgentAnswersForItsRepository(t *testing.T) {
	for _, kind := range []labtest.Kind{labtest.Claude, labtest.Codex} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			st := newPeersStage(t, kind)
			const answer = "Use a pool of **forty**.\n\n- ten for reads\n- thirty for writes"
			st.replies("pool_size", answer)
			agent, asker := st.worker(kind), st.repository("asker")
			name := "message-20251014T054200Z-from-claude-asker.json"
			require.NoError(t, os.WriteFile(filepath.Join(agent.Work, ".aea", name), []byte(documentsQuestion), 0o600))

			var back aeaFile
			st.until("the answer", func() bool { back = answerIn(t, asker); return back.ID != "" })
			assert.Equal(t, answer, back.Message.Body)
			assert.NotEmpty(t, back.Metadata.ReplyTo)
			assert.Equal(t, "Re: Connection pool sizing for high throughput?", back.Message.Subject)
			require.Len(t, agent.Received(), 1)
			assert.Contains(t, agent.Received()[0], "What pool_size should we use for 10k updates/sec?")
			st.until("it is processed", func() bool {
				info, err := os.Stat(filepath.Join(agent.Work, ".aea", ".processed", name))
				return err == nil && info.Size() == 0
			})
		})
	}
}

// Two real agents in two repositories talk by `aea send` alone: one asks with its own shell, the other is given the question, and
// its answer is given to the first.
func TestLab_A64_twoAgentsTalkByFiles(t *testing.T) {
	t.Parallel()
	st := newPeersStage(t, labtest.Claude)
	st.replies("how many rows", "Forty rows.")
	st.replies("Forty rows.", "Thank you, forty it is.")
	one, other := st.worker(labtest.Claude), st.worker(labtest.Claude)
	its, err := repository.Open(other.Work)
	require.NoError(t, err)
	one.runs(thisProgram() + " aea send --to " + its.Own().ID + " --to-path " + other.Work + " --type question --subject Rows --message 'how many rows fit'")
	st.until("the question", func() bool {
		return slices.ContainsFunc(other.Received(), func(text string) bool { return strings.Contains(text, "how many rows fit") })
	})
	st.until("the answer", func() bool {
		return slices.ContainsFunc(one.Received(), func(text string) bool { return strings.Contains(text, "Forty rows.") })
	})
	assert.Len(t, other.Received(), 1, "once")
}

// Two real agents talk by `talk send` and `talk check` alone, each with its own shell.
func TestLab_K28_twoAgentsTalkByPorts(t *testing.T) {
	t.Parallel()
	st := newPeersStage(t, labtest.Claude)
	one, other := st.starts(labtest.Claude), st.starts(labtest.Claude)
	home := filepath.Join(st.home, "talk")
	for _, dir := range []string{home, filepath.Join(home, "run")} {
		require.NoError(t, os.Mkdir(dir, 0o700))
	}
	// The agents have a network of their own, so a sidecar of their own serves the ports.
	world := []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home + "/run", "XDG_STATE_HOME=" + home + "/state"}
	talk := "env -u TMUX -u TMUX_PANE " + strings.Join(world, " ") + " " + thisProgram() + " talk "
	t.Cleanup(func() {
		down := exec.Command(thisProgram(), "down") //nolint:usetesting // the test's context has ended
		down.Env = append(world, "PATH=/usr/bin:/bin")
		if out, err := down.CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	assert.Contains(t, one.runs(talk+"listen start --port 9001"), `"started"`)
	assert.Contains(t, other.runs(talk+"listen start --port 9002"), `"started"`)
	assert.Contains(t, one.runs(talk+"send --to-port 9002 --from-port 9001 --message 'Hello AI-B!'"), `"sent"`)
	assert.Contains(t, other.runs(talk+"check --port 9002 --clear"), `"sender_port":9001,"message":"Hello AI-B!"`)
	assert.Contains(t, other.runs(talk+"send --to-port 9001 --from-port 9002 --message 'Hello AI-A! Nice to meet you.'"), `"sent"`)
	assert.Contains(t, one.runs(talk+"check --port 9001 --clear"), `"sender_port":9002,"message":"Hello AI-A! Nice to meet you."`)
}

// Helpers.

// aeaFile holds the fields of a message that these tests read.
type aeaFile struct {
	ID       string `json:"message_id"`
	Message  struct{ Subject, Body string }
	Metadata struct {
		ReplyTo string `json:"reply_to"`
	}
}

// answerIn is the first message in a repository; the zero value if there is none.
func answerIn(t *testing.T, dir string) (m aeaFile) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, ".aea", "message-*.json"))
	require.NoError(t, err)
	if len(files) > 0 {
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &m))
	}
	return m
}

// peersStage is a stage with real agents, on the newest tmux.
type peersStage struct {
	*labStage
	says [][2]string // a question's text and the model's answer
}

func newPeersStage(t *testing.T, kinds ...labtest.Kind) *peersStage {
	t.Helper()
	lab := labtest.New(t, kinds...)
	all := tmuxtest.Versions(t)
	st := &peersStage{labStage: &labStage{newStage(t, all[len(all)-1]), lab}}
	st.load()
	lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		if x.Side != "" || len(x.User) == 0 {
			return labtest.Reply{}, false
		}
		last := x.User[len(x.User)-1]
		for _, one := range slices.Backward(st.says) {
			if strings.Contains(last, one[0]) && !strings.Contains(last, "[[") {
				return labtest.Reply{Text: one[1]}, true
			}
		}
		return labtest.Reply{}, false
	})
	return st
}

// replies has the models answer a prompt that contains asked with text. Call it before the agents start.
func (st *peersStage) replies(asked, text string) { st.says = append(st.says, [2]string{asked, text}) }

// peersAgent is an agent with a person at it.
type peersAgent struct{ *labAgent }

func (st *peersStage) starts(kind labtest.Kind) peersAgent {
	a := peersAgent{st.start(kind)}
	a.WaitForIdle()
	return a
}

// worker is an adopted agent in whose working directory AEA is installed.
func (st *peersStage) worker(kind labtest.Kind) peersAgent {
	st.t.Helper()
	a := st.starts(kind)
	st.install(a.Work)
	out, code := st.intercom("adopt", a.Pane)
	require.Zero(st.t, code, out)
	return a
}

// repository is an empty directory with AEA installed.
func (st *peersStage) repository(name string) (dir string) {
	st.t.Helper()
	dir = filepath.Join(st.home, name)
	require.NoError(st.t, os.Mkdir(dir, 0o700))
	st.install(dir)
	return dir
}

func (st *peersStage) install(dir string) {
	st.t.Helper()
	out, code := st.intercom("aea", "install", "--repository", dir)
	require.Zero(st.t, code, out)
}

// runs has the agent run a command with its own shell, allows that as its person, and returns what its model was told.
func (a peersAgent) runs(command string) string {
	a.st.t.Helper()
	told := len(a.told())
	a.Prompt("[[bash " + command + "]]")
	a.WaitForDialog()
	a.WaitForStill(labtest.Stillness)
	a.Keys("Enter")
	a.st.until("its model was told", func() bool { return len(a.told()) > told })
	a.answered(0)
	all := a.told()
	return all[len(all)-1]
}

// told are the results that its tools gave its model, in order.
func (a peersAgent) told() (all []string) {
	for _, x := range a.Conversation() {
		if n := len(x.Results); n > 0 {
			all = append(all, x.Results[n-1].Text)
		}
	}
	return all
}
