package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// How much of the past is kept by default.
const (
	DefaultAge         = 90 * 24 * time.Hour
	DefaultBytes int64 = 1 << 30
)

// MinAge is how long everything is kept, whatever a Retention says. A message that arrives a second
// time within it is recognised.
const MinAge = 7 * 24 * time.Hour

// Retention says how much of the past is kept. In each field, zero means its default, and a
// negative value means no limit.
type Retention struct {
	Age   time.Duration // since the last event of a message
	Bytes int64         // of the database, without the write-ahead log and free pages
}

// Pruned is the result of a Prune.
type Pruned struct {
	Expired  int   // deliveries that were held too long for an agent that has gone
	Messages int   // with everything that belonged to them
	Events   int   // of those messages, and of ended chats and sessions
	Sessions int   // that had ended
	Chats    int   // that had ended
	Records  int   // that were closed
	Bytes    int64 // by which the database shrank; negative if it grew meanwhile
	Size     int64 // of the database afterwards, with its free pages
}

// How much Prune does in one turn, so that a Commit waits for a few hundredths of a second at most,
// except in the rare moments in which the index of words is tidied up.
const (
	windowEvents   = 400
	windowMessages = 50 // for each of them the index of words may have to rewrite some pages at once
	mergePages     = 64
	vacuumPages    = 256
)

// Prune deletes the oldest messages and everything that belongs to them: events, verdicts,
// deliveries, receipts and words. It deletes sessions and chats that have ended and of which
// nothing is left, and closed records. It deletes everything older than keep.Age and, as long as
// the database is larger than keep.Bytes, younger things too, the oldest first. It never deletes
// anything younger than MinAge, an open record, a message without a verdict or with an open
// delivery, or anything of a chat that goes on. Nor does it delete a message younger than keep.Age
// that an agent who is present took and has not answered. So the journal may stay larger than keep
// asks for. The counts of a chat stay as they are. A delivery that has been held for an agent that
// has gone since before keep.Age expires, and is deleted later like any other.
//
// Prune takes turns with Commit, in short transactions, and then gives the space back to the file
// system. A journal that schema 1 began, and that was too large to be rewritten when it was opened,
// shrinks only once little enough of it is in use. When ctx ends, Prune ends between two
// transactions and returns what it did so far.
func (j *Journal) Prune(ctx context.Context, keep Retention, now time.Time) (Pruned, error) {
	p := pruning{j: j, now: now, most: keep.Bytes}
	switch {
	case keep.Age == 0:
		keep.Age = DefaultAge
	case keep.Age < 0:
		keep.Age = now.Sub(time.Unix(0, 0))
	}
	if p.most == 0 {
		p.most = DefaultBytes
	}
	p.youngest = now.Add(-MinAge).UnixNano()
	p.aged = min(now.Add(-keep.Age).UnixNano(), p.youngest)
	err := p.run(ctx)
	if err != nil {
		return p.done, fmt.Errorf("journal: prune: %w", err)
	}
	return p.done, nil
}

// pruning is a Prune under way. Times are in nanoseconds since 1970.
type pruning struct {
	j        *Journal
	now      time.Time
	aged     int64 // anything older is deleted
	youngest int64 // anything older may be deleted
	most     int64 // bytes; below zero: any number
	used     int64 // bytes, as last measured
	cursor   int64 // seq of the last event examined
	done     Pruned
}

func (p *pruning) run(ctx context.Context) error {
	var before space
	err := p.turn(ctx, func(ctx context.Context, w *writer) (err error) {
		before, err = w.space(ctx)
		return err
	})
	if err != nil {
		return err
	}
	p.used, p.done.Size = before.used(), before.file
	defer func() { p.done.Bytes = before.file - p.done.Size }()
	if err := p.turns(ctx, p.expire); err != nil {
		return err
	}
	for more := true; more; {
		if more, err = p.window(ctx); err != nil {
			return err
		}
	}
	if err := p.turns(ctx, p.records); err != nil {
		return err
	}
	if err := p.turn(ctx, p.past); err != nil {
		return err
	}
	return p.giveBack(ctx)
}

// turn takes one turn to write, and gives it back.
func (p *pruning) turn(ctx context.Context, write func(context.Context, *writer) error) error {
	return p.j.writing(ctx, write)
}

