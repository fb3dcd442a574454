package persona

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// spinnerFrames has the frames of the spinner.
var spinnerFrames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// most is the largest number of lines that :lines prints.
const most = 1_000_000

// command runs a command of the line program, beyond those of all personas.
func (l *line) command(text string) error {
	verb, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case ":clear":
		l.clear(clearAll)
	case ":clear3":
		l.clear(clearAll + clearPast)
	case ":alt":
		return wrap(text, l.alt(rest))
	case ":lines":
		var n int
		if _, err := fmt.Sscan(rest, &n); err != nil || n < 1 || n > most {
			return fmt.Errorf("command %q: want a number from 1 to %d", text, most)
		}
		l.number(n)
	case ":flood", ":spin", ":sleep":
		d, err := time.ParseDuration(rest)
		if err != nil {
			return wrap(text, err)
		}
		switch verb {
		case ":flood":
			l.pour(d)
		case ":spin":
			l.occupy()
			l.spin(d, l.release)
		case ":sleep":
			l.occupy()
			l.loop.after(d, l.release)
		}
	case ":hold":
		l.occupy()
		l.held++
	case ":go":
		if l.held == 0 {
			return errors.New("nothing is held")
		}
		for ; l.held > 0; l.held-- {
			l.release()
		}
	case ":exec":
		return wrap(text, l.exec(rest))
	case ":password":
		l.ask()
	case ":prompt":
		was := ""
		if l.shown {
			was = l.erase()
		}
		l.prompt = unescape(strings.TrimPrefix(text, ":prompt "))
		if l.shown {
			l.term.write(was + l.draw())
		}
	case ":draft":
		if !l.shown || l.kernelEdits {
			return fmt.Errorf("command %q: no composer is shown", text)
		}
		l.insert(rest)
	case ":unseen":
		l.unseen += rest
	case ":cursor":
		return wrap(text, l.cursor(rest))
	case ":bracketed":
		l.bracketed = rest != "off"
		if l.bracketed {
			l.term.write(pasteOn)
		} else {
			l.term.write(pasteOff)
		}
	default:
		return fmt.Errorf("no command %q", verb)
	}
	return nil
}

func (l *line) change(what string) []string {
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
		return []string{":raw \\r\\x1b[Ka line of its own\\n", ":prompt " + l.prompt}
	case "draft":
		return []string{":draft and a person's words"}
	}
	return []string{":" + strings.TrimPrefix(what, ":")}
}

// clear clears the screen; prompt and composer reappear at its top.
func (l *line) clear(how string) {
	l.moved = 0
	if l.shown {
		how += l.draw()
	}
	l.term.write(how)
}

// alt switches to the alternate screen and back.
func (l *line) alt(how string) error {
	switch how {
	case "on":
		if !l.alternate {
			l.alternate = true
			l.term.write(altOn + clearAll + l.name + " on the alternate screen\n")
		}
	case "off":
		if l.alternate {
			l.alternate = false
			l.term.write(altOff)
			if l.shown && len(l.delayed) > 0 {
				l.term.write(l.erase())
				l.shown = false
			}
			l.ready()
			l.work()
		}
	default:
		d, err := time.ParseDuration(how)
		if err != nil {
			return err
		}
		l.alt("on")
		l.loop.after(d, func() { l.alt("off") })
	}
	return nil
}

func (l *line) cursor(how string) error {
	switch how {
	case "hide":
		l.hidden = true
		l.term.write(cursorOff)
	case "show":
		l.hidden = false
		l.term.write(cursorOn)
	case "move":
		l.moved++
		l.term.write("\x1b[D")
	default:
		return errors.New("want hide, show or move")
	}
	return nil
}

// number prints n lines, all different, as one answer.
func (l *line) number(n int) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%s line %d of %d: %s", l.name, i+1, n, words(l.name, n, i+1))
	}
	text := strings.Join(lines, "\n")
	l.print(text)
	l.log.add(Record{Event: EventSaid, Text: text})
}

// pour prints lines for d, as fast as they are taken. The loop handles other events between two chunks.
func (l *line) pour(d time.Duration) {
	l.occupy()
	end, n := time.Now().Add(d), 0
	var more func()
	more = func() {
		if time.Now().After(end) {
			l.log.add(Record{Event: EventFlood, N: n})
			l.release()
			return
		}
		var b strings.Builder
		for range 200 {
			n++
			fmt.Fprintf(&b, "%s flood %d: abcdefghijklmnopqrstuvwxyz 0123456789\n", l.name, n)
		}
		l.term.write(b.String())
		l.loop.after(0, more)
	}
	more()
}

// spin redraws a spinner on one line for d, removes it and goes on with then.
func (l *line) spin(d time.Duration, then func()) {
	if d <= 0 {
		then()
		return
	}
	began, frame := time.Now(), 0
	var turn func()
	turn = func() {
		gone := time.Since(began)
		if gone >= d {
			if !l.away() {
				l.term.write("\r" + clearLine)
			}
			then()
			return
		}
		if !l.away() {
			l.term.write(fmt.Sprintf("\r%c working, %ds%s", spinnerFrames[frame%len(spinnerFrames)], int(gone.Seconds()), clearLine))
		}
		frame++
		l.loop.after(min(100*time.Millisecond, d-gone), turn)
	}
	turn()
}

// exec gives the terminal to another program until it ends.
func (l *line) exec(command string) error {
	if l.child != nil {
		return errors.New("another program is running")
	}
	l.occupy()
	if l.bracketed {
		l.term.write(pasteOff)
	}
	l.term.restore()
	c, err := l.start(command, l.opt.Stdin, l.opt.Stdin, func(int) { l.back() })
	if err != nil {
		l.back()
		return err
	}
	l.child = c
	return nil
}

// back takes the terminal back.
func (l *line) back() {
	l.child = nil
	l.term.reclaim()
	l.ownTerminal()
	l.release()
}

// ask reads one line as a password prompt does.
func (l *line) ask() {
	if l.secret {
		return
	}
	out := ""
	if l.shown {
		out = l.erase()
		l.shown = false
	}
	l.secret = true
	l.term.hidden()
	l.term.write(out + "Password: ")
}
