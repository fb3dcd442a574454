package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// questions are questions that a program shows while its composer looks as usual and still takes text. query has
// the keys that say yes, the place, and the text as it is drawn. like is set if the question looks like the words
// of an answer, when an answer is due.
var questions = []struct {
	name, query string
	like        bool
}{
	{"German, a letter", `jJ above Soll der Befehl ausgeführt werden? (j/n)`, false},
	{"signs, Enter", `\r above [Enter] run  [x] skip`, false},
	{"English, a letter", `yY above Run the command? y/N`, false},
	{"English without a mark", `yY above The command will be run now, yes or no`, true},
	{"Chinese", `yY above 要删除所有文件吗？`, true},
	{"Japanese without a mark", `\r above 実行してもよろしいですか`, true},
	{"Arabic", `\r above هل تريد حذف الملف؟`, true},
	{"Greek", `nN above Να διαγραφεί το αρχείο;`, true},
	{"signs of keys", `\r above ⏎ führt aus  ⎋ bricht ab`, false},
	{"reverse video alone", `\r top \x1b[7m● Tia is ready\x1b[0m`, false},
	{"a button in reverse", `oO over \x1b[7m Oui \x1b[0m   Non`, false},
	{"a box in the middle", `\r over ┌──────────────┐\n│ Supprimer    │\n│ Oui     Non  │\n└──────────────┘`, true},
	{"at the top", `sS top ¿Borrar el archivo?`, false},
	{"below the composer", `\r below Datei wirklich löschen?`, false},
	{"in place of the foot", `\r foot   Ausführen: Eingabe`, false},
	{"the foot in reverse", `\r foot \x1b[7m  ? for shortcuts\x1b[0m`, false},
	{"in the composer", `\r inside ausführen?`, false},
	{"choices without words", `1 above 1) да   2) нет`, true},
}

// A question that appears by itself is not answered, neither by a letter of a text nor by its Enter. It may appear
// before the message comes, while the message waits, between the paste and Enter, or while an answer is due. The
// message is held. When the question has gone, it is delivered.
func TestS27_QuestionsAreNotAnswered(t *testing.T) {
	t.Parallel()
	const text = "hello, just say no or yes, 1"
	world := newRig(t)
	for n, q := range questions {
		// Without INTERCOM_LONG each question is asked at one of three moments in turn, and every second one
		// before Enter too.
		asked := func(t *testing.T, moment int) {
			t.Parallel()
			if !longTest() && n%3 != moment {
				t.Skip("INTERCOM_LONG asks each question at each moment")
			}
		}
		t.Run(q.name, func(t *testing.T) {
			t.Parallel()
			t.Run("open", func(t *testing.T) {
				asked(t, 0)
				r, tia := world.guest(t, "--alt")
				tia.do(":query %s", q.query)
				id := r.post(tia, text)
				r.holdsAt(tia, id)
				assert.Empty(t, tia.bytes(), "nothing was typed")
				tia.do(":query off")
				r.settled(id, "answered")
				assert.Equal(t, []string{oneLine(text)}, tia.received())
			})
			t.Run("while one waits", func(t *testing.T) {
				asked(t, 1)
				r, tia := world.guest(t, "--alt")
				tia.do(":draft half a thought")
				id := r.post(tia, text)
				r.settled(id, "held: draft in the composer")
				tia.do(":query %s", q.query)
				r.Run("send-keys", "-t", tia.pane, "C-u")
				r.stays(func() bool { return tia.count(persona.EventApproved) == 0 && tia.count(persona.EventPaste) == 0 })
				r.holdsAt(tia, id)
			})
			t.Run("before Enter", func(t *testing.T) {
				t.Parallel()
				if !strings.HasPrefix(q.query, `\r`) {
					t.Skip("a letter of what is in the composer by then answers nothing")
				}
				if !longTest() && n%2 == 1 {
					t.Skip("INTERCOM_LONG asks each question before Enter")
				}
				r, tia := world.guest(t, "--alt", "--change-on-paste", ":query "+q.query)
				id := r.post(tia, text)
				r.waitFor("the question", func() bool { return tia.count(persona.EventDialog) == 1 })
				r.waitFor("it is held", func() bool { return strings.HasPrefix(last(r.trail(id)), "held: ") })
				r.stays(func() bool { return tia.enters() == 0 })
				assert.Zero(t, tia.count(persona.EventApproved))
			})
			t.Run("in an answer", func(t *testing.T) {
				asked(t, 2)
				if q.like {
					t.Skip("nothing tells it from the words of an answer")
				}
				r, tia := world.guest(t, "--alt", "--spinner", "700ms")
				r.post(tia, "first")
				r.waitFor("its work", func() bool { return len(tia.received()) == 1 })
				tia.do(":query %s", q.query)
				id := r.post(tia, text)
				r.waitFor("it waits", func() bool {
					return strings.HasPrefix(last(r.trail(id)), "held: ") || last(r.trail(id)) == "queued" && tia.explain().State != message.Idle
				})
				r.stays(func() bool { return tia.count(persona.EventApproved) == 0 && len(tia.received()) == 1 })
			})
		})
	}
}

