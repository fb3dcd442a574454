package persona

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// coder is a stand-in for a coding agent. It looks and keeps files like the real one, and does on demand what the real
// one cannot be made to do. Its likeness has the differences between the agents.
type coder struct {
	agent
	like  likeness
	notes notes

	decoder  decoder
	composer []piece
	pastes   int // so far; the long ones have numbers
	told     []paragraph
	ghost    string // a suggestion in the empty composer

	waiting []message // submitted while it worked, and not taken yet
	script  []step    // steps of the next turn; nil: it thinks and replies
	working bool
	began   time.Time // of the turn
	turn    int       // grows with each turn and at its end: timers of an old one do nothing
	prompts []message // prompts of the turn without a reply yet
	held    func()    // continues after a hold
	partial string    // text being said, and not written down before it is complete

	question *question
	opens    map[string]string // dialogs to open once, by "paste" and "enter"
	lie      string            // what its screen shows instead of the truth
	flicker  int               // grows with each flickering, to end the timers of the last one

	lent  bool     // another program has the terminal
	frame []string // what the screen shows
	named string   // its current title
}

// likeness is an agent as its user knows it: its look, and its files about its turns. Each painted row ends with the
// attributes that it began with.
type likeness interface {
	header(width int) []string
	paint(p paragraph, width int) []string       // a paragraph of the conversation
	below(shows string, width, height int) block // the rows below the conversation
	title(shows string) string
	cursorOn() string // the sequence for the cursor of a composer: on, or off

	shortens(paste string, n int) string // what the composer shows for the nth paste; "": its text
	takes(pieces []piece) string         // the prompt that is taken
	fresh(text string) bool              // whether the text is the command for a new conversation
	steers() bool                        // whether a prompt submitted during a turn joins it, instead of following it

	account
}

// account is what an agent writes down. Each call notes something that happens now; it is written a little later, in
// order.
type account interface {
	opened()                                     // the program has started
	prompted(text string, p []piece, how string) // how: typed, queued, steered, itself
	queued(text string)                          // submitted while it works, for later
	spoke(text string)
	called(t call)
	answered(t call, denied bool)
	aside(text string) // words of a sub-agent
	ended(words string)
	interrupted(partial string, atTool bool) // partial is what was being said
	failed(text string)
	another() // another conversation begins
	state(state, waitingFor string)
	closed()
}

// How a prompt arrived.
const (
	typed   = "typed"
	queued  = "queued"
	steered = "steered"
	itself  = "itself" // nobody gave it
)

// What a screen shows: the truth, or a lie.
const (
	showsIdle     = "idle" // the composer, with its content
	showsWorking  = "working"
	showsDialog   = "dialog"
	showsQuestion = "question"
	showsOdd      = "odd" // an unknown composer
	showsBlank    = "blank"
	showsEmpty    = "empty" // an empty composer, whatever its content
)

// piece is a part of the composer's content: typed text, or one paste.
type piece struct {
	text  string
	shown string // "": the text itself
	paste bool
}

// paragraph is one thing in the conversation.
type paragraph struct{ kind, text string }

// The kinds of paragraphs.
const (
	ofPerson      = "person"
	ofAgent       = "agent"
	ofTool        = "tool"
	ofEnd         = "end" // how long the turn took
	ofError       = "error"
	ofInterrupted = "interrupted"
)

// block has the rows below the conversation, and the position of the cursor in them.
type block struct {
	rows   []string
	x, y   int
	hidden bool // the cursor
}

// call is one call of a tool.
type call struct{ id, name, input string }

// question is a dialog. Enter takes the marked answer.
type question struct {
	shows   string // showsDialog or showsQuestion
	text    string
	answers []string
	choice  int
	then    func(choice int)
}

// Claude runs the stand-in for Claude Code; see the package comment for its flags.
func Claude(ctx context.Context, opt Options) int {
	return runCoder(ctx, opt, "claude", func(c *coder) likeness { return &claude{coder: c} })
}

