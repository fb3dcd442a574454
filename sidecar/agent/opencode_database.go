package agent

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

const (
	// busyWait is how long a query waits for a lock of the agent's, in milliseconds. Readers of a write-ahead log
	// hardly ever need one.
	busyWait = 250
	// queryTime is how long a query may take in total.
	queryTime = 2 * time.Second
	// pieceOfRows and pieceOfData limit one read: the number of events, and roughly the number of their bytes.
	// pastRows is how many events of the past are read.
	pieceOfRows = 256
	pieceOfData = 8 << 20
	pastRows    = 4000
)

// database reads the database of opencode while the agent writes to it. Its connection only reads, holds no
// transaction between two queries, and is opened only while the agent's own write-ahead log exists, so that this
// process creates, recovers and removes nothing. The file itself is never opened in any other way, since closing it
// would release SQLite's locks. A database with only path set is ready for use.
type database struct {
	path string
	sure bool // the agent has it open

	db     *sql.DB
	conn   *sql.Conn
	file   os.FileInfo // of the database when it was opened
	opened int         // how many times it was opened
}

// row is one event of a conversation.
type row struct {
	seq  int64
	kind string
	data []byte
}

// databasePath returns the database that the agent has open, or the default one while it has none open.
func (a Agent) databasePath() (path string, open bool) {
	home := resolved(a.Home)
	for _, pid := range a.Tried {
		for _, path := range process.Writes(pid, func(path string) bool {
			name := filepath.Base(path)
			return filepath.Dir(path) == home && strings.HasPrefix(name, "opencode") && strings.HasSuffix(name, ".db")
		}) {
			return path, true
		}
	}
	return filepath.Join(home, "opencode.db"), false
}

// use opens the database, and opens it again after it was replaced.
func (d *database) use(ctx context.Context) error {
	info, err := os.Stat(d.path)
	if err != nil {
		d.close()
		return fmt.Errorf("database: %w: %w", ErrNoTranscript, err)
	}
	if d.conn != nil && os.SameFile(info, d.file) {
		return nil
	}
	d.close()
	params := url.Values{"_busy_timeout": {fmt.Sprint(busyWait)}, "_pragma": {"query_only(1)", "temp_store(2)"}}
	name, err := foreign.SQLite(d.path, params)
	if err != nil {
		return fmt.Errorf("database: %w: %w", ErrNoTranscript, err)
	}
	connector, err := sqlite.NewConnector(name)
	if err != nil {
		return d.fault(err)
	}
	d.db = sql.OpenDB(connector)
	d.db.SetMaxOpenConns(1)
	if d.conn, err = d.db.Conn(ctx); err == nil {
		err = d.conn.Raw(func(conn any) error {
			_, err := conn.(sqlite.FileControl).FileControlPersistWAL("main", 1) // this connection may be the last to close it
			return err
		})
	}
	if err != nil {
		d.close()
		return d.fault(err)
	}
	d.file = info
	d.opened++
	return nil
}

func (d *database) close() {
	if d == nil || d.db == nil {
		return
	}
	if d.conn != nil {
		_ = d.conn.Close()
	}
	_ = d.db.Close()
	d.db, d.conn = nil, nil
}

// fault distinguishes a database of another layout (*UnreadableError) from one that cannot be read just now
// (ErrNoTranscript).
func (d *database) fault(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case 1, 11, 26: // no such table or column; damaged; no database
			return &UnreadableError{Kind: OpenCode, Path: d.path, Why: err.Error()}
		}
	}
	return fmt.Errorf("database %q: %w: %w", d.path, ErrNoTranscript, err)
}

// errEnough ends a query.
var errEnough = errors.New("enough rows")

// query calls each for every row of a statement until it returns errEnough.
func (d *database) query(each func(*sql.Rows) error, statement string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), queryTime)
	defer cancel()
	if err := d.use(ctx); err != nil {
		return err
	}
	rows, err := d.conn.QueryContext(ctx, statement, args...)
	if err != nil {
		return d.fault(err)
	}
	defer rows.Close()
	for rows.Next() {
		switch err := each(rows); {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return d.fault(err)
		}
	}
	if err := rows.Err(); err != nil {
		return d.fault(err)
	}
	return nil
}

// conversations returns the conversations with a person that satisfy a condition, the newest first.
func (d *database) conversations(where string, args ...any) (all []conversation, err error) {
	err = d.query(func(rows *sql.Rows) error {
		var c conversation
		var began, wrote int64
		if err := rows.Scan(&c.Thread, &c.Version, &began, &wrote); err != nil {
			return err
		}
		c.Path = d.path + "#" + c.Thread
		c.began, c.wrote = milliseconds(began), milliseconds(wrote)
		all = append(all, c)
		return nil
	}, `SELECT id, version, time_created, time_updated FROM session
		WHERE parent_id IS NULL AND `+where+` ORDER BY time_updated DESC, id LIMIT `+fmt.Sprint(newestFiles), args...)
	return all, err
}

// since returns the conversations of a directory that were written to since a time.
func (d *database) since(dir string, since time.Time) ([]conversation, error) {
	return d.conversations("directory = ? AND time_updated >= ?", dir, since.UnixMilli())
}

// end returns the number of the next event of a conversation.
func (d *database) end(thread string) (end int64, err error) {
	err = d.query(func(rows *sql.Rows) error { return rows.Scan(&end) },
		`SELECT coalesce(max(seq) + 1, 0) FROM event WHERE aggregate_id = ?`, thread)
	return end, err
}

