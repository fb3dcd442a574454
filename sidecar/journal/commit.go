package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ErrDuplicate says that the journal already has a message with this id. The first one counts.
var ErrDuplicate = errors.New("message is in the journal already")

// Kinds of event, as in message.Event.
const (
	kindMessage = "message"
	kindReceipt = "receipt"
	kindChat    = "chat"
	kindSession = "session"
	kindNotice  = "notice"
)

// writer is the connection that writes, with its prepared statements.
type writer struct {
	db *sql.DB

	newest       *sql.Stmt
	addEvent     *sql.Stmt
	setStopped   *sql.Stmt
	setSession   *sql.Stmt
	park         *sql.Stmt
	setChat      *sql.Stmt
	addMessage   *sql.Stmt
	spoke        *sql.Stmt
	countTurn    *sql.Stmt
	addVerdict   *sql.Stmt
	setMemory    *sql.Stmt
	decide       *sql.Stmt
	edit         *sql.Stmt
	forgetWords  *sql.Stmt
	addWords     *sql.Stmt
	setDelivery  *sql.Stmt
	findDelivery *sql.Stmt
	findCause    *sql.Stmt
	findMessage  *sql.Stmt
	addReceipt   *sql.Stmt
	noteReceipt  *sql.Stmt
	settle       *sql.Stmt
	tally        *sql.Stmt
	caused       *sql.Stmt
	addWait      *sql.Stmt
	approved     *sql.Stmt
	countWait    *sql.Stmt
	setRecord    *sql.Stmt
	preparations []*sql.Stmt
}