// Codex runs the stand-in for Codex; see the package comment for its flags.
func Codex(ctx context.Context, opt Options) int {
	return runCoder(ctx, opt, "codex", func(c *coder) likeness { return &codex{coder: c} })
}

func runCoder(ctx context.Context, opt Options, name string, like func(*coder) likeness) int {
	c := &coder{agent: agent{opt: opt}, opens: map[string]string{}}
	c.like = like(c)
	set := flag.NewFlagSet("persona "+name, flag.ContinueOnError)
	set.StringVar(&c.notes.mode, "transcript", notesOn, "on, off, garbage or behind")
	set.StringVar(&c.notes.status, "status", "auto", "auto, none or what it says whatever is the case")
	set.DurationVar(&c.notes.lag, "lag", 20*time.Millisecond, "time until what happens is written down")
	set.Func("turn", "what each turn does, as with :turn", func(script string) (err error) {
		c.script, err = steps(script)
		return err
	})
	set.StringVar(&c.ghost, "ghost", "", "suggestion in the empty composer")
	if code, ok := c.parse(set); !ok {
		return code
	}
	return c.serve(ctx, c)
}

func (c *coder) begin() {
	c.notes.loop, c.began = c.loop, time.Now()
	c.term.raw()
	c.term.write(altOn + pasteOn + cursorOff + clearAll)
	c.like.opened()
	c.like.state("idle", "")
	c.notes.flush() // anybody who finds the process must find its files
	c.show()
	c.log.add(Record{Event: EventReady})
}

func (c *coder) reading() bool { return !c.lent }

func (c *coder) leave() {
	c.notes.flush()
	c.like.closed()
	c.term.write(altOff + pasteOff + cursorOn)
}

func (c *coder) resized() {
	c.frame = nil
	c.term.write(clearAll)
	c.show()
}

func (c *coder) input(data []byte) {
	c.keys(c.decoder.feed(data))
	if c.decoder.waiting() {
		c.loop.after(50*time.Millisecond, func() {
			c.keys(c.decoder.flush())
			c.show()
		})
	}
	c.show()
}

func (c *coder) keys(keys []key) {
	for _, k := range keys {
		if c.loop.ended {
			return
		}
		if c.question != nil {
			c.choose(k)
		} else {
			c.press(k)
		}
	}
}

// press acts on one key in the composer.
func (c *coder) press(k key) {
	switch k.kind {
	case keyText:
		c.types(k.text)
	case keyPaste:
		c.log.add(Record{Event: EventPaste, Text: k.text})
		c.pastes++
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(k.text)
		c.composer = append(c.composer, piece{text: text, shown: c.like.shortens(text, c.pastes), paste: true})
		c.opensOn("paste")
	case keyErase:
		c.erase()
	case keyKill:
		c.composer = nil
	case keyEnter:
		if !c.opensOn("enter") {
			c.submit()
		}
	case keyCancel:
		if len(c.composer) == 0 {
			c.loop.quit(130)
		}
		c.composer = nil
	case keyEOF:
		if len(c.composer) == 0 {
			c.loop.quit(0)
		}
	case keyEscape:
		c.log.add(Record{Event: EventKey, Text: k.text})
		if c.working {
			c.interrupt()
		}
	default:
		c.log.add(Record{Event: EventKey, Text: k.text})
	}
}

// types adds typed text to the composer.
func (c *coder) types(text string) {
	if text == "" {
		return
	}
	if n := len(c.composer); n > 0 && !c.composer[n-1].paste {
		c.composer[n-1].text += text
		return
	}
	c.composer = append(c.composer, piece{text: text})
}

// erase removes the last character, or the last paste if its text is not shown.
func (c *coder) erase() {
	n := len(c.composer)
	if n == 0 {
		return
	}
	last := &c.composer[n-1]
	if r := []rune(last.text); last.shown == "" && len(r) > 1 {
		last.text = string(r[:len(r)-1])
		return
	}
	c.composer = c.composer[:n-1]
}

