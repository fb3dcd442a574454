package journal

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// DefaultLimit is the maximum number of events that a query without a limit returns.
const DefaultLimit = 1000

// Query selects events. The zero value selects the oldest DefaultLimit of all.
type Query struct {
	Chat     message.ID     // "": of all chats and of none
	Message  message.ID     // "": any; else only the message itself and its receipts
	Delivery message.ID     // "": any; else only the receipts of this delivery
	Since    int64          // only events with a greater Seq
	Before   int64          // only events with a smaller Seq; 0: no bound
	Limit    int            // the maximum number to return; 0 is DefaultLimit
	Newest   bool           // if there are more than Limit, the last ones rather than the first
	Notices  bool           // only notices to a person
	Origin   message.Origin // "": any; else only the messages of this origin

	// Search selects messages by their words as they left the policy: messages with all of these
	// words, or with words that begin with them, in any order and case. Words of scripts that are
	// written without spaces may stand anywhere. No character of Search is special.
	Search string
}

// Events returns the events in the order of the journal. At is when an event was written down. A
// message is as it was received. The delivery beside a receipt has no body, with one exception:
// beside a typed receipt it has the typed text if that, or its subject, differs from the message,
// as when a person edited it.
func (j *Journal) Events(ctx context.Context, q Query) ([]message.Event, error) {
	var (
		where = []string{"e.seq > ?"}
		args  = []any{q.Since}
	)
	if q.Chat != "" {
		where, args = append(where, "e.chat = ?"), append(args, string(q.Chat))
	}
	if q.Message != "" {
		where = append(where, `e.seq IN (SELECT seq FROM messages WHERE id = ? UNION ALL
			SELECT seq FROM receipts WHERE message = (SELECT seq FROM messages WHERE id = ?))`)
		args = append(args, string(q.Message), string(q.Message))
	}
	if q.Delivery != "" {
		where = append(where, `e.seq IN (SELECT seq FROM receipts WHERE delivery = (SELECT seq FROM deliveries WHERE id = ?))`)
		args = append(args, string(q.Delivery))
	}
	if q.Notices {
		where = append(where, "e.kind = 'notice'")
	}
	if q.Origin != "" {
		where, args = append(where, "json_extract(m.doc, '$.origin') = ?"), append(args, string(q.Origin))
	}
	match, contains := searchTerms(q.Search)
	from, seq := "events e", "e.seq"
	if match != "" {
		// The index yields its finds in the requested order and stops when there are enough: a word
		// may stand in every message.
		from, seq = "words w CROSS JOIN events e ON e.seq = w.rowid", "w.rowid"
		where, args = append(where, "w.words MATCH ?"), append(args, match)
		where[0] = "w.rowid > ?"
	}
	if q.Before > 0 {
		where, args = append(where, seq+" < ?"), append(args, q.Before)
	}
	for _, part := range contains {
		where, args = append(where, `m.passed AND coalesce(m.said, m.body) LIKE ? ESCAPE '\'`), append(args, part)
	}
	order := "ASC"
	if q.Newest {
		order = "DESC"
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	events, err := list(ctx, j, "events", scanEvent, `SELECT * FROM (
			SELECT e.seq AS seq, e.at, e.kind, coalesce(e.chat, ''), e.doc,
				m.doc, m.body,
				r.doc, r.words, d.doc, coalesce(d.envelope, dm.doc), coalesce(d.body, CASE WHEN
					json_extract(d.envelope, '$.subject') IS NOT json_extract(dm.doc, '$.subject') AND d.envelope IS NOT NULL THEN dm.body END, '')
			FROM `+from+`
			LEFT JOIN messages m ON m.seq = e.seq
			LEFT JOIN receipts r ON r.seq = e.seq
			LEFT JOIN deliveries d ON d.seq = r.delivery
			LEFT JOIN messages dm ON dm.seq = d.message
			WHERE `+strings.Join(where, " AND ")+`
			ORDER BY `+seq+` `+order+` LIMIT ?
		) ORDER BY seq`, append(args, limit)...)
	if err != nil {
		return nil, err
	}
	return events, nil
}

// searchTerms divides a person's search into an expression for the index and patterns for LIKE. The
// index knows words between spaces and punctuation, so it finds no part of a run of Han or Thai,
// and no signs.
func searchTerms(search string) (match string, contains []string) {
	var quoted []string
	for _, term := range strings.FieldsFunc(search, func(r rune) bool { return unicode.IsSpace(r) || r == 0 }) {
		if inIndex(term) {
			quoted = append(quoted, `"`+strings.ReplaceAll(term, `"`, `""`)+`"*`)
		} else {
			contains = append(contains, "%"+likeEscaper.Replace(term)+"%")
		}
	}
	return strings.Join(quoted, " AND "), contains
}

var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// inIndex reports whether the index can find term. That is so if term contains a letter or a digit,
// which the tokenizer takes for a word, and no script without spaces between words.
func inIndex(term string) bool {
	word := false
	for _, r := range term {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			return false
		}
		word = word || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return word
}

func scanEvent(row scanner) (message.Event, error) {
	var (
		e                                  message.Event
		at                                 int64
		doc, envelope, body                sql.NullString
		receipt, words, delivery, original sql.NullString
		own                                string // text of the delivery
	)
	if err := row.Scan(&e.Seq, &at, &e.Kind, &e.Chat, &doc, &envelope, &body, &receipt, &words, &delivery, &original, &own); err != nil {
		return message.Event{}, err
	}
	e.At = time.Unix(0, at).UTC()
	switch e.Kind {
	case kindMessage:
		m, err := decodeEnvelope(envelope.String, body.String)
		if err != nil {
			return message.Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		e.Message = &m
	case kindReceipt:
		r, err := decodeReceipt(receipt.String, words.String)
		if err != nil {
			return message.Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		e.Receipt = &r
		if delivery.Valid {
			if r.State != message.Typed {
				own = "" // this is the delivery's final text
			}
			d, err := (&deliveryRow{doc: delivery.String, envelope: original.String, body: own}).decode()
			if err != nil {
				return message.Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
			}
			e.Delivery = &d
		}
	case kindChat:
		c, err := decode[message.Chat](doc.String)
		if err != nil {
			return message.Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		e.Change = &c
	case kindSession:
		s, err := decode[message.Peer](doc.String)
		if err != nil {
			return message.Event{}, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		e.Peer = &s
	case kindNotice:
		e.Notice = doc.String
	}
	return e, nil
}
