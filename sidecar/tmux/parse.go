package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
)

var (
	// ErrNoPane says that the server has no such pane (any more).
	ErrNoPane = errors.New("no such pane")
	// ErrNoServer says that no server answers on the socket.
	ErrNoServer = errors.New("no tmux server")
)

// A commandError is the server's refusal of one command of a batch.
type commandError struct {
	index int    // of the command in the batch
	text  string // what tmux said
}

func (e *commandError) Error() string {
	if e.text == "" {
		return "tmux gave no reason"
	}
	return e.text
}

// Unwrap returns the errors that callers branch on. tmux distinguishes them by text alone, which is
// the same on every version.
func (e *commandError) Unwrap() error {
	switch {
	case strings.HasPrefix(e.text, "can't find pane"), strings.HasPrefix(e.text, "can't find window"),
		strings.HasPrefix(e.text, "can't find session"):
		return ErrNoPane
	case strings.HasPrefix(e.text, "no server running"), strings.HasPrefix(e.text, "error connecting to") && nothingListens(e.text),
		strings.HasPrefix(e.text, "server exited"), strings.HasPrefix(e.text, "lost server"),
		strings.HasPrefix(e.text, "no sessions"):
		return ErrNoServer
	}
	return nil
}

// nothingListens reports whether tmux could not connect because nothing listens. A socket that may
// not be used, or whose queue is full, may well have a server.
func nothingListens(text string) bool {
	for _, why := range []syscall.Errno{syscall.ENOENT, syscall.ECONNREFUSED} {
		if strings.HasSuffix(strings.ToLower(text), "("+why.Error()+")") {
			return true
		}
	}
	return false
}

// unframe cuts the output of a framed batch into the replies of its n commands. It returns the
// complete replies, and reports whether those are all.
func unframe(out []byte, nonce string, n int) ([]string, bool) {
	replies := make([]string, 0, n)
	_, rest, found := bytes.Cut(out, []byte(mark(nonce, 0)+"\n"))
	for i := 1; found && i <= n; i++ {
		var reply []byte
		reply, rest, found = bytes.Cut(rest, []byte(mark(nonce, i)+"\n"))
		if found {
			replies = append(replies, string(reply))
		}
	}
	return replies, len(replies) == n
}

// lines splits the output of a command into lines.
func lines(reply string) []string {
	if reply == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(reply, "\n"), "\n")
}

// parseLook reads the replies to lookCommands.
func parseLook(pane string, history int, replies []string) (Look, error) {
	fields := strings.SplitN(strings.TrimSuffix(replies[0], "\n"), "|", len(compared)+toldFields)
	if len(fields) != len(compared)+toldFields {
		return Look{}, fmt.Errorf("facts %q: %d fields", replies[0], len(fields))
	}
	if fields[0] != pane {
		return Look{}, ErrNoPane
	}
	var n numbers
	facts := Facts{
		Dead:          n.flag(fields[1]),
		InMode:        n.flag(fields[2]),
		InputOff:      n.flag(fields[3]),
		Synchronised:  n.flag(fields[4]),
		PID:           n.number(fields[5]),
		Alternate:     n.flag(fields[6]),
		CursorVisible: n.flag(fields[7]),
		CursorX:       n.number(fields[8]),
		CursorY:       n.number(fields[9]),
		HistorySize:   n.number(fields[10]),
		Width:         n.number(fields[11]),
		raw:           strings.Join(fields[:len(compared)], "|"),
	}
	rest := fields[len(compared):]
	facts.HistoryLimit, facts.Height = n.number(rest[0]), n.number(rest[1])
	facts.TTY, facts.Mode, facts.Mark, facts.Title = rest[3], rest[4], rest[6], rest[7]
	facts.Unbracketed = rest[5] != "" && !n.flag(rest[5])
	if n.err == nil {
		n.err = checkActivity(rest[2])
	}
	if n.err != nil {
		return Look{}, fmt.Errorf("facts %q: %w", replies[0], n.err)
	}
	look := Look{Facts: facts, Rows: lines(replies[1]), Keys: Keys{session: strings.Clone(rest[2])}}
	for i, r := range look.Rows {
		look.Rows[i] = expandTabs(r, 0)
	}
	if history >= 0 {
		look.Lines = lines(replies[2])
		for i, l := range look.Lines {
			look.Lines[i] = strings.TrimRight(expandTabs(l, facts.Width), " ")
		}
		look.Complete = facts.HistorySize <= history
	}
	return look, nil
}

// numbers reads fields and keeps the first error.
type numbers struct{ err error }

func (n *numbers) number(s string) int {
	if s == "" { // a fact that this pane or version does not have
		return 0
	}
	v, err := strconv.Atoi(s)
	if err != nil && n.err == nil {
		n.err = fmt.Errorf("number %q: %w", s, err)
	}
	return v
}

func (n *numbers) flag(s string) bool { return n.number(s) != 0 }

// records splits a reply to a format made by command.Row into its records of n fields.
func records(reply, sep string, n int) ([][]string, error) {
	parts := strings.Split(reply, sep)
	if (len(parts)-1)%(n+1) != 0 {
		return nil, fmt.Errorf("rows: %d fields are no multiple of %d", len(parts)-1, n)
	}
	var all [][]string
	for i := 0; i+1 < len(parts); i += n + 1 {
		if parts[i] != "" && parts[i] != "\n" { // between two records
			return nil, fmt.Errorf("row %q: text outside its fields", parts[i])
		}
		record := parts[i+1 : i+n+1]
		for j, field := range record {
			record[j] = strings.Clone(field) // a field that is kept must not keep the whole reply
		}
		all = append(all, record)
	}
	return all, nil
}

// expandTabs replaces each TAB by blanks up to the next column that is a multiple of eight, as tmux
// before 3.6 does itself. Escape sequences take no room. width is the width of the pane if s was
// joined from several rows, and 0 if s is a single row.
func expandTabs(s string, width int) string {
	if !strings.ContainsRune(s, '\t') {
		return s
	}
	var b strings.Builder
	col := 0
	for i := 0; i < len(s); {
		if n := escapeLength(s[i:]); n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		r, n := decodeRune(s[i:])
		if r == '\t' {
			stop := col - col%8 + 8
			if width > 0 {
				stop = min(stop, width)
			}
			b.WriteString(strings.Repeat(" ", stop-col))
			col = stop
		} else {
			w := cellWidth(r)
			if width > 0 && col+w > width {
				col = 0
			}
			b.WriteString(s[i : i+n])
			col += w
		}
		if width > 0 && col >= width {
			col = 0
		}
		i += n
	}
	return b.String()
}

// escapeLength returns the length of the escape sequence or shift at the start of s, or 0 if there
// is none. capture-pane -e writes CSI, OSC 8 links, and shifts for line drawing.
func escapeLength(s string) int {
	switch {
	case s[0] == 0x0e || s[0] == 0x0f:
		return 1
	case s[0] != 0x1b || len(s) < 2:
		return 0
	case s[1] == '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
	case s[1] == ']':
		if i := strings.Index(s, "\x1b\\"); i > 0 {
			return i + 2
		}
	default:
		return 2
	}
	return len(s)
}