// newWriter takes over db after checking that it is durable and, if check is set, sound, and after
// bringing its schema to the one that steps lead to. On an error db still belongs to the caller.
func newWriter(ctx context.Context, db *sql.DB, steps []string, check bool) (*writer, error) {
	if err := assertDurable(ctx, db); err != nil {
		return nil, err
	}
	if check {
		if err := quickCheck(ctx, db); err != nil {
			return nil, err
		}
	}
	if err := migrate(ctx, db, steps); err != nil {
		return nil, err
	}
	w := &writer{db: db}
	for _, p := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&w.newest, `SELECT coalesce(max(seq), 0) FROM events`},
		{&w.addEvent, `INSERT INTO events (seq, at, kind, chat, doc) VALUES (?, ?, ?, nullif(?, ''), ?)`},
		{&w.setStopped, `UPDATE latches SET stopped = ?`},
		{&w.setSession, `INSERT INTO sessions (id, present, doc, changed) VALUES (?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET present = excluded.present, doc = excluded.doc, changed = excluded.changed
			WHERE doc <> excluded.doc`},
		{&w.park, `UPDATE deliveries INDEXED BY deliveries_under_way SET parked = 1 WHERE target = ?1 AND open AND NOT parked AND state = 'held'
			AND (SELECT json_extract(r.doc, '$.reason') FROM receipts r WHERE r.seq = deliveries.last) IN (SELECT value FROM json_each(?2))`},
		{&w.setChat, `INSERT INTO chats (id, ended, doc, name) VALUES (?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, doc = excluded.doc, name = excluded.name
			WHERE doc <> excluded.doc`},
		{&w.addMessage, `INSERT INTO messages (seq, id, doc, body) VALUES (?, ?, ?, ?)`},
		{&w.spoke, `UPDATE sessions SET last = ?2, cause = ?3 WHERE id = ?1`},
		{&w.countTurn, `UPDATE chats SET turns = turns + ?2, depth = max(depth, ?3) WHERE id = ?1`},
		{&w.addVerdict, `INSERT INTO verdicts (message, doc, body) VALUES (?, ?, ?)`},
		{&w.decide, `UPDATE messages SET decided = 1, said = coalesce(?2, said), passed = passed OR ?3
			WHERE id = ?1 RETURNING seq, passed`},
		{&w.edit, `UPDATE deliveries SET body = ?2, doc = json_remove(doc, '$.as_is'), envelope = CASE WHEN ?3 IS NULL THEN envelope
			ELSE json_set(coalesce(envelope, (SELECT m.doc FROM messages m WHERE m.seq = ?1)), '$.subject', ?3) END
			WHERE message = ?1 AND open AND parked`},
		{&w.setMemory, `INSERT INTO memories (script, doc) VALUES (?, ?) ON CONFLICT (script) DO UPDATE SET doc = excluded.doc`},
		{&w.forgetWords, `DELETE FROM words WHERE rowid IN (SELECT value FROM json_each(?))`},
		{&w.addWords, `INSERT INTO words (rowid, body)
			SELECT seq, coalesce(said, body) FROM messages WHERE seq IN (SELECT value FROM json_each(?))`},
		{&w.setDelivery, `INSERT INTO deliveries (id, message, chat, target, doc, envelope, body)
			SELECT ?1, seq, nullif(?3, ''), ?4, ?5, nullif(?6, doc), nullif(?7, body) FROM messages WHERE id = ?2
			ON CONFLICT (id) DO UPDATE SET chat = excluded.chat, target = excluded.target, doc = excluded.doc,
				envelope = excluded.envelope, body = excluded.body WHERE message = excluded.message`},
		{&w.findDelivery, `SELECT seq, message, coalesce(chat, ''), target, state FROM deliveries WHERE id = ?`},
		{&w.findCause, `SELECT coalesce(d.envelope, m.doc), coalesce((SELECT json_extract(s.doc, '$.kind') FROM sessions s WHERE s.id = d.target), '')
			FROM deliveries d JOIN messages m ON m.seq = d.message WHERE d.seq = ?`},
		{&w.findMessage, `SELECT seq FROM messages WHERE id = ?`},
		{&w.addReceipt, `INSERT INTO receipts (seq, delivery, message, doc, words) VALUES (?, nullif(?, 0), ?, ?, ?)`},
		{&w.noteReceipt, `UPDATE deliveries SET last = ?2, state = ?3, open = open AND NOT ?4, typed = typed OR ?5, unanswered = ?7,
			parked = ?6 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = deliveries.target AND s.present) WHERE seq = ?1`},
		{&w.settle, `UPDATE deliveries SET unanswered = 0 WHERE target = ?1 AND unanswered AND seq < ?2`},
		{&w.tally, `INSERT INTO tallies (chat, state, n) VALUES (?, ?, ?) ON CONFLICT (chat, state) DO UPDATE SET n = n + excluded.n`},
		{&w.caused, `UPDATE sessions SET cause = CASE WHEN ?3 THEN 0 ELSE max(cause, ?2) END WHERE id = ?1`},
		{&w.addWait, `INSERT INTO waits (chat, slot, ns) SELECT id, waits % ?2, ?3 FROM chats WHERE id = ?1
			ON CONFLICT (chat, slot) DO UPDATE SET ns = excluded.ns`},
		{&w.approved, `SELECT EXISTS (SELECT 1 FROM receipts WHERE delivery = ? AND json_extract(doc, '$.hold') IN ('approval', 'policy', 'filter', 'pause', 'limit'))`},
		{&w.countWait, `UPDATE chats SET waits = waits + 1 WHERE id = ?`},
		{&w.setRecord, `INSERT INTO records (kind, id, open, changed, doc) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (kind, id) DO UPDATE SET open = excluded.open, changed = excluded.changed, doc = excluded.doc`},
	} {
		statement, err := db.PrepareContext(ctx, p.text)
		if err != nil {
			return nil, errors.Join(err, w.closeStatements())
		}
		*p.statement = statement
		w.preparations = append(w.preparations, statement)
	}
	return w, nil
}

// bringHome folds the write-ahead log into the database and empties it.
func (w *writer) bringHome(ctx context.Context) error {
	var busy, frames, folded int
	if err := w.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &folded); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if busy != 0 {
		return errBusy
	}
	return nil
}

func (w *writer) closeStatements() error {
	var errs []error
	for _, statement := range w.preparations {
		errs = append(errs, statement.Close())
	}
	return errors.Join(errs...)
}

func (w *writer) close() error { return errors.Join(w.closeStatements(), w.db.Close()) }

