// Package journal keeps what the sidecar must not lose: messages, verdicts, deliveries, receipts,
// chats and sessions, in one SQLite database, in the order in which they happened. No other package
// writes SQL; only package agent reads another database, that of opencode.
//
// The package starts no goroutine. One connection writes; Commit uses it for the length of one
// transaction, one caller at a time. Reads have connections of their own, which cannot write, see
// the last committed state, and wait for nobody. Every method may be called from any goroutine. The
// caller must ensure, by a lock held for life, that no other sidecar has the same database open.
package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"modernc.org/sqlite"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

var (
	// ErrUnsafe says that somebody else could read or change the journal: its directory is a
	// symbolic link, belongs to another user, or has a mode other than 0700.
	ErrUnsafe = errors.New("unsafe place for a journal")
	// ErrNewer says that a newer version of this program has written the journal.
	ErrNewer = errors.New("journal was written by a newer version")
	// ErrClosed says that the journal has been closed.
	ErrClosed = errors.New("journal is closed")

	errBusy = errors.New("another program reads the journal")
)

// readers is the maximum number of concurrent reads.
const readers = 4

// mostStatements is how many query texts stay prepared. The program has fewer, except that the text
// of a search grows with the words that a person looks for.
const mostStatements = 64

// busyTimeout is how many milliseconds to wait for a lock of another program.
const busyTimeout = 5000

// logLimit is how many bytes of the write-ahead log stay on disk when they are not needed.
const logLimit = 16 << 20

// Journal is an open journal.
type Journal struct {
	path   string
	file   fs.FileInfo // of path, when it was opened
	notice string
	later  bool // the check is still to be done; see Check

	// turn holds one token. The goroutine that has taken it may write, and may replace the
	// connections.
	turn    chan struct{}
	writer  *writer // guarded by turn; nil after a fault, until it is reopened
	suspect error   // guarded by turn: the fault after which the connections are not trusted

	mu         sync.RWMutex // held during a read, so that Close and a reopening wait for it
	read       *sql.DB      // guarded by mu; nil while closed or if reopening failed
	unreadable error        // guarded by mu: why read is nil

	known      sync.Mutex           // guards statements; nobody waits for it while holding a connection
	statements map[string]*sql.Stmt // of read, by their text
}

// Open opens the journal in dir. It makes dir (mode 0700) and the journal if they are missing. The
// directory must be the caller's own, of mode 0700 and no symbolic link, else the error is
// ErrUnsafe. If the schema is newer than this program, the error is ErrNewer; an older schema is
// brought up to date. Open renames a damaged journal, never deletes it, and begins a new one;
// Notice then tells. A large journal that was not closed still has to be checked: see Check.
func Open(ctx context.Context, dir string) (*Journal, error) {
	j, err := open(ctx, dir, migrations())
	if err != nil {
		return nil, fmt.Errorf("open journal %q: %w", filepath.Join(dir, fileName), err)
	}
	return j, nil
}

// checkAtOnce is the largest size of a journal that is checked before it is opened. Such a check
// takes no more seconds than a person will wait.
const checkAtOnce = 256 << 20

func open(ctx context.Context, dir string, steps []string) (*Journal, error) {
	return openChecking(ctx, dir, steps, checkAtOnce)
}

func openChecking(ctx context.Context, dir string, steps []string, atOnce int64) (*Journal, error) {
	dir, err := filepath.Abs(dir) // SQLite's URIs allow absolute paths only
	if err != nil {
		return nil, err
	}
	path, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, turn: make(chan struct{}, 1)}
	check := unclean(path)
	if info, err := os.Stat(path); err == nil && info.Size() > atOnce {
		_, known := os.Lstat(path + unsound)
		j.later, check = check && known != nil, known == nil
	}
	err = j.begin(ctx, steps, check)
	if damaged(err) {
		// A disk that fails to read for a moment looks like damage too. So a journal is set aside
		// only if it can be read from end to end and is found damaged a second time.
		if err := readThrough(path); err != nil {
			return nil, err
		}
		err = j.begin(ctx, steps, true)
	}
	if damaged(err) {
		aside, asideErr := setAside(path, time.Now())
		if asideErr != nil {
			return nil, errors.Join(err, asideErr)
		}
		j.notice = fmt.Sprintf("the journal was damaged and a new one was started; the old one is kept as %s (%v)", aside, err)
		if _, err := prepare(dir); err != nil {
			return nil, err
		}
		err = j.begin(ctx, steps, false)
	}
	if err != nil {
		return nil, err
	}
	if j.file, err = os.Lstat(path); err != nil {
		return nil, errors.Join(err, j.closeReaders(), j.closeWriter())
	}
	if !j.later {
		_ = os.Remove(path + unsound)
	}
	j.turn <- struct{}{}
	return j, nil
}

