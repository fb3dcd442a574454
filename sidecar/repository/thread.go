package repository

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Found is a message and the place where it lies.
type Found struct {
	Repository string
	File       string
	Message    aea.Message
	Processed  bool // it has a marker

	written time.Time
}

// Thread returns a conversation across repositories, oldest first. It has the messages whose conversation_id is
// id, those of the conversation of the message whose own id is id, and everything that answers one of them. id
// may be a part of an id, as message.ID.Is takes it; if that part names several, the error is an
// *AmbiguousError.
func Thread(id string, dirs []Dir) ([]Found, error) {
	var all []Found
	for _, d := range dirs {
		for _, sub := range []string{"", archived} {
			entries, err := foreign.List(d.at(sub))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("repository %q: %w", d.Path, err)
			}
			for _, e := range entries {
				if !aea.IsName(e.Name()) {
					continue
				}
				text, info, err := foreign.ReadOurs(d.at(sub, e.Name()), aea.MaxMessage)
				if err != nil {
					continue
				}
				if m, err := aea.Read(e.Name(), text); err == nil {
					_, unmarked := os.Lstat(d.at(sub, processed, e.Name()))
					all = append(all, Found{d.Path, d.at(sub, e.Name()), m, unmarked == nil, info.ModTime()})
				}
			}
		}
	}
	id, err := wholeID(id, all)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{id: true}
	for _, f := range all {
		if f.Message.ID == id && f.Message.Thread != "" {
			in[f.Message.Thread] = true
		}
	}
	for again := true; again; {
		again = false
		for _, f := range all {
			m := f.Message
			if (in[m.Thread] || in[m.ReplyTo]) && m.ID != "" && !in[m.ID] {
				in[m.ID], again = true, true
			}
		}
	}
	all = slices.DeleteFunc(all, func(f Found) bool { return !in[f.Message.ID] && !in[f.Message.Thread] && !in[f.Message.ReplyTo] })
	slices.SortStableFunc(all, func(a, b Found) int { // a message's own time has whole seconds
		return cmp.Or(a.Message.Time.Compare(b.Message.Time), a.written.Compare(b.written), cmp.Compare(a.File, b.File))
	})
	return answersLast(all), nil
}

// AmbiguousError says that the part of an id names several conversations or messages. It does not list them,
// since not everybody who asks may know them.
type AmbiguousError struct{ Part string }

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q begins or ends the ids of several messages", e.Part)
}

// wholeID returns the id of the conversation or message that a person named in part or in full.
func wholeID(part string, all []Found) (string, error) {
	var ids []string
	for _, f := range all {
		for _, id := range []string{f.Message.ID, f.Message.Thread} {
			if id == part {
				return part, nil
			}
			if message.ID(id).Is(part) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	switch len(ids) {
	case 0:
		return part, nil
	case 1:
		return ids[0], nil
	}
	return "", &AmbiguousError{part}
}

// answersLast moves an answer behind the message that it answers, whatever their clocks said. Otherwise it
// keeps the order.
func answersLast(all []Found) []Found {
	at, waits := map[string]int{}, map[int][]int{}
	for i, f := range slices.Backward(all) {
		at[f.Message.ID] = i
	}
	ordered, had := make([]Found, 0, len(all)), make([]bool, len(all))
	var add func(i int)
	add = func(i int) {
		if had[i] {
			return
		}
		had[i] = true
		ordered = append(ordered, all[i])
		for _, one := range waits[i] {
			add(one)
		}
	}
	for i, f := range all {
		if asked, ok := at[f.Message.ReplyTo]; ok && !had[asked] {
			waits[asked] = append(waits[asked], i)
			continue
		}
		add(i)
	}
	for i := range all { // messages that answer each other
		add(i)
	}
	return ordered
}

// Archive moves processed messages that were written before a given time into .aea/archive, with their markers.
// It returns their names. The error names those that cannot be moved.
func (d Dir) Archive(before time.Time) ([]string, error) {
	all, err := d.list(foreign.ListMany) // archiving is the way out if there are more than List can list
	if err != nil {
		return nil, err
	}
	moved := []string{}
	for _, e := range slices.Backward(all) {
		if !e.Processed || !e.Time.Before(before) {
			continue
		}
		if failed := d.archive(e.Name); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		moved = append(moved, e.Name)
	}
	if len(moved) > 0 {
		err = errors.Join(err, atomicfile.SyncDir(d.at()), atomicfile.SyncDir(d.at(archived)))
	}
	return moved, err
}

// archive moves one message. It moves the message before its marker, so that the message never looks
// unprocessed.
func (d Dir) archive(name string) error {
	for _, dir := range []string{d.at(archived), d.at(archived, processed)} {
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("archive %q: %w", name, err)
		}
		if err := d.check(dir); err != nil {
			return fmt.Errorf("archive %q: %w", name, err)
		}
	}
	for _, part := range [][]string{{name}, {processed, name}} {
		to := d.at(append([]string{archived}, part...)...)
		if _, err := os.Lstat(to); err == nil {
			return fmt.Errorf("archive %q: %q is there already", name, to)
		}
		if err := os.Rename(d.at(part...), to); err != nil {
			return fmt.Errorf("archive %q: %w", filepath.Base(name), err)
		}
	}
	return nil
}
