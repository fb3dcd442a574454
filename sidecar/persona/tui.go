package persona

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// tui is the full-screen program. Like real ones, it reads at all times: text typed while it works goes into the
// composer, and Enter queues it.
type tui struct {
	agent
	prompt        string
	alternate     bool
	dialogAfter   int
	dialogOnPaste bool
	dialogCommand string

	decoder    decoder
	transcript []string  // paragraphs, each with the mark of the speaker
	composer   string    // content of the composer
	waiting    []message // submitted, but not worked on yet
	working    bool
	began      time.Time // of the turn
	turn       int       // grows with each turn and at its end: timers of an old one do nothing
	dialog     *dialog   // nil: none is open
	query      *query    // nil: none is shown
	opened     bool      // --dialog-on-paste has taken effect
	unseen     bool      // cursor hidden by command
	displaced  bool      // cursor moved away by command
	frame      []string  // what the screen shows
}

// message is a submitted message, with its number.
type message struct {
	n    int
	text string
}

// dialog asks for permission to run the dialog's command.
type dialog struct {
	choice int // from 0
	then   func(allowed bool)
}

// query is a question in any words, during which the composer still takes text.
type query struct {
	keys  string // keys for yes, "\r" for Enter
	where string // its place: above, over, top, below, foot, inside
	lines []string
}

var choices = []string{"Yes", "Yes, and don't ask again", "No, and tell me what to do instead (esc)"}

// TUI runs the full-screen program; see the package comment for its flags. It has the same exit codes as Line.
func TUI(ctx context.Context, opt Options) int {
	t := &tui{agent: agent{opt: opt}}
	set := flag.NewFlagSet("persona tui", flag.ContinueOnError)
	set.StringVar(&t.prompt, "prompt", "❯ ", "prompt in the composer")
	set.BoolVar(&t.alternate, "alt", false, "use the alternate screen")
	set.IntVar(&t.dialogAfter, "dialog-after", 0, "message whose answer needs permission")
	set.BoolVar(&t.dialogOnPaste, "dialog-on-paste", false, "open the dialog when bytes arrive")
	set.StringVar(&t.dialogCommand, "dialog-command", "true", "what the dialog asks to run")
	if code, ok := t.parse(set); !ok {
		return code
	}
	t.prompt = unescape(t.prompt)
	return t.serve(ctx, t)
}

func (t *tui) begin() {
	t.term.raw()
	out := pasteOn
	if t.alternate {
		out += altOn
	}
	t.term.write(out + clearAll)
	t.tell("● " + t.name + " is ready")
	t.show()
	t.log.add(Record{Event: EventReady})
}

func (t *tui) reading() bool { return true }

func (t *tui) input(data []byte) {
	t.keys(t.decoder.feed(data))
	if t.decoder.waiting() {
		t.loop.after(50*time.Millisecond, func() {
			t.keys(t.decoder.flush())
			t.show()
		})
	}
	if t.dialogOnPaste && !t.opened {
		t.opened = true
		t.ask(func(bool) {})
	}
	t.show()
}

func (t *tui) keys(keys []key) {
	for _, k := range keys {
		if t.loop.ended {
			return
		}
		switch {
		case t.dialog != nil:
			t.choose(k)
		case t.query == nil || !t.hears(k):
			t.press(k)
		}
	}
}

// press acts on one key in the composer.
func (t *tui) press(k key) {
	switch k.kind {
	case keyText:
		t.composer += k.text
	case keyPaste:
		t.log.add(Record{Event: EventPaste, Text: k.text})
		t.composer += strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(k.text)
	case keyErase:
		if r := []rune(t.composer); len(r) > 0 {
			t.composer = string(r[:len(r)-1])
		}
	case keyKill:
		t.composer = ""
	case keyEnter:
		t.submit()
	case keyCancel:
		t.loop.quit(130)
	case keyEOF:
		if t.composer == "" {
			t.loop.quit(0)
		}
	case keyEscape:
		t.log.add(Record{Event: EventKey, Text: k.text})
		if t.working {
			t.tell("  ⎿ Interrupted")
			t.rest()
		}
	default:
		t.log.add(Record{Event: EventKey, Text: k.text})
	}
}