// Check checks a journal that was too large to be checked when it was opened after a crash. It may
// take minutes and blocks nobody. If it finds damage, the next Open sets the journal aside.
func (j *Journal) Check(ctx context.Context) error {
	if !j.later {
		return nil
	}
	err := j.lookThrough(ctx)
	if damaged(err) {
		err = errors.Join(err, atomicfile.Write(j.path+unsound, nil, 0o600))
	}
	if err != nil {
		return fmt.Errorf("check journal %q: %w", j.path, err)
	}
	return nil
}

func (j *Journal) lookThrough(ctx context.Context) error {
	db, err := openPool(ctx, j.path, 1, url.Values{"mode": {"ro"}}, "query_only = ON")
	if err != nil {
		return err
	}
	return errors.Join(quickCheck(ctx, db), db.Close())
}

// begin connects, and tests whether the data that a start needs can be read. SQLite checks how the
// pages hang together, not what they say.
func (j *Journal) begin(ctx context.Context, steps []string, check bool) error {
	if err := checkHeader(j.path, len(steps)); err != nil {
		return err
	}
	if err := checkLog(j.path); err != nil {
		return err
	}
	if err := j.connect(ctx, steps, check); err != nil {
		return err
	}
	if _, err := j.Restore(ctx); err != nil {
		return errors.Join(err, j.closeReaders(), j.closeWriter())
	}
	return nil
}

// Notice tells a person in one sentence that a damaged journal was set aside, and where. Usually it
// is empty.
func (j *Journal) Notice() string { return j.notice }

// Path returns the path of the database file.
func (j *Journal) Path() string { return j.path }

// Close waits for reads and writes under way, folds the write-ahead log into the database, and
// closes the journal. Whatever Close returns, everything that Commit confirmed was on disk before.
// Closing a journal again does nothing.
func (j *Journal) Close() error {
	if _, open := <-j.turn; !open {
		return nil
	}
	close(j.turn)
	errs := []error{j.closeReaders()}
	if j.suspect == nil {
		if err := j.writer.bringHome(context.Background()); !errors.Is(err, errBusy) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, j.closeWriter())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// take waits for the turn to write.
func (j *Journal) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case _, open := <-j.turn:
		if !open {
			return ErrClosed
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connect opens the connections and brings the schema up to date. With check, SQLite first checks
// the whole database. connect folds what an earlier run left in the write-ahead log into the
// database before anything is added: if the last operation on the log was a failed fsync, a power
// cut would lose everything behind that place, however often it is synced.
func (j *Journal) connect(ctx context.Context, steps []string, check bool) error {
	pragmas := []string{"journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON", fmt.Sprintf("journal_size_limit = %d", logLimit)}
	if info, err := os.Stat(j.path); err == nil && info.Size() == 0 {
		// The first page, which the next pragma writes, determines whether the database can give
		// space back.
		pragmas = append([]string{givesBack}, pragmas...)
	}
	db, err := openPool(ctx, j.path, 1, url.Values{"mode": {"rw"}, "_txlock": {"immediate"}}, pragmas...)
	if err != nil {
		return err
	}
	w, err := newWriter(ctx, db, steps, check)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	// Without an earlier fault, this can wait for room and for another program's long read.
	if err := w.bringHome(ctx); err != nil && (j.suspect != nil || !errors.Is(err, errBusy) && !j.full(err)) {
		return errors.Join(err, w.close())
	}
	if err := w.makeShrinkable(ctx); err != nil && code(err)&0xff != codeBusy && !j.full(err) {
		return errors.Join(err, w.close())
	}
	if err := j.connectReaders(ctx); err != nil {
		return errors.Join(err, w.close())
	}
	j.writer, j.suspect = w, nil
	return nil
}

func (j *Journal) connectReaders(ctx context.Context) error {
	db, err := openPool(ctx, j.path, readers, url.Values{"mode": {"ro"}}, "query_only = ON")
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.read, j.statements = db, map[string]*sql.Stmt{}
	j.mu.Unlock()
	return nil
}

// closeReaders waits for the reads under way and closes their connections.
func (j *Journal) closeReaders() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.read == nil {
		return nil
	}
	var errs []error
	for _, statement := range j.statements {
		errs = append(errs, statement.Close())
	}
	errs = append(errs, j.read.Close())
	j.read, j.statements, j.unreadable = nil, nil, ErrClosed
	return errors.Join(errs...)
}

func (j *Journal) closeWriter() error {
	if j.writer == nil {
		return nil
	}
	err := j.writer.close()
	j.writer = nil
	return err
}

// mend replaces connections that a fault has left in doubt. After a failed fsync the kernel may
// have dropped data that SQLite believes to be in the files, so only a fresh look at them counts.
// If the files cannot be written yet, at least reading goes on.
func (j *Journal) mend(ctx context.Context) error {
	closeErr := errors.Join(j.closeReaders(), j.closeWriter())
	err := j.connect(ctx, migrations(), true)
	if err == nil {
		return nil
	}
	if readErr := j.connectReaders(ctx); readErr != nil {
		j.mu.Lock()
		j.unreadable = fmt.Errorf("reopen: %w", readErr)
		j.mu.Unlock()
	}
	return errors.Join(fmt.Errorf("reopen after a fault (%w): %w", j.suspect, err), closeErr)
}

// openPool opens a pool in which every connection has the parameters and has run the pragmas. Its
// mode does not create: a file that was removed under a running sidecar must not come back empty.
func openPool(ctx context.Context, path string, size int, params url.Values, pragmas ...string) (*sql.DB, error) {
	params.Set("_busy_timeout", fmt.Sprint(busyTimeout))
	params.Set("_defensive", "1") // ordinary statements cannot corrupt the file
	params.Set("_dqs", "0")
	params.Set("_error_rc", "1")
	name, err := own.SQLite(path, params)
	if err != nil {
		return nil, err
	}
	base, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, err
	}
	pragmas = append(pragmas, "temp_store = MEMORY") // keeps bodies out of files in /tmp
	db := sql.OpenDB(connector{base, pragmas})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connector makes connections that leave the write-ahead log in its place when they are closed. By
// default SQLite checkpoints and deletes it, even if it could open the index of the log only half:
// then it checkpoints nothing, and transactions that were confirmed are deleted with the log.
// Therefore the parameters of the name, which take effect before we get hold of the connection,
// contain nothing that looks into the file.
type connector struct {
	driver.Connector
	pragmas []string
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c connector) prepare(ctx context.Context, conn driver.Conn) error {
	persist, err := conn.(sqlite.FileControl).FileControlPersistWAL("main", 1)
	if err != nil {
		return fmt.Errorf("persistent log: %w", err)
	}
	if persist != 1 {
		return errors.New("persistent log: not accepted")
	}
	for _, pragma := range c.pragmas {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, "PRAGMA "+pragma, nil); err != nil {
			return fmt.Errorf("%s: %w", pragma, err)
		}
	}
	return nil
}

