package team

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// taking is a part of an inbox that is being drained. Nobody else reads it.
type taking struct {
	file *os.File // locked
	path string   // its present name
}

// takings has the parts of one inbox, oldest first.
type takings []taking

// let gives up the parts, so that others can have what is left of them.
func (all takings) let() {
	for _, one := range all {
		own.Unlock(one.file)
		_ = one.file.Close()
	}
}

// read returns the text of all parts. A part whose last line has no end gets one.
func (all takings) read() (text []byte, err error) {
	for _, one := range all {
		part, err := io.ReadAll(io.LimitReader(one.file, maxInbox+1))
		if err == nil && len(part) > maxInbox {
			err = &foreign.TooLargeError{Path: one.path, Limit: maxInbox}
		}
		if err != nil {
			return nil, err
		}
		if len(part) > 0 && part[len(part)-1] != '\n' {
			part = append(part, '\n')
		}
		text = append(text, part...)
	}
	return text, nil
}

func (all takings) remove() error {
	for _, one := range all {
		if err := os.Remove(one.path); err != nil {
			return err
		}
	}
	return nil
}

// take takes an inbox away from its name. It also takes what others took and did not use before they ended.
func (d Dir) take(name string) (takings, error) {
	held, err := d.takeLeft(name)
	if err != nil {
		return held, err
	}
	end := time.Now().Add(patience)
	f, err := locked(d.inbox(name), end, foreign.OpenOurs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return held, err
	default:
		info, err := f.Stat()
		if err == nil && info.Size() > maxInbox {
			err = &foreign.TooLargeError{Path: d.inbox(name), Limit: maxInbox}
		}
		one := taking{f, d.at(inboxes, "."+name+extension+"."+string(message.NewID()))} // names sort by time
		if err == nil {
			err = os.Rename(d.inbox(name), one.path)
		}
		if err != nil {
			takings{one}.let()
			return held, err
		}
		held = append(held, one)
	}
	for _, one := range held {
		for written(one.file) {
			if time.Now().After(end) {
				_ = atomicfile.Rename(one.path, d.inbox(name)) // where others find it, unless there is a new one
				return held, &BusyError{d.inbox(name)}
			}
			time.Sleep(pause)
		}
	}
	return held, nil
}

// takeLeft takes what others took out of an inbox and did not use before they ended.
func (d Dir) takeLeft(name string) (held takings, err error) {
	left, err := d.taken(name)
	if err != nil {
		return nil, err
	}
	for _, path := range left {
		f, err := foreign.OpenOurs(path)
		if gone(path, err) {
			continue
		}
		if err != nil {
			return held, err
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !own.There(f) {
			_ = f.Close() // somebody uses it, or has used it
			continue
		}
		if info, err := f.Stat(); err != nil || info.Size() > maxInbox {
			takings{{f, path}}.let()
			return held, cmp.Or[error](err, &foreign.TooLargeError{Path: path, Limit: maxInbox})
		}
		held = append(held, taking{f, path})
	}
	return held, nil
}

// restore puts what others took out of an inbox, and did not use before they ended, back into it, ahead of what
// has come since.
func (d Dir) restore(name string) error {
	for range openTries {
		held, err := d.takeLeft(name)
		if len(held) == 1 && err == nil && atomicfile.Rename(held[0].path, d.inbox(name)) == nil {
			held.let()
			return atomicfile.SyncDir(d.at(inboxes))
		}
		held.let()
		if err != nil || len(held) == 0 {
			return err
		}
		if held, err = d.take(name); err == nil && len(held) > 0 {
			var text []byte
			if text, err = held.read(); err == nil {
				err = d.leave(name, held, text)
			}
		}
		held.let()
		if err != nil {
			return err
		}
	}
	return nil // others write without a pause: it can be read from where it is
}

// gone reports whether an error comes from a file that somebody has removed meanwhile.
func gone(path string, err error) bool {
	if err == nil {
		return false
	}
	_, there := os.Lstat(path)
	return errors.Is(there, fs.ErrNotExist)
}

// taken returns the files of an inbox that are being drained, or were left behind by a drain.
func (d Dir) taken(name string) (all []string, err error) {
	entries, err := foreign.List(d.at(inboxes))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		id, is := strings.CutPrefix(e.Name(), "."+name+extension+".")
		if _, err := message.ParseID(id); is && err == nil {
			all = append(all, d.at(inboxes, e.Name()))
		}
	}
	return all, nil
}
