package relay

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// takenLine is what is known of a line of a team's inbox that no moment tells from another of the same text.
type takenLine struct {
	Times int `json:"times"` // it was taken out, once it had been typed
}

// takenLines is the kind of their records.
const takenLines message.RecordKind[takenLine] = "line"

// LineTaken says that a line has been taken out of an inbox so many times by now: the next one that is the same is another.
type LineTaken struct {
	ID    message.ID // the same for all that are the same
	Times int
}

func (e LineTaken) step(tx *tx) {
	record(tx, takenLines, string(e.ID), false, takenLine{e.Times})
}

// LineTaken tells that a line has been taken out of an inbox; see LineTaken.
func (r *Relay) LineTaken(ctx context.Context, id message.ID, times int) error {
	return r.post(ctx, posted{event: LineTaken{ID: id, Times: times}})
}

// LineRecord is the kind and id of the record of a line.
func LineRecord(id message.ID) (kind, key string) { return string(takenLines), string(id) }

// ReadLine is how many times a line was taken out, as its record says.
func ReadLine(r message.Record) (times int, err error) {
	all, err := takenLines.Values(r)
	return all[r.ID].Times, err
}