// events returns the next events of a conversation and whether there may be more. Events that are too long have
// null as data.
func (d *database) events(thread string, from int64) (all []row, more bool, err error) {
	size := 0
	err = d.query(func(rows *sql.Rows) error {
		if size > pieceOfData {
			more = true
			return errEnough
		}
		var one row
		if err := rows.Scan(&one.seq, &one.kind, &one.data); err != nil {
			return err
		}
		all, size = append(all, one), size+len(one.data)
		return nil
	}, `SELECT seq, type, CASE WHEN length(data) <= ? THEN data ELSE 'null' END FROM event
		WHERE aggregate_id = ? AND seq >= ? ORDER BY seq LIMIT ?`, maxRecord, thread, from, pieceOfRows)
	return all, more || len(all) == pieceOfRows, err
}

// line formats a row as a record for a Reader.
func (r row) line() []byte {
	kind, err := json.Marshal(r.kind)
	if err != nil {
		kind = []byte(`""`)
	}
	return fmt.Appendf(nil, `{"seq":%d,"type":%s,"data":%s}`, r.seq, kind, r.data)
}

// rows is the source for a conversation in a database.
type rows struct {
	place
	thread string
	base   *database // shared with the search for conversations

	reader *Reader
	opened int    // the value of base.opened when reading began
	why    string // why it is unreadable, or ""
	unread error  // why the last read failed
}

func (s *rows) next() (events []Event, more bool) {
	if s.reader != nil && s.opened != s.base.opened {
		s.reader = nil // another file
		s.again()
	}
	if s.reader == nil && !s.open() {
		return nil, false
	}
	all, more, err := s.base.events(s.thread, s.reader.Offset())
	if err != nil {
		s.fault(err)
		return nil, false
	}
	for _, one := range all {
		events = append(events, s.reader.row(one)...)
	}
	s.date(events, s.thread)
	s.unread = nil
	return events, more
}

func (s *rows) open() bool {
	end, err := s.base.end(s.thread)
	if err != nil {
		s.fault(err)
		return false
	}
	if s.pastTo == toEnd || s.pastTo > end {
		s.pastTo = end
	}
	begin := s.from
	if begin == 0 {
		begin = max(0, end-pastRows)
		if s.pastTo > 0 {
			begin = max(0, s.pastTo-pastRows)
		}
	}
	if begin > end {
		begin = 0
	}
	s.reader, s.opened, s.why = NewReader(OpenCode, begin), s.base.opened, ""
	return true
}

func (s *rows) fault(err error) {
	s.unread = err
	if e, ok := errors.AsType[*UnreadableError](err); ok {
		s.why = e.Why
	}
}

func (s *rows) offset() int64 {
	if s.reader == nil {
		return s.from
	}
	return s.reader.Offset()
}

func (s *rows) version() string {
	if s.reader == nil {
		return ""
	}
	return s.reader.health.Version
}

func (s *rows) missed() error {
	if s.why != "" {
		return nil // reported by unreadable instead
	}
	return s.unread
}

func (s *rows) unreadable() string {
	if s.why != "" || s.reader == nil {
		return s.why
	}
	return s.reader.health.Unreadable()
}

func (s *rows) close() {
	if s.reader != nil {
		s.from = s.reader.Offset()
	}
}

// tookPrompt searches the prompts at the end of a conversation for a text.
func (d *database) tookPrompt(thread, text string, since time.Time) bool {
	end, err := d.end(thread)
	if err != nil {
		return false
	}
	r := NewReader(OpenCode, max(0, end-pastRows))
	for {
		all, _, err := d.events(thread, r.Offset())
		if err != nil || len(all) == 0 {
			return false
		}
		for _, one := range all {
			if tookPrompt(r.row(one), text, since) {
				return true
			}
		}
	}
}

// rowArchive is the archive of opencode: one database for all its conversations.
type rowArchive struct {
	agent Agent
	base  *database
}

func newRowArchive(a Agent) archive {
	s := rowArchive{agent: a, base: &database{}}
	s.place()
	return s
}

// place finds the database until its path is certain: an agent that starts opens it a little later.
func (s rowArchive) place() {
	if !s.base.sure {
		s.base.path, s.base.sure = s.agent.databasePath()
	}
}

func (s rowArchive) close() { s.base.close() }

func (s rowArchive) recent(since time.Time) (all []Transcript, err error) {
	found, err := s.since(since)
	for _, c := range found {
		all = append(all, c.Transcript)
	}
	return all, err
}

func (s rowArchive) since(since time.Time) ([]conversation, error) {
	s.place()
	return s.base.since(s.agent.Dir, since)
}

func (s rowArchive) took(t *Transcript, text string, since time.Time) bool {
	_, thread, _ := strings.Cut(t.Path, "#")
	return s.base.tookPrompt(thread, text, since)
}

func (s rowArchive) thread(name string) (Transcript, error) {
	s.place()
	all, err := s.base.conversations("id = ?", name)
	if err != nil {
		return Transcript{}, err
	}
	if len(all) != 1 {
		return Transcript{}, fmt.Errorf("conversation %q is not one with a person: %w", name, ErrNoTranscript)
	}
	all[0].How = ByHook
	return all[0].Transcript, nil
}

func (s rowArchive) source(t Transcript, p place) source {
	return &rows{place: p, thread: t.Thread, base: s.base}
}
