package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// toEnd stands for the end that a transcript has when it is first opened.
const toEnd = -1

// A source reads one transcript as it grows. The transcript may not exist yet, shrink, be replaced or be removed.
// It is then read again from its beginning, and whatever is not newer than the events already returned counts as
// past.
type source interface {
	// next returns the events of the next piece, and whether there may be more.
	next() (events []Event, more bool)
	// settle declares that a transcript that does not exist yet has no past.
	settle()
	// offset returns the position at which reading continues; see Event.End.
	offset() int64
	// before returns the date of the newest event of the past.
	before() time.Time
	version() string
	// missed returns why the last look could not read everything, or nil if it did.
	missed() error
	// unreadable returns why the transcript cannot be relied upon, or "" if it can.
	unreadable() string
	close()
}

// place says where reading begins and where the past ends, and holds the progress.
type place struct {
	from   int64            // begin here: everything before has been reported; 0 means as far back as is useful
	pastTo int64            // events that end here or earlier are past; see toEnd
	since  time.Time        // events dated then or earlier are past, however late they were written; zero for none
	now    func() time.Time // nil is time.Now

	last   time.Time // date of the newest event
	oldest time.Time // date of the newest past event
	past   bool      // whether the last event was past
}

// date marks the events of the past. Agents write records a little later than their date, so the date also counts
// after the place at which the past ended.
func (p *place) date(events []Event, thread string) {
	since := p.since
	if !since.IsZero() {
		now := time.Now()
		if p.now != nil {
			now = p.now()
		}
		since = dated(since, now, now.Sub(since))
	}
	for i := range events {
		e := &events[i]
		switch {
		case e.End <= p.pastTo:
			p.past = true
		case !e.At.IsZero():
			p.past = !since.IsZero() && !e.At.After(since)
		case p.pastTo > 0:
			p.past = false
		} // otherwise it is like the event before
		e.Past = p.past
		p.last = later(p.last, e.At)
		if e.Past {
			p.oldest = later(p.oldest, e.At)
		}
		if e.Thread == "" {
			e.Thread = thread
		}
	}
}

// dated returns the date of a moment on the machine's current clock; back is how long ago the moment was. If the
// clock has been set back since, everything written from now on bears an earlier date.
func dated(moment, now time.Time, back time.Duration) time.Time {
	if today := now.Round(0).Add(-back); today.Before(moment) {
		return today
	}
	return moment
}

func (p *place) before() time.Time { return p.oldest }

// again prepares reading from the beginning without reporting anything twice.
func (p *place) again() { p.from, p.pastTo, p.since = 0, 0, later(p.since, p.last) }

func (p *place) settle() {
	if p.pastTo == toEnd {
		p.pastTo = 0
	}
}

// tail is the source for a file.
type tail struct {
	place
	kind   Kind
	path   string
	thread string

	file   *os.File
	reader *Reader
	buf    []byte
	end    []byte // the last bytes that were read: they stay in place as long as the file is the same
	unread error  // why the last look did not reach the end of the file
}

const (
	// pieceOfFile is how many bytes of a file are read at once.
	pieceOfFile = 128 << 10
	// mostBehind is how many bytes are read at most to catch up with a transcript. No agent writes that much
	// between two looks.
	mostBehind = 256 << 20
	// keptEnd is how many of the last bytes read are compared again.
	keptEnd = 256
)

func (t *tail) next() (events []Event, more bool) {
	if t.file == nil {
		switch err := t.open(); {
		case errors.Is(err, fs.ErrNotExist):
			t.unread = nil // it has not been written yet
			return nil, false
		case err != nil:
			t.unread = err
			return nil, false
		}
	}
	if t.rewritten() {
		t.close()
		t.again()
		return nil, true
	}
	n, err := t.file.Read(t.buf)
	if n == 0 {
		if err == nil || err == io.EOF {
			t.unread = t.reader.torso()
			return nil, t.moved()
		}
		t.unread = err
		t.close() // the next look tries again
		t.again()
		return nil, false
	}
	if t.unread = t.behind(); t.unread != nil {
		t.close()
		return nil, false
	}
	t.end = append(t.end, t.buf[max(0, n-keptEnd):n]...)
	t.end = slices.Clone(t.end[max(0, len(t.end)-keptEnd):])
	events = t.reader.Feed(t.buf[:n])
	t.date(events, t.thread)
	return events, true
}

// behind returns an error if the file has grown by more than can be read in time.
func (t *tail) behind() error {
	pos, err := t.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if left := info.Size() - pos; left > mostBehind {
		return fmt.Errorf("%q has grown by %d bytes, of which at most %d are read", t.path, left, mostBehind)
	}
	return nil
}

// rewritten reports whether the bytes read last have changed in the file: it was rewritten and is at least as long
// as it was.
func (t *tail) rewritten() bool {
	pos, err := t.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return false // reading will return the error
	}
	there := make([]byte, len(t.end))
	n, err := t.file.ReadAt(there, pos-int64(len(there)))
	return err == nil && n == len(there) && !bytes.Equal(there, t.end)
}

func (t *tail) missed() error { return t.unread }

func (t *tail) open() error {
	f, err := foreign.Open(t.path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return err
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
	at, midst, err := seekRecord(f, begin)
	if err != nil {
		_ = f.Close()
		return err
	}
	r := NewReader(t.kind, at)
	r.skip = midst
	if at > 0 {
		r.head(t.path)
	}
	t.file, t.reader = f, r
	if t.buf == nil {
		t.buf = make([]byte, pieceOfFile)
	}
	return nil
}

// moved checks whether the file is still the one at its path and at least as long as before. If it was replaced or
// shortened, moved closes it and reports true.
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
		return false // removed: the open file is read as long as it grows
	}
	t.close()
	t.again()
	return true
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
		t.file, t.end = nil, nil
	}
}
