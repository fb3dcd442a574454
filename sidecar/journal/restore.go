package journal

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Restored is what a starting sidecar must know of the time before.
type Restored struct {
	Stopped   bool                 // everything was stopped, according to the last Step about that
	Sessions  []message.Peer       // sessions that have not ended, in the order of their adoption
	Depths    map[message.ID]Depth // of each of Sessions
	Chats     []message.Chat       // chats that have not ended, in the order of their start
	Taken     map[message.ID]int   // turns that were relayed in each of Chats
	Undecided []message.Envelope   // messages that were received and have no verdict
	Pending   []Pending            // deliveries under way, in the order in which they were made
	Submitted []Submitted          // deliveries to Sessions that no turn has answered, in the same order
	Records   []message.Record     // open records, by kind and id
}

// Submitted is a delivery that was taken and that no turn has answered yet.
type Submitted struct {
	Delivery message.Delivery
	Typed    time.Time // when permission to type it was first given
}

// mostSubmitted is the maximum number of those, the latest of all.
const mostSubmitted = 1024

// Depth is the state of a session's brake.
type Depth struct {
	Last int // depth of its last turn (message.Envelope.EndsTurn, message.Spoken); 1 if there is none

	// Cause is the greatest depth of the messages typed to it since that turn; -1 if there was
	// none. A person's message that it took, or may have taken, resets Cause to 0.
	Cause int
}

// Pending is a delivery without a final receipt that was not submitted either. Its Typed is set if
// any of its receipts says that bytes may have reached the pane, whatever the last one says.
type Pending struct {
	Delivery message.Delivery
	Last     message.Receipt // zero if there is none yet
	Verdict  message.Verdict // the last verdict on its message, without a body
}

// Restore reads what was under way when the journal was last written, all of one moment. Its
// duration depends on how much it returns, not on how much the journal holds. A delivery held for
// an agent that has gone is not under way, since there is no pane that could take it; Waiting
// returns it.
func (j *Journal) Restore(ctx context.Context) (Restored, error) {
	r := Restored{Depths: make(map[message.ID]Depth), Taken: make(map[message.ID]int)}
	err := j.reading(ctx, func(tx *sql.Tx) (err error) {
		if err := tx.QueryRowContext(ctx, `SELECT stopped FROM latches`).Scan(&r.Stopped); err != nil {
			return err
		}
		stays, err := collect(ctx, tx, scanStay, `SELECT doc, last, cause FROM sessions WHERE present ORDER BY seq`)
		if err != nil {
			return err
		}
		for _, s := range stays {
			r.Sessions = append(r.Sessions, s.session)
			r.Depths[s.session.ID] = s.depth
		}
		chats, err := collect(ctx, tx, scanGoing, `SELECT doc, turns FROM chats WHERE ended = 0 ORDER BY seq`)
		if err != nil {
			return err
		}
		for _, c := range chats {
			r.Chats = append(r.Chats, c.chat)
			r.Taken[c.chat.ID] = c.turns
		}
		if r.Undecided, err = collect(ctx, tx, scanEnvelope, `SELECT doc, body FROM messages INDEXED BY messages_undecided
			WHERE NOT decided ORDER BY seq`); err != nil {
			return err
		}
		r.Pending, err = collect(ctx, tx, scanPending, underWay)
		if err != nil {
			return err
		}
		r.Submitted, err = collect(ctx, tx, scanSubmitted, `SELECT `+deliveryColumns+`,
				(SELECT t.doc FROM receipts t WHERE t.delivery = d.seq AND json_extract(t.doc, '$.state') = 'typed' ORDER BY t.seq LIMIT 1)
			FROM deliveries d INDEXED BY deliveries_unanswered JOIN messages m ON m.seq = d.message
			WHERE d.unanswered AND d.target IN (SELECT id FROM sessions WHERE present) ORDER BY d.seq DESC LIMIT ?`, mostSubmitted)
		if err != nil {
			return err
		}
		slices.Reverse(r.Submitted)
		r.Records, err = collect(ctx, tx, scanRecord, `SELECT `+recordColumns+` FROM records INDEXED BY records_open WHERE open ORDER BY kind, id`)
		return err
	})
	if err != nil {
		return Restored{}, fmt.Errorf("journal: restore: %w", err)
	}
	return r, nil
}

