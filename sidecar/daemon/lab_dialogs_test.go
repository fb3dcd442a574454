package daemon_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// A dialog opens in the middle of a chat: a message to the agent is held, nothing is typed, and the dialog stays as
// it is and decides nothing. When its person has answered it, the message comes once. No message answers for the
// person.
func TestLab_S2_H1_H3_H5_DialogsHoldTheMessage(t *testing.T) {
	eachOf(t, []labtest.Kind{labtest.Claude, labtest.Codex}, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind})
		a := l.agent(kind)
		chat, _ := l.alone(a)
		proof, outside := filepath.Join(a.Work, "proof"), filepath.Join(a.Dir, "outside.txt")
		results := func() (all string) {
			for _, x := range a.Conversation() {
				for _, r := range x.Results {
					all += r.Text + "\n"
				}
			}
			return all
		}
		ask := func(text, shows string) func() {
			return func() {
				a.Prompt("please " + text)
				a.WaitForDialog()
				a.WaitForText(shows)
			}
		}
		press := func(keys ...string) func() {
			return func() {
				a.WaitForStill(labtest.Stillness)
				a.Keys(keys...)
			}
		}
		type step struct {
			name             string
			open, answer     func()
			before, answered func() // checks before the answer, and after it
		}
		dialogs := []step{
			{
				"permission", ask("[[bash touch proof]]", "touch proof"), press("Enter"),
				func() { assert.NoFileExists(t, proof) }, func() { assert.FileExists(t, proof) },
			},
			{
				"permission refused", ask("[[bash touch proof2]]", "touch proof2"), press("Escape"),
				func() {}, func() { assert.NoFileExists(t, proof+"2") },
			},
			{
				"a file", ask("[[write "+outside+" some words]]", "outside.txt"), press("Escape"),
				func() { assert.NoFileExists(t, outside) }, func() { assert.NoFileExists(t, outside) },
			},
			{
				"models", func() {
					a.command("/model")
					a.WaitFor("the list", func(s labtest.Screen) bool { return strings.Contains(strings.ToLower(s.String()), "select model") })
				}, press("Escape"), func() {}, func() {},
			},
			{
				"question", func() {
					a.command("/plan") // Codex asks only in its plan mode
					a.WaitForText("lan mode")
					a.WaitForIdle()
					ask("[[ask Which colour? | red | blue]]", "Which colour?")()
				}, press("Enter"),
				func() { assert.NotContains(t, results(), "red") },
				func() {
					l.until("the person's answer", func() bool { return strings.Contains(results(), "red") }, func() any { return results() })
				},
			},
			{
				"plan", ask("[[plan First this. Then that.]]", "First this. Then that."), press("Escape"),
				func() {}, func() { assert.NotContains(t, results(), "approved") },
			},
		}
		if a.Kind == labtest.Claude {
			dialogs = append(dialogs, step{"account", func() {
				a.command("/login")
				a.WaitForText("Select login method")
			}, press("Escape"), func() {}, func() {}})
		}
		for i, dialog := range dialogs {
			a.drawn()
			dialog.open()
			a.WaitForStill(labtest.Stillness)
			was, heard := a.screen(), len(a.Received())
			body := fmt.Sprintf("%d: please do NOT do that [[say as you like, %d]]", i, i)
			id := l.tellAll(chat, body)
			l.waitTold(id, a, "held")
			a.keeps(was)
			trail := l.trailTo(id, a)
			t.Logf("%s: %s: %q", a.Name, dialog.name, trail)
			assert.NotContains(t, trail, "typed", dialog.name)
			assert.NotEqual(t, "held", trail[len(trail)-1], "%s: with the reason", dialog.name)
			assert.False(t, a.explain().MayType, dialog.name)
			assert.Len(t, a.Received(), heard, dialog.name)
			dialog.before()

			dialog.answer()
			l.waitTold(id, a, "answered")
			dialog.answered()
			assert.Equal(t, 1, count(a.heard(), attributed("tester", 0, []string{body})[0]), "%s: once", dialog.name)
			assert.NotContains(t, results(), "do NOT", "%s: it was nobody's answer", dialog.name)
		}
		for _, text := range l.bodiesOf(chat, a) {
			assert.NotContains(t, text, "please do NOT", "no echo")
		}
	})
}

