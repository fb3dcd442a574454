package agent

import (
	"io"
	"os"
	"time"
)

// toEnd stands for the end of a file when it is first opened.
const toEnd = -1

// tail reads one transcript as it grows. It survives that the file is not there yet, shrinks,
// is replaced or removed: it is read anew then, and what is not newer than what was told
// already counts as past.
type tail struct {
	kind   Kind
	path   string
	thread string

	from   int64     // begin there: all before has been told; 0 is as far back as pastWindow
	pastTo int64     // what ends there or before is past; see toEnd
	since  time.Time // what is dated then or earlier is past; zero for nothing

	file   *os.File
	reader *Reader
	last   time.Time // date of the newest event, and of the newest one of the past
	before time.Time
	past   bool // the last event was past: one without a date is like the one before
	buf    []byte
}

// next returns the events of the next piece of the file, and whether there may be more.
func (t *tail) next() (events []Event, more bool) {
	if t.file == nil && !t.open() {
		return nil, false
	}
	n, err := t.file.Read(t.buf)
	if n == 0 {
		if err == nil || err == io.EOF {
			return nil, t.moved()
		}
		t.close() // it is tried again at the next look
		t.again()
		return nil, false
	}
	events = t.reader.Feed(t.buf[:n])
	for i := range events {
		e := &events[i]
		if !e.At.IsZero() || t.since.IsZero() {
			t.past = e.End <= t.pastTo || !t.since.IsZero() && !e.At.After(t.since)
		}
		e.Past = t.past
		t.last = later(t.last, e.At)
		if e.Past {
			t.before = later(t.before, e.At)
		}
		if e.Thread == "" {
			e.Thread = t.thread
		}
	}
	return events, true
}

func (t *tail) open() bool {
	f, err := os.Open(t.path)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return false
	}
	if t.pastTo == toEnd || t.pastTo > info.Size() {
		t.pastTo = info.Size()
	}
	begin := t.from
	if begin == 0 {
		end := info.Size()
		if t.pastTo > 0 {
			end = t.pastTo
		}
		begin = end - pastWindow
	}
	if begin > info.Size() {
		begin = 0
	}
	at, err := seekRecord(f, begin)
	if err != nil {
		_ = f.Close()
		return false
	}
	r := NewReader(t.kind, at)
	if t.kind == Codex && at > 0 {
		if meta, ok := rolloutMeta(t.path); ok {
			r.about(meta)
		}
	}
	t.file, t.reader = f, r
	if t.buf == nil {
		t.buf = make([]byte, 128<<10)
	}
	return true
}

// moved looks whether the file is still the one at its path and as long as it was, and
// lets go of it if not.
func (t *tail) moved() bool {
	mine, err := t.file.Stat()
	if err != nil {
		return false
	}
	pos, err := t.file.Seek(0, io.SeekCurrent)
	if err == nil && mine.Size() < pos {
		t.close()
		t.again()
		return true
	}
	there, err := os.Stat(t.path)
	if err != nil || os.SameFile(mine, there) {
		return false // removed: what was open is read as long as it grows
	}
	t.close()
	t.again()
	return true
}

// again prepares reading from the beginning without telling anything twice.
func (t *tail) again() { t.from, t.pastTo, t.since = 0, 0, later(t.since, t.last) }

// settle says that a file that is not there yet has no past.
func (t *tail) settle() {
	if t.pastTo == toEnd {
		t.pastTo = 0
	}
}

func (t *tail) offset() int64 {
	if t.reader == nil {
		return t.from
	}
	return t.reader.Offset()
}

func (t *tail) version() string {
	if t.reader == nil {
		return ""
	}
	return t.reader.health.Version
}

func (t *tail) unreadable() string {
	if t.reader == nil {
		return ""
	}
	return t.reader.health.Unreadable()
}

func (t *tail) close() {
	if t.file != nil {
		t.from = t.reader.Offset()
		_ = t.file.Close()
		t.file = nil
	}
}
