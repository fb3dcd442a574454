package pane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// A text for an agent that is too long to be typed goes into a file, and one line that names the
// file is typed in its place. The file stands where the agent reads without asking its person. It
// is named after session and delivery, so that a later life types, and looks for, the same line:
//
//	composed ──► written ──permitted──► typed ──► … ──► the turn is over: removed
//	   │            │
//	   │            └ held: the file could not be written
//	   └ held: the file system does not answer where the file may stand
//
// Nothing keeps account of these files. Whenever the pane rests, with nothing of ours under way or
// unanswered, no file of its session is of use to anybody, and the texts that still wait are written
// anew. So files that an earlier life or a refused typing left are removed in the same way.

const (
	// attachmentKept is how long the file of a session that is no longer served is left.
	attachmentKept = 7 * 24 * time.Hour
	attachmentName = "intercom-"
	attachmentEnd  = ".txt"
)

// attachment is the file of a part; the zero value is none.
type attachment struct {
	path string
	text string
}

// write writes the file and makes its directory; the zero value writes none.
func (f attachment) write() error {
	if f.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.path, []byte(f.text), 0o600)
}

// compose returns the part that a delivery becomes; false if nothing is left to be typed.
func (p *Pane) compose(d message.Delivery) (one part, ok bool) {
	one = part{d: d}
	if d.Bare {
		one.text = bareText(d)
		return one, true
	}
	form, words, left := d.Form, render.Words(d.Form, d.Message), 0
	if p.generic != nil {
		form, words, left = unselected(form, words)
	}
	one.text, one.sanitised, ok = compose(form, words, p.prof, p.active())
	one.sanitised += left
	if a := p.account; ok && a != nil {
		if lead := screen.Lead(a.prof, one.text); lead != "" {
			form.Separator += lead
			one.text, one.sanitised, ok = compose(form, words, p.prof, p.active())
			one.sanitised += len(lead)
		}
	}
	if ok && p.account != nil && max(len(words), len(one.text)+1) > p.prof.InlineMax {
		p.attach(&one, words)
	}
	return one, ok
}

// attach makes a part name a file in place of its words. It leaves the part as it is if the agent has
// no place for files, or would take the file's name for more than a name. If the place cannot be found out now,
// the part is unplaced.
func (p *Pane) attach(one *part, words string) {
	dir, err := p.desk()
	if err != nil {
		one.unplaced = err
	}
	if dir == "" {
		return
	}
	f := attachment{path: filepath.Join(dir, p.attachmentsOf()+one.d.ID.Short()+attachmentEnd)}
	var changed int
	f.text, changed = sanitise.Text(words, sanitise.Options{Head: one.d.Head})
	short := fmt.Sprintf("(This message is %d bytes, too long to type. Read all of %q first; it is kept until you answer.)", len(f.text), f.path)
	text, altered, ok := compose(one.d.Form, short, p.prof, p.active())
	if !ok || altered > 0 || !strings.Contains(short, `"`+f.path+`"`) {
		return
	}
	one.text, one.sanitised, one.file = text, changed, f
}

// attachmentsOf returns what the names of this session's files begin with.
func (p *Pane) attachmentsOf() string { return attachmentName + p.session.ID.Short() + "-" }

// lay writes the files of parts, and returns those that may be typed: all before the first
// whose file cannot be written.
func (p *Pane) lay(parts []part) ([]part, error) {
	for i, one := range parts {
		if one.file.path == "" {
			continue
		}
		p.littered = true
		if _, err := errand(p, func() (any, error) { return nil, one.file.write() }); err != nil {
			return parts[:i], err
		}
	}
	return parts, nil
}

// clear removes the files that the session has left, if the pane rests: nothing of ours is under
// way there, unseen or unanswered, and its agent waits for its person.
func (p *Pane) clear(s sight) {
	if !p.littered || p.account == nil || p.core.batch() != nil || p.core.lost.text != "" || len(p.answers) > 0 || !s.reading.MayType || p.exactlyBusy() != "" {
		return
	}
	p.sweep()
}

// sweep removes the files that the session has left, whoever may still want them. If the file system does not
// answer, they are left to a later look.
func (p *Pane) sweep() {
	if !p.littered {
		return
	}
	dir, err := p.desk()
	if err == nil {
		of := p.attachmentsOf()
		_, err = errand(p, func() (any, error) { return nil, removeAttachments(dir, of, p.clock.now()) })
	}
	p.littered = errors.Is(err, errNoAnswer)
	if err != nil && !p.littered {
		p.log.Warn("remove files", "pane", p.session.Pane, "err", err)
	}
}

// desk returns the directory for the session's files, "" for none. An error says that it cannot be found out now.
func (p *Pane) desk() (string, error) {
	who, bound := p.account.who, p.account.bound
	dir, err := errand(p, func() (string, error) { return who.Desk(bound), nil })
	if err != nil {
		return "", fmt.Errorf("find the directory for files of %q: %w", p.session.Pane, err)
	}
	return dir, nil
}

// finished returns the name that a file of atomicfile will have once it is written; any other name as it is.
func finished(name string) string {
	if rest, hidden := strings.CutPrefix(name, "."); hidden {
		if i := strings.LastIndexByte(rest, '.'); i >= 0 && strings.HasSuffix(rest[:i], attachmentEnd) {
			return rest[:i]
		}
	}
	return name
}

// removeAttachments removes those attachments in a directory whose names begin with of, as a
// session's do, and old ones of other sessions.
func removeAttachments(dir, of string, now time.Time) error {
	if dir == "" {
		return nil
	}
	all, err := foreign.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	left := 0
	for _, one := range all {
		name := finished(one.Name())
		if !strings.HasPrefix(name, attachmentName) || !strings.HasSuffix(name, attachmentEnd) || !one.Type().IsRegular() {
			left++
			continue
		}
		info, statErr := one.Info()
		if !strings.HasPrefix(name, of) && (statErr != nil || now.Sub(info.ModTime()) < attachmentKept) {
			left++
			continue
		}
		if removeErr := os.Remove(filepath.Join(dir, one.Name())); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if left == 0 && agent.OwnDesk(dir) {
		_ = os.Remove(dir) // unless somebody has put something there meanwhile
	}
	return err
}
