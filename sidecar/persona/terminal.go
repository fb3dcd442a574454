package persona

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Sequences that the programs write to change the terminal's modes.
const (
	pasteOn   = "\x1b[?2004h"
	pasteOff  = "\x1b[?2004l"
	altOn     = "\x1b[?1049h"
	altOff    = "\x1b[?1049l"
	cursorOn  = "\x1b[?25h"
	cursorOff = "\x1b[?25l"
	clearLine = "\x1b[K"
	wipeLine  = "\x1b[2K"
	clearAll  = "\x1b[H\x1b[2J"
	clearPast = "\x1b[3J"
)

// terminal is the input and output of a persona, with the settings of the terminal at the start. Standard input that is
// no terminal is read as it comes.
type terminal struct {
	fd    int
	found *unix.Termios // nil: not a terminal
	out   io.Writer
	err   error // of the first failed write

	gathered *strings.Builder // output to be written at once; nil: each write goes out by itself
}

func openTerminal(in *os.File, out io.Writer) *terminal {
	t := &terminal{fd: int(in.Fd()), out: out}
	if found, err := getTermios(t.fd); err == nil {
		t.found = found
	}
	return t
}

// write writes s. It keeps an error: if the terminal is gone, the end of the input ends the program.
func (t *terminal) write(s string) {
	if t.gathered != nil {
		t.gathered.WriteString(s)
		return
	}
	if s == "" || t.err != nil {
		return
	}
	_, t.err = io.WriteString(t.out, s)
}

// gather collects all output until flush writes it at once.
func (t *terminal) gather() { t.gathered = &strings.Builder{} }

func (t *terminal) flush() {
	if gathered := t.gathered; gathered != nil {
		t.gathered = nil
		t.write(gathered.String())
	}
}

// read returns the available input, at most 64 KiB. io.EOF means that the terminal is gone or, in canonical mode, that
// somebody pressed ^D on an empty line.
func (t *terminal) read() ([]byte, error) {
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(t.fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil, nil
		case err != nil || n <= 0:
			return nil, io.EOF
		}
		return buf[:n], nil
	}
}

// raw passes on every key as it is typed, without echo; output is still processed.
func (t *terminal) raw() {
	t.set(func(s *unix.Termios) {
		s.Iflag &^= unix.BRKINT | unix.ICRNL | unix.INLCR | unix.IGNCR | unix.INPCK | unix.ISTRIP | unix.IXON
		s.Oflag |= unix.OPOST | unix.ONLCR
		s.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN | unix.ISIG
		s.Cc[unix.VMIN], s.Cc[unix.VTIME] = 1, 0
	})
}

// cooked makes the kernel collect and echo lines.
func (t *terminal) cooked() {
	t.set(func(s *unix.Termios) {
		s.Iflag |= unix.ICRNL | unix.IXON
		s.Oflag |= unix.OPOST | unix.ONLCR
		s.Lflag |= unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ICANON | unix.IEXTEN | unix.ISIG
	})
}

// hidden makes the kernel collect lines without echo, as a password prompt does.
func (t *terminal) hidden() {
	t.set(func(s *unix.Termios) {
		s.Iflag |= unix.ICRNL
		s.Oflag |= unix.OPOST | unix.ONLCR
		s.Lflag |= unix.ICANON | unix.IEXTEN | unix.ISIG | unix.ECHONL
		s.Lflag &^= unix.ECHO
	})
}

// restore restores the original settings.
func (t *terminal) restore() { t.set(func(*unix.Termios) {}) }

// set applies change to the original settings. It does not wait for output to drain: nobody may be reading.
func (t *terminal) set(change func(*unix.Termios)) {
	if t.found == nil {
		return
	}
	s := *t.found
	change(&s)
	for errors.Is(setTermios(t.fd, &s), unix.EINTR) {
	}
}

// size returns the size of the terminal in cells, or 80 by 24 if it has none.
func (t *terminal) size() (width, height int) {
	ws, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil || ws.Col == 0 || ws.Row == 0 {
		return 80, 24
	}
	return int(ws.Col), int(ws.Row)
}

// reclaim puts our process group back into the foreground, after a child (a shell with
// job control) that left its own there.
func (t *terminal) reclaim() {
	if t.found == nil {
		return
	}
	// A background process that does this is stopped, unless it ignores SIGTTOU. Children inherit ignored signals, so
	// SIGTTOU is ignored only here, while no child is started.
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, unix.Getpgrp())
}
