package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Agents run in other versions than those from which their profiles were recorded. INTERCOM_VERSIONS names them
// ("claude=2.1.300 gemini=0.58.0"), and .ci/agents NAME@VERSION installs them. A message to them ends answered, or is
// held with a reason. While anything but a composer that waits is shown, a message is held, nothing is typed, and the
// screen stays as it is. Each text that a model received is a person's, or is ours, whole and once, and what is
// relayed is what the model said. A table logs what was recognised, and what was held and why.
func TestLab_S2_S5_V5_OtherVersionsNeverGetAWrongKeystroke(t *testing.T) {
	var mu sync.Mutex
	var table []string
	t.Run("versions", func(t *testing.T) {
		for _, v := range otherVersions(t) {
			t.Run(string(v.kind)+"-"+v.version, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, nil)
				a := l.launch(v.kind, labtest.Version(v.version))
				trial := &trial{labRig: l, a: a}
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					table = append(table, fmt.Sprintf("%s %s (tried: %s)\n%s", v.kind, v.version, v.kind.Version(), strings.Join(trial.rows, "\n")))
				}()
				trial.run()
			})
		}
	})
	slices.Sort(table)
	t.Logf("other versions:\n%s", strings.Join(table, "\n"))
}

// otherVersion is a version of an agent.
type otherVersion struct {
	kind    labtest.Kind
	version string
}

// otherVersions are those that INTERCOM_VERSIONS names.
func otherVersions(t *testing.T) (all []otherVersion) {
	t.Helper()
	for _, pair := range strings.Fields(os.Getenv("INTERCOM_VERSIONS")) {
		kind, version, ok := strings.Cut(pair, "=")
		require.True(t, ok && slices.Contains(labtest.Kinds, labtest.Kind(kind)), "INTERCOM_VERSIONS: %q is no AGENT=VERSION", pair)
		all = append(all, otherVersion{labtest.Kind(kind), version})
	}
	if len(all) == 0 {
		t.Skip("no other versions: make versions VERSIONS='claude@2.1.300 …', or INTERCOM_VERSIONS='claude=2.1.300 …'")
	}
	return all
}

// trial is an agent of another version, whose screens the test may not know: it only waits for them to keep still.
type trial struct {
	*labRig
	a      *labAgent
	chat   message.Chat
	byHand []string     // prompts of its person
	bodies []string     // the texts of messages to it
	ids    []message.ID // their ids
	rows   []string     // of the table
}

// resting is how long a screen keeps still when nothing is under way.
const resting = time.Second

// still waits until the rows are at rest; the title may still call for the person, and the marks of a waiting tool
// may blink.
func (v *trial) still() {
	v.Helper()
	var was string
	var since time.Time
	v.a.WaitFor("rows that keep still", func(s labtest.Screen) bool {
		now := strings.NewReplacer("●", " ").Replace(strings.Join(s.Plain, "\n"))
		if now != was || since.IsZero() {
			was, since = now, time.Now()
		}
		return time.Since(since) >= resting
	})
}

func (v *trial) run() {
	a := v.a
	a.WaitFor("its first screen", func(s labtest.Screen) bool {
		rows := slices.DeleteFunc(slices.Clone(s.Plain), func(row string) bool { return strings.TrimSpace(row) == "" })
		return s.Command != "sh" && len(rows) >= 5
	})
	v.still()
	v.chat, _ = v.alone(a)
	e := a.explain()
	v.note("recognised as %s %s, its screen as %s; words from its %s", e.Agent, e.Version, e.State, e.WordsFrom)
	v.says("at rest", v.tells("at rest"))

	const away = "Escape"
	model, proof, outside := "/model", filepath.Join(a.Work, "proof"), filepath.Join(a.Dir, "outside.txt")
	switch a.Kind {
	case labtest.Opencode:
		model = "/models"
	case labtest.Gemini: // it writes nowhere else
		outside = filepath.Join(a.Work, "inside.txt")
	}
	for _, c := range []struct {
		name     string
		open     func() bool
		answer   func()
		answered func()
	}{
		{"permission", v.asked("[[bash touch proof]]", "touch proof", proof), a.pressed("", "Enter"), func() { assert.FileExists(v, proof) }},
		{"permission refused", v.asked("[[bash rm proof]]", "rm proof", ""), a.pressed("", away), func() { assert.FileExists(v, proof) }},
		{"a file", v.asked("[[write "+outside+" some words]]", filepath.Base(outside), outside), a.pressed("", away), func() { assert.NoFileExists(v, outside) }},
		{"a question", v.asked("[[ask Which colour? | red | blue]]", "Which colour?", ""), a.pressed("", away), nil},
		{"models", v.opened(func() { a.command(model) }), a.pressed("", away), nil},
		{"a list", v.opened(func() { a.Keys("-l", "/") }), a.pressed("", "BSpace"), nil},
		{"a draft", v.opened(func() { a.Keys("-l", "half a thought"); a.WaitForText("half a thought") }), a.pressed("", "C-u"), nil},
	} {
		v.behind(c.name, c.open, c.answer, c.answered)
	}
	v.whileItWorks()
	last := v.tells("at the end")
	v.says("at the end", last)
	v.unrecognised(last)
	v.account()
}

