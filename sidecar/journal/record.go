package journal

import (
	"context"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Record returns a record, open or closed. If there is none, the error is ErrNotFound.
func (j *Journal) Record(ctx context.Context, kind, id string) (message.Record, error) {
	what := fmt.Sprintf("record %s %q", kind, id)
	found, err := list(ctx, j, what, scanRecord, `SELECT `+recordColumns+` FROM records WHERE kind = ? AND id = ?`, kind, id)
	switch {
	case err != nil:
		return message.Record{}, err
	case len(found) == 0:
		return message.Record{}, fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return found[0], nil
}

// record stores a record, in place of its earlier version.
func (s *stepper) record(r message.Record) error {
	_, err := s.exec(s.w.setRecord, r.Kind, r.ID, r.Open, s.now, string(r.Doc))
	return err
}

// records deletes closed records that are old enough, and reports whether there may be more.
func (p *pruning) records(ctx context.Context, w *writer) (more bool, err error) {
	result, err := w.db.ExecContext(ctx, `DELETE FROM records WHERE (kind, id) IN (
		SELECT kind, id FROM records INDEXED BY records_closed WHERE NOT open AND changed <= ? ORDER BY changed LIMIT ?)`, p.limit(), windowEvents)
	if err != nil {
		return false, fmt.Errorf("records: %w", err)
	}
	n, err := result.RowsAffected()
	p.done.Records += int(n)
	return n == windowEvents, err
}

const recordColumns = `kind, id, open, doc`

func scanRecord(row scanner) (r message.Record, err error) {
	err = row.Scan(&r.Kind, &r.ID, &r.Open, (*[]byte)(&r.Doc))
	return r, err
}
