package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var (
	// ErrNotFound says that the journal has nothing with that id.
	ErrNotFound = message.NewError(message.KindUnknown, "not in the journal")
	// ErrAmbiguous says that a short id or a name matches more than one thing.
	ErrAmbiguous = errors.New("ambiguous")
)

// Seen reports whether a message with this id was ever received or, if the journal is pruned, at
// least in the last MinAge.
func (j *Journal) Seen(ctx context.Context, id message.ID) (bool, error) {
	found, err := list(ctx, j, fmt.Sprintf("message %q", id), func(row scanner) (seen bool, err error) {
		err = row.Scan(&seen)
		return seen, err
	}, `SELECT EXISTS (SELECT 1 FROM messages WHERE id = ?)`, string(id))
	return err == nil && found[0], err
}

// Chats lists the chats that have ended, or those that have not, in the order in which they
// started.
func (j *Journal) Chats(ctx context.Context, ended bool) ([]message.Chat, error) {
	return list(ctx, j, "chats", scanDoc[message.Chat], `SELECT doc FROM chats WHERE ended = ? ORDER BY seq`, ended)
}

// EndedChats lists at most so many of the chats that have ended, those that started last.
func (j *Journal) EndedChats(ctx context.Context, most int) ([]message.Chat, error) {
	return list(ctx, j, "ended chats", scanDoc[message.Chat], `SELECT doc FROM chats WHERE ended = 1 ORDER BY seq DESC LIMIT ?`, most)
}

// EndedSessions lists at most so many of the sessions that have ended, those that were adopted
// last.
func (j *Journal) EndedSessions(ctx context.Context, most int) ([]message.Peer, error) {
	return list(ctx, j, "ended sessions", scanDoc[message.Peer], `SELECT doc FROM sessions WHERE NOT present ORDER BY seq DESC LIMIT ?`, most)
}

// Message finds a message by its id or its short form, and returns it as it was received. The error
// is ErrNotFound, or ErrAmbiguous with all candidates.
func (j *Journal) Message(ctx context.Context, idOrShort string) (message.Envelope, error) {
	name := fold(idOrShort)
	found, err := list(ctx, j, fmt.Sprintf("message %q", name), scanEnvelope,
		`SELECT doc, body FROM messages WHERE id BETWEEN ?1 AND ?3 OR substr(id, -8) BETWEEN ?1 AND ?3 ORDER BY id <> ?1, seq LIMIT ?2`, name, mostNamed, upTo(name))
	if err != nil {
		return message.Envelope{}, err
	}
	ids := make([]message.ID, len(found))
	for i, envelope := range found {
		ids[i] = envelope.ID
	}
	if err := only(name, ids); err != nil {
		return message.Envelope{}, fmt.Errorf("message %q: %w", name, err)
	}
	return found[0], nil
}

// Find returns the query for all events of the message, delivery or chat with an id, in full or in
// its short form. The error is ErrNotFound, or ErrAmbiguous with all candidates.
func (j *Journal) Find(ctx context.Context, idOrShort string) (Query, error) {
	name := fold(idOrShort)
	found, err := list(ctx, j, fmt.Sprintf("%q", name), scanBearer, `
		SELECT id, what FROM (
			SELECT id, 'message' AS what FROM messages WHERE id BETWEEN ?1 AND ?3 OR substr(id, -8) BETWEEN ?1 AND ?3
			UNION ALL SELECT id, 'delivery' FROM deliveries WHERE id BETWEEN ?1 AND ?3 OR substr(id, -8) BETWEEN ?1 AND ?3
			UNION ALL SELECT id, 'chat' FROM chats WHERE id BETWEEN ?1 AND ?3 OR substr(id, -8) BETWEEN ?1 AND ?3
		) ORDER BY id <> ?1, id LIMIT ?2`, name, mostNamed, upTo(name))
	if err != nil {
		return Query{}, err
	}
	ids := make([]message.ID, len(found))
	for i, b := range found {
		ids[i] = b.id
	}
	if err := only(name, ids); err != nil {
		return Query{}, fmt.Errorf("%q: %w", name, err)
	}
	switch id := found[0].id; found[0].what {
	case "message":
		return Query{Message: id}, nil
	case "delivery":
		return Query{Delivery: id}, nil
	default:
		return Query{Chat: id}, nil
	}
}

// mostNamed is the maximum number of ids that an error names.
const mostNamed = 20

// upTo returns the upper end of the range of ids that begin with name: an id goes on with a digit,
// a letter up to f or a hyphen. If name is too short for a prefix, the range holds name alone.
func upTo(name string) string {
	if len(name) < message.LeastPrefix {
		return name
	}
	return name + "g"
}

func fold(idOrShort string) string { return strings.ToLower(strings.TrimSpace(idOrShort)) }

