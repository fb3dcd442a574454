package agent

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// fork dates the events at the beginning of a rollout that Codex forked from another one. A fork begins with a copy
// of the whole original conversation, in which every record bears the time of the copying. The ids of the copied
// turns are the original ones, and each begins with the time at which it was made. The first turn that is not older
// than the thread itself is the fork's own, and ends the copy.
type fork struct {
	made time.Time // when it was forked; zero: it is not a fork, or its copy has been read
	at   time.Time // time of the copied turn that is being read
}

func forkOf(m codexMeta) fork {
	made, ok := message.ID(m.ID).Made()
	if m.Forked == "" || !ok {
		return fork{}
	}
	from, ok := message.ID(m.Forked).Made()
	if !ok {
		from = time.Unix(0, 0) // unknown, but long ago
	}
	return fork{made: made, at: from}
}

// date returns the time at which an event was originally written down; bears is the date on the record.
func (f *fork) date(bears time.Time, e codexEvent) time.Time {
	if f.made.IsZero() {
		return bears
	}
	made, known := message.ID(e.Turn).Made()
	own := known && !made.Before(f.made)
	if !known && e.Type == "task_started" { // the id comes from a version whose ids hold no time
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
