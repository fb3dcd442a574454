package relay

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// How much is written in one transaction, so that the caller of its first event waits hardly longer
// than it would alone.
const (
	maxGroup      = 64      // posted events; a step costs two thirds of the pages that it does in a group of 16
	maxGroupBytes = 1 << 20 // of their texts, without the last
)

// group is the content of one transaction: the steps of events, with the effects that follow once
// they are on disk.
type group struct {
	alone   bool // each step is a transaction of its own
	events  []Event
	steps   []message.Step
	effects [][]Effect // of each event
}

func (g *group) add(event Event, effects []Effect) {
	g.events = append(g.events, event)
	g.effects = append(g.effects, effects)
	if len(effects) > 0 {
		if commit, ok := effects[0].(Commit); ok {
			g.steps = append(g.steps, commit.Step)
		}
	}
}

// together returns an event with those that already wait behind it, up to the size of one group.
func together(first posted, ready func() (posted, bool)) []posted {
	ps := []posted{first}
	for size := bytesOf(first.event); len(ps) < maxGroup && size < maxGroupBytes; {
		next, ok := ready()
		if !ok {
			break
		}
		ps = append(ps, next)
		size += bytesOf(next.event)
	}
	return ps
}

// bytesOf returns how many bytes of text an event or a request carries.
func bytesOf(v any) int {
	if one, ok := v.(interface{ bytes() int }); ok {
		return one.bytes()
	}
	return 0
}

func (e Spoke) bytes() int     { return len(e.Turn.Words) + len(e.Turn.All) + len(e.Turn.Prompt) }
func (e Requested) bytes() int { return bytesOf(e.Request) }
func (r Send) bytes() int      { return len(r.Message.Body) }
func (r Say) bytes() int       { return len(r.Body) }
func (e Received) bytes() int  { return len(e.Message.Body) }