// only checks that name means the first of ids and no other. A full id means itself.
func only(name string, ids []message.ID) error {
	switch {
	case len(ids) == 0:
		return ErrNotFound
	case len(ids) == 1 || string(ids[0]) == name:
		return nil
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return fmt.Errorf("%w: it may be %s", ErrAmbiguous, strings.Join(names, ", "))
}

// Verdicts returns the verdicts on a message, in their order.
func (j *Journal) Verdicts(ctx context.Context, id message.ID) ([]message.Verdict, error) {
	return list(ctx, j, fmt.Sprintf("verdicts on message %q", id), scanVerdict,
		`SELECT v.doc, v.body FROM verdicts v JOIN messages m ON m.seq = v.message WHERE m.id = ? ORDER BY v.seq`, string(id))
}

// Deliveries returns the deliveries of a message, in the order in which they were made.
func (j *Journal) Deliveries(ctx context.Context, id message.ID) ([]message.Delivery, error) {
	return list(ctx, j, fmt.Sprintf("deliveries of message %q", id), scanDelivery, `SELECT `+deliveryColumns+`
		FROM deliveries d JOIN messages m ON m.seq = d.message WHERE m.id = ? ORDER BY d.seq`, string(id))
}

// Delivery finds a delivery by its id. Its Typed is set if any of its receipts says that bytes may
// have reached the pane. If there is none, the error is ErrNotFound.
func (j *Journal) Delivery(ctx context.Context, id message.ID) (message.Delivery, error) {
	found, err := list(ctx, j, fmt.Sprintf("delivery %q", id), scanPending,
		`SELECT `+pendingColumns+` FROM deliveries d `+pendingJoins+` WHERE d.id = ?`, string(id))
	switch {
	case err != nil:
		return message.Delivery{}, err
	case len(found) == 0:
		return message.Delivery{}, fmt.Errorf("delivery %q: %w", id, ErrNotFound)
	}
	return found[0].Delivery, nil
}

// Memories returns what policies remember, by the names of their files.
func (j *Journal) Memories(ctx context.Context) (map[string][]byte, error) {
	type memory struct {
		script string
		doc    []byte
	}
	found, err := list(ctx, j, "memories", func(row scanner) (m memory, err error) {
		return m, row.Scan(&m.script, &m.doc)
	}, `SELECT script, doc FROM memories`)
	all := map[string][]byte{}
	for _, m := range found {
		all[m.script] = m.doc
	}
	return all, err
}

// Decided is a message that was decided once, and its targets.
type Decided struct {
	Message message.Envelope // as it was received
	Chat    message.ID       // of the message, if any
	Targets []message.ID     // of its deliveries, each once
}

// Recent returns the newest messages that were decided and had any deliveries, at most so many,
// oldest first.
func (j *Journal) Recent(ctx context.Context, most int) ([]Decided, error) {
	recent, err := list(ctx, j, "recent messages", func(row scanner) (d Decided, err error) {
		var doc, body, chat, targets string
		if err := row.Scan(&doc, &body, &chat, &targets); err != nil {
			return d, err
		}
		d.Message, err = decodeEnvelope(doc, body)
		d.Chat = message.ID(chat)
		for _, id := range strings.Split(targets, " ") {
			if !slices.Contains(d.Targets, message.ID(id)) {
				d.Targets = append(d.Targets, message.ID(id))
			}
		}
		return d, err
	}, `SELECT m.doc, m.body, coalesce(max(d.chat), ''), group_concat(d.target, ' ' ORDER BY d.seq)
		FROM messages m JOIN deliveries d ON d.message = m.seq
		WHERE m.seq IN (SELECT seq FROM messages WHERE decided ORDER BY seq DESC LIMIT ?) GROUP BY m.seq ORDER BY m.seq`, most)
	return recent, err
}

// Session finds a session by its id, present or ended. If there is none, the error is ErrNotFound.
func (j *Journal) Session(ctx context.Context, id message.ID) (message.Peer, error) {
	found, err := list(ctx, j, fmt.Sprintf("session %q", id), scanDoc[message.Peer], `SELECT doc FROM sessions WHERE id = ?`, string(id))
	switch {
	case err != nil:
		return message.Peer{}, err
	case len(found) == 0:
		return message.Peer{}, fmt.Errorf("session %q: %w", id, ErrNotFound)
	}
	return found[0], nil
}

// LastIn finds the session that was in a pane last, of those that have ended, but for the reason
// except. If there is none, the error is ErrNotFound.
func (j *Journal) LastIn(ctx context.Context, pane string, except message.Reason) (message.Peer, error) {
	what := fmt.Sprintf("ended session in pane %q", pane)
	found, err := list(ctx, j, what, scanDoc[message.Peer], `SELECT doc FROM sessions WHERE NOT present AND json_extract(doc, '$.pane') = ?
		AND coalesce(json_extract(doc, '$.end_reason'), '') <> ? ORDER BY seq DESC LIMIT 1`, pane, string(except))
	switch {
	case err != nil:
		return message.Peer{}, err
	case len(found) == 0:
		return message.Peer{}, fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return found[0], nil
}

// Receipts returns the receipts of all deliveries of a message, in their order.
func (j *Journal) Receipts(ctx context.Context, id message.ID) ([]message.Receipt, error) {
	return list(ctx, j, fmt.Sprintf("receipts of message %q", id), scanReceipt,
		`SELECT r.doc, r.words FROM receipts r JOIN messages m ON m.seq = r.message WHERE m.id = ? ORDER BY r.seq`, string(id))
}

// reading runs read in a transaction that sees one moment of the journal.
func (j *Journal) reading(ctx context.Context, read func(*sql.Tx) error) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if j.read == nil {
		return j.unreadable
	}
	tx, err := j.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // there is nothing to lose
	return read(tx)
}

// list returns all rows of one query, which sees one moment of the journal by itself. what names
// the query in the error.
func list[T any](ctx context.Context, j *Journal, what string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	found, err := func() ([]T, error) {
		j.mu.RLock()
		defer j.mu.RUnlock()
		rows, err := j.query(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		return all(rows, scan)
	}()
	if err != nil {
		return nil, fmt.Errorf("journal: %s: %w", what, err)
	}
	return found, nil
}

// query runs a query. It prepares it at its first use, because parsing takes longer than running.
// The caller holds mu.
func (j *Journal) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if j.read == nil {
		return nil, j.unreadable
	}
	j.known.Lock()
	statement, known := j.statements[query]
	if room := len(j.statements) < mostStatements; !known && room {
		var err error
		if statement, err = j.read.PrepareContext(ctx, query); err != nil {
			j.known.Unlock()
			return nil, err
		}
		j.statements[query] = statement
	}
	j.known.Unlock()
	if statement == nil {
		return j.read.QueryContext(ctx, query, args...)
	}
	return statement.QueryContext(ctx, args...)
}

func collect[T any](ctx context.Context, tx *sql.Tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return all(rows, scan)
}

// all returns all rows and closes rows.
func all[T any](rows *sql.Rows, scan func(scanner) (T, error)) (found []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, rows.Err()
}

// bearer is an id and what it belongs to: a message, a delivery or a chat.
type bearer struct {
	id   message.ID
	what string
}

func scanBearer(row scanner) (b bearer, err error) {
	err = row.Scan(&b.id, &b.what)
	return b, err
}

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

func scanDoc[T any](row scanner) (T, error) {
	var doc string
	if err := row.Scan(&doc); err != nil {
		return *new(T), err
	}
	return decode[T](doc)
}

func scanEnvelope(row scanner) (message.Envelope, error) {
	var doc, body string
	if err := row.Scan(&doc, &body); err != nil {
		return message.Envelope{}, err
	}
	return decodeEnvelope(doc, body)
}

func scanVerdict(row scanner) (message.Verdict, error) {
	var (
		doc  string
		body sql.NullString
	)
	if err := row.Scan(&doc, &body); err != nil {
		return message.Verdict{}, err
	}
	verdict, err := decode[message.Verdict](doc)
	if body.Valid {
		verdict.Body = &body.String
	}
	return verdict, err
}

// deliveryColumns are the columns of a deliveryRow, from a delivery d and its message m.
const deliveryColumns = `d.doc, coalesce(d.envelope, m.doc), coalesce(d.body, m.body)`

type deliveryRow struct{ doc, envelope, body string }

func (r *deliveryRow) into() []any { return []any{&r.doc, &r.envelope, &r.body} }

func (r *deliveryRow) decode() (message.Delivery, error) {
	delivery, err := decode[message.Delivery](r.doc)
	if err != nil {
		return message.Delivery{}, err
	}
	delivery.Message, err = decodeEnvelope(r.envelope, r.body)
	return delivery, err
}

func scanDelivery(row scanner) (message.Delivery, error) {
	var r deliveryRow
	if err := row.Scan(r.into()...); err != nil {
		return message.Delivery{}, err
	}
	return r.decode()
}

func decodeReceipt(doc, words string) (message.Receipt, error) {
	receipt, err := decode[message.Receipt](doc)
	receipt.Words = words
	return receipt, err
}

func scanReceipt(row scanner) (message.Receipt, error) {
	var doc, words string
	if err := row.Scan(&doc, &words); err != nil {
		return message.Receipt{}, err
	}
	return decodeReceipt(doc, words)
}
