package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	transcripts "github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// pieces are parts of texts that versions of tmux, readline and the agents show in different ways.
var pieces = []string{
	"👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d❤️\u200d💋\u200d👨🏽", "👩\u200d👩\u200d👦\u200d👦", "👍🏽", "🏳️\u200d🌈", "🧑🏿\u200d🚀", "👩\u200d🦰", "❤️", "1️⃣", "☎︎", "🇩🇪", "🇫🇷🇪🇸", "🇩", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"क्षत्रिय", "हिन्दी", "स्त्री", "र्\u200dय", "ज्ञान", "السَّلامُ", "عَلَيْكُم", "لا", "می\u200cخواهم", "\u1112\u1161\u11ab\u1100\u1173\u11af", "한글", "\u1100\u1161", "e\u0301", "a\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a",
	"ก็", "น้ำ", "நி", "ஸ்ரீ", "မြန်မာ", "ខ្មែរ", "བོད་ཡིག", "𑄌𑄋𑄴𑄟", "\U0001fae8", "😀😀",
}

// scripted is the nth text: some of the pieces among words, and some of them many times, so that rows wrap.
func scripted(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", n)
	for i := range 1 + n%4 {
		fmt.Fprintf(&b, " w%d %s", i, strings.Repeat(pieces[(n*7+i*11)%len(pieces)], 1+(n/3)%3*(n%2)))
	}
	if n%5 == 0 {
		b.WriteString(strings.Repeat(" "+pieces[n%len(pieces)]+"x", 12))
	}
	return b.String() + " end"
}

// howMany is the number of texts.
func howMany() int {
	if longTest() {
		return 200
	}
	return 10
}

// readline starts a program that reads its lines by readline, as many do, and logs them.
func (r *rig) readline(name string) (a *agent, taken func() []string) {
	r.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		r.t.Skip("no bash here, which has readline")
	}
	program, log := filepath.Join(r.dir, name), filepath.Join(r.dir, name+".lines")
	binary, err := os.ReadFile(bash)
	require.NoError(r.t, err)
	tmuxtest.Program(r.t, program, string(binary))
	a = &agent{rig: r, name: name}
	a.pane = r.NewPane("env", "LC_ALL=C.UTF-8", "TERM=tmux-256color", program, "--norc", "-c",
		`while IFS= read -r -e -p "$0> " line; do printf '%s\n' "$line" >>"$1"; echo ok; done`, name, log)
	tmuxtest.WaitFor(r.t, "its prompt", func() bool { return strings.Contains(r.Run("capture-pane", "-p", "-t", a.pane), name+">") })
	a.session, err = r.client.Adopt(r.t.Context(), api.AdoptRequest{Pane: a.pane, As: "line"})
	require.NoError(r.t, err)
	return a, func() []string {
		data, _ := os.ReadFile(log)
		return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	}
}

// A text of any script arrives, once and byte for byte, however the terminal shows it, and so does the next text. A
// full-screen program that nobody knows does not get a text whose width is disputed, but gets the next one.
func TestS29_TextsOfAllScripts(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		t.Run("readline", func(t *testing.T) {
			t.Parallel()
			r := newRigOn(t, v, over("native"))
			ada, taken := r.readline("ada")
			for n := range howMany() {
				r.arrives(ada, scripted(n))
				require.Equal(t, "[tester] (0): "+scripted(n), last(taken()))
			}
			r.arrives(ada, "plain")
			assert.Len(t, taken(), howMany()+1)
		})
		t.Run("an editor that redraws", func(t *testing.T) {
			t.Parallel()
			r := newRigOn(t, v, over("native"))
			ada := r.adopted("Ada", "--bracketed")
			for n := range howMany() {
				r.arrives(ada, scripted(n))
				require.Contains(t, last(ada.received()), scripted(n))
			}
			r.arrives(ada, "plain")
			assert.Len(t, ada.received(), howMany()+1)
		})
		t.Run("a full-screen program that nobody knows", func(t *testing.T) {
			t.Parallel()
			r := newRigOn(t, v, over("native"))
			ada := r.unknown("Ada", "--alt")
			var want []string
			unsteady := regexp.MustCompile("[\u1161\U0001fae8]|half")
			for _, text := range []string{
				"❤️ and ⚠️ and 1️⃣ end", "a \u1112\u1161\u11ab end", "plain", "👨‍👩‍👧‍👦 👩🏽‍❤️‍💋‍👨🏽 end", "a \U0001fae8 end", "half a flag 🇩 end", strings.Repeat("x", 59), strings.Repeat("y", 58), strings.Repeat("z", 60),
				"हिन्दी السَّلامُ 🇩🇪 👍🏽 한글 😀 end", "plain again",
			} {
				id := r.post(ada, text)
				if unsteady.MatchString(text) {
					r.settled(id, "held: "+string(message.WidthDisputed))
					continue
				}
				r.settled(id, "answered")
				want = append(want, oneLine(strings.ReplaceAll(text, "\ufe0f", "")))
				require.Equal(t, want, ada.received())
			}
			assert.Zero(t, ada.count(persona.EventEmpty), "no Enter too many")
		})
	})
}