func last(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// holdsAt waits until a message is held because of what the screen shows, and checks that the program's question is
// not answered.
func (r *rig) holdsAt(tia *agent, id message.ID) {
	r.t.Helper()
	r.waitFor("it is held", func() bool {
		return slices.Contains([]string{"held: screen not recognised", "held: draft in the composer", "held: a dialog or a panel is open"}, last(r.trail(id)))
	})
	r.stays(func() bool { return tia.count(persona.EventApproved) == 0 })
}

// If a row that the sidecar does not know holds a message, a person is told once. The notice and explain quote the
// row.
func TestS27_AndAPersonIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tia := r.unknown("Tia", "--alt")
	tia.do(":say an update is there")
	id := r.post(tia, "hello")
	r.settled(id, "held: screen not recognised")
	e := tia.explain()
	require.NotEmpty(t, e.Evidence)
	assert.False(t, e.WouldType)
	assert.Contains(t, e.Evidence[0].Says, "an update is there")
	r.waitFor("they are told", func() bool { return len(r.notices()) > 0 })
	r.stays(func() bool { return len(r.notices()) == 1 })
	assert.Contains(t, r.notices()[0], "an update is there")
	assert.Contains(t, r.notices()[0], "intercom inbox release")
	tia.do(":clear")
	r.settled(id, "answered")
	assert.Equal(t, []string{oneLine("hello")}, tia.received())
}

// An answer may end in a question, fill the screen, or have rows far up that look like choices: the conversation goes
// on. It does so after a turn of a person too, unless the answer to that ends in a question, which may hold a message.
func TestS27_AnswersThatAsk(t *testing.T) {
	t.Parallel()
	world := newRig(t)
	for name, flags := range map[string][]string{
		"a question":       {"--reply", "shall I go on with {n}?"},
		"full-width":       {"--reply", "続けますか？ {n}？"},
		"many lines":       {"--reply", strings.Repeat("words {n}\\n", 40) + "and so on?"},
		"a list of checks": {"--reply", "- [x] one {n}\\n- [ ] two" + strings.Repeat("\\nmore of it {n}", 8)},
		"main screen":      {"--alt=false", "--reply", "shall I go on with {n}?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, flag := range flags {
				flags[i] = strings.ReplaceAll(flag, `\n`, "\n")
			}
			r, tia := world.guest(t, append([]string{"--alt", "--spinner", "200ms"}, flags...)...)
			for i, text := range []string{"one", "two", "three"} {
				if i == 2 {
					tmuxtest.WaitFor(t, "it rests", func() bool { return tia.explain().WouldType })
					r.Run("send-keys", "-t", tia.pane, "a person's own words")
					r.waitFor("they are seen", func() bool { return r.sessionOf(tia).State == message.Draft })
					r.Run("send-keys", "-t", tia.pane, "Enter")
					tmuxtest.WaitFor(t, "its answer", func() bool { return len(tia.said()) == 3 })
				}
				if i == 2 && name != "many lines" && name != "a list of checks" {
					continue // it ends in a question to the person, so a message may be held
				}
				r.settled(r.post(tia, text), "answered")
			}
		})
	}
}

// A pane of another size shows the same rows in another way. The sidecar takes nothing of that for something new.
func TestS27_AnotherSizeIsNoNews(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tia := r.unknown("Tia", "--alt", "--reply", "an answer of more words than one row of a narrow pane has room for, number {n}. Go on?")
	r.settled(r.post(tia, "one"), "answered")
	for _, width := range []int{50, 120} {
		r.Run("resize-window", "-t", tia.pane, "-x", fmt.Sprint(width))
		r.waitFor("it has drawn itself anew", func() bool {
			return slices.ContainsFunc(tia.records(), func(r persona.Record) bool { return r.Event == persona.EventResize && r.N == width })
		})
		r.settled(r.post(tia, fmt.Sprint("at ", width)), "answered")
	}
}
