package tmux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// Facts is what tmux knows of a pane besides its screen. Two Facts are equal if and only if nothing
// in them changed. Type accepts only Facts that come from a Look.
type Facts struct {
	Dead          bool // the program has ended and the pane remains
	InMode        bool // copy mode, view mode, a tree: keys go to the mode
	InputOff      bool // input is switched off: pasted bytes would vanish
	Synchronised  bool // typed keys go to other panes of the window too
	Alternate     bool // the alternate screen is shown
	CursorVisible bool
	Unbracketed   bool // its program has bracketed paste switched off; only tmux 3.7 and later tell
	PID           int  // what tmux started in the pane; stale in a dead pane
	CursorX       int  // column, from 0
	CursorY       int  // row of the visible screen, from 0
	HistorySize   int  // lines above the visible screen; it falls when the limit is reached
	HistoryLimit  int
	Width, Height int    // in cells
	TTY           string // stale in a dead pane
	Mode          string // name of the mode, such as copy-mode
	Title         string // set by the program: any text
	Mark          string // of the last Typing with a mark that was carried out; see Typing.Mark

	raw string // the compared facts, as tmux wrote them
}

// Look is one instant of a pane: its facts and its screen belong together.
type Look struct {
	Facts Facts

	// Rows are the visible rows from the top, Facts.Height of them, not joined, with the escape
	// sequences of their attributes. Blanks at their ends are cut and TABs expanded, as old
	// versions do themselves.
	Rows []string

	// Lines are the last lines of the history and the visible screen, with wrapped rows joined,
	// without escapes, with TABs expanded and blanks at their ends cut. nil if none were asked for.
	Lines []string

	// Complete says that Lines begin at the top of the history. Otherwise the first line may be the
	// rest of a wrapped line.
	Complete bool

	Keys Keys      // when people pressed keys that went to the pane
	At   time.Time // when the answer came
}

// maxBatch, maxBytes and maxWords keep a batch below tmux's limits for one command line (16,300
// bytes, and since 3.7 a thousand words). They include the frame marks.
const (
	maxBatch = 50
	maxBytes = 16000
	maxWords = 990
)

type lookRequest struct {
	pane    string
	history int
	reply   chan lookReply // has room for one reply, so that its sender never waits
}

type lookReply struct {
	look Look
	err  error
}

// Look reads a pane. history is the number of lines above the screen that Lines reach back; 0 gives
// the screen alone, and < 0 gives no Lines. Looks that are asked for while another is under way
// share one batch. If there is no such pane, the error is ErrNoPane.
func (c *Client) Look(ctx context.Context, pane string, history int) (Look, error) {
	if err := checkPane(pane); err != nil {
		return Look{}, err
	}
	r := lookRequest{pane: pane, history: max(history, -1), reply: make(chan lookReply, 1)}
	select {
	case c.looks <- r:
	case <-ctx.Done():
		return Look{}, fmt.Errorf("look at %q: %w", pane, context.Cause(ctx))
	case <-c.ctx.Done():
		return Look{}, fmt.Errorf("look at %q: %w", pane, errClosed)
	}
	select {
	case reply := <-r.reply:
		if reply.err != nil {
			return Look{}, fmt.Errorf("look at %q: %w", pane, reply.err)
		}
		return reply.look, nil
	case <-ctx.Done():
		return Look{}, fmt.Errorf("look at %q: %w", pane, context.Cause(ctx))
	}
}

var errClosed = errors.New("client is closed")

// If one look takes slowLook or longer, as it may on a slow computer, serveLooks rests as long as the
// batch took, but at most mostRest, so that batches of up to a second take about half of one processor.
const (
	slowLook = 200 * time.Millisecond
	mostRest = time.Second
)

// effort is what a batch of looks has cost.
type effort struct {
	runs int // of command lines
	took time.Duration
}

// rest returns how long to wait after a batch.
func (e effort) rest() time.Duration {
	if e.took/time.Duration(max(1, e.runs)) < slowLook {
		return 0
	}
	return min(e.took, mostRest)
}

