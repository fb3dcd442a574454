package daemon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Words of every form, from one line to many more than a screen has, in a narrow and in a wide pane: what is relayed
// is what the model said, byte for byte, and the other model receives it.
func TestLab_W3_W4_WordsAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]labtest.Kind{{labtest.Claude, labtest.Gemini}, {labtest.Codex, labtest.Opencode}} {
		t.Run(string(pair[0]+"-"+pair[1]), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, pair[:])
			book := l.book()
			files := &shelf{files: map[string]string{}}
			l.lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
				if reply, ok := files.reply(x); ok {
					return reply, true
				}
				return book.reply(x)
			})
			patient := geminiSetting("model", "disableLoopDetection", true) // 400 lines of a kind look like a loop
			narrow := labtest.Size(60, 40)                                  // a pane that becomes narrower keeps pieces of what Gemini CLI has drawn
			agents := [2]*labAgent{l.launch(pair[0], patient, narrow), l.launch(pair[1], patient, narrow)}
			for _, a := range agents {
				a.WaitForIdle()
			}
			chat := l.begin("", []string{agents[0].Pane, agents[1].Pane})
			for i, a := range agents {
				l.stage.Run(a.Name, func(t *testing.T) {
					b := agents[1-i]
					l.mute(chat, b.Pane)
					defer l.unmute(chat, b.Pane)
					var said []string
					before := len(b.heard())
					for _, width := range []int{60, 160} {
						l.rig.Run("resize-window", "-t", a.Pane, "-x", fmt.Sprint(width), "-y", "40")
						l.WaitForFact(a.Pane, "#{pane_width}", fmt.Sprint(width))
						for _, text := range []struct{ name, words string }{
							{"one line", "One line, and `code` in it, and **bold**: 100 % of it."},
							{"40 lines", manyForms},
							{"400 lines", numberedLines(400)},
							{"wide characters", wideForms},
						} {
							words := fmt.Sprintf("In %d columns. %s", width, text.words)
							said = append(said, a.noted(words))
							a.says(book.ask(words))
							assert.Equal(t, a.noted(words), a.relays(len(said)), "%s in %d columns", text.name, width)
							b.hears(before + len(said))
							b.WaitForIdle()
						}
					}
					var want, heard []string
					for _, text := range attributed(a.session().Name, i+1, said) {
						want = append(want, b.typed(text))
					}
					for _, text := range b.heard()[before:] {
						text, _ = files.whole(text)
						heard = append(heard, b.typed(text))
					}
					assert.Equal(t, want, heard, "each once, and nothing else")
					l.until("the end of its answers", func() bool { // their last words would be relayed later
						n := 0
						for _, r := range l.receiptsIn(chat) {
							if r.Target == b.session().ID && r.State == message.Answered {
								n++
							}
						}
						return n >= len(said)
					})
				})
			}
		})
	}
}

