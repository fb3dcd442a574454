package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// line is what a person types in a popup, and where the cursor stands in it, in characters.
type line struct {
	text []rune
	at   int
}

// press applies a key. A key that means nothing here is left alone.
func (l *line) press(key string) {
	switch key {
	case "left":
		l.at = max(0, l.at-1)
	case "right":
		l.at = min(len(l.text), l.at+1)
	case "home":
		l.at = 0
	case "end":
		l.at = len(l.text)
	case "backspace":
		l.cut(l.at-1, l.at)
	case "delete":
		l.cut(l.at, l.at+1)
	case "kill": // all before the cursor
		l.cut(0, l.at)
	case "word": // the word before the cursor
		from := l.at
		for from > 0 && unicode.IsSpace(l.text[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(l.text[from-1]) {
			from--
		}
		l.cut(from, l.at)
	default:
		r, size := utf8.DecodeRuneInString(key)
		if size != len(key) || r == utf8.RuneError || acts(r) && r != '\u200c' {
			return
		}
		l.text = append(l.text[:l.at:l.at], append([]rune{r}, l.text[l.at:]...)...)
		l.at++
	}
}

// cut takes characters out, as far as they are there.
func (l *line) cut(from, to int) {
	from, to = max(0, from), min(len(l.text), to)
	if from >= to {
		return
	}
	l.text = append(l.text[:from:from], l.text[to:]...)
	l.at = from
}

// lineAsked is what a popup asks a line for.
type lineAsked struct {
	prompt  string
	empty   bool   // no text is an answer, too; else it closes the popup
	working string // what is shown while it is taken

	// first is asked before the line is taken, nil for nothing: it may ask a question in the popup.
	first func(context.Context) error
	// take does what the line is for, and returns what is told at the client.
	take func(ctx context.Context, text string) (string, error)
}

// askLine asks for a line in a popup, and takes it. What fails is said below the line, which
// stays there to be mended, sent once more, or copied; escape leaves.
func (a *app) askLine(ctx context.Context, o origin, k *keyboard, asked lineAsked) error {
	a.popup = k
	defer func() { a.popup = nil }()
	var l line
	trouble := ""
	for {
		k.drawLine(asked.prompt, &l, trouble, "Enter sends, Esc leaves")
		key, err := k.next(ctx)
		switch {
		case err != nil, key == "escape":
			return nil //nolint:nilerr // closed: nothing is to be said
		case key != "enter":
			l.press(key)
			continue
		}
		text := strings.TrimSpace(string(l.text))
		if text == "" && !asked.empty {
			return nil
		}
		k.drawLine(asked.prompt, &l, asked.working, "Esc leaves")
		var told string
		err = nil
		if asked.first != nil {
			err = asked.first(ctx)
		}
		if err == nil {
			var open bool
			told, open, err = k.taken(ctx, func(ctx context.Context) (string, error) { return asked.take(ctx, text) })
			if !open {
				return nil
			}
		}
		if err == nil {
			return a.handOver(o, "told", told)
		}
		why := api.AsError(err)
		trouble = a.byKeys(ctx, why.Text)
		if why.Hint != "" {
			trouble += "\n→ " + a.byKeys(ctx, why.Hint)
		}
	}
}

// taken does something, while keys other than escape are dropped: they were typed too late for
// the line. open is false if that one closed the popup.
func (k *keyboard) taken(ctx context.Context, do func(context.Context) (string, error)) (told string, open bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		told, err = do(ctx)
	}()
	for {
		select {
		case <-done:
			return told, true, err
		case <-ctx.Done():
			return "", false, nil
		case key, ok := <-k.keys:
			if !ok || key == "escape" {
				return "", false, nil
			}
		}
	}
}

// drawLine shows a prompt, the line below it with the cursor in its place, what there is to say
// of it, and by which keys one goes on.
func (k *keyboard) drawLine(prompt string, l *line, says, help string) {
	width, height := k.size()
	rows := append(broken(plainLine(prompt), width), "")
	before := lineRows("> "+string(l.text[:l.at])+"_", width) // the cursor's own cell has to fit, too
	cursor := len(rows) + len(before)
	column := strings.TrimSuffix(before[len(before)-1], "_")
	rows = append(append(rows, lineRows("> "+string(l.text), width)...), "")
	if cursor >= len(rows) {
		rows = append(rows, "")
	}
	if says != "" {
		for part := range strings.SplitSeq(says, "\n") {
			rows = append(rows, broken(plainLine(part), width)...)
		}
		rows = append(rows, "")
	}
	for _, part := range broken(help, width) {
		rows = append(rows, "\x1b[2m"+part)
	}
	if over := len(rows) - height; over > 0 { // the line is longer than the popup: its cursor is seen
		from := min(over, max(0, cursor-max(1, height/2)))
		rows, cursor = rows[from:min(len(rows), from+height)], cursor-from
	}
	k.draw(rows)
	_, _ = io.WriteString(k.out, fmt.Sprintf("\x1b[%d;%dH\x1b[?25h", cursor, cellsOf(column)+1))
}

// lineRows are the rows of a line that is being typed, blanks at its end included.
func lineRows(text string, width int) (rows []string) {
	for {
		first := row(text, width)
		rows = append(rows, first)
		if text = text[len(first):]; text == "" {
			return rows
		}
	}
}

// confirm asks a question in a popup that has the terminal already. Only y is a yes, and what
// was typed before the question is no answer.
func (k *keyboard) confirm(ctx context.Context, question string) bool {
	k.forget()
	width, height := k.size()
	var rows []string
	for part := range strings.SplitSeq(question+" [y/N]", "\n") {
		rows = append(rows, broken(plainLine(part), width)...)
	}
	k.draw(rows[max(0, len(rows)-height):])
	for {
		switch key, err := k.next(ctx); {
		case err != nil:
			return false
		case key != "":
			return key == "y" || key == "Y"
		}
	}
}