// turns takes one turn after another until there is nothing left to do.
func (p *pruning) turns(ctx context.Context, write func(context.Context, *writer) (more bool, err error)) error {
	for more := true; more; {
		err := p.turn(ctx, func(ctx context.Context, w *writer) (err error) {
			more, err = write(ctx, w)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate is an event that may be deleted, with everything that belongs to it.
type candidate struct {
	seq       int64
	at        int64 // when it was written down
	last      int64 // when the last event that belongs to it was written down
	removable bool  // apart from its age
	message   bool
}

// candidates selects the next events. The newest of all is never deleted, so that no number is
// given twice. An unanswered delivery keeps no message if its peer's sink is files
// (message.PeerKind.Files), because such a peer seldom answers what it took.
const candidates = `
	SELECT e.seq, e.at, coalesce((SELECT l.at FROM events l WHERE l.seq = e.last), e.at), e.last < (SELECT max(seq) FROM events) AND
		CASE e.kind
		WHEN 'message' THEN
			EXISTS (SELECT 1 FROM messages m WHERE m.seq = e.seq AND m.decided)
			AND NOT EXISTS (SELECT 1 FROM chats c WHERE c.id = e.chat AND NOT c.ended)
			AND NOT EXISTS (
				SELECT 1 FROM deliveries d WHERE d.message = e.seq AND (
					d.open
					OR d.unanswered AND (SELECT l.at FROM events l WHERE l.seq = e.last) > ?3 AND EXISTS (SELECT 1 FROM sessions s
						WHERE s.id = d.target AND s.present AND coalesce(json_extract(s.doc, '$.kind'), '') NOT IN ('port', 'repository'))
					OR EXISTS (SELECT 1 FROM chats c WHERE c.id = d.chat AND NOT c.ended)))
		WHEN 'chat' THEN NOT EXISTS (SELECT 1 FROM chats c WHERE c.id = e.chat AND NOT c.ended)
		WHEN 'session' THEN NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = json_extract(e.doc, '$.id') AND s.present)
		ELSE e.kind = 'notice' END,
		e.kind = 'message'
	FROM (
		SELECT *, CASE kind WHEN 'message' THEN coalesce((SELECT max(r.seq) FROM receipts r WHERE r.message = events.seq), seq) ELSE seq END AS last
		FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2
	) e ORDER BY e.seq`

func scanCandidate(row scanner) (c candidate, err error) {
	err = row.Scan(&c.seq, &c.at, &c.last, &c.removable, &c.message)
	return c, err
}

// window deletes what may be deleted of the next events, and reports whether there may be more
// after them. It first looks without blocking anybody: if everything has to stay, it takes no turn.
func (p *pruning) window(ctx context.Context) (more bool, err error) {
	var next []candidate
	err = p.j.reading(ctx, func(tx *sql.Tx) (err error) {
		next, err = collect(ctx, tx, scanCandidate, candidates, p.cursor, windowEvents, p.aged)
		return err
	})
	if err != nil {
		return false, err
	}
	events, _, end, more := p.choose(next)
	if len(events) > 0 {
		err := p.turn(ctx, func(ctx context.Context, w *writer) error { return p.delete(ctx, w) })
		if err != nil {
			return false, err
		}
	}
	p.cursor = end
	return more, nil
}

// choose selects from the next events, by their age, those to delete. It returns how far it came
// and whether there may be more. It ends at the first event that is too young, since events are in
// the order of their time. After a wrong clock they are not; so an event that seems to come from
// the future does not end it.
func (p *pruning) choose(next []candidate) (events, messages []int64, end int64, more bool) {
	limit := p.limit()
	end = p.cursor
	for _, c := range next {
		if c.at > limit && c.at <= p.now.UnixNano() {
			return events, messages, end, false
		}
		if c.removable && c.last <= limit {
			events = append(events, c.seq)
			if c.message {
				messages = append(messages, c.seq)
			}
		}
		if end = c.seq; len(messages) == windowMessages {
			return events, messages, end, true
		}
	}
	return events, messages, end, len(next) == windowEvents
}

// limit returns the latest time of an event that may be deleted.
func (p *pruning) limit() int64 {
	if p.most >= 0 && p.used > p.most {
		return p.youngest
	}
	return p.aged
}

// delete deletes what may be deleted of the events after the cursor, by their present state.
func (p *pruning) delete(ctx context.Context, w *writer) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	next, err := collect(ctx, tx, scanCandidate, candidates, p.cursor, windowEvents, p.aged)
	if err != nil {
		return err
	}
	events, messages, _, _ := p.choose(next)
	list, err := encode(messages)
	if err != nil {
		return err
	}
	receipts, err := collect(ctx, tx, scanSeq, `SELECT seq FROM receipts WHERE message IN (SELECT value FROM json_each(?))`, list)
	if err != nil {
		return err
	}
	events = append(events, receipts...)
	all, err := encode(events)
	if err != nil {
		return err
	}
	for _, d := range []struct{ what, statement, which string }{
		{"words", `DELETE FROM words WHERE rowid IN (SELECT m.seq FROM messages m, json_each(?) j WHERE m.seq = j.value AND m.passed)`, list},
		{"receipts", `DELETE FROM receipts WHERE message IN (SELECT value FROM json_each(?))`, list},
		{"deliveries", `DELETE FROM deliveries WHERE message IN (SELECT value FROM json_each(?))`, list},
		{"verdicts", `DELETE FROM verdicts WHERE message IN (SELECT value FROM json_each(?))`, list},
		{"messages", `DELETE FROM messages WHERE seq IN (SELECT value FROM json_each(?))`, list},
		{"events", `DELETE FROM events WHERE seq IN (SELECT value FROM json_each(?))`, all},
	} {
		if _, err := tx.ExecContext(ctx, d.statement, d.which); err != nil {
			return fmt.Errorf("%s: %w", d.what, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	p.done.Messages += len(messages)
	p.done.Events += len(events)
	if _, err := w.mergeWords(ctx); err != nil {
		return err
	}
	s, err := w.space(ctx)
	p.used, p.done.Size = s.used(), s.file
	return err
}

// expire expires deliveries that have been held for an agent that has gone for longer than anything
// is kept, because nobody has come in its place. It reports whether there may be more.
func (p *pruning) expire(ctx context.Context, w *writer) (more bool, err error) {
	rows, err := w.db.QueryContext(ctx, `SELECT d.id, m.id, d.target FROM deliveries d INDEXED BY deliveries_open
			JOIN messages m ON m.seq = d.message JOIN events e ON e.seq = d.last
		WHERE d.open AND d.parked AND e.at <= ? ORDER BY d.seq LIMIT ?`, p.aged, windowMessages)
	if err != nil {
		return false, fmt.Errorf("deliveries held for agents that have gone: %w", err)
	}
	old, err := all(rows, func(row scanner) (r message.Receipt, err error) {
		r.State, r.Reason, r.At = message.Expired, message.AgentGone, p.now
		return r, row.Scan(&r.Delivery, &r.Message, &r.Target)
	})
	if err != nil || len(old) == 0 {
		return false, err
	}
	if err := w.commit(ctx, p.now, message.Step{Receipts: old}); err != nil {
		return false, fmt.Errorf("deliveries held for agents that have gone: %w", err)
	}
	p.done.Expired += len(old)
	return len(old) == windowMessages, nil
}

// past deletes the ended sessions and chats of which nothing is left.
func (p *pruning) past(ctx context.Context, w *writer) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	chats, err := collect(ctx, tx, scanID, `DELETE FROM chats WHERE ended = 1
		AND NOT EXISTS (SELECT 1 FROM events e WHERE e.chat = chats.id) RETURNING id`)
	if err != nil {
		return fmt.Errorf("chats: %w", err)
	}
	list, err := encode(chats)
	if err != nil {
		return err
	}
	for _, table := range []string{"tallies", "waits"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE chat IN (SELECT value FROM json_each(?))`, list); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	sessions, err := collect(ctx, tx, scanID, `DELETE FROM sessions WHERE NOT present
		AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = sessions.changed)
		AND id NOT IN (SELECT d.target FROM deliveries d INDEXED BY deliveries_open WHERE d.open) RETURNING id`)
	if err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	p.done.Chats, p.done.Sessions = len(chats), len(sessions)
	return nil
}

// giveBack shrinks the database by its free pages.
func (p *pruning) giveBack(ctx context.Context) error {
	if err := p.turns(ctx, func(ctx context.Context, w *writer) (more bool, err error) { return w.mergeWords(ctx) }); err != nil {
		return err
	}
	if err := p.turns(ctx, func(ctx context.Context, w *writer) (more bool, err error) { return w.vacuum(ctx, vacuumPages) }); err != nil {
		return err
	}
	return p.turn(ctx, func(ctx context.Context, w *writer) error {
		if err := w.makeShrinkable(ctx); err != nil {
			return err
		}
		if err := w.bringHomeUnlessBusy(ctx); err != nil {
			return err
		}
		s, err := w.space(ctx)
		p.done.Size = s.file
		return err
	})
}

func scanSeq(row scanner) (seq int64, err error) {
	err = row.Scan(&seq)
	return seq, err
}

func scanID(row scanner) (id message.ID, err error) {
	err = row.Scan(&id)
	return id, err
}
