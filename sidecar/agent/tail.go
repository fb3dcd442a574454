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

// toEnd stands for the end of a transcript when it is first opened.
const toEnd = -1

// A source is one transcript that is read as it grows. It survives that the transcript is
// not there yet, shrinks, is replaced or removed: it is read anew then, and what is not newer
// than what was told already counts as past.
type source interface {
	// next returns the events of the next piece, and whether there may be more.
	next() (events []Event, more bool)
	// settle says that a transcript that is not there yet has no past.
	settle()
	// offset is where reading goes on; see Event.End.
	offset() int64
	// before is the date of the newest event of the past.
	before() time.Time
	version() string
	// missed is why the last look could not read to the end what is there, nil if it did.
	missed() error
	// unreadable says why the transcript cannot be relied upon, "" if it can.
	unreadable() string
	close()
}

// place is where reading begins and where the past ends, and how far it came.
type place struct {
	from   int64            // begin there: all before has been told; 0 is as far back as makes sense
	pastTo int64            // what ends there or before is past; see toEnd
	since  time.Time        // what is dated then or earlier is past, however late it was written; zero for nothing
	now    func() time.Time // nil is time.Now

	last   time.Time // date of the newest event
	oldest time.Time // and of the newest one of the past
	past   bool      // the last event was past
}

// date tells which events are of the past. Agents write a little later than they say,
// so that the date counts also behind the place where the past ended.
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
		} // else it is like the one before
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

// dated is how the machine's clock dates a moment that lies that far back: if it has been set
// back since, everything that is written from now on is dated earlier.
func dated(moment, now time.Time, back time.Duration) time.Time {
	if today := now.Round(0).Add(-back); today.Before(moment) {
		return today
	}
	return moment
}

func (p *place) before() time.Time { return p.oldest }

// again prepares reading from the beginning without telling anything twice.
func (p *place) again() { p.from, p.pastTo, p.since = 0, 0, later(p.since, p.last) }

func (p *place) settle() {
	if p.pastTo == toEnd {
		p.pastTo = 0
	}
}

// tail is the source of a file.
type tail struct {
	place
	kind   Kind
	path   string
	thread string

	file   *os.File
	reader *Reader
	buf    []byte
	end    []byte // the end of what was read: it stands there as long as the file is what it was
	unread error  // why the last look did not read to its end
}

const (
	// pieceOfFile is how many bytes of a file are read at once.
	pieceOfFile = 128 << 10
	// mostBehind is how many bytes are read at most to catch up with a transcript. No agent
	// writes that much between two looks.
	mostBehind = 256 << 20
	// keptEnd is how many of the bytes that were read last are looked at once more.
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
		t.close() // it is tried again at the next look
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

// behind is the error of a file that has grown by more than can be read in the time.
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

// rewritten reports whether something else stands in the file now where it was read last: it was
// written anew, and is as long again as it was.
func (t *tail) rewritten() bool {
	pos, err := t.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return false // which reading will tell
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
