package talk

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Wish is listen.json: somebody wants a port to be listened on, until the file is removed. Who
// serves it is settled by its claim.
type Wish struct {
	Port        int    `json:"port"`
	MessageFile string `json:"message_file"`
	Started     string `json:"started"`
	Name        string `json:"name,omitempty"`
	TLS         bool   `json:"tls,omitempty"`
	Route       bool   `json:"route,omitempty"` // what comes is also for policies to route
}

// Listening is a port that is listened on now.
type Listening struct {
	Wish
	PID int
}

// Wanted is the wish for a port; the error wraps fs.ErrNotExist if nobody wants it.
func (p Port) Wanted() (w Wish, err error) {
	if err := readJSON(p.wish(), &w); err != nil {
		return w, err
	}
	if w.Port = p.Number; w.MessageFile == "" {
		w.MessageFile = p.Inbox()
	}
	return w, nil
}

// Wishes are those for all ports, in the order of their numbers.
func (h Home) Wishes() (all []Wish) {
	for _, number := range h.numbers() {
		if w, err := h.Port(number).Wanted(); err == nil {
			all = append(all, w)
		}
	}
	return all
}

// Listening is who listens on the port; false if nobody of ours does. What one that was killed has
// left says nothing: it holds no claim.
func (p Port) Listening() (l Listening, ok bool) {
	if readJSON(p.PIDFile(), &l.PID) != nil || !claim.Held(p.claim()) {
		return l, false
	}
	var err error
	if l.Wish, err = p.Wanted(); err != nil || !p.serves(l.Wish) {
		return l, false // it is about to end
	}
	return l, true
}

// Discover are all ports that are listened on.
func (h Home) Discover() (all []Listening) {
	for _, number := range h.numbers() {
		if l, ok := h.Port(number).Listening(); ok {
			all = append(all, l)
		}
	}
	return all
}

// Named is the port that has a name.
func (h Home) Named(name string) (int, error) {
	if !validName(name) {
		return 0, Errorf(InvalidName, 0, "Name %q is not of a-z, 0-9 and -, beginning with a letter", name).With("name", name)
	}
	for _, w := range h.Wishes() {
		if w.Name == name {
			return w.Port, nil
		}
	}
	return 0, Errorf(NameUnknown, 0, "No listener is named %q", name).With("name", name)
}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`) })

func validName(name string) bool { return nameForm().MatchString(name) }

// Starting keeps others from starting or stopping a listener, until it is released. It waits for
// them, at most that long.
func (h Home) Starting(patience time.Duration) (*claim.Claim, error) {
	for end := time.Now().Add(patience); ; time.Sleep(lockPause) {
		c, err := claim.Take(h.Claims + "/talk-starting")
		if err == nil || !errors.Is(err, claim.ErrHeld) || time.Now().After(end) {
			return c, err
		}
	}
}

// Want writes the wish down. The caller is Starting. The error is an *Error: PORT_IN_USE where
// somebody listens there already, NAME_IN_USE where another port has the name, FILE_ERROR where the message file is
// another port's, or has messages that are unread there.
func (p Port) Want(w Wish) error {
	if err := p.vacant(); err != nil {
		return err
	}
	if w.Name != "" {
		if !validName(w.Name) {
			return Errorf(InvalidName, p.Number, "Name %q is not of a-z, 0-9 and -, beginning with a letter", w.Name).With("name", w.Name)
		}
		others := p.Wishes()
		if i := slices.IndexFunc(others, func(one Wish) bool { return one.Name == w.Name && one.Port != p.Number }); i >= 0 {
			return Errorf(NameInUse, p.Number, "Name %q is that of port %d", w.Name, others[i].Port).With("name", w.Name)
		}
	}
	if err := p.make(); err != nil {
		return err
	}
	if w.Port = p.Number; w.MessageFile == "" || p.inboxOf(w.MessageFile) == p.Number {
		w.MessageFile = p.Inbox()
	}
	if err := p.takes(w.MessageFile); err != nil {
		return err
	}
	if w.MessageFile != p.Inbox() { // in which nothing is another's, though an earlier version may have let one write there
		if err := p.yielded(w.MessageFile); err != nil {
			return err
		}
	}
	if w.Started == "" {
		w.Started = time.Now().Local().Format(startedLayout)
	}
	was, _ := p.Wanted()
	if err := p.remember(was.MessageFile, w.MessageFile); err != nil {
		return Errorf(FileError, p.Number, "%w", err)
	}
	if err := writeJSON(p.wish(), w); err != nil {
		return Errorf(FileError, p.Number, "%w", err)
	}
	return nil
}

// takes refuses a message file that is another port's, or that holds something else than messages:
// what comes is appended to it, and a check removes it.
func (p Port) takes(path string) error {
	others := p.Wishes()
	if i := slices.IndexFunc(others, func(one Wish) bool { return one.Port != p.Number && same(one.MessageFile, path) }); i >= 0 {
		return p.Port(others[i].Port).keeps(path, p.Number)
	}
	if number := p.inboxOf(path); number != 0 && number != p.Number {
		return Errorf(FileError, p.Number, "Message file %q is the inbox of port %d", path, number).With("hint", "choose another --message-file")
	}
	f, err := own.Open(path)
	if err != nil {
		return nil //nolint:nilerr // there is none yet, or whoever is to serve it says what is wrong
	}
	defer f.Close()
	first, err := bufio.NewReaderSize(f, maxEnvelope).ReadSlice('\n')
	if len(first) == 0 && errors.Is(err, io.EOF) {
		return nil
	}
	var one map[string]any
	if err := json.Unmarshal(first, &one); err != nil || one["message"] == nil {
		return Errorf(FileError, p.Number, "Message file %q has something else than messages", path)
	}
	return nil
}

// vacant is the error of a port at which somebody listens.
func (p Port) vacant() error {
	if l, ok := p.Listening(); ok {
		return Errorf(PortInUse, p.Number, "Port %d is already in use by a listener (pid %d)", p.Number, l.PID).
			With("pid", l.PID).With("already_running", true)
	}
	if err := free(p.Number); err != nil && !claim.Held(p.claim()) { // else ours is about to say so, or to end
		return err
	}
	return nil
}

// Vacant is the first port from the document's on that nobody listens on or wants.
func (h Home) Vacant() (int, error) {
	for number := FirstPort; number < FirstPort+1000; number++ {
		p := h.Port(number)
		if _, err := p.Wanted(); err == nil || claim.Held(p.claim()) || free(number) != nil {
			continue
		}
		return number, nil
	}
	return 0, Errorf(PortInUse, FirstPort, "No port from %d on is free", FirstPort)
}

// Unwant takes the wish back: whoever serves the port ends that. It reports whether there was one.
func (p Port) Unwant() (bool, error) {
	if was, err := p.Wanted(); err == nil {
		_ = p.remember(was.MessageFile) // Want did, unless an earlier version wrote the wish
	}
	err := os.Remove(p.wish())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Served reports whether somebody holds the port's claim.
func (p Port) Served() bool { return claim.Held(p.claim()) }