// Before they are ready at all, agents ask about a directory that nobody trusts yet, a key, a project's servers, the
// way to work, the account, or a newer version. A message is held until the person has answered. opencode begins with
// no dialog.
func TestLab_S2_H4_DialogsAtTheStart(t *testing.T) {
	eachOf(t, []labtest.Kind{labtest.Claude, labtest.Codex, labtest.Gemini}, func(t *testing.T, kind labtest.Kind) {
		starts := startDialogs(t)[kind]
		l := newLab(t, []labtest.Kind{kind})
		var agents []*labAgent
		for _, s := range starts {
			agents = append(agents, l.launch(kind, append(s.options, labtest.Name(s.name))...))
		}
		for i, s := range starts {
			a := agents[i]
			if s.shows != "" {
				a.WaitForText(s.shows)
			}
			a.WaitFor("the agent", func(now labtest.Screen) bool { return now.Command == string(kind) || now.Command == "node" })
			a.WaitForStill(15 * labtest.Stillness) // an agent may rest in the middle of its start, while others start
			was := a.dialog()
			chat, _ := l.alone(a)
			body := "[[say hello]] to the one behind the dialog"
			id := l.tellAll(chat, body)
			l.waitTold(id, a, "held")
			a.keepsDialog(was)
			t.Logf("%s: %q", s.name, l.trailTo(id, a))
			assert.NotContains(t, l.trailTo(id, a), "typed", s.name)
			assert.Empty(t, a.Received(), s.name)
			a.answers(s.answer, func(step answerStep) {
				assert.NotContains(t, l.trailTo(id, a), "typed", "%s, at %s", s.name, step.at)
			})
			l.waitTold(id, a, "answered")
			assert.Equal(t, attributed("tester", 0, []string{body}), a.heard(), "%s: once", s.name)
			l.over(chat)
		}
	})
}

// startDialog is a dialog with which an agent begins.
type startDialog struct {
	name, shows string
	options     []labtest.Option // which make it begin so
	answer      []answerStep
}

// answerStep is one key, or a text, of a person's answer.
type answerStep struct {
	keys []string
	at   string // a text on the screen then; it goes when the key was heard
	then string // a text that comes then, if the first one stays
}

// answers answers dialogs like a person who looks before each key: some agents miss a first key, and others hear one
// late, when it has been pressed again. Only the screen tells which key comes next: a second Down may have gone back
// to where the first one began.
func (a *labAgent) answers(steps []answerStep, before func(answerStep)) {
	asked := func(now labtest.Screen) int {
		return slices.IndexFunc(steps, func(s answerStep) bool { return now.Contains(s.at) && (s.then == "" || !now.Contains(s.then)) })
	}
	for last := -1; ; {
		a.WaitFor("the next dialog, or the end of the last", func(now labtest.Screen) bool { return asked(now) >= 0 || last == len(steps)-1 })
		a.WaitForStill(labtest.Stillness)
		at := asked(a.screen())
		if at < 0 && last == len(steps)-1 {
			return
		}
		if at < 0 {
			continue
		}
		before(steps[at])
		a.Keys(steps[at].keys...)
		last = at
		for pressed := time.Now(); asked(a.screen()) == at && time.Since(pressed) < labtest.Patience/20; {
			time.Sleep(50 * time.Millisecond) // the agent needs the processor
		}
	}
}