// choose acts on one key in the dialog: Enter takes the marked choice, a digit the choice with that number.
func (t *tui) choose(k key) {
	d := t.dialog
	switch k.kind {
	case keyEnter:
		t.decide(d.choice)
	case keyUp:
		d.choice = max(d.choice-1, 0)
	case keyDown:
		d.choice = min(d.choice+1, len(choices)-1)
	case keyEscape:
		t.decide(len(choices) - 1)
	case keyCancel:
		t.loop.quit(130)
	case keyText, keyPaste:
		for _, r := range k.text {
			if i := int(r - '1'); i >= 0 && i < len(choices) {
				t.decide(i)
				return
			}
		}
	}
}

// hears reports whether the question has consumed a key.
func (t *tui) hears(k key) bool {
	switch {
	case k.kind == keyEscape:
		t.query = nil
		return true
	case k.kind == keyEnter && strings.Contains(t.query.keys, "\r"),
		(k.kind == keyText || k.kind == keyPaste) && strings.ContainsAny(k.text, strings.ReplaceAll(t.query.keys, "\r", "")+"\x00"):
		t.log.add(Record{Event: EventApproved, Text: k.text})
		t.query = nil
		return true
	}
	return false
}

// ask opens the dialog. It calls then with the answer, after the command has ended.
func (t *tui) ask(then func(allowed bool)) {
	if t.dialog != nil {
		return
	}
	t.dialog = &dialog{then: then}
	t.log.add(Record{Event: EventDialog, Text: t.dialogCommand})
}

// decide closes the dialog with a choice and runs the command unless the choice was no.
func (t *tui) decide(choice int) {
	d := t.dialog
	t.dialog = nil
	t.log.add(Record{Event: EventAnswer, N: choice + 1})
	if choice == len(choices)-1 {
		t.tell("  ⎿ Declined: " + t.dialogCommand)
		d.then(false)
		return
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		t.child, err = t.start(t.dialogCommand, null, null, func(code int) {
			t.child = nil
			t.log.add(Record{Event: EventApproved, N: code, Text: t.dialogCommand})
			t.tell(fmt.Sprintf("  ⎿ %s: exit %d", t.dialogCommand, code))
			d.then(true)
			t.show()
		})
		null.Close()
	}
	if err != nil {
		t.tell("  ⎿ " + err.Error())
		d.then(false)
	}
}

// submit takes the content of the composer.
func (t *tui) submit() {
	text := t.composer
	if text == "" {
		t.log.add(Record{Event: EventEmpty})
		return
	}
	if !t.enters() {
		return
	}
	t.composer = ""
	if t.commands && strings.HasPrefix(text, ":") {
		t.log.add(Record{Event: EventCommand, Text: text})
		if err := t.run(text); err != nil {
			t.tell("  ⎿ " + err.Error())
		}
		return
	}
	t.received++
	t.log.add(Record{Event: EventReceived, N: t.received, Text: text})
	t.waiting = append(t.waiting, message{t.received, text})
	t.next()
}

// next begins a turn if one is due.
func (t *tui) next() {
	if t.working || len(t.waiting) == 0 {
		return
	}
	m := t.waiting[0]
	t.waiting = t.waiting[1:]
	t.tell("❯ " + m.text)
	t.work(t.think+t.spinner, func() {
		if m.n != t.dialogAfter {
			t.answer(m)
			return
		}
		turn := t.turn
		t.ask(func(allowed bool) {
			switch {
			case t.turn != turn: // interrupted meanwhile
			case allowed:
				t.answer(m)
			default:
				t.rest()
			}
		})
	})
}