// A pane changes in the middle of a turn: its size, its history, its screen, copy mode. The words of the turn are
// relayed whole, and so are those of the next. In their main screen agents have a history, which is short here.
func TestLab_W4_W5_R23_R24_WhateverBefallsThePane(t *testing.T) {
	screens := map[labtest.Kind]map[bool]labtest.Option{ // by whether it is the alternate screen
		labtest.Claude:   {true: labtest.Environ(), false: labtest.Environ("CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN=1", "CLAUDE_CODE_NO_FLICKER=0")},
		labtest.Codex:    {true: labtest.Environ(), false: labtest.Arguments("--no-alt-screen")},
		labtest.Gemini:   {false: labtest.Environ(), true: geminiSetting("ui", "useAlternateBuffer", true)},
		labtest.Opencode: {true: labtest.Environ()},
	}
	eachLabKind(t, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind})
		book := l.book()
		l.rig.Run("set-option", "-g", "history-limit", "100")
		agents := map[*labAgent]bool{}
		for alternate, option := range screens[kind] {
			agents[l.launch(kind, option)] = alternate
		}
		l.rig.Run("set-option", "-g", "history-limit", "5000")
		for a, alternate := range agents {
			a.WaitForIdle()
			require.Equal(t, alternate, a.screen().Alternate)
			require.Equal(t, "100", l.Fact(a.Pane, "#{history_limit}"))
			chat, _ := l.alone(a)
			words := numberedLines(400)
			a.Prompt(book.hold(words))
			a.WaitForText("Line 199 of 400")
			away := "\x1b[?1049l\x1b[?1049h" // to the other screen and back
			if !alternate {
				away = "\x1b[?1049h\x1b[?1049l"
			}
			for _, befalls := range []func(){
				func() { l.rig.Run("resize-window", "-t", a.Pane, "-x", "70", "-y", "20") },
				func() { l.rig.Run("clear-history", "-t", a.Pane) },
				func() { l.Print(a.Pane, "\x1b[2J\x1b[H") },
				func() { l.Print(a.Pane, away) },
				func() { l.rig.Run("resize-window", "-t", a.Pane, "-x", "130", "-y", "50") },
				func() { l.rig.Run("copy-mode", "-t", a.Pane) },
			} {
				befalls()
				assert.NotEqual(t, message.Idle, a.explain().State) // and the sidecar has seen that
			}
			assert.Empty(t, a.relayed(), "its turn is not over")
			l.lab.Model.Release(a.Name)
			if kind == labtest.Gemini { // only its screen tells that a turn has ended
				l.rig.Run("send-keys", "-t", a.Pane, "-X", "cancel")
				l.until("the end of the answer", func() bool { all := a.Conversation(); return all[len(all)-1].Over })
				a.WaitForStill(3 * labtest.Stillness)
				a.Keys("C-l") // rows may be left below its composer, which look like a list
				a.relays(1)
				a.WaitForStill(2 * labtest.Stillness)
				a.WaitForIdle()
				l.rig.Run("copy-mode", "-t", a.Pane)
			}
			assert.Equal(t, words, a.relays(1), "each line once")

			// A message that copy mode holds comes when copy mode is left, and the next turn is whole.
			id := l.tellAll(chat, book.ask("after all that"))
			l.waitTold(id, a, "held: pane in a mode")
			l.rig.Run("send-keys", "-t", a.Pane, "-X", "cancel")
			l.waitTold(id, a, "submitted")
			assert.Equal(t, "after all that", a.relays(2))
			l.over(chat)
		}
	})
}

// Of a turn that calls a tool, the words after the last call are relayed, or with words=all, all words.
func TestLab_W10_WordsAroundATool(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		for _, words := range []string{"last", "all"} {
			chat, ben := l.alone(a, "words="+words)
			a.Prompt("[[before I shall look at it first.]] [[bash touch proof]] [[say It is done.]]")
			a.WaitForDialog()
			assert.Empty(t, l.bodiesOf(chat, a), "the turn is not over")
			a.Enter()
			a.WaitForAnswer("It is done.")
			want := map[string]string{"last": "It is done.", "all": "I shall look at it first.\n\nIt is done."}[words]
			ben.hears(attributed(a.session().Name, 1, []string{want})[0])
			assert.Equal(t, []string{want}, l.bodiesOf(chat, a), "one message, words=%s", words)
			l.over(chat)
		}
	})
}

