// Package persona has the scripted agents for the tests of this project: a
// line program, a small full-screen program, and stand-ins for Claude Code and Codex, run as
// `persona line`, `tui`, `claude` and `codex` in real terminals. It is for tests only: package
// personatest builds the program.
// They behave like the programs that people use, echo, redraw and wrap included, and
// misbehave on demand. Their log of everything that they read and said is the oracle of the
// tests: it has what a pane really received, whatever was meant to be sent.
//
// One goroutine, the one that calls Run, owns all state: it waits in poll(2) for keys, control lines
// and timers and does one thing at a time. The others only pass events to it: one for
// signals, and one for the end of each child.
//
// # Flags of all
//
//	--name NAME           how it calls itself; "persona"
//	--log FILE            appends a Record a line, each by one write
//	--control PATH        takes commands from a FIFO that is there, else from a unix socket made there
//	--reply MODE          echo, numbered (default), none, or a template with {n} {name} {text} {words}
//	--lines N             lines of a numbered reply; 1
//	--quote               each reply ends by quoting what it answers
//	--limit N             N replies, then silence
//	--think D             time between a message and its reply; 30ms
//	--spinner D           redraws a spinner that long before it replies
//	--say TEXT            prints TEXT unasked ({n} and {words} as above), --say-count N times (0: for
//	                      ever), every --say-every D, the first time after --say-after D
//	--commands            lines of input that begin with ":" are commands
//	--stuck               shows what is typed, ignores Enter
//	--swallow-enter N     ignores the first N Enters
//	--deaf                never reads
//	--change-on-paste W   when the first bytes arrive, does W: alt, clear, cursor, hide, prompt, line, draft,
//	                      or any command, and draws both at once; "W@50ms" does it that much later
//	--exit-on-paste       ends when the first bytes arrive
//
// # Flags of line
//
//	--prompt TEXT         "> "; escapes as in Go strings, colours allowed
//	--cooked              reads lines that the kernel edits and echoes; without it, its own editor in raw mode
//	--bracketed           switches bracketed paste on: a paste is one edit, and its line breaks stay in
//	                      the composer, where --continuation TEXT ("… ") stands before each further line
//	--banner N            N lines before the first prompt
//	--flood D             prints as fast as it can that long before the first prompt
//
// # Flags of tui
//
//	--alt                 on the alternate screen
//	--prompt TEXT         "❯ "
//	--dialog-after N      asks for permission before it answers message N
//	--dialog-on-paste     opens the dialog when the first bytes arrive
//	--dialog-command CMD  what Enter on "Yes" runs, by sh
//
// # Flags of claude and codex
//
// They look like the real ones, and keep the same files as the real ones, below
// $HOME. Such an agent is recognised by the name of its process: start this program under that name.
//
//	--transcript on       or off, or garbage: as a version that nobody knows would write it; or
//	                      behind, of codex: another process writes it, and has it open
//	--status auto         of claude: the status file tells what is the case; or none, or "STATE [FOR]"
//	--lag D               time until what happens is written down; 20ms
//	--ghost TEXT          of claude: a suggestion in the empty composer
//
// # Commands
//
// By control, or by input with --commands. Those with a duration keep the program busy,
// without prompt, until they are done.
//
//	:say TEXT             prints TEXT now                 :says N EVERY TEXT   prints it N times, as --say
//	:clear  :clear3       clears the screen; and history   :lines N             prints N numbered lines (at most a million)
//	:alt D | on | off     the alternate screen             :flood D             prints as fast as it can
//	:spin D  :sleep D     spinner; busy and silent         :reply MODE          as the flag
//	:hold                 busy and silent until :go (line only)
//	:exec CMD…            runs CMD on this terminal, in this process group, until it ends
//	:password             reads one line without echo (ICANON, no ECHO)
//	:prompt TEXT          changes the prompt               :draft TEXT          types TEXT into the composer
//	:unseen TEXT          the same, drawn only at the next key
//	:cursor hide|show|move                                 :raw TEXT            writes TEXT, escapes as in Go, to the terminal
//	:stuck on|off         :swallow N                       :deaf  :hear         stops reading, begins again
//	:bracketed on|off     bracketed paste                  :exit [CODE]         ends
//	:query KEYS WHERE TEXT  puts a question, TEXT with escapes, over a composer that goes on taking text: any of
//	                      KEYS says yes (EventApproved), Escape no; above, over, top, below, foot, inside; or off (tui only)
//	:dialog               opens the dialog (tui only; tui has no cooked, exec, password, flood, lines)
//
// Of claude and codex, beside say, reply, draft, stuck, swallow, deaf, raw, bracketed and exit:
//
//	:turn STEP | STEP…    what the next turn does: say TEXT, reply, work D, hold (until :go), stream TEXT (said
//	                      at :go, and shown already), tool NAME, dialog COMMAND (for leave to run it),
//	                      ask QUESTION, side TEXT (a sub-agent's), fail [TEXT]
//	:go                   ends a hold
//	:dialog [paste|enter] COMMAND  opens the dialog now, or when a paste or Enter comes
//	:ask QUESTION         puts a question                  :before TEXT         types TEXT before what stands in the composer
//	:lie WHAT | off       shows idle, working, dialog, question, blank or odd (an unknown composer), whatever is the case
//	:flicker D D          shows idle and work in turn
//	:transcript MODE  :status MODE  :ghost TEXT   as the flags
//	:clear                begins another conversation
//	:behind CMD           of codex with --transcript behind: the background process of the conversation runs CMD
//	:run CMD  :exec CMD   runs CMD below it, as it runs its hooks and servers; on its terminal, as an editor
//
// On SIGTERM and SIGHUP a persona restores its terminal and ends; the loss of its terminal
// ends it too.
package persona

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// Options configure a persona.
type Options struct {
	Args   []string  // flags, without the name of the persona
	Stdin  *os.File  // required: the terminal
	Stdout io.Writer // required
	Stderr io.Writer // for complaints about flags; nil: nowhere
}