// opensOn opens the dialog that was requested for such a key, and reports whether there was one.
func (c *coder) opensOn(key string) bool {
	text, ok := c.opens[key]
	if ok {
		delete(c.opens, key)
		c.asks(showsDialog, text, nil)
	}
	return ok
}

// asks opens a dialog and later calls then with the choice, counted from 0. A dialog outside of a turn has no effect
// except that its command is run.
func (c *coder) asks(shows, text string, then func(choice int)) {
	if c.question != nil {
		return
	}
	q := &question{shows: shows, text: text, then: then}
	if q.answers = []string{"Yes", "No"}; shows == showsQuestion {
		q.answers = []string{"red", "blue"}
	}
	c.question = q
	c.log.add(Record{Event: EventDialog, Text: text})
	waitsFor := "permission prompt"
	if shows == showsQuestion {
		waitsFor = "input needed"
	}
	c.like.state("waiting", waitsFor)
	c.spin()
}

// choose acts on one key in a dialog: Enter takes the marked answer, a digit the answer with that number. A paste is
// lost.
func (c *coder) choose(k key) {
	q := c.question
	switch k.kind {
	case keyEnter:
		c.decide(q.choice)
	case keyUp:
		q.choice = max(q.choice-1, 0)
	case keyDown:
		q.choice = min(q.choice+1, len(q.answers)-1)
	case keyEscape:
		c.decide(len(q.answers))
	case keyCancel:
		c.loop.quit(130)
	case keyText:
		for _, r := range k.text {
			if i := int(r - '1'); i >= 0 && i < len(q.answers) {
				c.decide(i)
				return
			}
		}
	}
}

// decide closes the dialog with a choice; a number beyond the answers means none of them.
func (c *coder) decide(choice int) {
	q := c.question
	c.question = nil
	c.log.add(Record{Event: EventAnswer, N: choice + 1})
	state := "idle"
	if c.working {
		state = "busy"
	}
	c.like.state(state, "")
	then := func() {
		if q.then != nil {
			q.then(choice)
		}
		c.show()
	}
	if q.shows != showsDialog || choice != 0 {
		then()
		return
	}
	c.runs(q.text, func(code int) {
		c.log.add(Record{Event: EventApproved, N: code, Text: q.text})
		then()
	})
}

// runs runs a command without a terminal.
func (c *coder) runs(command string, ended func(code int)) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		defer null.Close()
		c.child, err = c.start(command, null, null, func(code int) {
			c.child = nil
			ended(code)
		})
	}
	if err != nil {
		c.log.add(Record{Event: EventChange, Text: err.Error()})
		ended(-1)
	}
}

// lends gives the terminal to another program until it ends, as for a person's editor.
func (c *coder) lends(command string) (err error) {
	out, ok := c.opt.Stdout.(*os.File)
	if !ok {
		return errors.New("standard output is no terminal")
	}
	c.lent = true
	c.child, err = c.start(command, c.opt.Stdin, out, func(int) {
		c.child, c.lent, c.frame = nil, false, nil
		c.show()
	})
	if err != nil {
		c.lent = false
	}
	return err
}

// submit takes the content of the composer.
func (c *coder) submit() {
	text := strings.TrimSpace(c.like.takes(c.composer))
	switch {
	case text == "":
		c.log.add(Record{Event: EventEmpty})
		return
	case !c.enters():
		return
	}
	pieces := c.composer
	c.composer = nil
	if c.commands && strings.HasPrefix(text, ":") {
		c.log.add(Record{Event: EventCommand, Text: text})
		if err := c.run(text); err != nil {
			c.tell(ofError, err.Error())
		}
		return
	}
	switch command, isShell := strings.CutPrefix(text, "!"); {
	case isShell:
		c.tell(ofTool, command)
		c.runs(command, func(code int) { c.log.add(Record{Event: EventApproved, N: code, Text: command}) })
		return
	case text == "/exit", text == "/quit":
		c.loop.quit(0)
		return
	case c.like.fresh(text):
		c.another()
		return
	}
	c.received++
	c.log.add(Record{Event: EventReceived, N: c.received, Text: text})
	c.take(message{c.received, text}, pieces)
}