// A turn is one message. A new file, a summary and the words of a sub-agent are none.
func TestLab_W11_OneTurnIsOneMessage(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, ben := l.alone(a)
		want := []string{}
		turn := func(words, prompt string) {
			t.Helper()
			a.says(prompt)
			want = append(want, words)
			assert.Equal(t, words, a.relays(len(want)))
		}
		clear, compact := "/clear", "/compact"
		switch a.Kind {
		case labtest.Gemini:
			compact = "/compress"
		case labtest.Opencode:
			clear = "/new"
		}
		emptied := func(of string) {
			t.Helper()
			a.command(clear)
			a.WaitFor("an empty screen", func(s labtest.Screen) bool { return !s.Contains(of) })
			a.WaitForIdle()
		}
		turn("first", "[[say first]]")
		first := a.explain().Transcript

		emptied("first")
		turn("after the clear", "[[say after the clear]]")
		second := a.explain().Transcript
		assert.NotEqual(t, first, second, "the conversation has another file")

		if a.Kind == labtest.Gemini { // it makes a summary only if that is worth while
			long := l.book()
			for i := range 3 {
				words := numberedLines(300 + i)
				turn(words, long.ask(words))
			}
		}
		n := len(a.Exchanges())
		a.command(compact)
		a.WaitFor("the summary", func(labtest.Screen) bool { return len(a.Exchanges()) > n && a.Exchanges()[n].Over })
		a.WaitForStill(2 * labtest.Stillness)
		a.home()
		turn("after the summary", "[[say after the summary]]")

		l.resume(a)
		turn("taken up again", "[[say taken up again]]")
		assert.Equal(t, first, a.explain().Transcript, "the first file again")

		spawn := map[labtest.Kind]string{ // Gemini CLI starts none without settings of its person
			labtest.Claude:   `[[tool Agent {"description":"look","prompt":"please look","subagent_type":"general-purpose","run_in_background":false}]]`,
			labtest.Codex:    `[[tool collaboration/spawn_agent {"task_name":"look","message":"please look"}]]`,
			labtest.Opencode: `[[tool task {"description":"look","prompt":"[[say words of the sub-agent]]","subagent_type":"general"}]]`,
		}[a.Kind]
		if spawn != "" {
			l.book().subagent(labtest.Reply{Text: "words of the sub-agent"})
			before := len(a.Conversation())
			a.Prompt(spawn + " [[say what the sub-agent found]]")
			l.until("the end of the sub-agent", func() bool {
				for _, x := range a.Exchanges() {
					if strings.Contains(x.Answer, "words of the sub-agent") && x.Over {
						return true
					}
				}
				return false
			})
			a.WaitForStill(5 * labtest.Stillness)
			a.WaitForIdle()
			for _, x := range a.Conversation()[before:] {
				if x.Call == nil && x.Answer != "words of the sub-agent" { // Claude Code has its model speak once more when a sub-agent has ended
					want = append(want, x.Answer)
				}
			}
			a.relays(len(want))
		}
		turn("the last of the file", "[[say the last of the file]]")

		// A message of the chat begins a new file too: the text that is typed binds that file.
		emptied("the last of the file")
		id := l.tellAll(chat, "[[say to the chat, in a new file]]")
		l.waitTold(id, a, "answered")
		want = append(want, "to the chat, in a new file")
		assert.Equal(t, want, l.bodiesOf(chat, a))
		ben.hears(attributed(a.session().Name, 1, want[len(want)-1:])[0])
		heard := ben.received()
		assert.Equal(t, 1, count(heard, "[tester] (0):\n\n[[say to the chat, in a new file]]"))
		assert.Len(t, heard, len(want)+1)
	})
}

// Messages that come in the middle of an answer wait for its end, and cut nothing off. Then each is delivered once
// and in order.
func TestLab_V5_NoAnswerIsCutOff(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, ben := l.alone(a)
		a.Prompt("[[hold]] [[lines 8]]")
		a.WaitForText("Line 2 of 8")
		before := len(a.heard())
		var ids []message.ID
		for _, says := range []string{"one", "two", "three"} {
			ids = append(ids, l.tellAll(chat, "[["+"say and "+says+"]]"))
		}
		l.waitTold(ids[0], a, "held: agent working")
		l.looked(func() bool { return len(a.heard()) == before && a.explain().State == message.Working })
		for _, id := range ids {
			assert.NotContains(t, strings.Join(l.trailTo(id, a), "; "), "typed")
		}
		l.lab.Model.Release(a.Name)
		for _, id := range ids {
			l.waitTold(id, a, "submitted")
		}
		assert.Equal(t, 8, strings.Count(a.relayed()[0], " of 8"), "the answer is whole")
		a.hears(before + 1)
		heard := strings.Join(a.heard()[before:], "\n")
		at := -1
		for _, says := range []string{"one", "two", "three"} {
			i := strings.Index(heard, "[[say and "+says+"]]")
			assert.Greater(t, i, at, "in order: %q", heard)
			assert.Equal(t, 1, strings.Count(heard, "[[say and "+says+"]]"), "each once")
			at = i
		}
		for _, turn := range a.Conversation() {
			assert.False(t, turn.Cut, "%+v", turn)
		}
		l.until("the peer has heard them", func() bool { return len(ben.received()) >= 2 })
	})
}