// note adds a row to the table.
func (v *trial) note(format string, args ...any) {
	row := "    " + fmt.Sprintf(format, args...)
	v.rows = append(v.rows, row)
	v.Log(row)
}

// tells puts a person's words into the chat.
func (v *trial) tells(where string) message.ID {
	v.Helper()
	body := fmt.Sprintf("%s: please do NOT do that [[say as you like, %s]]", where, where)
	id := v.tellAll(v.chat, body)
	v.bodies, v.ids = append(v.bodies, body), append(v.ids, id)
	return id
}

// prompts types a prompt by hand, as the person.
func (v *trial) prompts(text string) {
	v.Helper()
	v.byHand = append(v.byHand, text)
	v.a.Prompt(text)
}

// opened opens something by hand, and waits until it is on the screen. It always reports true.
func (v *trial) opened(open func()) func() bool {
	return func() bool {
		v.a.WaitForStill(labtest.Stillness)
		before := v.a.screen().String()
		open()
		v.a.WaitFor("something new", func(s labtest.Screen) bool { return s.String() != before })
		v.still()
		return true
	}
}

// asked has the model call a tool, and reports whether the agent asks its person for leave: shows is part of that
// question, and file exists if the tool has run.
func (v *trial) asked(text, shows, file string) func() bool {
	return func() bool {
		before := len(v.a.Conversation())
		v.prompts("please " + text)
		var last labtest.Exchange
		v.until("the call", func() bool {
			all := v.a.Conversation()
			if len(all) > before {
				last = all[len(all)-1]
			}
			return len(all) > before && last.Over && (last.Call != nil || len(all) > before+1)
		})
		asks := false
		for end := time.Now().Add(labtest.Patience / 5); !asks && len(v.a.Conversation()) == before+1 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			question := slices.ContainsFunc(v.a.screen().Plain, func(row string) bool {
				return strings.Contains(row, shows) && !strings.Contains(row, "[[") // this is the prompt
			})
			// Wait until the sidecar sees it too, since the question may be half drawn. That is not asserted yet.
			asks = question && v.a.explain().State == message.Blocked
		}
		v.still()
		return last.Call != nil && len(v.a.Conversation()) == before+1 && (file == "" || !exists(file))
	}
}

// behind sends a message while the agent shows what open has opened. The message is held, nothing is typed, and the
// screen stays as it is. When the person has answered, the message may be typed.
func (v *trial) behind(name string, open func() bool, answer, answered func()) {
	v.Helper()
	if !open() {
		v.note("%-20s is not shown by this version", name)
		v.atRest()
		return
	}
	a := v.a
	was, heard := a.screen(), len(a.Received())
	e := a.explain()
	assert.False(v, e.MayType, "%s: %s", name, was)
	id := v.tells(name)
	why := v.waits(id)
	a.keeps(was, name)
	assert.NotContains(v, v.trailTo(id, a), "typed", name)
	assert.Len(v, a.Received(), heard, name)
	answer()
	ends := v.settles(id)
	if answered != nil {
		answered()
	}
	v.note("%-20s %s; then %s", name, why, ends)
}

// whileItWorks sends a message while a turn is under way: the turn is not cut off, and nothing is typed before it is
// over.
func (v *trial) whileItWorks() {
	v.Helper()
	a := v.a
	before := len(a.Conversation())
	v.prompts("please [[hold]] think, and [[say what was thought, from its beginning to its end]]")
	v.until("half an answer", func() bool {
		all := a.Conversation()
		return len(all) > before && all[len(all)-1].Held
	})
	id := v.tells("while it works")
	why := v.waits(id)
	heard := len(a.Received())
	for end := time.Now().Add(2 * resting); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		require.NotContains(v, v.trailTo(id, a), "typed")
		require.Len(v, a.Received(), heard)
	}
	v.lab.Model.Release(a.Name)
	ends := v.settles(id)
	assert.False(v, a.Conversation()[before].Cut, "the answer was cut off")
	v.note("%-20s %s; then %s", "work", why, ends)
}

