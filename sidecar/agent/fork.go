package agent

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// fork dates what stands at the beginning of a rollout that Codex has forked from another one: a
// copy of all that was said there, every record of which bears the time of the copying. The ids
// of its turns are the old ones, and begin with the time at which each was made. The first that
// is not older than the thread itself is the fork's own, and ends the copy.
type fork struct {
	made time.Time // when it was forked; zero: it is no fork, or its copy has been read
	at   time.Time // of the turn of the copy that is being read
}

func forkOf(m codexMeta) fork {
	made, ok := message.ID(m.ID).Made()
	if m.Forked == "" || !ok {
		return fork{}
	}
	from, ok := message.ID(m.Forked).Made()
	if !ok {
		from = time.Unix(0, 0) // nobody knows when, but long ago
	}
	return fork{made: made, at: from}
}

// date is when an event was written down that bears a date.
func (f *fork) date(bears time.Time, e codexEvent) time.Time {
	if f.made.IsZero() {
		return bears
	}
	made, known := message.ID(e.Turn).Made()
	own := known && !made.Before(f.made)
	if !known && e.Type == "task_started" { // the id is one of a version that tells no time by it
		made, known = time.Unix(e.Begun, 0), e.Begun != 0
		own = !known || !made.Before(f.made.Truncate(time.Second))
	}
	switch {
	case own:
		*f = fork{}
		return bears
	case known:
		f.at = made
	}
	return f.at
}