// unclean reports whether the last user of the journal ended without closing it, or whether the
// journal is so small that nobody notices the time of a check.
func unclean(path string) bool {
	const quick = 32 << 20 // bytes; 0.3 s on a small machine
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return true
	}
	db, err := os.Stat(path)
	return err == nil && db.Size() <= quick
}

// SQLite's primary result codes that we distinguish.
const (
	codeBusy       = 5
	codeReadOnly   = 8
	codeIO         = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCannotOpen = 14
	codeProtocol   = 15
	codeConstraint = 19
	codeNotADB     = 26

	codeWrite  = codeIO | 3<<8
	codeUnique = codeConstraint | 8<<8
)

// code returns SQLite's extended result code of err, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// damaged reports whether err says that the database itself is broken, not the disk.
func damaged(err error) bool {
	if errors.Is(err, errDamaged) {
		return true
	}
	c := code(err) & 0xff
	return c == codeCorrupt || c == codeNotADB
}

// refused returns why the disk refuses our writes, in the words of an UnwritableError, or "" if err
// does not say so. SQLite calls only ENOSPC full, and only when it writes into its files. It
// reports as I/O errors an exceeded quota, a lack of room for the log's index, and a file system
// that became read-only under open files, which the system does when it finds an error in it. A
// small file written beside the journal distinguishes these cases.
func (j *Journal) refused(err error) string {
	switch code(err) & 0xff {
	case codeFull:
		return message.DiskFull
	case codeReadOnly:
		return message.DiskReadOnly
	case codeIO:
		switch err := tryRoom(filepath.Dir(j.path)); {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return message.DiskFull
		case errors.Is(err, syscall.EROFS):
			return message.DiskReadOnly
		}
	}
	return ""
}

// full reports whether err says that the disk has no room for us.
func (j *Journal) full(err error) bool { return j.refused(err) == message.DiskFull }

// doubtful reports whether the connections must not be trusted after err. A write that the disk
// refused is not such a fault: SQLite takes back what it had begun. A lock that stays taken is one:
// since nobody else writes, it may be our own, which the system did not release.
func doubtful(err error) bool {
	switch c := code(err); c & 0xff {
	case codeIO:
		_, refused := errors.AsType[*message.UnwritableError](err)
		return c != codeWrite || !refused
	case codeBusy, codeReadOnly, codeCorrupt, codeCannotOpen, codeProtocol, codeNotADB:
		return true
	}
	return false
}