// another begins a new conversation.
func (c *coder) another() {
	if c.working {
		c.interrupt()
	}
	c.told, c.frame = nil, nil
	c.term.write(clearAll)
	c.like.another()
	c.like.state("idle", "")
}

func (c *coder) unasked(text string) {
	c.waiting = append(c.waiting, message{0, text})
	c.next()
	c.show()
}

// command runs a command of the stand-ins, beyond those of all personas.
func (c *coder) command(text string) error {
	verb, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case ":turn":
		script, err := steps(rest)
		if err != nil {
			return wrap(text, err)
		}
		c.script = script
	case ":go":
		if c.held == nil {
			return fmt.Errorf("command %q: nothing is held", text)
		}
		held := c.held
		c.held = nil
		held()
	case ":dialog":
		switch on, command, _ := strings.Cut(rest, " "); on {
		case "paste", "enter":
			c.opens[on] = command
		default:
			c.asks(showsDialog, rest, nil)
		}
	case ":ask":
		c.asks(showsQuestion, rest, nil)
	case ":draft":
		c.types(strings.TrimPrefix(text, ":draft "))
	case ":before":
		c.composer = append([]piece{{text: strings.TrimPrefix(text, ":before ")}}, c.composer...)
	case ":ghost":
		c.ghost = rest
	case ":lie":
		c.flicker++
		if c.lie = rest; rest == "off" {
			c.lie = ""
		}
	case ":flicker":
		if err := c.flickers(rest); err != nil {
			return wrap(text, err)
		}
	case ":transcript":
		c.notes.mode = rest
	case ":status":
		c.notes.status = rest
		c.notes.flush()
		c.like.state("", "")
	case ":run":
		c.runs(rest, func(int) {})
	case ":behind":
		behind, ok := c.like.(interface{ runsBehind(command string) })
		if !ok {
			return fmt.Errorf("%q: it has no background process", text)
		}
		behind.runsBehind(rest)
	case ":inbox":
		one, ok := c.like.(interface{ minds(rest string) error })
		if !ok {
			return fmt.Errorf("%q: it has no inbox", text)
		}
		if err := one.minds(rest); err != nil {
			return wrap(text, err)
		}
	case ":exec":
		return wrap(text, c.lends(rest))
	case ":clear":
		c.another()
	case ":bracketed":
		if rest == "off" {
			c.term.write(pasteOff)
		} else {
			c.term.write(pasteOn)
		}
	default:
		return fmt.Errorf("no command %q", verb)
	}
	c.notes.flush()
	c.show()
	return nil
}

// flickers alternates the screen between idle and working, each for a time: "200ms 100ms".
func (c *coder) flickers(rest string) error {
	var words [2]string
	if _, err := fmt.Sscan(rest, &words[0], &words[1]); err != nil {
		return err
	}
	var spans [2]time.Duration
	for i, word := range words {
		var err error
		if spans[i], err = time.ParseDuration(word); err != nil {
			return err
		}
	}
	c.flicker++
	mine := c.flicker
	var turn func(n int)
	turn = func(n int) {
		if c.flicker != mine {
			return
		}
		c.lie = []string{showsIdle, showsWorking}[n%2]
		c.show()
		c.loop.after(spans[n%2], func() { turn(n + 1) })
	}
	turn(0)
	return nil
}

func (c *coder) change(what string) []string { return []string{":" + strings.TrimPrefix(what, ":")} }
