package talk

import (
	"bufio"
	"errors"
	"os"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// A listener may have been told to append to a file of the person's instead of the port's own inbox. What is unread
// there when it stops, or when another file is wanted, is still the port's: a check finds it, and the callback stays for it.

// remembered is files.json: message files of a port, other than its inbox, in the order in which they were wanted.
type remembered struct {
	Files []string `json:"files"`
}

// remember adds message files to files.json. One without messages is forgotten.
func (p Port) remember(paths ...string) error {
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" || path == p.Inbox() })
	if len(paths) == 0 {
		return nil
	}
	was := p.remembered()
	now := slices.DeleteFunc(slices.Clone(was), func(path string) bool { return slices.Contains(paths, path) || !holdsMessages(path) })
	for _, path := range paths {
		if !slices.Contains(now, path) {
			now = append(now, path)
		}
	}
	if slices.Equal(was, now) {
		return nil
	}
	return writeJSON(p.files(), remembered{now})
}

// remembered is what files.json says; one that cannot be read says nothing.
func (p Port) remembered() []string {
	var r remembered
	_ = readJSON(p.files(), &r)
	return r.Files
}

// earlier are the files, other than the one that is listened for, that hold messages of the port. One that is another port's
// by now, or that holds something else, is none of them: a check may empty it.
func (p Port) earlier(now string) (all []string) {
	for _, path := range append(p.remembered(), p.Inbox()) {
		if path != now && !slices.Contains(all, path) && holdsMessages(path) && p.takes(path) == nil {
			all = append(all, path)
		}
	}
	return all
}

// messageFiles are where messages of a port lie, the one that is or was listened for last, and whether there ever was one.
func (p Port) messageFiles() (all []string, known bool) {
	now := p.Inbox()
	w, err := p.Wanted()
	if known = err == nil; known {
		now = w.MessageFile
	} else {
		for _, path := range append(p.remembered(), now) {
			_, err := os.Lstat(path)
			known = known || err == nil
		}
	}
	return append(p.earlier(now), now), known
}

// holdsMessages reports whether a file of this user's is there and has a whole line.
func holdsMessages(path string) bool {
	f, err := own.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = bufio.NewReaderSize(f, maxEnvelope).ReadSlice('\n')
	return (err == nil || errors.Is(err, bufio.ErrBufferFull)) && own.Sole(f) == nil
}