// startDialogs are the dialogs at the start that agents show without an account.
func startDialogs(t *testing.T) map[labtest.Kind][]startDialog {
	t.Helper()
	edit := func(file string, change func(m map[string]any)) labtest.Option {
		return labtest.Configured(func(a *labtest.Agent) { require.NoError(t, a.EditJSON(filepath.Join(a.Home, file), change)) })
	}
	toml := func(from, to string) labtest.Option {
		return labtest.Configured(func(a *labtest.Agent) {
			file := filepath.Join(a.Home, ".codex", "config.toml")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(text), from)
			require.NoError(t, a.WriteFile(file, strings.Replace(string(text), from, to, 1)))
		})
	}
	press := func(key, at string) answerStep { return answerStep{keys: []string{key}, at: at} }
	return map[labtest.Kind][]startDialog{
		labtest.Claude: {
			{"trust", "trust this folder", []labtest.Option{edit(".claude.json", func(m map[string]any) { delete(m, "projects") })}, []answerStep{press("Down", "❯ No, exit"), press("Enter", "❯ Yes, I trust")}},
			{"key", "API key", []labtest.Option{edit(".claude.json", func(m map[string]any) { delete(m, "customApiKeyResponses") })}, []answerStep{press("Up", "❯ No (recommended)"), press("Enter", "❯ Yes")}},
			{"servers", "MCP server", []labtest.Option{
				edit(".claude/settings.json", func(m map[string]any) { delete(m, "enableAllProjectMcpServers") }),
				labtest.Configured(func(a *labtest.Agent) {
					servers := map[string]any{"mcpServers": map[string]any{"thing": map[string]any{"type": "stdio", "command": "true"}}}
					require.NoError(t, a.WriteJSON(filepath.Join(a.Work, ".mcp.json"), servers))
				}),
			}, []answerStep{press("Escape", "❯ Continue without")}},
			{"mode", "auto mode", []labtest.Option{edit(".claude.json", func(m map[string]any) {
				for _, k := range []string{"hasResetAutoModeOptInForDefaultOffer", "hasSeenAutoDefaultNotice", "hasSeenAutoDefaultNudge"} {
					delete(m, k)
				}
			})}, []answerStep{press("Escape", "❯ Yes, set auto mode")}},
			{"tour", "text style", []labtest.Option{edit(".claude.json", func(m map[string]any) {
				delete(m, "hasCompletedOnboarding")
				delete(m, "theme")
			})}, []answerStep{press("Enter", "Choose the text style"), press("Enter", "Press Enter to continue")}},
		},
		labtest.Gemini: {
			{"trust", "trust the files", []labtest.Option{edit(".gemini/settings.json", func(m map[string]any) {
				m["security"].(map[string]any)["folderTrust"] = map[string]any{"enabled": true}
			})}, []answerStep{{keys: []string{"Enter"}, at: "● 1. Trust folder", then: "is restarting"}}},
			{"account", "authenticate", []labtest.Option{edit(".gemini/settings.json", func(m map[string]any) {
				delete(m["security"].(map[string]any), "auth")
			})}, []answerStep{press("Enter", "● 2. Use Gemini API Key"), press("Enter", "Enter Gemini API Key")}},
		},
		labtest.Codex: {
			{"trust", "Trust this folder?", []labtest.Option{ // it asks if the directory has settings of its own
				toml("approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n", ""),
				labtest.Configured(func(a *labtest.Agent) {
					require.NoError(t, a.WriteFile(filepath.Join(a.Work, ".git", "HEAD"), "ref: refs/heads/main\n"))
					require.NoError(t, a.WriteFile(filepath.Join(a.Work, ".codex", "config.toml"), "model = \"gpt-6.1-sol\"\n"))
				}),
			}, []answerStep{press("Enter", "› 1. Trust and continue")}},
			{"account", "Sign in with ChatGPT", []labtest.Option{toml("env_key = \"LAB_KEY\"", "requires_openai_auth = true")}, []answerStep{
				press("Down", "> 1. Sign in with ChatGPT"), press("Down", "> 2. Sign in with Device Code"), press("Enter", "> 3. Sign in another way"),
				press("Enter", "> 1. Use an OpenAI API key"),
				{keys: []string{"-l", "sk-a-key-for-the-lab-alone-0000"}, at: "│Paste or type your API key"},
				press("Enter", "│sk-a-key-for-the-lab-alone-0000"),
			}},
			{"update", "Update available", []labtest.Option{
				toml("check_for_update_on_startup = false", "check_for_update_on_startup = true"),
				labtest.Environ("CODEX_MANAGED_BY_NPM=1"),
				labtest.Configured(func(a *labtest.Agent) {
					require.NoError(t, a.WriteJSON(filepath.Join(a.Home, ".codex", "version.json"), map[string]any{
						"latest_version": "99.0.0", "last_checked_at": "2099-01-01T00:00:00Z",
					}))
				}),
			}, []answerStep{press("Down", "› 1. Update now"), press("Enter", "› 2. Skip")}},
		},
	}
}