// A pane is made larger twice within a moment. For the next fifth of a second, tmux keeps the last size from its
// program, which would draw a text over itself so that parts of it look like an answer. The text is typed when the
// program knows its size.
func TestResized_itsProgramIsNotToldYet(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		r := newRigOn(t, v, over("native"))
		ada, taken := r.readline("ada")
		text := scripted(0)
		pid, err := strconv.Atoi(r.Fact(ada.pane, "#{pane_pid}"))
		require.NoError(t, err)
		for range 3 {
			r.Run("resize-window", "-t", ada.pane, "-x", "81")
			r.Run("resize-window", "-t", ada.pane, "-x", "500")
			id := r.post(ada, text)
			r.settled(id, "answered")
			all := r.receiptsOf(id)
			assert.Equal(t, "ok", all[len(all)-1].Words, "what it drew over is no answer")
			require.Equal(t, "[tester] (0): "+text, last(taken()))
			r.Run("resize-window", "-t", ada.pane, "-x", "80")
			r.waitFor("its terminal is told", func() bool {
				front, err := system.Front(r.Fact(ada.pane, "#{pane_tty}"), pid)
				require.NoError(r.t, err)
				return front.Columns == 80
			})
		}
		assert.Len(t, taken(), 3)
	})
}

// arrives sends a text and waits until it is answered. If the text waits for a larger pane, arrives makes the pane
// larger.
func (r *rig) arrives(to *agent, text string) {
	r.t.Helper()
	id := r.post(to, text)
	larger := false
	r.waitFor(fmt.Sprintf("%q arrives", text), func() bool {
		all := r.receiptsOf(id)
		if len(all) == 0 {
			return false
		}
		end := all[len(all)-1]
		require.NotContains(r.t, []message.ReceiptState{message.Uncertain, message.Failed}, end.State, "%q: %s", text, end.Reason)
		if end.State == message.Held && end.Reason == message.PaneTooNarrow && !larger {
			larger = true
			r.Run("resize-window", "-t", to.pane, "-x", "500")
		}
		return end.State == message.Answered
	})
	if larger {
		r.Run("resize-window", "-t", to.pane, "-x", "80")
	}
}

// Each agent gets these texts too, or they are held. A text after them arrives, from a person and from another agent.
func TestLab_S29_TextsOfAllScripts(t *testing.T) {
	inALongRun(t)
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		s := l.besiege(a)
		tell := func(body string) message.ID { return l.tellAll(s.chat, body) }
		tried, held := 0, 0
		for n := 0; n < howMany(); n += 7 { // only a share of them: each takes seconds here
			a.drawn()
			tried++
			head, send, body := "[tester] (0):\n\n", tell, scripted(n)+" [[say as you like]]"
			if n%28 == 0 { // seldom enough for a program
				head, send = s.headOfBen(body), s.fromBen
			}
			id := send(body)
			l.until("it arrives", func() bool {
				trail := l.trailTo(id, a)
				return len(trail) > 0 && (trail[len(trail)-1] == "answered" || trail[len(trail)-1] == "held: "+string(message.WidthDisputed))
			}, func() any { return l.trailTo(id, a) })
			if trail := l.trailTo(id, a); trail[len(trail)-1] != "answered" {
				held++
				continue
			}
			came := 0
			for _, text := range a.heard() { // Same, since some agents make one character of a letter and its accent
				if transcripts.Same(head+body, text) {
					came++
				}
			}
			require.Equal(t, 1, came, "%q", body)
		}
		l.waitTold(tell("plain [[say as you like]]"), a, "answered")
		l.waitTold(s.fromBen("plain [[say as you like]]"), a, "answered")
		t.Logf("%d of %d are held", held, tried)
	})
}