// serveLooks groups looks: while one batch runs, the next collects.
func (c *Client) serveLooks() {
	var waiting []lookRequest
	var done chan effort        // yields the cost of the batch under way when it ends; nil without a batch
	var rested <-chan time.Time // nil: the next batch may begin
	for {
		if done == nil && rested == nil && len(waiting) > 0 {
			batch := waiting
			waiting, done = nil, make(chan effort, 1)
			c.wg.Go(func() { done <- c.lookBatch(batch) })
		}
		select {
		case r := <-c.looks:
			waiting = append(waiting, r)
		case <-rested:
			rested = nil
		case cost := <-done:
			done = nil
			if rest := cost.rest(); rest > 0 {
				rested = time.After(rest)
			}
		case <-c.ctx.Done():
			for _, r := range waiting {
				r.reply <- lookReply{err: errClosed}
			}
			return
		}
	}
}

// A lookKey holds what two requests must have in common to share a look.
type lookKey struct {
	pane    string
	history int
}

// lookBatch answers each request exactly once.
func (c *Client) lookBatch(requests []lookRequest) (cost effort) {
	began := time.Now()
	waiting := map[lookKey][]lookRequest{}
	var keys []lookKey
	for _, r := range requests {
		k := lookKey{r.pane, r.history}
		if waiting[k] == nil {
			keys = append(keys, k)
		}
		waiting[k] = append(waiting[k], r)
	}
	answer := func(k lookKey, reply lookReply) {
		for i, r := range waiting[k] {
			if i > 0 { // no two receivers share rows that one of them may change
				reply.look.Rows = append([]string(nil), reply.look.Rows...)
				reply.look.Lines = append([]string(nil), reply.look.Lines...)
			}
			r.reply <- reply
		}
	}
	for len(keys) > 0 {
		sep := newNonce()
		n, cmds, ends := fill(keys, keysCommand(sep))
		replies, err := c.run(c.ctx, cmds...)
		at := time.Now()
		cost.runs++
		var pressed map[string]time.Time
		var unread error
		if len(replies) > 0 {
			pressed, unread = parseKeys(replies[0], sep)
		}
		start, answered := 1, 0
		for answered < n && ends[answered] <= len(replies) {
			k := keys[answered]
			look, err := parseLook(k.pane, k.history, replies[start:ends[answered]])
			look.Keys.Last, look.At = pressed[k.pane], at
			answer(k, lookReply{look, cmp.Or(err, unread)})
			start = ends[answered]
			answered++
		}
		switch refused := (*commandError)(nil); {
		case answered == n:
		case errors.As(err, &refused) && !errors.Is(err, ErrNoServer) && len(replies) > 0:
			// That pane alone is to blame. The panes behind it were not read: read them again
			// without it.
			answer(keys[answered], lookReply{err: err})
			answered++
		default:
			for ; answered < n; answered++ {
				answer(keys[answered], lookReply{err: err})
			}
		}
		keys = keys[answered:]
	}
	cost.took = time.Since(began)
	return cost
}

// fill puts as many of keys as fit into one batch behind its first command. It returns their
// number, all commands, and the index at which the replies to each end.
func fill(keys []lookKey, first command.Command) (n int, cmds []command.Command, ends []int) {
	cmds = []command.Command{first}
	size := length(cmds)
	for n < len(keys) && n < maxBatch {
		more := lookCommands(keys[n].pane, keys[n].history)
		size = size.and(length(more))
		if n > 0 && !size.fits() {
			break
		}
		cmds = append(cmds, more...)
		ends = append(ends, len(cmds))
		n++
	}
	return n, cmds, ends
}

// split divides commands into batches.
func split(cmds []command.Command) (all [][]command.Command) {
	var size extent
	for _, c := range cmds {
		one := length([]command.Command{c})
		if size = size.and(one); len(all) == 0 || !size.fits() {
			all, size = append(all, nil), one
		}
		all[len(all)-1] = append(all[len(all)-1], c)
	}
	return all
}

// extent is the room that commands take of a command line.
type extent struct{ bytes, words int }

func (e extent) and(more extent) extent { return extent{e.bytes + more.bytes, e.words + more.words} }

func (e extent) fits() bool { return e.bytes <= maxBytes && e.words <= maxWords }

// length returns the room that commands and their marks take of a command line.
func length(cmds []command.Command) (size extent) {
	for _, c := range cmds {
		size = size.and(extent{60 + c.Size(), 6 + c.Words()}) // and its mark
	}
	return size
}