// Commit writes all of steps or none of them, in their order, and gives their events the next
// numbers in the order of the fields of each. When it returns nil, steps survive a power cut. An
// unchanged session or chat makes no event. ctx ends the wait for an earlier Commit; once begun,
// Commit finishes.
//
// After an error of the disk (full, read-only, a failed fsync) the caller must act as if nothing
// were written. A message.UnwritableError, for a disk without room or quota or a read-only one,
// says that nothing was written and that the caller can repeat the steps. After any other error the
// steps may nevertheless be in the journal; repeating them then ends with ErrDuplicate. If a write
// fails, but the disk accepts another right afterwards, Commit tries once more. Otherwise the next
// Commit reopens the files and checks them, so that the journal works again when the fault is gone.
//
// Texts come back as they were, bodies and words byte for byte; elsewhere, bytes that are not UTF-8
// come back as U+FFFD. An empty slice or map comes back nil, and a time without its monotonic part.
// If one message is invalid, Commit refuses all steps.
func (j *Journal) Commit(ctx context.Context, steps ...message.Step) error {
	steps = slices.DeleteFunc(slices.Clone(steps), message.Step.Empty)
	if len(steps) == 0 {
		return nil
	}
	before := unknownSeq
	write := func(ctx context.Context, w *writer) (err error) {
		before, err = w.commitAfter(ctx, time.Now(), steps...)
		return err
	}
	err := j.trying(ctx, write, func(ctx context.Context, w *writer) error {
		var newest int64
		if err := w.newest.QueryRowContext(ctx).Scan(&newest); err == nil && before != unknownSeq && newest > before {
			return nil // the steps arrived in spite of the error: nobody else writes
		}
		return write(ctx, w)
	})
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// unwritable turns err into an UnwritableError if nothing of a step was written and the same step
// can be written as soon as the disk allows it. It returns any other error as it is.
func (j *Journal) unwritable(err error) error {
	if why := j.refused(err); why != "" {
		return &message.UnwritableError{Path: j.path, Why: why, Err: err}
	}
	return err
}

// writing holds the turn while it runs write. ctx ends only the wait for the turn. It returns
// errors as unwritable does.
func (j *Journal) writing(ctx context.Context, write func(context.Context, *writer) error) error {
	return j.trying(ctx, write, nil)
}

// trying is writing with a second attempt. If the disk fails a write but accepts a probe right
// afterwards, trying runs again, unless that is nil: the disk was read-only a moment ago, or fails
// now and then.
func (j *Journal) trying(ctx context.Context, write, again func(context.Context, *writer) error) error {
	if err := j.take(ctx); err != nil {
		return err
	}
	defer func() { j.turn <- struct{}{} }()
	ctx = context.WithoutCancel(ctx)
	if j.suspect != nil {
		if err := j.mend(ctx); err != nil {
			return j.unwritable(err)
		}
	}
	told := j.once(ctx, write)
	if again == nil || code(told) != codeWrite || !doubtful(told) {
		return told
	}
	if err := j.mend(ctx); err != nil {
		return j.unwritable(err)
	}
	return j.once(ctx, again)
}

// once runs write once. After an error that leaves doubt about the files, it marks them as suspect,
// so that they are checked before the next write.
func (j *Journal) once(ctx context.Context, write func(context.Context, *writer) error) error {
	err := write(ctx, j.writer)
	told := j.unwritable(err)
	if doubtful(told) {
		j.suspect = err
	}
	return told
}

// unknownSeq stands for the number of the newest event if that was not read.
const unknownSeq = int64(-1)

// commit writes steps.
func (w *writer) commit(ctx context.Context, now time.Time, steps ...message.Step) error {
	_, err := w.commitAfter(ctx, now, steps...)
	return err
}

// commitAfter is commit, but returns the number of the newest event before steps.
func (w *writer) commitAfter(ctx context.Context, now time.Time, steps ...message.Step) (before int64, err error) {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return unknownSeq, fmt.Errorf("begin: %w", err)
	}
	s := stepper{ctx: ctx, tx: tx, w: w, now: now.UnixNano(), tallies: map[counted]int64{}, before: unknownSeq}
	if err := s.writeAll(steps); err != nil {
		_ = tx.Rollback() // SQLite may have rolled back already; err says more
		return s.before, err
	}
	if err := tx.Commit(); err != nil {
		return s.before, fmt.Errorf("commit: %w", err)
	}
	return s.before, nil
}

// stepper writes steps in one transaction.
type stepper struct {
	ctx context.Context
	tx  *sql.Tx
	w   *writer
	now int64 // nanoseconds since 1970
	seq int64 // of the newest event

	before int64 // seq at the beginning; unknownSeq: not read yet

	passed  []int64           // messages that a verdict let out
	tallies map[counted]int64 // changes of the counts
}

// counted is the key of one count.
type counted struct {
	chat  message.ID
	state message.ReceiptState
}