// A turn that a person stops, or that the model's service ends, has no words: the chat says what happened, and the
// peer is told that it gets no answer.
func TestLab_W12_TurnsThatAreCutShort(t *testing.T) {
	quick := labtest.Environ("CLAUDE_CODE_MAX_RETRIES=1")
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, ben := l.alone(a)
		name := a.session().Name
		cut := func(says, notice, reason string, then func()) {
			t.Helper()
			heard, notices := len(ben.received()), len(l.notices())
			ben.do(":say %s", says)
			var asked message.ID
			l.until("the peer's message", func() bool {
				for _, m := range l.turns() {
					if m.Body == says {
						asked = m.ID
					}
				}
				return asked != ""
			})
			l.until("it was submitted", func() bool { return slices.Contains(l.trailTo(asked, a), "submitted") }, func() any { return l.trailTo(asked, a) })
			then()
			l.waitTold(asked, a, "failed: "+reason)
			l.until("the peer is told", func() bool { return len(ben.received()) > heard })
			assert.Contains(t, ben.received()[heard], reason)
			assert.NotContains(t, strings.Join(ben.received()[heard:], "\n"), "Line 2 of 8", "no words of a turn that was cut")
			l.until("the chat says it", func() bool {
				return strings.Contains(strings.Join(l.notices()[notices:], "\n"), notice)
			}, func() any { return l.notices() })
			assert.Empty(t, l.bodiesOf(chat, a), "no words")
			a.home()
		}
		cut("one [[hold]] [[lines 8]]", name+" was interrupted", string(message.Interrupted), func() {
			stop(a, "Line 2 of 8")
		})
		cut("two [[stall]] [[say five six]]", name+" was interrupted", string(message.Interrupted), func() {
			a.WaitForText("two [[stall]]")
			stop(a, "")
		})
		cut("three [[error 400]]", name+"'s model service failed", string(message.ServiceFailed), func() {})
		if a.Kind == labtest.Gemini { // it tries again and again, until its person stops it
			cut("four [[error 529]]", name+" was interrupted", string(message.Interrupted), func() {
				l.until("a second try", func() bool {
					all := a.Conversation()
					return len(all) > 1 && all[len(all)-1].Status == 529 && all[len(all)-2].Status == 529
				})
				interrupt(a)
			})
		} else { // these give up by themselves
			cut("four [[error 529]]", name+"'s model service failed", string(message.ServiceFailed), func() {})
		}

		// By hand, nobody waits for an answer: the chat is told, and no peer.
		heard, notices := len(ben.received()), len(l.notices())
		a.Prompt("[[hold]] [[lines 9]]") // other lines than those that stand there already
		stop(a, "Line 2 of 9")
		l.until("the chat says it", func() bool { return len(l.notices()) > notices })
		id := l.tellAll(chat, "[[say and it goes on]]")
		l.waitTold(id, a, "answered")
		assert.Equal(t, []string{"and it goes on"}, l.bodiesOf(chat, a))
		ben.hears(attributed(name, 1, []string{"and it goes on"})[0])
		assert.Len(t, ben.received(), heard+2, "the person's word and the answer to it")
	}, quick)
}

// stop stops a turn by hand, when the model waits in the middle of its answer and the agent shows the answer so far:
// before that, the agent takes the key for something else.
func stop(a *labAgent, shows string) {
	a.l.Helper()
	held := func() bool {
		all := a.Conversation()
		return len(all) > 0 && all[len(all)-1].Held && !all[len(all)-1].Over
	}
	a.WaitFor(fmt.Sprintf("its work, and %q", shows), func(s labtest.Screen) bool {
		return held() && !a.Idle() && s.Contains(shows)
	})
	interrupt(a)
	a.l.until("the end of the answer", func() bool { return !held() })
}

