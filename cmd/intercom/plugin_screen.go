package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// A popup's program reads keys one by one. One goroutine does nothing but that, and one looks
// for what is to be shown first, so that a popup closes at once whatever it waits for. Both
// end with the program; all else is done by whoever called.

// keyboard is the terminal of a popup in raw mode.
type keyboard struct {
	fd     int
	found  *unix.Termios
	raw    *unix.Termios
	keys   chan string
	early  []string // that were typed before anybody waited for them
	resize chan os.Signal
	out    io.Writer
}

// errNoTerminal is the error of what makes sense only in a popup.
var errNoTerminal = api.Errorf(api.CodeUsage, "this needs a terminal").WithHint("it is run by the keys of the tmux plugin")

// openKeyboard takes the terminal over. What was typed before is not lost: somebody who
// knows the keys by heart is faster than a popup.
func (a *app) openKeyboard() (*keyboard, error) {
	in, ok := a.Stdin.(*os.File)
	if !ok {
		return nil, errNoTerminal
	}
	fd := int(in.Fd())
	found, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, errNoTerminal
	}
	raw := *found
	raw.Iflag &^= unix.BRKINT | unix.ICRNL | unix.INLCR | unix.IGNCR | unix.ISTRIP | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN | unix.ISIG
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	k := &keyboard{fd: fd, found: found, raw: &raw, keys: make(chan string), resize: make(chan os.Signal, 1), out: a.Stdout}
	signal.Notify(k.resize, syscall.SIGWINCH)
	_, _ = io.WriteString(k.out, "\x1b[?25l\x1b[?7l") // no cursor, and what is too wide is cut off
	go k.read(in)
	return k, nil
}

// read hands over the keys that were typed until the terminal is gone.
func (k *keyboard) read(in io.Reader) {
	defer close(k.keys)
	buf := make([]byte, 256)
	for {
		n, err := in.Read(buf)
		for _, key := range keysOf(buf[:n]) {
			k.keys <- key
		}
		if err != nil {
			return
		}
	}
}

// close gives the terminal back.
func (k *keyboard) close() {
	signal.Stop(k.resize)
	_, _ = io.WriteString(k.out, "\x1b[?7h\x1b[?25h\x1b[0m")
	_ = unix.IoctlSetTermios(k.fd, setTermios, k.found)
}

// size is that of the terminal, in cells.
func (k *keyboard) size() (width, height int) {
	ws, err := unix.IoctlGetWinsize(k.fd, unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 || ws.Row == 0 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}

// draw shows lines, and nothing else. Each row is wiped before it is written: a cursor behind a
// row that is full stands on its last cell, which is what would be wiped there.
func (k *keyboard) draw(lines []string) {
	var screen strings.Builder
	screen.WriteString("\x1b[H")
	for i, line := range lines {
		if i < len(lines)-1 {
			screen.WriteString("\x1b[0m\x1b[K" + line + "\r\n")
		} else {
			screen.WriteString("\x1b[0m\x1b[J" + line + "\x1b[0m")
		}
	}
	_, _ = io.WriteString(k.out, screen.String())
}

// next waits for a key or for another size: then it is "". It is errClosed at the end of
// the terminal, or of ctx.
func (k *keyboard) next(ctx context.Context) (string, error) {
	if len(k.early) > 0 {
		key := k.early[0]
		k.early = k.early[1:]
		return key, nil
	}
	select {
	case <-ctx.Done():
		return "", errClosed
	case <-k.resize:
		return "", nil
	case key, ok := <-k.keys:
		if !ok {
			return "", errClosed
		}
		return key, nil
	}
}

// forget drops what was typed before.
func (k *keyboard) forget() {
	k.early = nil
	for {
		select {
		case _, open := <-k.keys:
			if !open {
				return
			}
		default:
			_ = unix.IoctlSetTermios(k.fd, setTermiosFlush, k.raw)
			return
		}
	}
}

// meanwhile gathers the keys that are typed until done is closed. open is false if one of
// them closes the popup, which does not wait for that.
func (k *keyboard) meanwhile(ctx context.Context, done <-chan struct{}) (typed []string, open bool) {
	for {
		select {
		case <-done:
			return typed, true
		case <-k.resize:
		case <-ctx.Done():
			return typed, false
		case key, ok := <-k.keys:
			if !ok || key == "q" || key == "escape" {
				return typed, false
			}
			typed = append(typed, key)
		}
	}
}

// look has something looked for that is to be shown, and keeps what is typed meanwhile. The error
// is errClosed if a key closed the popup.
func (k *keyboard) look(ctx context.Context, says string, look func(context.Context) error) (err error) {
	k.draw([]string{says})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		err = look(ctx)
	}()
	typed, open := k.meanwhile(ctx, looked)
	if !open {
		return errClosed
	}
	k.early = append(k.early, typed...)
	return err
}

var errClosed = errors.New("the popup was closed")