// Main runs the persona that the first argument names, "line", "tui", "claude" or "codex", with the flags that follow,
// on the standard streams. It returns the exit code: 2 for wrong usage.
func Main(args []string) int {
	return Run(context.Background(), args, Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
}

// Run runs the persona that the first argument names, until it ends by itself or ctx does. The rest of args replaces
// opt.Args.
func Run(ctx context.Context, args []string, opt Options) int {
	if opt.Stderr == nil {
		opt.Stderr = io.Discard
	}
	if len(args) > 0 {
		opt.Args = args[1:]
		switch args[0] {
		case "line":
			return Line(ctx, opt)
		case "tui":
			return TUI(ctx, opt)
		case "claude":
			return Claude(ctx, opt)
		case "codex":
			return Codex(ctx, opt)
		}
	}
	fmt.Fprintln(opt.Stderr, "usage: persona line|tui|claude|codex [flags]")
	return 2
}

// program is the part in which the personas differ.
type program interface {
	begin()                      // shows itself for the first time
	reading() bool               // whether it would read now
	input(data []byte)           // handles input
	resized()                    // the terminal has another size
	unasked(text string)         // prints text that is no answer
	command(words string) error  // one command, with its colon
	change(what string) []string // the commands for a word of --change-on-paste
	leave()                      // restores the screen before the end
}

// agent is the part that the personas have in common.
type agent struct {
	program
	opt   Options
	loop  *loop
	term  *terminal
	log   recorder
	reply reply

	name, logPath, controlPath string
	think, spinner             time.Duration
	say                        string
	sayEvery, sayAfter         time.Duration
	sayCount                   int
	commands, stuck, deaf      bool
	swallow                    int
	changeOnPaste              string
	exitOnPaste                bool

	received, spoken int
	touched          bool // bytes have arrived
	child            *child
}

// flags defines the flags of all personas.
func (a *agent) flags(set *flag.FlagSet) {
	set.StringVar(&a.name, "name", "persona", "how it calls itself")
	set.StringVar(&a.logPath, "log", "", "file for the log")
	set.StringVar(&a.controlPath, "control", "", "FIFO or unix socket for commands")
	set.StringVar(&a.reply.mode, "reply", "numbered", "echo, numbered, none or a template")
	set.IntVar(&a.reply.lines, "lines", 1, "lines of a numbered reply")
	set.BoolVar(&a.reply.quote, "quote", false, "quote what is answered")
	set.IntVar(&a.reply.limit, "limit", 0, "replies before it falls silent")
	set.DurationVar(&a.think, "think", 30*time.Millisecond, "time before a reply")
	set.DurationVar(&a.spinner, "spinner", 0, "spinner before a reply")
	set.StringVar(&a.say, "say", "", "text printed unasked")
	set.DurationVar(&a.sayEvery, "say-every", 166*time.Millisecond, "time between two of them")
	set.DurationVar(&a.sayAfter, "say-after", 0, "time before the first")
	set.IntVar(&a.sayCount, "say-count", 0, "how many; 0: for ever")
	set.BoolVar(&a.commands, "commands", false, "lines that begin with a colon are commands")
	set.BoolVar(&a.stuck, "stuck", false, "ignore Enter")
	set.IntVar(&a.swallow, "swallow-enter", 0, "ignore the first Enters")
	set.BoolVar(&a.deaf, "deaf", false, "never read")
	set.StringVar(&a.changeOnPaste, "change-on-paste", "", "what to change when bytes arrive")
	set.BoolVar(&a.exitOnPaste, "exit-on-paste", false, "end when bytes arrive")
}

// parse parses the flags. If it returns false, the persona must end with the returned exit code.
func (a *agent) parse(set *flag.FlagSet) (int, bool) {
	set.SetOutput(a.opt.Stderr)
	a.flags(set)
	err := set.Parse(a.opt.Args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return 2, false
	case set.NArg() > 0:
		fmt.Fprintf(a.opt.Stderr, "persona: unexpected argument %q\n", set.Arg(0))
		return 2, false
	}
	a.reply.name, a.reply.mode = a.name, unescape(a.reply.mode)
	a.say = unescape(a.say)
	return 0, true
}

// serve runs the program p until its end.
func (a *agent) serve(ctx context.Context, p program) int {
	a.program = p
	var err error
	if a.loop, err = newLoop(); err != nil {
		return a.complain(err)
	}
	defer a.loop.close()
	if a.log, err = openRecorder(a.logPath); err != nil {
		return a.complain(err)
	}
	defer a.log.close()
	ctl, err := openControl(a.controlPath, a.loop, a.obey)
	if err != nil {
		return a.complain(err)
	}
	defer ctl.close()
	a.term = openTerminal(a.opt.Stdin, a.opt.Stdout)

	defer a.loop.onSignals(a.signal)()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		a.loop.post(func() { a.loop.quit(0) })
	})
	defer func() {
		if !stop() {
			<-ended // it may be in post, which needs the loop open
		}
	}()

	a.loop.watch(a.term.fd, func() bool { return !a.deaf && p.reading() }, a.readable)
	a.log.add(Record{Event: EventStart, Text: a.name})
	p.begin()
	if a.say != "" {
		a.loop.after(a.sayAfter, func() { a.keepSaying(a.sayCount, a.sayEvery, a.say) })
	}
	code := a.loop.run()
	a.child.end()
	p.leave()
	a.term.restore()
	a.log.add(Record{Event: EventEnd, N: code})
	return code
}