func (s *stepper) writeAll(steps []message.Step) error {
	if err := s.row(s.w.newest).Scan(&s.seq); err != nil {
		return fmt.Errorf("newest event: %w", err)
	}
	s.before = s.seq
	for _, step := range steps {
		if err := s.write(step); err != nil {
			return err
		}
	}
	for of, n := range s.tallies {
		if n == 0 {
			continue
		}
		if _, err := s.exec(s.w.tally, string(of.chat), string(of.state), n); err != nil {
			return fmt.Errorf("counts: %w", err)
		}
	}
	return s.index()
}

// index makes the texts of messages that a verdict let out searchable. It adds all of them in one
// statement, since the index writes what it has gathered at the beginning of the next.
func (s *stepper) index() error {
	if len(s.passed) == 0 {
		return nil
	}
	seqs, err := encode(s.passed)
	if err != nil {
		return err
	}
	for _, statement := range []*sql.Stmt{s.w.forgetWords, s.w.addWords} {
		if _, err := s.exec(statement, seqs); err != nil {
			return fmt.Errorf("index: %w", err)
		}
	}
	return nil
}

func (s *stepper) write(step message.Step) error {
	if step.Stopped != nil {
		if _, err := s.exec(s.w.setStopped, *step.Stopped); err != nil {
			return fmt.Errorf("stopped: %w", err)
		}
	}
	for _, session := range step.Peers {
		if err := s.session(session); err != nil {
			return fmt.Errorf("session %q: %w", session.ID, err)
		}
	}
	for _, chat := range step.Chats {
		if err := s.chat(chat); err != nil {
			return fmt.Errorf("chat %q: %w", chat.ID, err)
		}
	}
	for _, envelope := range step.Received {
		if err := s.message(envelope); err != nil {
			return fmt.Errorf("message %q: %w", envelope.ID, err)
		}
	}
	for _, verdict := range step.Verdicts {
		if err := s.verdict(verdict); err != nil {
			return fmt.Errorf("verdict on message %q: %w", verdict.Message, err)
		}
	}
	for _, delivery := range step.Deliveries {
		if err := s.delivery(delivery); err != nil {
			return fmt.Errorf("delivery %q: %w", delivery.ID, err)
		}
	}
	for _, receipt := range step.Receipts {
		if err := s.receipt(receipt); err != nil {
			return fmt.Errorf("receipt %q of delivery %q: %w", receipt.State, receipt.Delivery, err)
		}
	}
	for _, id := range step.Freed {
		if _, err := s.exec(s.w.spoke, string(id), 1, -1); err != nil {
			return fmt.Errorf("brake of session %q: %w", id, err)
		}
	}
	for _, one := range step.Spoke {
		if _, err := s.exec(s.w.spoke, string(one.Peer), one.Depth, one.Cause); err != nil {
			return fmt.Errorf("depth of session %q: %w", one.Peer, err)
		}
	}
	for _, r := range step.Records {
		if err := s.record(r); err != nil {
			return fmt.Errorf("record %s %q: %w", r.Kind, r.ID, err)
		}
	}
	for _, notice := range step.Notices {
		if _, err := s.event(kindNotice, notice.Chat, notice.Text); err != nil {
			return fmt.Errorf("notice: %w", err)
		}
	}
	return nil
}