// unlessClosed is an error that a person is to hear of: that the popup was closed they know.
func unlessClosed(err error) error {
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

// keyNames are the keys that are more than a character.
var keyNames = map[string]string{
	"\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
	"\x1b[5~": "page-up", "\x1b[6~": "page-down", "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end",
	"\x1b[C": "right", "\x1bOC": "right", "\x1b[D": "left", "\x1bOD": "left", "\x1bOH": "home", "\x1bOF": "end", "\x1b[3~": "delete",
	"\x7f": "backspace", "\x08": "backspace", "\x01": "home", "\x05": "end", "\x15": "kill", "\x17": "word",
	"\r": "enter", "\n": "enter", "\x03": "escape", "\x04": "escape", "\x1b": "escape",
}

// keysOf takes what was read apart into keys. A sequence that nobody knows is no key.
func keysOf(in []byte) (keys []string) {
	for len(in) > 0 {
		n := 1
		switch {
		case in[0] == 0x1b && len(in) > 2 && (in[1] == '[' || in[1] == 'O'):
			for n = 3; n < len(in) && in[n-1] < 0x40; n++ {
			}
		case in[0] >= utf8.RuneSelf:
			_, n = utf8.DecodeRune(in)
		}
		key := string(in[:n])
		in = in[n:]
		if name := keyNames[key]; name != "" {
			keys = append(keys, name)
		} else if key[0] >= ' ' && key[0] != 0x7f {
			keys = append(keys, key)
		}
	}
	return keys
}

// sheet is a text that a popup shows, in pages where it is longer.
type sheet struct {
	title, help string
	render      func(width int) string
	keys        []string // that close it besides, each once the text is drawn
	whole       bool     // they count only once its end was drawn
}

// page shows a text until it is closed. It returns which of its keys was pressed, "" if it was closed.
func (k *keyboard) page(ctx context.Context, s sheet) (pressed string) {
	k.draw([]string{"…"})
	var text string
	rendered := make(chan struct{})
	go func() {
		defer close(rendered)
		width, _ := k.size()
		text = s.render(width)
	}()
	typed, open := k.meanwhile(ctx, rendered)
	if !open {
		return ""
	}
	typed = slices.DeleteFunc(typed, func(key string) bool { return s.whole || slices.Contains(s.keys, key) })
	top, seen := 0, !s.whole
	for {
		width, height := k.size()
		lines := pageLines(text, width)
		room := pageRoom(lines, s.title, s.help, width, height)
		last := max(0, len(lines)-room)
		top = min(max(top, 0), last)
		k.draw(pageFrame(lines, top, s.title, s.help, width, height))
		seen = seen || top == last
		key := ""
		if len(typed) > 0 {
			key, typed = typed[0], typed[1:]
		} else {
			var err error
			if key, err = k.next(ctx); err != nil {
				return "" // closed
			}
		}
		if seen && slices.Contains(s.keys, key) {
			return key
		}
		switch key {
		case "q", "escape", "enter":
			return ""
		case "up", "k":
			top--
		case "down", "j":
			top++
		case "page-up", "b":
			top -= room
		case "page-down", " ":
			top += room
		case "home", "g":
			top = 0
		case "end", "G":
			top = last
		case "r":
			text, seen = s.render(width), !s.whole
		}
	}
}

// pageLines are the lines of text, those that are too wide continued on the next one.
func pageLines(text string, width int) (lines []string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = plainLine(line)
		for {
			first := row(line, width)
			lines = append(lines, first)
			if line = line[len(first):]; line == "" {
				break
			}
		}
	}
	return lines
}

// pageBar says below a page which part of it is shown, and by which keys one goes on.
func pageBar(lines []string, from, to int, title, help string, width, height int) []string {
	bar := broken(" intercom "+title+": "+help, width)
	if len(lines) > height-len(bar) {
		bar = broken(fmt.Sprintf(" intercom %s: %d to %d of %d lines, space and b scroll, %s", title, from, to, len(lines), help), width)
	}
	return bar[:min(len(bar), max(0, height-1))]
}

// pageRoom is how many of the lines a popup of that size shows at once.
func pageRoom(lines []string, title, help string, width, height int) int {
	return max(1, height-len(pageBar(lines, len(lines), len(lines), title, help, width, height)))
}

// pageFrame is what a popup of that size shows of lines, none of them too wide, from the line
// top on.
func pageFrame(lines []string, top int, title, help string, width, height int) []string {
	room := pageRoom(lines, title, help, width, height)
	shown := make([]string, 0, height)
	for i := range room {
		line := ""
		if top+i < len(lines) {
			line = lines[top+i]
		}
		shown = append(shown, line)
	}
	for _, line := range pageBar(lines, top+1, min(top+room, len(lines)), title, help, width, height) {
		shown = append(shown, "\x1b[7m"+padded(line, width))
	}
	for len(shown) < height { // the numbers took a row less than they may
		shown = append(shown, "")
	}
	return shown
}

// maxHanded is more than a line of a terminal has bytes.
const maxHanded = 64 << 10

// handOver has another key's command go on with what a popup was told, and lets the popup
// close at once: as long as it is there it swallows what is typed, and where it goes in the
// middle of that, the rest goes into the pane below. Text goes through a pipe, since anybody
// may read a command line.
func (a *app) handOver(o origin, use, text string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	defer w.Close()
	defer r.Close()
	if _, err := io.WriteString(w, text[:min(len(text), maxHanded)]); err != nil { // a pipe holds so much
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	cmd := &exec.Cmd{
		Path: exe, Args: []string{"intercom", "plugin", use, "--server=" + a.tmuxServer(), "--origin", o.Client + " " + o.Pane},
		Dir: "/", Stdin: r, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if a.Environ != nil {
		cmd.Env = a.Environ()
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("hand over from the popup: %w", err)
	}
	// It reads all of the text first, and so does nothing before the sidecar knows it for this
	// one's heir.
	a.pressed(context.Background(), o, api.PressedRequest{Successor: cmd.Process.Pid})
	return cmd.Process.Release()
}

// handed is what handOver has handed over.
func (a *app) handed() string {
	text, _ := io.ReadAll(io.LimitReader(a.Stdin, maxHanded))
	return string(text)
}
