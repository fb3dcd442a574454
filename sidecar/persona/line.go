package persona

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"
)

// line is the line program.
type line struct {
	agent
	prompt, continuation      string
	kernelEdits, bracketed    bool
	banner                    int
	flood                     time.Duration
	decoder                   decoder
	queue                     []key    // decoded, but not handled yet: a busy program does not read
	half                      []byte   // part of a line that the kernel has not finished
	composer                  string   // text typed since the prompt
	unseen                    string   // text after it that is drawn at the next key
	shown                     bool     // prompt and composer are on the screen, with the cursor at their end
	moved                     int      // how many columns left of there :cursor move has put the cursor
	busy                      int      // number of reasons not to show a prompt
	held                      int      // how many of them :go ends
	alternate, hidden, secret bool     // alternate screen on; cursor hidden; reading a password
	delayed                   []string // texts said while something else had the screen
}

// Line runs the line program; see the package comment for its flags. It returns the exit code: 2 for wrong usage, 130
// for ^C, 128+n for signal n.
func Line(ctx context.Context, opt Options) int {
	l := &line{agent: agent{opt: opt}}
	set := flag.NewFlagSet("persona line", flag.ContinueOnError)
	set.StringVar(&l.prompt, "prompt", "> ", "prompt")
	set.StringVar(&l.continuation, "continuation", "… ", "stands before further lines in the composer")
	set.BoolVar(&l.kernelEdits, "cooked", false, "let the kernel edit and echo")
	set.BoolVar(&l.bracketed, "bracketed", false, "switch bracketed paste on")
	set.IntVar(&l.banner, "banner", 0, "lines before the first prompt")
	set.DurationVar(&l.flood, "flood", 0, "flood before the first prompt")
	if code, ok := l.parse(set); !ok {
		return code
	}
	if l.kernelEdits && l.bracketed {
		fmt.Fprintln(opt.Stderr, "persona: --bracketed needs an editor of its own, and --cooked has none")
		return 2
	}
	l.prompt, l.continuation = unescape(l.prompt), unescape(l.continuation)
	return l.serve(ctx, l)
}

func (l *line) begin() {
	l.ownTerminal()
	var b strings.Builder
	for i := 1; i <= l.banner; i++ {
		fmt.Fprintf(&b, "%s banner %d: %s\n", l.name, i, words(l.name, -i, 1))
	}
	l.term.write(b.String())
	if l.flood > 0 {
		l.pour(l.flood)
		return
	}
	l.ready()
}

// ownTerminal sets the terminal modes in which the program reads.
func (l *line) ownTerminal() {
	if l.kernelEdits {
		l.term.cooked()
	} else {
		l.term.raw()
	}
	if l.bracketed {
		l.term.write(pasteOn)
	}
}

// away reports whether something else has the screen.
func (l *line) away() bool { return l.alternate || l.child != nil }

func (l *line) reading() bool {
	return l.child == nil && (l.secret || l.alternate || l.shown && l.busy == 0)
}

// occupy removes prompt and composer from the screen until release.
func (l *line) occupy() {
	if l.shown {
		l.term.write(l.erase())
		l.shown = false
	}
	l.busy++
}

// release shows the prompt again when nothing keeps the program busy any more.
func (l *line) release() {
	if l.busy--; l.busy == 0 {
		l.ready()
	}
}

// ready shows prompt and composer, and handles the keys that arrived meanwhile.
func (l *line) ready() {
	if l.busy > 0 || l.away() || l.secret || l.shown {
		return
	}
	out := ""
	for _, text := range l.delayed {
		out += text + "\n"
	}
	l.delayed = nil
	l.shown = true
	l.term.write(out + l.draw())
	l.log.add(Record{Event: EventReady})
	l.work()
}

func (l *line) input(data []byte) {
	switch {
	case l.alternate:
		// A full-screen program would act on the keys; this one only logs them.
	case l.kernelEdits || l.secret:
		l.half = append(l.half, data...)
		l.work()
	default:
		l.queue = append(l.queue, l.decoder.feed(data)...)
		if l.decoder.waiting() {
			l.loop.after(50*time.Millisecond, func() {
				l.queue = append(l.queue, l.decoder.flush()...)
				l.work()
			})
		}
		l.work()
	}
}

// work handles the input for as long as the program would read.
func (l *line) work() {
	for l.reading() && !l.alternate && !l.loop.ended {
		if l.kernelEdits || l.secret {
			text, rest, whole := strings.Cut(string(l.half), "\n")
			if !whole {
				return
			}
			l.half = []byte(rest)
			if l.secret {
				l.learn(text)
			} else {
				l.shown = false
				l.submit(text)
			}
			continue
		}
		if len(l.queue) == 0 {
			return
		}
		k := l.queue[0]
		l.queue = l.queue[1:]
		l.press(k)
	}
}