// waits waits until a message, or the one before which it cannot be typed, is held, and returns why.
func (v *trial) waits(id message.ID) (why string) {
	v.Helper()
	v.until("held", func() bool {
		trail := v.trailTo(v.first(id), v.a)
		if len(trail) > 0 {
			why = trail[len(trail)-1]
		}
		return strings.HasPrefix(why, "held: ")
	}, func() any { return v.trailTo(id, v.a) })
	return why
}

// first is the message that keeps another one from being typed, or that one itself: they are typed in order.
func (v *trial) first(id message.ID) message.ID {
	v.Helper()
	for _, before := range v.ids {
		if trail := v.trailTo(before, v.a); before != id && (len(trail) == 0 || trail[len(trail)-1] != "answered") {
			return before
		}
		if before == id {
			break
		}
	}
	return id
}

// says notes what became of a message.
func (v *trial) says(where string, id message.ID) {
	v.Helper()
	v.note("%-20s %s", where, v.settles(id))
}

// unrecognised waits until the person is told that the screen is not recognised, if a message is held for that
// although the agent itself says that it rests.
func (v *trial) unrecognised(id message.ID) {
	v.Helper()
	why := v.trailTo(v.first(id), v.a)
	if last := why[len(why)-1]; last != "held: "+string(message.UnknownScreen) && last != "held: "+string(message.NotEmpty) {
		return
	}
	var notice string
	for end := time.Now().Add(90 * time.Second); notice == "" && time.Now().Before(end); time.Sleep(time.Second) {
		events, err := v.client.Log(v.Context(), api.LogQuery{Limit: 100_000})
		require.NoError(v, err)
		for _, e := range events {
			if strings.Contains(e.Notice, "its screen is not recognised") {
				notice = e.Notice
			}
		}
	}
	assert.NotEmpty(v, notice, "its person is told")
	v.note("%-20s %s", "its person is told", notice)
}

// settles waits until a message has been answered, or is held although its agent rests, and returns what holds it.
// Any other end fails the test.
func (v *trial) settles(id message.ID) string {
	v.Helper()
	var trail []string
	var since time.Time
	var was string
	for end := time.Now().Add(labtest.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		trail = v.trailTo(v.first(id), v.a)
		last := ""
		if len(trail) > 0 {
			last = trail[len(trail)-1]
		}
		if last == "answered" {
			v.atRest()
			return last
		}
		if shown := last + v.a.screen().String(); shown != was {
			was, since = shown, time.Now()
		}
		if strings.HasPrefix(last, "held: ") && time.Since(since) > 5*resting {
			if slices.Contains(trail, "typed") {
				break
			}
			for _, ground := range v.a.explain().Evidence {
				last += fmt.Sprintf("; %s: %s", ground.Source, ground.Says)
			}
			return last
		}
	}
	require.Failf(v, "a wrong end", "%q", trail)
	return ""
}

// atRest waits until the model has no answer under way, and the agent shows what it made of the last one.
func (v *trial) atRest() {
	v.Helper()
	v.until("its model to rest", func() bool {
		return !slices.ContainsFunc(v.a.Exchanges(), func(x labtest.Exchange) bool { return !x.Over })
	})
	v.a.WaitForStill(labtest.Stillness)
}

// account compares what the model has received with what its person and we have sent, and what was relayed with what
// the model has said.
func (v *trial) account() {
	v.Helper()
	a := v.a
	typed := 0
	var want, got strings.Builder // several messages that were held come together
	for i, id := range v.ids {
		if slices.Contains(v.trailTo(id, a), "typed") {
			typed++
			want.WriteString(attributed("tester", 0, v.bodies[i:i+1])[0] + "\n\n")
		}
	}
	for _, text := range a.heard() {
		own := a.Kind == labtest.Claude && (strings.HasPrefix(text, "<command-name>") || strings.HasPrefix(text, "<local-command-stdout>"))
		if !own && !slices.Contains(v.byHand, text) {
			got.WriteString(text + "\n\n")
		}
	}
	assert.Equal(v, want.String(), got.String(), "what its model received beside its person's prompts")
	for _, text := range v.byHand {
		assert.Equal(v, 1, count(a.heard(), text), "its person's %q", text)
	}
	said := map[string]int{}
	for _, text := range a.Answers() {
		said[strings.TrimSpace(a.noted(text))]++
	}
	relayed := a.relayed()
	for _, text := range relayed {
		if said[strings.TrimSpace(text)]--; said[strings.TrimSpace(text)] < 0 {
			assert.Failf(v, "words that nobody said", "%q; it said %q", text, a.Answers())
		}
	}
	e := a.explain()
	v.note("%-20s %d of its %d answers relayed, from its %s; %d of %d messages typed", "words", len(relayed), len(a.Answers()), e.WordsFrom, typed, len(v.ids))
}
