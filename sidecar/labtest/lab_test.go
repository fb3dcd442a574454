package labtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each agent can be used with tmux alone: paste, Enter, read the answer, and approve a command.
func TestLab_agentsAnswer(t *testing.T) {
	eachAgent(t, labtest.Kinds, func(t *testing.T, lab *labtest.Lab, agent *labtest.Agent) {
		prompt := "one `x` é 日本\nsecond line [[say The answer is **forty-two**.]]"
		agent.Prompt(prompt)
		agent.WaitForAnswer("forty-two")
		assert.Equal(t, []string{prompt}, agent.Received())
		assert.Equal(t, []string{"The answer is **forty-two**."}, agent.Answers())
		for _, x := range agent.Exchanges() {
			assert.NotContains(t, []string{"no tools"}, x.Side, "a side thread that is not known: %q", x.User)
		}

		proof := filepath.Join(agent.Work, "proof")
		agent.Prompt("please [[bash touch proof]]")
		agent.WaitForDialog()
		assert.NoFileExists(t, proof, "it runs when it is approved")
		require.Len(t, agent.Received(), 2)
		agent.Enter()
		agent.WaitForAnswer("the tools have answered")
		assert.FileExists(t, proof)
		assert.Len(t, agent.Received(), 2, "a decision is not a prompt")

		if devices, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", agent.PID)); err == nil && lab.Open == "" {
			assert.Equal(t, 3, strings.Count(string(devices), "\n"), "two lines of head and the loopback interface:\n%s", devices)
		}
	})
}

// The agents open each kind of dialog on request, and Escape denies it.
func TestLab_dialogs(t *testing.T) {
	eachAgent(t, []labtest.Kind{labtest.Claude, labtest.Codex}, func(t *testing.T, _ *labtest.Lab, agent *labtest.Agent) {
		outside := filepath.Join(agent.Dir, "outside.txt")
		deny := func(want string) {
			agent.WaitForDialog()
			agent.WaitForText(want)
			agent.WaitForStill(labtest.Stillness)
			agent.Keys("Escape")
			agent.WaitForIdle()
		}
		agent.Prompt("please [[write " + outside + " some words]]")
		deny("outside.txt")
		assert.NoFileExists(t, outside)

		agent.Paste("/plan") // both agents know it
		agent.Enter()
		agent.WaitForText("lan mode")
		agent.WaitForIdle()
		agent.Prompt("please [[ask Which colour? | red | blue]]")
		deny("Which colour?")
		agent.Prompt("please [[plan First this. Then that.]]")
		deny("First this. Then that.")
	})
}

// While the model is silent in mid-turn the agent is not idle. Escape cuts the answer, and the agent goes on.
func TestLab_interrupted(t *testing.T) {
	eachAgent(t, []labtest.Kind{labtest.Claude, labtest.Codex}, func(t *testing.T, lab *labtest.Lab, agent *labtest.Agent) {
		// The prompt contains the words too. Claude Code shows only the mark of an answer until its first line is complete;
		// Escape before that would make the prompt a draft again.
		answers := func(turn int, words string) {
			t.Helper()
			agent.WaitFor("an answer that begins", func(s labtest.Screen) bool {
				turns := agent.Conversation()
				return len(turns) == turn && turns[turn-1].Held && slices.ContainsFunc(s.Plain, func(row string) bool {
					row = strings.TrimSpace(row)
					return row == "●" || row == "• "+words
				})
			})
		}
		agent.Prompt("[[hold]] [[say one two three four]]")
		answers(1, "one two")
		assert.False(t, agent.Idle())
		lab.Model.Release(agent.Name)
		agent.WaitForAnswer("one two three four")

		agent.Prompt("[[hold]] [[say five six seven eight]]")
		answers(2, "five six")
		agent.Keys("Escape")
		agent.WaitForIdle()
		tmuxtest.WaitFor(t, "the end of the answer", func() bool { return agent.Conversation()[1].Over })
		last := agent.Conversation()[1]
		assert.True(t, last.Cut)
		assert.Equal(t, "five six ", last.Answer)

		agent.Prompt("[[say still here]]")
		agent.WaitForAnswer("still here")
		assert.Len(t, agent.Received(), 3)
	})
}

// Two agents of a kind run by hand in one directory, with one home, on one server, and their models converse.
func TestLab_pairInOneDirectory(t *testing.T) {
	t.Parallel()
	for _, kind := range []labtest.Kind{labtest.Claude, labtest.Codex} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			lab := labtest.New(t, kind)
			lab.Model.Converse("seed")
			server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
			home := labtest.Home(filepath.Join(lab.Dir, "home"))
			first := lab.Start(server, kind, labtest.InShell(), home)
			second := lab.Start(server, kind, labtest.InShell(), home, labtest.Work(first.Work), labtest.Size(90, 30))
			require.Equal(t, first.Home, second.Home)
			require.Equal(t, string(kind)+"-2", second.Name)
			for n := 1; n <= 2; n++ {
				for _, a := range []*labtest.Agent{first, second} {
					a.Prompt(fmt.Sprintf("hello, %s, for time %d", a.Name, n))
					a.WaitForAnswer(fmt.Sprintf("%s-%d: ", a.Name, n))
				}
			}
			for _, a := range []*labtest.Agent{first, second} {
				assert.Equal(t, []string{"hello, " + a.Name + ", for time 1", "hello, " + a.Name + ", for time 2"}, a.Received())
				assert.Equal(t, []string{labtest.Talk("seed", a.Name, 1), labtest.Talk("seed", a.Name, 2)}, a.Answers())
				s := lab.Capture(a)
				assert.Equal(t, string(kind), s.Command)
			}
			assert.Equal(t, 90, lab.Capture(second).Width)

			second.Stop()
			assert.Empty(t, second.Processes())
			assert.NotEmpty(t, first.Processes(), "the other one is left alone")
		})
	}
}

// The background process of Codex, which then holds the conversation, ends with it.
func TestLab_codexInTheBackground(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Codex)
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	agent := lab.Start(server, labtest.Codex, labtest.InShell(), labtest.Daemon())
	daemon := 0
	agent.WaitFor("its background process", func(labtest.Screen) bool {
		for _, pid := range agent.Processes() {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.Contains(string(line), "app-server") {
				daemon = pid
			}
		}
		return daemon != 0
	})
	agent.Prompt("[[say from behind]]")
	agent.WaitForAnswer("from behind")
	agent.Stop()
	state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", daemon))
	assert.True(t, len(state) == 0 || strings.Contains(string(state), ") Z "), "it has ended: %s", state)
}

// Helpers.

// eachAgent runs test once for each installed kind, all at once.
func eachAgent(t *testing.T, kinds []labtest.Kind, test func(t *testing.T, lab *labtest.Lab, agent *labtest.Agent)) {
	t.Helper()
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			lab := labtest.New(t, kind)
			server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
			test(t, lab, lab.Start(server, kind))
		})
	}
}
