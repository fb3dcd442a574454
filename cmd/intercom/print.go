package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/sys/unix"

	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// What is printed for people never contains anything that could act on their terminal: bodies, titles and names come
// from programs that we do not trust. Nothing is coloured, so NO_COLOR has nothing to switch off.

// plain makes text safe to print; see package plain.
func plain(text string) string { return plaintext.Text(text) }

// plainLine is plain for a place where one line is expected.
func plainLine(text string) string { return plaintext.Line(text) }

func acts(r rune) bool { return plaintext.Acts(r) }

// indent puts before in front of each line of text.
func indent(text, before string) string {
	return before + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+before)
}

// printJSON prints one JSON value on one line. It escapes the characters that a terminal acts on; to a parser, that is
// the same value.
func (a *app) printJSON(value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	_, err := io.WriteString(a.Stdout, escapeJSON(b.String()))
	return err
}

func escapeJSON(text string) string {
	if strings.IndexFunc(text, acts) == len(text)-1 {
		return text // the common case: nothing but the line break at its end
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || !acts(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// say prints a line for people.
func (a *app) say(format string, args ...any) {
	a.told()
	fmt.Fprintf(a.Stdout, format+"\n", args...)
}

// table prints rows in columns, as wide as the terminal at most; the first row is the heading.
func (a *app) table(rows [][]string) {
	for _, line := range tableLines(rows, a.width()) {
		a.say("%s", line)
	}
}

// width returns how many columns there are to print in; 0 if the output is not a terminal.
func (a *app) width() int {
	if a.Width > 0 {
		return a.Width
	}
	return int(a.terminalSize().Col)
}

// height returns how many rows the terminal has; 0 if the output is not a terminal.
func (a *app) height() int { return int(a.terminalSize().Row) }

func (a *app) terminalSize() unix.Winsize {
	if f, ok := a.Stdout.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return *size
		}
	}
	return unix.Winsize{}
}

func orDash(cell string) string {
	if cell == "" {
		return "-"
	}
	return cell
}

func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

func day(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