// interrupt presses Escape in a turn, as often as the agent needs.
func interrupt(a *labAgent) {
	a.l.Helper()
	a.Keys("Escape")
	if a.Kind == labtest.Opencode {
		a.WaitForText("again to interrupt")
		a.Keys("Escape")
	}
}

// geminiSetting is a setting of Gemini CLI.
func geminiSetting(section, name string, value any) labtest.Option {
	return labtest.Configured(func(a *labtest.Agent) {
		if a.Kind != labtest.Gemini {
			return
		}
		err := a.EditJSON(filepath.Join(a.Home, ".gemini", "settings.json"), func(m map[string]any) { m[section].(map[string]any)[name] = value })
		if err != nil {
			panic(err)
		}
	})
}

// A prompt that a person types by hand is not relayed, its answer is, and the depth begins anew. With person=on the
// prompt is relayed in the person's name.
func TestLab_W13_APersonTypesByHand(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		depth := func(words string) int {
			t.Helper()
			for _, m := range l.turns() {
				if m.Body == words {
					return m.Depth
				}
			}
			require.Failf(t, "not relayed", "%q", words)
			return 0
		}
		for _, person := range []string{"off", "on"} {
			chat, ben := l.alone(a, "person="+person)
			name := a.session().Name
			heard := func(text string) {
				t.Helper()
				l.until(fmt.Sprintf("%q at the peer", text), func() bool { return slices.Contains(allParts(ben.received()), text) })
			}
			// The depth of a chain of causes that no person began grows.
			for n := range 2 {
				words := fmt.Sprintf("%s, chain %d", person, n)
				ben.do(":say please [[say %s]]", words)
				heard(attributed(name, 1, []string{words})[0])
			}
			assert.Greater(t, depth(person+", chain 1"), depth(person+", chain 0"))
			require.Greater(t, depth(person+", chain 1"), 2)
			before := len(allParts(ben.received()))
			prompt := "what do you think? [[say " + person + ", by hand]]"
			a.says(prompt)
			heard(attributed(name, 1, []string{person + ", by hand"})[0])
			assert.Equal(t, 1, depth(person+", by hand"), "one turn from a person's word")
			want := attributed(name, 1, []string{person + ", by hand"})
			if person == "on" {
				want = append(attributed("tester", 0, []string{prompt}), want...)
			}
			assert.Equal(t, want, allParts(ben.received())[before:])

			// The agent is muted while its person talks with it alone. The answer to the chat's next message shows
			// that the turn before it was taken note of.
			l.mute(chat, a.Pane)
			a.says("between us [[say " + person + ", in private]]")
			l.waitTold(l.tellAll(chat, "[[say nothing]]"), a, "answered")
			l.unmute(chat, a.Pane)
			a.says("again [[say " + person + ", in public]]")
			heard(attributed(name, 1, []string{person + ", in public"})[0])
			assert.NotContains(t, strings.Join(ben.received(), "\n"), "in private")
			assert.NotContains(t, strings.Join(ben.received(), "\n"), "between us")
			l.over(chat)
		}
	})
}

// allParts are the messages of all pastes.
func allParts(pastes []string) (all []string) {
	for _, paste := range pastes {
		all = append(all, parts(paste)...)
	}
	return all
}

// book has the models say texts that a test has written down, because they are too long for a prompt.
type book struct {
	mu    sync.Mutex
	pages []labtest.Reply
	aside []labtest.Reply // of sub-agents; the last one is repeated
}

// book opens a book for all models of the lab.
func (l *labRig) book() *book {
	b := &book{}
	l.lab.Model.Script(b.reply)
	return b
}