func (a *agent) complain(err error) int {
	fmt.Fprintf(a.opt.Stderr, "persona: %v\n", err)
	return 1
}

func (a *agent) signal(s os.Signal) {
	switch s {
	case syscall.SIGWINCH:
		a.resized()
		width, _ := a.term.size()
		a.log.add(Record{Event: EventResize, N: width})
	case syscall.SIGINT:
		if a.child == nil { // if there is a child, the signal is for it
			a.log.add(Record{Event: EventSignal, Text: s.String()})
			a.loop.quit(130)
		}
	case syscall.SIGTERM, syscall.SIGHUP:
		a.log.add(Record{Event: EventSignal, Text: s.String()})
		a.loop.quit(128 + int(s.(syscall.Signal)))
	}
}

// readable reads the available input and passes it on.
func (a *agent) readable() {
	data, err := a.term.read()
	if err != nil {
		a.loop.quit(0)
		return
	}
	if len(data) == 0 {
		return
	}
	a.log.add(Record{Event: EventRead, Bytes: data})
	first := !a.touched
	a.touched = true
	if a.exitOnPaste {
		a.loop.quit(0)
		return
	}
	if !first || a.changeOnPaste == "" {
		a.input(data)
		return
	}
	a.term.gather()
	a.input(data)
	a.changes(a.changeOnPaste)
	a.term.flush()
}

