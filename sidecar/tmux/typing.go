package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Typing is text for a pane, and the instant at which the caller judged that it may be typed.
type Typing struct {
	Pane  string // id, %7
	Facts Facts  // of the Look on which the judgement rests
	Text  []byte // the text for the program; the caller has sanitised it

	// Bracketed pastes with tmux's -p and -r. A program that has bracketed paste switched on
	// receives the whole text as one paste, between ESC[200~ and ESC[201~, with its line breaks as
	// LF, byte for byte. (Without -r tmux turns each into a CR. Line editors take either inside a
	// paste; LF is what was sent.) A program that has it switched off receives the same bytes
	// without brackets, so use Bracketed only for programs known to have it on.
	//
	// Without Bracketed each LF arrives as CR, which submits. So "\n" alone is Enter.
	Bracketed bool

	// Tail, if not empty, is text that must also stand in one row of the visible screen. Characters
	// that have a meaning in tmux match any one character. Tail must contain a letter or a digit,
	// and must fit in a row.
	Tail string

	// Keys, if not zero, makes the server refuse to type if a person has pressed a key in the
	// pane's session since that Look.
	Keys Keys

	// Mark, if not empty, is stored by the server in the same step that types, and read back as
	// Facts.Mark: after a crash of ours it tells what was typed last. The server compares it like
	// the other facts, so it refuses a late order that arrives after another one. A mark holds only
	// letters, digits, - and ., at most 3,000 of them.
	Mark string
}

// Outcome is the result of a Typing.
type Outcome int

// The outcomes. The zero value is Unknown, so that an unproven outcome never counts as safe.
const (
	Unknown Outcome = iota // bytes may or may not have reached the pane: never repeat it
	Refused                // something had changed; no byte was typed
	Robbed                 // no byte was typed: the server had lost the text when it tried to paste it
	Typed                  // tmux has written the text to the pane's program
)

// Nothing reports whether it is certain that no byte was typed or will be.
func (o Outcome) Nothing() bool { return o == Refused || o == Robbed }

// String implements fmt.Stringer.
func (o Outcome) String() string {
	switch o {
	case Refused:
		return "refused"
	case Robbed:
		return "robbed"
	case Typed:
		return "typed"
	default:
		return "unknown"
	}
}

// errNoAnswer says that tmux ended without reporting the result of a command.
var errNoAnswer = errors.New("tmux ended without an answer")

// Type writes text to a pane if and only if the pane is still as in t.Facts: same process, not
// dead, same mode, input, synchronisation, screen, cursor, history, width and mark, and with t.Tail
// on the screen. Type refuses a pane that is dead, in a mode, synchronised or has its input off,
// even if the look saw it so. The server tests and types in one step, in which it reads no
// program's output. It cannot see bytes that the program has not written yet.
//
// An error with Refused or Robbed says why no byte was typed or will be. An error with Unknown says
// why the outcome is not known; the caller must not type the same text again.
func (c *Client) Type(ctx context.Context, t Typing) (Outcome, error) {
	if err := checkPane(t.Pane); err != nil {
		return Refused, err
	}
	if len(t.Text) == 0 { // tmux creates no empty buffer, so there would be nothing to paste
		return Refused, fmt.Errorf("type into %q: no text", t.Pane)
	}
	if err := checkMark(t.Mark); err != nil {
		return Refused, fmt.Errorf("type into %q: %w", t.Pane, err)
	}
	cond, err := condition(t.Pane, t.Facts, t.Tail, t.Keys)
	if err != nil {
		return Refused, fmt.Errorf("type into %q: %w", t.Pane, err)
	}
	if ctx.Err() != nil {
		return Refused, fmt.Errorf("type into %q: %w", t.Pane, context.Cause(ctx))
	}
	if c.ctx.Err() != nil {
		return Refused, fmt.Errorf("type into %q: %w", t.Pane, errClosed)
	}
	return c.compareAndType(ctx, t, cond)
}

// compareAndType asks the server to test and type, by tmux's own protocol or else by a short
// process.
func (c *Client) compareAndType(ctx context.Context, t Typing, cond command.Format) (Outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.typing, errDeadline)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	nonce := newNonce()
	out, stderr, sent, err := c.startTyping(ctx, typeCommands(t, cond, nonce), t.Text)
	switch {
	case !sent:
		return Refused, fmt.Errorf("type into %q: %w", t.Pane, err)
	case bytes.Contains(out, []byte("TYPED-"+nonce+"\n")):
		return Typed, nil
	case bytes.Contains(out, []byte("REFUSED-"+nonce+"\n")):
		return Refused, nil
	}
	c.dropBuffer(nonce)
	refusal := &commandError{text: strings.TrimSpace(stderr)}
	switch {
	case errors.Is(refusal, ErrNoPane): // from 3.8 on, the test itself fails without a target
		return Refused, nil
	case strings.Contains(refusal.text, "no buffer "+nonce), strings.Contains(refusal.text, "unknown buffer: "+nonce):
		return Robbed, fmt.Errorf("type into %q: a hook of the server took the text: %w", t.Pane, refusal)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case refusal.text != "":
		err = refusal
	case err == nil:
		err = errNoAnswer
	}
	return Unknown, fmt.Errorf("type into %q: %w", t.Pane, err)
}

// startTyping runs the commands of a typing. It uses a short process if tmux's own protocol is not
// usable, or did not deliver all of the text: then the commands behind load-buffer never run
// (measured on 3.2a to 3.8), and nothing was typed. sent is false if ctx ended in that case.
func (c *Client) startTyping(ctx context.Context, cmds []command.Command, text []byte) (out []byte, stderr string, sent bool, err error) {
	if c.direct.usable() {
		reply, err := c.direct.start(ctx, cmds, text)
		if reply.Sent || ctx.Err() != nil {
			return reply.Stdout, string(reply.Stderr), reply.Sent, err
		}
	}
	out, stderr, err = c.short.start(ctx, []string{"-N", "-S", c.short.socket}, cmds, text)
	return out, stderr, true, err
}

// dropBuffer removes the buffer that a typing without an answer may have left behind. It can do no
// harm, because each buffer name is used once.
func (c *Client) dropBuffer(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), min(c.deadline, time.Second))
	defer cancel()
	_, _ = c.short.run(ctx, []command.Command{command.DeleteBuffer(name)})
}