// A dialog comes between the paste and Enter: no Enter. When the dialog is gone, and our text stands in the composer
// alone, Enter follows. In Codex, a sub-agent asks for a permission at that moment. The other agents count as working
// while they have a sub-agent, so their person opens a view instead.
func TestLab_S3_H2_DialogBetweenPasteAndEnter(t *testing.T) {
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		g := &gaps{}
		l := newLab(t, []labtest.Kind{kind}, g.option())
		a := l.agent(kind)
		chat, _ := l.alone(a)
		proof := filepath.Join(a.Work, "proof")
		view := map[labtest.Kind]struct{ opens, shows, leaves string }{
			labtest.Claude:   {"C-o", "Showing detailed transcript", "Escape"},
			labtest.Gemini:   {"F12", "Debug Console", "F12"},
			labtest.Opencode: {"C-p", "Commands", "Escape"},
		}[kind]
		shows, answer := view.shows, view.leaves
		open := func() { _, _ = l.Try("send-keys", "-t", a.Pane, view.opens) }
		before := 0
		if kind == labtest.Codex {
			shows, answer = "Would you like to run the following command?", "Enter"
			open = func() { l.lab.Model.Release(a.Name) }
			l.book().subagent(
				labtest.Reply{Text: "For that I need a tool.", Stall: true, Call: &labtest.Call{
					Tool:      "functions/exec",
					Arguments: json.RawMessage(`{"input": "text(await tools.exec_command({\"cmd\": \"touch proof\", \"sandbox_permissions\": \"require_escalated\"}))\n"}`),
				}},
				labtest.Reply{Text: "It is done."},
			)
			a.says(`[[tool collaboration/spawn_agent {"task_name":"look","message":"please look"}]] [[say it looks]]`)
			l.until("the sub-agent", func() bool {
				return slices.ContainsFunc(a.Exchanges(), func(x labtest.Exchange) bool { return x.Held && x.Side != "" })
			})
			before = 1
		}
		appeared := make(chan bool, 1)
		g.plan(a.Pane, "pasted", func() {
			open()
			for began := time.Now(); time.Since(began) < labtest.Patience; time.Sleep(20 * time.Millisecond) { // spare the processor
				if out, err := l.Try("capture-pane", "-p", "-t", a.Pane); err == nil && strings.Contains(out, shows) {
					appeared <- true
					return
				}
			}
			appeared <- false
		})
		body := "[[say late]] behind the dialog"
		id := l.tellAll(chat, body)
		require.True(t, <-appeared, "a dialog")
		l.waitTold(id, a, "held")
		assert.Contains(t, l.trailTo(id, a), "typed")
		a.WaitForStill(5 * labtest.Stillness)
		was := a.screen()
		require.True(t, was.Contains(shows))
		a.keeps(was)
		assert.Len(t, a.Received(), before, "no Enter")
		assert.NoFileExists(t, proof)
		a.Keys(answer)
		l.waitTold(id, a, "answered")
		assert.Equal(t, attributed("tester", 0, []string{body}), a.heard()[before:], "once")
		if kind == labtest.Codex {
			l.until("the command that a person allowed", func() bool { return exists(proof) })
		}
	})
}