// reply is what a model says when it is asked for a page.
func (b *book) reply(x labtest.Exchange) (labtest.Reply, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.Contains(x.Side, "agent") && len(b.aside) > 0 {
		reply := b.aside[0]
		if len(b.aside) > 1 {
			b.aside = b.aside[1:]
		}
		return reply, true
	}
	if x.Side != "" || len(x.User) == 0 {
		return labtest.Reply{}, false
	}
	var page int
	asked := x.User[len(x.User)-1]
	if at := strings.Index(asked, "page "); at < 0 {
		return labtest.Reply{}, false
	} else if _, err := fmt.Sscanf(asked[at:], "page %d", &page); err != nil || page >= len(b.pages) {
		return labtest.Reply{}, false
	}
	return b.pages[page], true
}

// ask is a prompt that those words answer. The prompt of hold is answered by half of the words, and by the rest after
// Release.
func (b *book) ask(words string) string  { return b.write(labtest.Reply{Text: words}) }
func (b *book) hold(words string) string { return b.write(labtest.Reply{Text: words, Hold: true}) }

// subagent is what the models of sub-agents answer, one after the other.
func (b *book) subagent(replies ...labtest.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.aside = replies
}

func (b *book) write(page labtest.Reply) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages = append(b.pages, page)
	return fmt.Sprintf("please say page %d", len(b.pages)-1)
}

// resume resumes the earliest conversation of an agent, by hand.
func (l *labRig) resume(a *labAgent) {
	l.Helper()
	if a.Kind == labtest.Opencode { // it names all of them alike
		a.command("/sessions")
		a.WaitForText("Search")
		a.WaitForStill(2 * labtest.Stillness)
		a.Keys("Down")
		a.WaitForStill(2 * labtest.Stillness)
		a.Keys("Enter")
		a.WaitForText("first")
		a.WaitForIdle()
		return
	}
	a.command("/resume")
	a.WaitForText("first")
	a.WaitForStill(2 * labtest.Stillness)
	for range 10 { // go to the row that has the mark and its first words
		if s := a.screen(); strings.Contains(s.Plain[s.CursorY], "first") || markedRow(s, "first") {
			break
		}
		a.Keys("Down")
		a.WaitForStill(labtest.Stillness)
	}
	a.Keys("Enter")
	a.WaitForIdle()
	a.WaitForText("first")
}

// markedRow reports whether the chosen row of a list has that text.
func markedRow(s labtest.Screen, text string) bool {
	for _, row := range s.Plain {
		if (strings.Contains(row, "❯") || strings.Contains(row, "›")) && strings.Contains(row, text) {
			return true
		}
	}
	return false
}

func numberedLines(n int) string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("Line %d of %d, which the mock has counted.", i+1, n)
	}
	return strings.Join(lines, "\n")
}

// manyForms has 40 lines with the forms of Markdown, and blanks that matter.
const manyForms = `Here is what I found.

# A head

* one
  * two, indented
    continued   with   blanks

` + "```go\nfunc main() {\n\tif ready {\n\t\tfmt.Println(\"tabs\t and \\n escapes\")\n\t}\n}\n```" + `

| what | how many | 
|------|---------:|
| a ` + "`|`" + ` in code | 1 |
| **bold** _italic_ ~~gone~~ | 22 |

> quoted, as in a letter
> > twice

1. first
1. first again, as it is written

` + "    indented code\n\n\n\nfour line breaks before this, and two blanks at its end  \nnext line" + `

<details><summary>HTML</summary>&amp; entities</details>

A dialog, quoted:

 Do you want to proceed?
 ❯ 1. Yes
   2. No

 Esc to cancel

[a link](https://example.org/?a=1&b=2#c), $HOME, %7, #{pane_id}, 'one' "two", a\\b, 100 %, ~/x
› 1. a list?
The end.`

const wideForms = `漢字とかな、全角（かっこ）。
한글과 조합형 문자 각
Ελληνικά, русский, עברית, العربية, می` + "\u200c" + `خواهم, हिन्दी क्षि
naïve café (composed) and café (decomposed)
🚀 👨‍👩‍👧 🧑‍🔬 🇳🇿 ❤️ 👍🏽 ✔️ ☎ ∑ ≠ ∞ ½ № ™
│ box │ drawing │ ─── ┌┐└┘ ▌▐ ░▒▓
` + "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字"