// work shows the spinner for d and goes on with then, unless it is interrupted.
func (t *tui) work(d time.Duration, then func()) {
	t.turn++
	turn := t.turn
	t.working, t.began = true, time.Now()
	var spin func()
	spin = func() {
		if t.turn == turn {
			t.show()
			t.loop.after(100*time.Millisecond, spin)
		}
	}
	spin()
	t.loop.after(d, func() {
		if t.turn == turn {
			then()
			t.show()
		}
	})
}

// answer ends a turn with a reply.
func (t *tui) answer(m message) {
	words, ok := t.reply.to(m.n, m.text)
	if ok {
		t.tell("● " + words)
	}
	t.show()
	if ok {
		t.log.add(Record{Event: EventSaid, N: m.n, Text: words})
	} else {
		t.log.add(Record{Event: EventSilent, N: m.n})
	}
	t.rest()
}

// rest ends the turn and begins the next one.
func (t *tui) rest() {
	t.turn++
	t.working = false
	t.log.add(Record{Event: EventReady})
	t.next()
}

// tell adds one paragraph to the transcript.
func (t *tui) tell(paragraph string) {
	t.transcript = append(t.transcript, paragraph)
	if n := len(t.transcript) - 1000; n > 0 {
		t.transcript = t.transcript[n:]
	}
}

func (t *tui) unasked(text string) {
	t.tell("● " + text)
	t.show()
}

func (t *tui) resized() {
	t.frame = nil
	t.show()
}

func (t *tui) leave() {
	_, height := t.term.size()
	out := fmt.Sprintf("\x1b[%d;1H\n", height)
	if t.alternate {
		out = altOff
	}
	t.term.write(out + pasteOff + cursorOn)
}

// command runs a command of the full-screen program, beyond those of all personas.
func (t *tui) command(text string) error {
	verb, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case ":dialog":
		t.ask(func(bool) {})
	case ":query":
		if rest == "off" {
			t.query = nil
			break
		}
		words := strings.SplitN(rest, " ", 3)
		if len(words) != 3 {
			return fmt.Errorf("command %q: want keys, place and text", text)
		}
		t.query = &query{keys: unescape(words[0]), where: words[1], lines: strings.Split(unescape(words[2]), "\n")}
		t.log.add(Record{Event: EventDialog, Text: words[2]})
	case ":clear", ":clear3":
		t.transcript, t.frame = nil, nil
		t.term.write(clearAll)
		if verb == ":clear3" {
			t.term.write(clearPast)
		}
	case ":alt":
		on := rest != "off"
		if d, err := time.ParseDuration(rest); err == nil {
			t.loop.after(d, func() { t.command(":alt off") })
		}
		if on != t.alternate {
			t.alternate, t.frame = on, nil
			if on {
				t.term.write(altOn + clearAll)
			} else {
				t.term.write(altOff + clearAll)
			}
		}
	case ":spin", ":sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return wrap(text, err)
		}
		if !t.working {
			t.work(d, t.rest)
		}
	case ":prompt":
		t.prompt = unescape(strings.TrimPrefix(text, ":prompt "))
	case ":draft":
		t.composer += rest
	case ":cursor":
		switch rest {
		case "hide":
			t.unseen = true
		case "show":
			t.unseen = false
		case "move":
			t.displaced = true
		default:
			return fmt.Errorf("command %q: want hide, show or move", text)
		}
	case ":bracketed":
		if rest == "off" {
			t.term.write(pasteOff)
		} else {
			t.term.write(pasteOn)
		}
	default:
		return fmt.Errorf("no command %q", verb)
	}
	t.show()
	return nil
}

func (t *tui) change(what string) []string {
	switch what {
	case "alt":
		return []string{":alt on"}
	case "cursor":
		return []string{":cursor move"}
	case "hide":
		return []string{":cursor hide"}
	case "prompt":
		return []string{":prompt changed? "}
	case "line":
		return []string{":say a line of its own"}
	case "draft":
		return []string{":draft and a person's words"}
	}
	return []string{":" + strings.TrimPrefix(what, ":")}
}