// press acts on one key at the prompt.
func (l *line) press(k key) {
	if unseen := l.unseen; unseen != "" {
		l.unseen = ""
		l.insert(unseen)
	}
	switch k.kind {
	case keyText:
		l.insert(k.text)
	case keyPaste:
		l.log.add(Record{Event: EventPaste, Text: k.text})
		l.insert(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(k.text))
	case keyErase:
		if r := []rune(l.composer); len(r) > 0 {
			l.replace(string(r[:len(r)-1]))
		}
	case keyKill:
		l.replace("")
	case keyEnter:
		if !l.enters() {
			return
		}
		text := l.composer
		l.term.write(l.settle() + "\n")
		l.composer, l.shown = "", false
		l.submit(text)
	case keyCancel:
		l.loop.quit(130)
	case keyEOF:
		if l.composer == "" {
			l.loop.quit(0)
		}
	default:
		l.log.add(Record{Event: EventKey, Text: k.text})
	}
}

// submit takes a message, or a command, and answers.
func (l *line) submit(text string) {
	if text == "" {
		l.log.add(Record{Event: EventEmpty})
		l.ready()
		return
	}
	if l.commands && strings.HasPrefix(text, ":") {
		l.log.add(Record{Event: EventCommand, Text: text})
		if err := l.run(text); err != nil {
			l.term.write(err.Error() + "\n")
		}
		if !l.loop.ended {
			l.ready()
		}
		return
	}
	l.received++
	n := l.received
	l.log.add(Record{Event: EventReceived, N: n, Text: text})
	l.busy++
	l.loop.after(l.think, func() {
		l.spin(l.spinner, func() {
			if words, ok := l.reply.to(n, text); ok {
				l.print(words)
				l.log.add(Record{Event: EventSaid, N: n, Text: words})
			} else {
				l.log.add(Record{Event: EventSilent, N: n})
			}
			l.release()
		})
	})
}

// learn handles the line that was read without echo.
func (l *line) learn(text string) {
	l.secret = false
	l.log.add(Record{Event: EventPassword, Text: text})
	l.ownTerminal()
	l.ready()
}

func (l *line) unasked(text string) { l.print(text) }

// print prints text on lines of its own. Prompt and composer make room and reappear below it, in one write.
func (l *line) print(text string) {
	switch {
	case l.away():
		l.delayed = append(l.delayed, text)
	case l.shown:
		l.term.write(l.erase() + text + "\n" + l.draw())
	default:
		l.term.write(text + "\n")
	}
}

func (l *line) resized() {
	if l.shown && !l.away() && !l.kernelEdits {
		l.term.write(l.erase() + l.draw())
	}
}

func (l *line) leave() {
	out := ""
	if l.shown {
		out = l.settle() + "\n"
	}
	if l.alternate {
		out += altOff
	}
	if l.hidden {
		out += cursorOn
	}
	if l.bracketed {
		out += pasteOff
	}
	l.term.write(out)
}

// insert adds text at the end of the composer; the terminal wraps it.
func (l *line) insert(text string) {
	l.composer += text
	l.term.write(l.settle() + l.visible(text) + l.overhang())
}

// replace replaces the text of the composer.
func (l *line) replace(text string) {
	out := l.erase()
	l.composer = text
	l.term.write(out + l.draw())
}

// visible returns text as the composer shows it: further lines after the continuation mark, a tab as four blanks, and
// without characters that would move the cursor.
func (l *line) visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("\n" + l.continuation)
		case r == '\t':
			b.WriteString("    ")
		case r < 0x20 || r >= 0x7f && r < 0xa0:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// draw returns the sequence that shows prompt and composer from the beginning of a line.
func (l *line) draw() string {
	if l.kernelEdits {
		return l.prompt
	}
	return l.prompt + l.visible(l.composer) + l.overhang()
}

// erase returns the sequence that removes prompt and composer, however many rows they fill, and leaves the cursor where
// they began. An unfinished line in the kernel's editor stays there unseen: like others that let the kernel edit, the
// program does not know it.
func (l *line) erase() string {
	if l.kernelEdits {
		return "\r" + clearLine
	}
	_, height := l.term.size()
	rows, _ := l.extent()
	// Clear row by row: "clear to the end of the screen" from the first row makes tmux keep the cleared text in its
	// history.
	return l.settle() + "\r" + wipeLine + strings.Repeat("\x1b[A"+wipeLine, min(rows, height-1))
}

// settle returns the sequence that moves the cursor back from where :cursor move put it.
func (l *line) settle() string {
	if l.moved == 0 {
		return ""
	}
	out := fmt.Sprintf("\x1b[%dC", l.moved)
	l.moved = 0
	return out
}

// overhang returns the sequence that moves the cursor to the next row if the text fills its last row: there a terminal
// waits for one more character before it wraps.
func (l *line) overhang() string {
	if _, full := l.extent(); full {
		return " \r"
	}
	return ""
}

// extent returns the number of rows of prompt and composer beyond the first, and whether their last row is full.
func (l *line) extent() (rows int, full bool) {
	width, _ := l.term.size()
	col := 0
	for _, r := range plain(l.prompt) + l.visible(l.composer) {
		if r == '\n' {
			rows, col = rows+1, 0
			continue
		}
		w := runeWidth(r)
		if col+w > width {
			rows, col = rows+1, 0
		}
		col += w
	}
	if col == width {
		return rows + 1, true
	}
	return rows, false
}