func (s *stepper) exec(statement *sql.Stmt, args ...any) (changed int64, err error) {
	result, err := s.tx.StmtContext(s.ctx, statement).ExecContext(s.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *stepper) row(statement *sql.Stmt, args ...any) *sql.Row {
	return s.tx.StmtContext(s.ctx, statement).QueryRowContext(s.ctx, args...)
}

// event appends an event. doc is nil for a kind of event that has a table of its own.
func (s *stepper) event(kind string, chat message.ID, doc any) (seq int64, err error) {
	s.seq++
	_, err = s.exec(s.w.addEvent, s.seq, s.now, kind, string(chat), doc)
	return s.seq, err
}

func (s *stepper) session(session message.Peer) error {
	doc, err := encode(session)
	if err != nil {
		return err
	}
	changed, err := s.exec(s.w.setSession, string(session.ID), session.Ended == nil, doc, s.seq+1)
	if err != nil || changed == 0 {
		return err
	}
	if _, err := s.event(kindSession, "", doc); err != nil || session.Ended == nil {
		return err
	}
	reasons, err := encode(goneReasons)
	if err != nil {
		return err
	}
	if _, err := s.exec(s.w.park, string(session.ID), reasons); err != nil {
		return fmt.Errorf("what is held for it: %w", err)
	}
	return nil
}

func (s *stepper) chat(chat message.Chat) error {
	doc, err := encode(chat)
	if err != nil {
		return err
	}
	changed, err := s.exec(s.w.setChat, string(chat.ID), chat.State == message.ChatOver, doc, chat.Name)
	if err != nil || changed == 0 {
		return err
	}
	_, err = s.event(kindChat, chat.ID, doc)
	return err
}

func (s *stepper) message(envelope message.Envelope) error {
	if err := envelope.Validate(); err != nil {
		return err
	}
	doc, body, err := encodeEnvelope(envelope)
	if err != nil {
		return err
	}
	seq, err := s.event(kindMessage, envelope.Chat, nil)
	if err != nil {
		return err
	}
	_, err = s.exec(s.w.addMessage, seq, string(envelope.ID), doc, body)
	if code(err) == codeUnique {
		return ErrDuplicate
	} else if err != nil {
		return err
	}
	if envelope.EndsTurn() {
		if _, err := s.exec(s.w.spoke, string(envelope.From.Peer), envelope.Depth, -1); err != nil {
			return fmt.Errorf("its author: %w", err)
		}
	}
	if envelope.Chat != "" {
		if _, err := s.exec(s.w.countTurn, string(envelope.Chat), envelope.TakesTurn(), envelope.Depth); err != nil {
			return fmt.Errorf("its chat: %w", err)
		}
	}
	return nil
}

// verdict stores a verdict. Only a text that a verdict let out can be found. A text that a verdict
// put in the place of the original stays in its place: text that a filter has masked must not come
// back with a person's later yes. A person's text also replaces the text of deliveries held for
// agents that have gone, so that a successor gets that.
func (s *stepper) verdict(verdict message.Verdict) error {
	var body any
	if verdict.Body != nil {
		body = *verdict.Body
		verdict.Body = nil
	}
	lets := func(verb message.Verb) bool { return verb == message.VerbDeliver || verb == message.VerbAck }
	passes := !verdict.Unfiltered && (verdict.Kept || lets(verdict.Verb) || slices.ContainsFunc(verdict.Outcomes, func(o message.Outcome) bool { return lets(o.Verb) }))
	var (
		seq    int64
		passed bool
	)
	switch err := s.row(s.w.decide, string(verdict.Message), body, passes).Scan(&seq, &passed); {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNotFound
	case err != nil:
		return err
	}
	doc, err := encode(verdict)
	if err != nil {
		return err
	}
	if _, err := s.exec(s.w.addVerdict, seq, doc, body); err != nil {
		return err
	}
	if body != nil && verdict.Person != (message.Person{}) {
		if _, err := s.exec(s.w.edit, seq, body, verdict.Subject); err != nil {
			return fmt.Errorf("deliveries held for agents that have gone: %w", err)
		}
	}
	for script, memory := range verdict.Memory {
		if _, err := s.exec(s.w.setMemory, script, memory); err != nil {
			return fmt.Errorf("memory of %q: %w", script, err)
		}
	}
	if passed {
		s.passed = append(s.passed, seq)
	}
	return nil
}

// delivery stores a delivery, or its changes when it is handed over again. It keeps the delivery's
// message only if that differs from the received one.
func (s *stepper) delivery(delivery message.Delivery) error {
	envelope, body, err := encodeEnvelope(delivery.Message)
	if err != nil {
		return err
	}
	id := delivery.Message.ID
	delivery.Message = message.Envelope{}
	doc, err := encode(delivery)
	if err != nil {
		return err
	}
	changed, err := s.exec(s.w.setDelivery, string(delivery.ID), string(id), string(delivery.Chat), string(delivery.Target), doc, envelope, body)
	if err == nil && changed == 0 {
		err = fmt.Errorf("its message %q: %w", id, ErrNotFound)
	}
	return err
}

// receipt appends a receipt, and updates its delivery, the counts of its chat, and the session that
// it is for.
func (s *stepper) receipt(receipt message.Receipt) error {
	d, err := s.find(receipt)
	if errors.Is(err, ErrNotFound) && s.pruned(receipt.Delivery) {
		return nil // nothing is left that the receipt could describe
	} else if err != nil {
		return err
	}
	words := receipt.Words
	receipt.Words = ""
	doc, err := encode(receipt)
	if err != nil {
		return err
	}
	seq, err := s.event(kindReceipt, d.chat, nil)
	if err != nil {
		return err
	}
	if _, err := s.exec(s.w.addReceipt, seq, d.seq, d.message, doc, words); err != nil || d.seq == 0 {
		return err
	}
	var (
		closes = receipt.State == message.Submitted || receipt.State.Final()
		typed  = receipt.State == message.Typed || receipt.State == message.Submitted
		parks  = receipt.State == message.Held && slices.Contains(goneReasons, receipt.Reason)
	)
	if _, err := s.exec(s.w.noteReceipt, d.seq, seq, string(receipt.State), closes, typed, parks, receipt.State == message.Submitted); err != nil {
		return err
	}
	if receipt.State == message.Answered { // an earlier delivery without an answer by now will get none
		if _, err := s.exec(s.w.settle, string(d.target), d.seq); err != nil {
			return fmt.Errorf("those before it: %w", err)
		}
	}
	if d.state != receipt.State { // the delivery counts in its new state, and no longer in its old one
		if d.state != "" {
			s.tallies[counted{d.chat, d.state}]--
		}
		if !receipt.Superseded() { // otherwise its replacement counts
			s.tallies[counted{d.chat, receipt.State}]++
		}
	}
	if typed || receipt.State == message.Uncertain {
		if err := s.caused(d, receipt); err != nil {
			return fmt.Errorf("what it causes: %w", err)
		}
	}
	return nil
}

// about is the delivery or message that a receipt is about.
type about struct {
	seq, message int64 // seq is 0 if it is about the message only
	chat, target message.ID
	state        message.ReceiptState // before it
}

func (s *stepper) find(receipt message.Receipt) (d about, err error) {
	if receipt.Delivery == "" {
		err = s.row(s.w.findMessage, string(receipt.Message)).Scan(&d.message)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("its message %q: %w", receipt.Message, ErrNotFound)
		}
		return d, err
	}
	err = s.row(s.w.findDelivery, string(receipt.Delivery)).Scan(&d.seq, &d.message, &d.chat, &d.target, &d.state)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return d, err
}

