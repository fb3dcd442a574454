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

// Wish is listen.json: somebody wants a port to be listened on until the file is removed. The port's claim
// decides who serves it.
type Wish struct {
	Port        int    `json:"port"`
	MessageFile string `json:"message_file"`
	Started     string `json:"started"`
	Name        string `json:"name,omitempty"`
	TLS         bool   `json:"tls,omitempty"`
	Route       bool   `json:"route,omitempty"` // messages are also for policies to route
}

// Listening is a port that is listened on now.
type Listening struct {
	Wish
	PID int
}

// Wanted returns the wish for a port. The error wraps fs.ErrNotExist if nobody wants it.
func (p Port) Wanted() (w Wish, err error) {
	if err := readJSON(p.wish(), &w); err != nil {
		return w, err
	}
	if w.Port = p.Number; w.MessageFile == "" {
		w.MessageFile = p.Inbox()
	}
	return w, nil
}

// another reports whether the port is wanted for a listener with another name than that; nil is any name.
func (p Port) another(name *string) bool {
	w, err := p.Wanted()
	return err == nil && name != nil && w.Name != *name
}

// Wishes returns the wishes for all ports, in the order of their numbers.
func (h Home) Wishes() (all []Wish) {
	for _, number := range h.numbers() {
		if w, err := h.Port(number).Wanted(); err == nil {
			all = append(all, w)
		}
	}
	return all
}

// Listening returns who listens on the port; ok is false if no listener of ours does. Files left by a listener
// that was killed do not count, because it holds no claim.
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

// Discover returns all ports that are listened on.
func (h Home) Discover() (all []Listening) {
	for _, number := range h.numbers() {
		if l, ok := h.Port(number).Listening(); ok {
			all = append(all, l)
		}
	}
	return all
}

// Named returns the port that has a name.
func (h Home) Named(name string) (int, error) {
	if !validName(name) {
		return 0, Errorf(InvalidName, 0, "Name %q may have only a-z, 0-9 and -, and must begin with a letter", name).With("name", name)
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

// Starting keeps others from starting or stopping a listener until the claim is released. It waits for others
// for at most patience.
func (h Home) Starting(patience time.Duration) (*claim.Claim, error) {
	for end := time.Now().Add(patience); ; time.Sleep(lockPause) {
		c, err := claim.Take(h.Claims + "/talk-starting")
		if err == nil || !errors.Is(err, claim.ErrHeld) || time.Now().After(end) {
			return c, err
		}
	}
}

// Want records the wish. The caller holds the claim of Starting. The error is an *Error: PORT_IN_USE if
// somebody already listens there, NAME_IN_USE if another port has the name, FILE_ERROR if the message file is
// another port's or has unread messages of one.
func (p Port) Want(w Wish) error {
	if err := p.vacant(); err != nil {
		return err
	}
	if w.Name != "" {
		if !validName(w.Name) {
			return Errorf(InvalidName, p.Number, "Name %q may have only a-z, 0-9 and -, and must begin with a letter", w.Name).With("name", w.Name)
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
	if w.MessageFile != p.Inbox() { // the port's own inbox has nothing of another port, though an earlier version may have let one write there
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

// takes returns an error for a message file that is another port's or that holds something other than messages,
// because messages are appended to it and a check removes them.
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
		return Errorf(FileError, p.Number, "Message file %q contains something other than messages", path)
	}
	return nil
}

// vacant returns an error if somebody listens on the port.
func (p Port) vacant() error {
	if l, ok := p.Listening(); ok {
		return Errorf(PortInUse, p.Number, "Port %d is already in use by a listener (pid %d)", p.Number, l.PID).
			With("pid", l.PID).With("already_running", true)
	}
	if err := free(p.Number); err != nil && !claim.Held(p.claim()) { // with the claim held, a listener of ours is about to say so, or to end
		return err
	}
	return nil
}

// Vacant returns the first port, from FirstPort on, that nobody listens on or wants.
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

// Unwant removes the wish, and the server of the port then ends. It reports whether there was a wish.
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
