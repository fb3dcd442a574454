package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	// mostGap is the longest time between two runs of Retain, or between the oldest event and the
	// first run, for which the clock is not doubted.
	mostGap = 7 * 24 * time.Hour
	// doubtFor is how long a doubted clock must keep to its time to be believed.
	doubtFor = 24 * time.Hour
)

// retained is the state that a run of Retain leaves for the next. Times are the clock's.
type retained struct {
	Last    time.Time // when it last pruned; before the first time, the time of the oldest event
	Doubted time.Time // since when the clock says that Last is too long ago; zero: it does not
}

// retainedKind and retainedID name the record of retained.
const (
	retainedKind = message.RecordKind[retained]("retention")
	retainedID   = "journal"
)

// Retain is Prune for callers that call it repeatedly, even from different processes: it does
// nothing if the last run was less than every ago. A clock that has leapt ahead may be wrong, and
// pruning by it would delete everything. Retain believes it if it says the same a day later.
func (j *Journal) Retain(ctx context.Context, keep Retention, every time.Duration, now time.Time) (Pruned, error) {
	was, err := j.retained(ctx)
	if err != nil {
		return Pruned{}, fmt.Errorf("journal: retain: %w", err)
	}
	if gone := now.Sub(was.Last); gone >= 0 && gone < every {
		return Pruned{}, nil
	}
	next, believed := was.at(now)
	var done Pruned
	if believed {
		if done, err = j.Prune(ctx, keep, now); err != nil {
			return done, err
		}
	}
	record, err := retainedKind.Record(retainedID, false, next)
	if err != nil {
		return done, err
	}
	if next != was {
		err = j.writing(ctx, func(ctx context.Context, w *writer) error {
			return w.commit(ctx, now, message.Step{Records: []message.Record{record}})
		})
	}
	if err != nil {
		return done, fmt.Errorf("journal: retain: %w", err)
	}
	return done, nil
}

// at returns the state after a run at that time, and whether its clock is believed.
func (r retained) at(now time.Time) (next retained, believed bool) {
	now = now.Round(0).UTC()
	switch {
	case r.Last.IsZero() || now.Sub(r.Last) <= mostGap || !r.Doubted.IsZero() && now.Sub(r.Doubted) >= doubtFor:
		return retained{Last: now}, true
	case r.Doubted.IsZero() || now.Before(r.Doubted): // the clock was wrong, and has been set
		r.Doubted = now
	}
	return r, false
}

// retained returns the state that the last run left.
func (j *Journal) retained(ctx context.Context) (was retained, err error) {
	record, err := j.Record(ctx, string(retainedKind), retainedID)
	if err == nil {
		return was, json.Unmarshal(record.Doc, &was)
	}
	if !errors.Is(err, ErrNotFound) {
		return was, err
	}
	// Without a record, take the oldest event. The newest would prove nothing: this run has written
	// it by the clock that is in doubt. If all events are younger than mostGap, nothing can be
	// lost.
	err = j.reading(ctx, func(tx *sql.Tx) error {
		var at int64
		switch err := tx.QueryRowContext(ctx, `SELECT at FROM events ORDER BY seq LIMIT 1`).Scan(&at); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		was.Last = time.Unix(0, at).UTC()
		return nil
	})
	return was, err
}