// pruned reports whether a delivery that is not in the journal was pruned, because it is older than
// MinAge, for which everything is kept. A sink that was handed the delivery may still report on it.
func (s *stepper) pruned(id message.ID) bool {
	made, known := id.Made()
	return known && s.now-made.UnixNano() > int64(MinAge)
}

// caused notes that this delivery may be the cause of what the target says next. An agent's message
// counts from the first byte that may have reached the pane. A person's message, which resets the
// depth, counts only once it was taken or may have been. The latency of a turn that was taken
// counts among those of its chat.
func (s *stepper) caused(d about, receipt message.Receipt) error {
	var doc string
	var kind message.PeerKind // of the target
	if err := s.row(s.w.findCause, d.seq).Scan(&doc, &kind); err != nil {
		return err
	}
	e, err := decode[message.Envelope](doc)
	if err != nil {
		return err
	}
	person := e.Origin == message.OriginHuman
	if person && receipt.State != message.Typed || !person && kind.Heeds(e) {
		if _, err := s.exec(s.w.caused, string(d.target), e.Depth, person); err != nil {
			return err
		}
	}
	if receipt.State != message.Submitted || e.Type != message.KindTurn || d.chat == "" {
		return nil
	}
	var approved bool
	if err := s.row(s.w.approved, d.seq).Scan(&approved); err != nil || approved {
		return err // the time for which a person makes it wait is no latency of ours
	}
	if _, err := s.exec(s.w.addWait, string(d.chat), latencies, max(0, receipt.At.Sub(e.Created))); err != nil {
		return err
	}
	_, err = s.exec(s.w.countWait, string(d.chat))
	return err
}

// goneReasons are the reasons of a delivery that is held for an agent that has gone.
var goneReasons = []message.Reason{
	message.AgentGone, message.PaneDead, message.PaneReplaced, message.PaneMissing, message.ServerEnded,
}

// encode returns v as JSON, by which the vocabulary can gain fields without a new schema.
func encode(v any) (string, error) {
	doc, err := json.Marshal(v)
	return string(doc), err
}

func encodeEnvelope(envelope message.Envelope) (doc, body string, err error) {
	body = envelope.Body
	envelope.Body = ""
	doc, err = encode(envelope)
	return doc, body, err
}

func decode[T any](doc string) (T, error) {
	var v T
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		return v, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return v, nil
}

func decodeEnvelope(doc, body string) (message.Envelope, error) {
	envelope, err := decode[message.Envelope](doc)
	envelope.Body = body
	return envelope, err
}