// Waiting returns the deliveries without a final receipt that were not submitted either, oldest
// first, of one chat or, if chat is "", of all: those of Restored.Pending, and those that are held
// for an agent that has gone, of which there may be many.
func (j *Journal) Waiting(ctx context.Context, chat message.ID) ([]Pending, error) {
	where, args := "d.open", []any{}
	if chat != "" {
		where, args = "d.open AND d.chat = ?", []any{string(chat)}
	}
	return list(ctx, j, "waiting deliveries", scanPending, `SELECT `+pendingColumns+`
		FROM deliveries d INDEXED BY deliveries_open `+pendingJoins+` WHERE `+where+` ORDER BY d.seq`, args...)
}

// UnderWay returns the deliveries of Waiting that are not held for an agent that has gone, that is
// Restored.Pending as it is now. Its duration does not depend on the number of the others.
func (j *Journal) UnderWay(ctx context.Context) ([]Pending, error) {
	return list(ctx, j, "deliveries under way", scanPending, underWay)
}

// Held counts the deliveries whose last state is held, for whatever reason.
func (j *Journal) Held(ctx context.Context) (int, error) {
	var n int
	err := j.reading(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT coalesce(sum(n), 0) FROM tallies WHERE state = ?`, string(message.Held)).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("journal: held deliveries: %w", err)
	}
	return n, nil
}

// stay is a session with its depth; going is a chat with its turns.
type (
	stay struct {
		session message.Peer
		depth   Depth
	}
	going struct {
		chat  message.Chat
		turns int
	}
)

func scanStay(row scanner) (s stay, err error) {
	var doc string
	if err := row.Scan(&doc, &s.depth.Last, &s.depth.Cause); err != nil {
		return stay{}, err
	}
	s.session, err = decode[message.Peer](doc)
	return s, err
}

func scanGoing(row scanner) (g going, err error) {
	var doc string
	if err := row.Scan(&doc, &g.turns); err != nil {
		return going{}, err
	}
	g.chat, err = decode[message.Chat](doc)
	return g, err
}

// pendingColumns are the columns for scanPending, from a delivery d and the tables that
// pendingJoins add.
const (
	pendingColumns = deliveryColumns + `, d.typed, r.doc, r.words,
		(SELECT v.doc FROM verdicts v WHERE v.message = d.message ORDER BY v.seq DESC LIMIT 1)`
	pendingJoins = `JOIN messages m ON m.seq = d.message LEFT JOIN receipts r ON r.seq = d.last`
	underWay     = `SELECT ` + pendingColumns + `
		FROM deliveries d INDEXED BY deliveries_under_way ` + pendingJoins + ` WHERE d.open AND NOT d.parked ORDER BY d.seq`
)

func scanSubmitted(row scanner) (s Submitted, err error) {
	var (
		r   deliveryRow
		doc sql.NullString
	)
	if err := row.Scan(append(r.into(), &doc)...); err != nil {
		return Submitted{}, err
	}
	if s.Delivery, err = r.decode(); err != nil || !doc.Valid {
		return s, err
	}
	typed, err := decodeReceipt(doc.String, "")
	s.Typed = typed.At
	return s, err
}

func scanPending(row scanner) (Pending, error) {
	var (
		r                   deliveryRow
		typed               bool
		doc, words, verdict sql.NullString
	)
	if err := row.Scan(append(r.into(), &typed, &doc, &words, &verdict)...); err != nil {
		return Pending{}, err
	}
	delivery, err := r.decode()
	if err != nil {
		return Pending{}, err
	}
	delivery.Typed = delivery.Typed || typed
	pending := Pending{Delivery: delivery}
	if doc.Valid {
		if pending.Last, err = decodeReceipt(doc.String, words.String); err != nil {
			return Pending{}, err
		}
	}
	if verdict.Valid {
		pending.Verdict, err = decode[message.Verdict](verdict.String)
	}
	return pending, err
}
