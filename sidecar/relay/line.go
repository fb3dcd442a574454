package relay

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// takenLine counts how often one line of a team's inbox was taken out, where no exact time tells
// that line from others with the same text.
type takenLine struct {
	Times int `json:"times"` // how often it was taken out after it was typed
}

// takenLines is the kind of these records.
const takenLines message.RecordKind[takenLine] = "line"

// LineTaken says how often a line has been taken out of an inbox by now: the next one with the same
// text is another line.
type LineTaken struct {
	ID    message.ID // the same for all lines with the same text
	Times int
}

func (e LineTaken) step(tx *tx) {
	record(tx, takenLines, string(e.ID), false, takenLine{e.Times})
}

// LineTaken says that a line has been taken out of an inbox; see LineTaken.
func (r *Relay) LineTaken(ctx context.Context, id message.ID, times int) error {
	return r.post(ctx, posted{event: LineTaken{ID: id, Times: times}})
}

// LineRecord returns the kind and id of a line's record.
func LineRecord(id message.ID) (kind, key string) { return string(takenLines), string(id) }

// ReadLine returns how often a line was taken out, according to its record.
func ReadLine(r message.Record) (times int, err error) {
	all, err := takenLines.Values(r)
	return all[r.ID].Times, err
}