// changes does what --change-on-paste asks for.
func (a *agent) changes(what string) {
	do := func() {
		for _, c := range a.change(what) {
			if err := a.run(c); err != nil {
				a.log.add(Record{Event: EventChange, Text: err.Error()})
				return
			}
		}
		a.term.flush()
		a.log.add(Record{Event: EventChange, Text: what})
	}
	if i := strings.LastIndex(what, "@"); i >= 0 {
		if d, err := time.ParseDuration(what[i+1:]); err == nil {
			what = what[:i]
			a.loop.after(d, do)
			return
		}
	}
	do()
}

// obey runs a command that arrived by control.
func (a *agent) obey(line string) error {
	a.log.add(Record{Event: EventCommand, Text: line})
	return a.run(line)
}

// run runs a command of all personas or of the program.
func (a *agent) run(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case ":say":
		a.sayOnce(unescape(rest))
	case ":says":
		var n int
		var every string
		if _, err := fmt.Sscan(rest, &n, &every); err != nil {
			return fmt.Errorf("command %q: want a number, a duration and a text", line)
		}
		d, err := time.ParseDuration(every)
		if err != nil {
			return fmt.Errorf("command %q: %w", line, err)
		}
		_, text, _ := strings.Cut(rest, every)
		a.keepSaying(n, d, unescape(strings.TrimSpace(text)))
	case ":reply":
		a.reply.mode, a.reply.count = unescape(rest), 0
	case ":stuck":
		a.stuck = rest != "off"
	case ":swallow":
		_, err := fmt.Sscan(rest, &a.swallow)
		return wrap(line, err)
	case ":deaf":
		a.deaf = true
	case ":hear":
		a.deaf = false
	case ":raw":
		a.term.write(unescape(rest))
	case ":exit":
		code := 0
		if rest != "" {
			if _, err := fmt.Sscan(rest, &code); err != nil {
				return wrap(line, err)
			}
		}
		a.loop.quit(code)
	default:
		return a.command(line)
	}
	return nil
}

func wrap(line string, err error) error {
	if err != nil {
		return fmt.Errorf("command %q: %w", line, err)
	}
	return nil
}

// keepSaying prints text n times, 0 for ever.
func (a *agent) keepSaying(n int, every time.Duration, text string) {
	a.sayOnce(text)
	if n == 1 {
		return
	}
	a.loop.after(every, func() { a.keepSaying(max(n-1, 0), every, text) })
}

func (a *agent) sayOnce(text string) {
	a.spoken++
	text = fill(text, a.name, a.spoken, "")
	a.unasked(text)
	a.log.add(Record{Event: EventUnasked, N: a.spoken, Text: text})
}

// enters reports whether an Enter counts.
func (a *agent) enters() bool {
	if a.stuck || a.swallow > 0 {
		a.swallow = max(a.swallow-1, 0)
		a.log.add(Record{Event: EventEnter})
		return false
	}
	return true
}
