package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	transcripts "github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// The stand-ins look to the sidecar like the agents for which they stand: each of their screens is judged like a real
// agent's in that state.
func TestStandInsLookLikeTheirAgents(t *testing.T) {
	t.Parallel()
	for _, kind := range coders {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.coder(kind, "Ada", "--ghost", "Try this", "--reply", "none")
			judged := func(what string, state message.PaneState, composer message.ComposerNow) {
				t.Helper()
				var e message.Explanation
				r.waitFor(what, func() bool {
					var err error
					e, err = r.client.Explain(t.Context(), api.ExplainRequest{Pane: a.pane, Agent: kind})
					require.NoError(t, err)
					return e.State == state && e.Composer == composer // else its keys are not drawn yet
				})
				assert.Equal(t, state == message.Idle, e.MayType, what)
				assert.Equal(t, kind, e.Agent)
			}
			empty := message.ComposerNow{Live: true, Empty: true}
			draft := func(text string) message.ComposerNow { return message.ComposerNow{Live: true, Text: text} }
			clear := func() { a.types("", "C-u", "BSpace", "BSpace", "BSpace", "BSpace") }

			judged("with a suggestion", message.Idle, empty)
			a.do(":ghost ")
			judged("empty", message.Idle, empty)
			a.types("one word")
			judged("a draft", message.Draft, draft("one word"))
			clear()
			r.Run("set-buffer", "two\nlines")
			r.Run("paste-buffer", "-p", "-t", a.pane)
			judged("two lines", message.Draft, draft("two\nlines"))
			clear()
			long := strings.Repeat("many words of a long paste\n", 40)
			r.Run("set-buffer", long)
			r.Run("paste-buffer", "-p", "-t", a.pane)
			judged("a long paste", message.Draft, draft(map[string]string{
				"claude": "[Pasted text #2 +40 lines]", "codex": "[Pasted Content 1080 chars]",
			}[kind]))
			clear()
			judged("cleared", message.Idle, empty)
			a.do(":turn hold | fail")
			a.types("go", "Enter")
			judged("at work", message.Working, empty)
			a.do(":dialog true")
			judged("a dialog", message.Blocked, message.ComposerNow{})
			a.types("", "Escape")
			judged("at work again", message.Working, empty)
			a.do(":ask Which colour?")
			judged("a question", message.Blocked, message.ComposerNow{})
			a.types("2")
			a.do(":go")
			judged("after an error", message.Idle, empty)
			a.do(":turn hold")
			a.types("go", "Enter")
			judged("at work once more", message.Working, empty)
			a.types("", "Escape")
			judged("interrupted", message.Idle, empty)
			for _, lie := range []string{"odd", "blank"} {
				a.do(":lie %s", lie)
				judged(lie, message.Unknown, message.ComposerNow{})
			}
			a.do(":lie off")
			r.Run("resize-window", "-t", a.pane, "-x", "60", "-y", "16")
			judged("in a small pane", message.Idle, empty)
			if kind == "claude" {
				assert.Equal(t, "0", r.Fact(a.pane, "#{cursor_flag}"))
			} else {
				assert.Equal(t, "1", r.Fact(a.pane, "#{cursor_flag}"))
			}
			assert.Equal(t, "1", r.Fact(a.pane, "#{alternate_on}"))
			assert.Equal(t, kind, r.Fact(a.pane, "#{pane_current_command}"))
			a.do(":exit")
		})
	}
}

// The stand-ins write transcripts like those of their agents: a stand-in that plays a scene writes the same events as
// the real agent in the recording of that scene.
func TestStandInsWriteLikeTheirAgents(t *testing.T) {
	t.Parallel()
	type keys struct {
		commands []string
		text     string
		after    string // a key that is pressed when it asks, or when it shows the text in shown
		shown    string
	}
	again := keys{text: "and a second one"}
	scenes := map[string][]keys{
		"plain":              {{text: "plain question é 日本"}},
		"long-paste":         {{text: "AI[vm:peer] | long paste\n\nline two\nline three\nline four\n\tTab and é\nlast"}},
		"text-tool-text":     {{commands: []string{":turn say I will | tool Bash | say I have"}, text: "do it"}},
		"permission-granted": {{commands: []string{":turn say I will | dialog true | say I have"}, text: "do it", after: "Enter"}},
		"permission-denied":  {{commands: []string{":turn say I will | dialog false | say I have"}, text: "do it", after: "Escape"}, {text: "go on then"}},
		"esc-in-answer":      {{commands: []string{":turn stream line 1"}, text: "one", after: "Escape", shown: "line 1"}, again},
		"error-529":          {{commands: []string{":turn fail"}, text: "over"}},
		"ask-answered":       {{commands: []string{":turn say I will ask | ask Which colour? | say I see"}, text: "ask", after: "Enter"}},
	}
	for _, kind := range coders {
		r := newRig(t)
		for scene, play := range scenes {
			recorded, err := os.ReadFile(filepath.Join("..", "agent", "testdata", map[string]string{"claude": "claude-2.1.329", "codex": "codex-0.169.0"}[kind], scene, "transcript.jsonl"))
			if os.IsNotExist(err) {
				continue
			}
			require.NoError(t, err)
			t.Run(kind+"/"+scene, func(t *testing.T) {
				before := r.transcripts(kind)
				a := r.coder(kind, scene)
				for i, k := range play {
					for _, c := range k.commands {
						a.do("%s", c)
					}
					r.Run("set-buffer", k.text)
					r.Run("paste-buffer", "-p", "-t", a.pane)
					a.types("", "Enter")
					r.waitFor("it was taken", func() bool { return len(a.received()) == i+1 })
					switch {
					case k.shown != "":
						r.WaitForText(a.pane, k.shown)
					case k.after != "":
						r.waitFor("it asks", func() bool { return a.count(persona.EventDialog) == 1 })
					}
					if k.after != "" {
						a.types("", k.after)
					}
					r.waitFor("its turn is over", func() bool { return a.count(persona.EventReady) == i+2 })
				}
				a.do(":exit")
				r.waitFor("it has ended", func() bool { return a.count(persona.EventEnd) > 0 })
				var written []byte
				for _, path := range r.transcripts(kind) {
					if !strings.Contains(strings.Join(before, " "), path) {
						written, err = os.ReadFile(path)
						require.NoError(t, err)
					}
				}
				assert.Equal(t, gist(kind, recorded), gist(kind, written))
				if text := play[0].text; scene == "long-paste" || scene == "plain" {
					for _, e := range transcripts.NewReader(transcripts.Kind(kind), 0).Feed(written) {
						if e.Kind == transcripts.Prompted {
							assert.True(t, transcripts.Same(text, e.Text), e.Text)
						}
					}
				}
			})
		}
	}
}

// gist are the events of a transcript in short.
func gist(kind string, transcript []byte) (all []string) {
	for _, e := range transcripts.NewReader(transcripts.Kind(kind), 0).Feed(transcript) {
		if e.Kind == transcripts.Spent || e.Kind == transcripts.Moded {
			continue // a stand-in has no model that reports its use, and the mode is written with each prompt
		}
		what := string(e.Kind)
		if e.By != "" {
			what += " by " + string(e.By)
		}
		if e.Denied {
			what += ", denied"
		}
		all = append(all, what)
	}
	return all
}
