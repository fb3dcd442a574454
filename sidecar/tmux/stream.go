package tmux

import (
	"bytes"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// endMark returns the line that ends a batch in control mode, even if tmux refused one of its
// commands and dropped the rest of its line.
func endMark(nonce string) string { return nonce + ".end" }

// controlLines returns the two lines of one batch: the framed commands, and a command of its own
// that prints the end mark whatever became of the first line.
func controlLines(nonce string, cmds []command.Command) string {
	return command.Sequence(framed(nonce, cmds)) + "\n" +
		command.Sequence([]command.Command{command.Print(endMark(nonce))}) + "\n"
}

// stream parses what a control client prints, line by line: guards (%begin, %end, %error with time,
// number and flags), the output of commands between guards, and notifications outside. The output
// of a command is raw, so a pane can forge every line except those with a nonce. Therefore stream
// only gathers the lines from the first mark of a batch to its end mark; unguard then takes them
// apart from the marks inwards.
type stream struct {
	nonce   string // of the batch that is awaited, "" for none
	guard   string // time, number and flags of the open guard, "" outside
	refusal []byte // the content of the last guard that %error closed
	inside  []byte
	batch   [][]byte // lines since the first mark; nil before it
	ending  bool     // the end mark was read, its guard is still open
}

// expect prepares for the batch that is sent next.
func (s *stream) expect(nonce string) {
	*s = stream{nonce: nonce, guard: s.guard}
}

// feed takes one line without its line break. It returns a notification, if the line is one, and
// reports whether the awaited batch is complete.
func (s *stream) feed(line []byte) (notification []byte, complete bool) {
	text := string(line)
	switch {
	case s.ending: // this is the %end of the end mark's own guard
		s.ending, s.guard, s.nonce = false, "", ""
		return nil, true
	case s.nonce != "" && text == endMark(s.nonce):
		s.batch = append(s.batch, bytes.Clone(line))
		s.ending = true
	case s.batch != nil:
		s.batch = append(s.batch, bytes.Clone(line))
	case s.nonce != "" && text == mark(s.nonce, 0):
		s.batch = [][]byte{bytes.Clone(line)}
	case s.guard == "":
		if guard, ok := strings.CutPrefix(text, "%begin "); ok {
			s.guard, s.inside = guard, nil
		} else if strings.HasPrefix(text, "%") {
			return line, false
		}
	case text == "%end "+s.guard:
		s.guard = ""
	case text == "%error "+s.guard:
		s.guard, s.refusal = "", s.inside
	default:
		s.inside = append(append(s.inside, line...), '\n')
	}
	return nil, false
}

// take returns the lines of the complete batch, and tmux's refusal if the parser refused the batch
// as a whole.
func (s *stream) take() (batch [][]byte) {
	batch, s.batch = s.batch, nil
	if len(batch) == 1 && s.refusal != nil {
		batch = [][]byte{s.refusal, batch[0]}
	}
	return batch
}

// unguard parses the lines of a batch of n commands. It returns the replies, the refusal of the
// command after the last reply ("" if all ran), and the notifications that came before the end
// mark. ok is false if the lines make no sense.
func unguard(batch [][]byte, nonce string, n int) (replies []string, refusal string, notifications [][]byte, ok bool) {
	if len(batch) == 0 || string(batch[len(batch)-1]) != endMark(nonce) {
		return nil, "", nil, false
	}
	if string(batch[0]) != mark(nonce, 0) { // tmux's parser refused the line as a whole
		return nil, string(bytes.Join(batch[:len(batch)-1], []byte("\n"))), nil, true
	}
	at := 0 // the line of the last mark found
	for i := 1; i <= n; i++ {
		next := find(batch, at+1, mark(nonce, i))
		if next < 0 {
			refusal, ok = lastGuard(batch[at+1:len(batch)-1], "%error ")
			return replies, refusal, nil, ok
		}
		reply, sound := lastGuard(batch[at+1:next], "%end ")
		if !sound {
			return replies, "", nil, false
		}
		replies = append(replies, reply)
		at = next
	}
	// Behind the last mark: the end of its guard, notifications, the end mark's %begin.
	if len(batch) < at+4 {
		return replies, "", nil, false
	}
	return replies, "", batch[at+2 : len(batch)-2], true
}

// lastGuard parses the lines between two marks: the %end of the first mark's guard, the %begin of
// the command, its output, its closing guard, perhaps notifications, and the %begin of the next
// mark's guard. It works inwards from both ends, so that it takes nothing that a pane printed for a
// guard. It returns the output with its line breaks.
func lastGuard(lines [][]byte, closing string) (string, bool) {
	first := 1
	for first < len(lines) && !bytes.HasPrefix(lines[first], []byte("%begin ")) {
		first++
	}
	if first >= len(lines) {
		return "", false
	}
	want := closing + string(lines[first][len("%begin "):])
	for last := len(lines) - 2; last > first; last-- {
		if string(lines[last]) == want {
			if last == first+1 {
				return "", true
			}
			return string(bytes.Join(lines[first+1:last], []byte("\n"))) + "\n", true
		}
	}
	return "", false
}

// find returns the index of the first line from start on that equals text, or -1.
func find(lines [][]byte, start int, text string) int {
	for i := start; i < len(lines); i++ {
		if string(lines[i]) == text {
			return i
		}
	}
	return -1
}
