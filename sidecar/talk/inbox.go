package talk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Two locks (flock) keep an inbox whole. The lock of the file is held for the moment of a change, by the
// listener that appends and by a check that takes messages away. The lock of the port's directory is held by a
// check that takes messages away, from before it reads the file until what it printed is gone from the file. So
// of two checks only one prints each message. What was not printed stays.

const (
	lockPatience = 5 * time.Second        // to change the file
	lookPatience = 20 * time.Millisecond  // of a check that changes nothing, and goes on without the lock
	lockPause    = 200 * time.Microsecond // between attempts
	maxInboxFile = 1 << 30                // bytes that are read at a time; more may be waiting
)

// errBusy says that another program keeps a lock for longer than it should.
var errBusy = errors.New("another program has it locked")

// locked locks an open file or directory.
func locked(f *os.File, how int, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(lockPause) {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("lock %q: %w", f.Name(), err)
		case time.Now().After(end):
			return fmt.Errorf("lock %q: %w", f.Name(), errBusy)
		}
	}
}

// openLocked opens and locks a file. When it returns, the path still leads to that file, and the file has no
// other name.
func openLocked(path string, flags int) (*os.File, error) {
	for {
		f, err := own.OpenFile(path, flags, 0o600)
		if err != nil {
			return nil, err
		}
		err = locked(f, syscall.LOCK_EX, lockPatience)
		if err == nil && own.There(f) {
			if err = own.Sole(f); err == nil {
				return f, nil
			}
		}
		own.Unlock(f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// appender is the listener's side of an inbox. One goroutine uses it.
type appender struct {
	path, callback string
	most           int             // messages that the inbox may hold
	sync           bool            // appended messages are synced to disk
	elsewhere      func() []string // other files that hold messages of the port; may be nil

	f     *os.File
	size  int64 // size of the file when it was left, and the messages in it
	count int
}

// errFull says that an inbox holds as many messages as it may.
var errFull = errors.New("inbox is full")

// open creates the inbox if need be, and makes the callback agree with what is in it.
func (a *appender) open() error {
	if err := a.lock(); err != nil {
		return err
	}
	defer own.Unlock(a.f)
	if a.count > 0 || a.elsewhere != nil && len(a.elsewhere()) > 0 {
		return a.call()
	}
	if err := os.Remove(a.callback); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// lock locks the file that is the inbox now, and counts the messages in it.
func (a *appender) lock() error {
	if a.f != nil {
		if err := locked(a.f, syscall.LOCK_EX, lockPatience); err != nil {
			return err
		}
		if !own.There(a.f) {
			own.Unlock(a.f)
			a.close()
		}
	}
	if a.f == nil {
		f, err := openLocked(a.path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
		if err != nil {
			return err
		}
		if err := atomicfile.SyncDir(filepath.Dir(a.path)); a.sync && err != nil { // the file's name may be new there
			own.Unlock(f)
			f.Close()
			return err
		}
		a.f, a.size = f, -1
	}
	info, err := a.f.Stat()
	if err == nil && info.Size() != a.size {
		err = a.look(info.Size())
	}
	if err != nil {
		own.Unlock(a.f)
	}
	return err
}

// look counts the messages. It takes away a partial message, left by a listener that ended while it wrote:
// nobody was told that this message is stored.
func (a *appender) look(size int64) error {
	a.count = 0
	var last byte = '\n'
	buffer, at := make([]byte, 64<<10), int64(0)
	whole := int64(0) // where the last whole line ends
	for at < size {
		n, err := a.f.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
		if n == 0 {
			return err
		}
		a.count += bytes.Count(buffer[:n], []byte{'\n'})
		if i := bytes.LastIndexByte(buffer[:n], '\n'); i >= 0 {
			whole = at + int64(i) + 1
		}
		last, at = buffer[n-1], at+int64(n)
	}
	a.size = size
	if last == '\n' {
		return nil
	}
	tail := make([]byte, min(size-whole, maxEnvelope))
	if _, err := a.f.ReadAt(tail, whole); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if size-whole > maxEnvelope || json.Valid(tail) || !ours(tail) { // somebody's editor
		_, err := a.f.Write([]byte{'\n'})
		a.count, a.size = a.count+1, size+1
		return err
	}
	a.size = whole
	return a.f.Truncate(whole)
}

// lineStart is the beginning of each line that we write.
var lineStart = []byte(`{"timestamp":"`)

// ours reports whether the end of a file may be the beginning of a line of ours. After a crash of the machine
// there may be zeros in its place.
func ours(tail []byte) bool {
	return bytes.HasPrefix(tail, lineStart) || bytes.HasPrefix(lineStart, tail) || bytes.IndexByte(tail, 0) >= 0
}

// call makes the callback.
func (a *appender) call() error {
	f, err := own.OpenFile(a.callback, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// append appends as many lines as there is room for, and returns how many. Those lines are stored for good. If
// n is less than len(lines), the error is errFull; any other error says what failed, and then no line was
// stored.
func (a *appender) append(lines [][]byte) (n int, err error) {
	if err := a.lock(); err != nil {
		return 0, err
	}
	err = func() error {
		defer own.Unlock(a.f)
		n = min(len(lines), max(0, a.most-a.count))
		if n == 0 {
			return nil
		}
		text := bytes.Join(lines[:n], nil)
		if _, err := a.f.Write(text); err != nil {
			return errors.Join(err, a.f.Truncate(a.size))
		}
		err := a.call()
		if err == nil && a.sync {
			err = a.f.Sync()
		}
		if err != nil {
			return errors.Join(err, a.f.Truncate(a.size))
		}
		a.size, a.count = a.size+int64(len(text)), a.count+n
		return nil
	}()
	switch {
	case err != nil:
		return 0, err
	case n < len(lines):
		return n, errFull
	}
	return n, nil
}

// close closes the file and forgets it.
func (a *appender) close() {
	if a.f != nil {
		_ = a.f.Close()
	}
	a.f = nil
}

// CheckOptions says what a check reads.
type CheckOptions struct {
	Clear   bool
	Limit   int    // the most messages; 0 for all
	Thread  string // of one conversation; "" for all
	Receipt bool   // tell the senders who asked for it that their messages were read
}

// Check calls print with the unread messages of a port, oldest first. With Clear it removes them once print has
// returned nil; if the disk has no room for what stays, print is not called. It works on files alone, so the
// listener may be stopped. The error is that of print, or an *Error.
func (p Port) Check(opts CheckOptions, print func([]Message) error) error {
	if _, known := p.messageFiles(); !known {
		return Errorf(ListenerNotRunning, p.Number, "No listener found for port %d", p.Number)
	}
	if opts.Clear {
		unlock, err := p.lockChecks()
		if err != nil {
			return err
		}
		defer unlock()
	}
	files, _ := p.messageFiles()
	all, order, err := readFiles(files, opts)
	if err != nil {
		return Errorf(FileError, p.Number, "%w", err)
	}
	free := func() {}
	if opts.Clear {
		if free, err = reserve(files, all); err != nil {
			return Errorf(FileError, p.Number, "clear: %w", err)
		}
	}
	defer free()
	if err := print(order); err != nil {
		return err
	}
	if opts.Receipt {
		for _, one := range all {
			p.wasRead(one.all)
		}
	}
	free()
	if opts.Clear && (len(order) > 0 || p.Unread()) {
		if err := p.clear(files, all); err != nil {
			return Errorf(FileError, p.Number, "clear: %w", err)
		}
	}
	return nil
}

// lockChecks keeps other checks from taking messages away. The error is an *Error.
func (p Port) lockChecks() (unlock func(), err error) {
	dir, err := foreign.OpenDir(p.path(""))
	if err != nil {
		return nil, Errorf(FileError, p.Number, "%w", err)
	}
	if err := locked(dir, syscall.LOCK_EX, lockPatience); err != nil {
		dir.Close()
		return nil, Errorf(FileError, p.Number, "check: %w", err)
	}
	return func() {
		own.Unlock(dir)
		dir.Close()
	}, nil
}

// readFiles reads messages from several files, as many in all as are wanted. order has them in the order in
// which they came: the lines of one file keep their order, and times decide between files.
func readFiles(files []string, opts CheckOptions) (all []found, order []Message, err error) {
	all = make([]found, len(files))
	for i, path := range files {
		if all[i], err = read(path, opts); err != nil {
			return nil, nil, err
		}
	}
	order = []Message{}
	taken := make([]int, len(files))
	for opts.Limit == 0 || len(order) < opts.Limit {
		first := -1
		for i, one := range all {
			if taken[i] < len(one.all) && (first < 0 || one.all[taken[i]].Timestamp < all[first].all[taken[first]].Timestamp) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		m := all[first].all[taken[first]]
		m.Receipt = ""
		order = append(order, m)
		taken[first]++
	}
	for i, n := range taken {
		all[i] = found{all[i].all[:n], all[i].places[:n]}
	}
	return all, order, nil
}

// reserve takes up, until free is called, the room on the disk that clear needs for what stays in the files. So a
// full disk is known before the messages are printed. What it writes has no name, and goes with the process.
func reserve(files []string, all []found) (free func(), err error) {
	var held []*os.File
	free = func() {
		for _, f := range held {
			_ = f.Close()
		}
	}
	for i, path := range files {
		f, err := all[i].reserve(path)
		if f != nil {
			held = append(held, f)
		}
		if err != nil {
			free()
			return nil, fmt.Errorf("write %q: %w", path, err)
		}
	}
	return free, nil
}

// clear removes the messages that were found in files, and the callback if none of the files has more.
func (p Port) clear(files []string, all []found) error {
	callback, last := p.Callback(), len(files)-1
	for i, path := range files[:last] {
		if err := all[i].remove(path, ""); err != nil {
			return err
		}
		if holdsMessages(path) {
			callback = ""
		}
	}
	if err := all[last].remove(files[last], callback); err != nil || callback == "" {
		return err
	}
	// Another file may have been wanted meanwhile, and the callback made for it.
	if files, _ := p.messageFiles(); slices.ContainsFunc(files, holdsMessages) {
		return (&appender{callback: callback}).call()
	}
	return nil
}

// found is what a check found in one file.
type found struct {
	all    []Message
	places [][2]int64 // where their lines begin and end
}

// read finds the messages in a file. A check that changes nothing hardly waits for a program that changes the
// file: at worst it shows messages that are already gone.
func read(path string, opts CheckOptions) (out found, err error) {
	f, err := own.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil // nothing has come
	}
	if err != nil {
		return out, err
	}
	defer f.Close()
	if err := own.Sole(f); err != nil {
		return out, err
	}
	patience := lookPatience
	if opts.Clear {
		patience = lockPatience
	}
	if err := locked(f, syscall.LOCK_SH, patience); err != nil && (opts.Clear || !errors.Is(err, errBusy)) {
		return out, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxInboxFile))
	own.Unlock(f)
	if err != nil {
		return out, err
	}
	at := int64(0)
	for line := range bytes.Lines(text) {
		from := at
		at += int64(len(line))
		if line[len(line)-1] != '\n' || opts.Limit > 0 && len(out.all) == opts.Limit {
			break
		}
		if m := parseLine(line); opts.Thread == "" || m.Thread == opts.Thread {
			out.all, out.places = append(out.all, m), append(out.places, [2]int64{from, at})
		}
	}
	return out, nil
}

// remove takes the lines that were found out of the file. If callback is given, it is removed together with the
// last line. Since the lines were found, more may have been appended, but nothing else has happened.
func (f found) remove(path, callback string) error {
	done := func() error {
		if callback == "" {
			return nil
		}
		if err := os.Remove(callback); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	file, err := openLocked(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return done()
	}
	if err != nil {
		return err
	}
	defer file.Close()
	defer own.Unlock(file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	rest, left := f.rest(file, info.Size())
	switch {
	case left < 0, left > 0 && len(f.places) == 0:
		return nil
	case left > 0:
		return atomicfile.Copy(path, rest, 0o600)
	}
	// While the lock is held: the next to append makes the callback again.
	if err := done(); err != nil {
		return err
	}
	return file.Truncate(0)
}

// rest returns what stays of a file of that size without the lines that were found, and how many bytes that is:
// less than 0 if somebody emptied it by hand.
func (f found) rest(file *os.File, size int64) (rest io.Reader, left int64) {
	var parts []io.Reader // readers, because more than is read at a time may have come
	at, left := int64(0), size
	for _, place := range f.places {
		if place[1] > size {
			return nil, -1
		}
		parts = append(parts, io.NewSectionReader(file, at, place[0]-at))
		at, left = place[1], left-(place[1]-place[0])
	}
	return io.MultiReader(append(parts, io.NewSectionReader(file, at, size-at))...), left
}

// reserve returns a nameless copy of what stays of the file at path, or nil if remove writes none.
func (f found) reserve(path string) (room *os.File, err error) {
	if len(f.places) == 0 {
		return nil, nil //nolint:nilnil // remove leaves the file as it is
	}
	file, err := own.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // it has gone, and nothing stays
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	rest, left := f.rest(file, info.Size())
	if left <= 0 {
		return nil, nil //nolint:nilnil // it is emptied
	}
	room, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(room.Name())
	_, err = io.Copy(room, rest)
	return room, err
}

// inboxState returns a text that changes when the messages in the port's files do, or which listener keeps them, or
// how many it keeps. What config.json says counts only once the listener has it.
func (p Port) inboxState(listener server) string {
	state := fmt.Sprint(listener.Key, " ", listener.Keeps)
	files, _ := p.messageFiles()
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			state += fmt.Sprint(" ", info.Size(), " ", info.ModTime().UnixNano())
		}
	}
	return state
}

// Unread reports whether the port has a message for a check.
func (p Port) Unread() bool {
	_, err := os.Lstat(p.Callback())
	return err == nil
}
