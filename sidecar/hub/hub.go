// Package hub keeps the files of a hub, the server between a person's computers: which computers it knows, by which keys,
// and the certificates by which they know it. The hub itself is another program (cmd/intercom-hub), which reads again what
// changes here; so it may be running or not when a computer is added.
//
// Whoever changes something holds the lock of the directory. There is no state but the files.
package hub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Hub is one hub's directory.
type Hub struct{ dir string }

// Place is where the hub of this user is: $XDG_STATE_HOME/intercom-hub.
func Place(getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither XDG_STATE_HOME nor HOME is an absolute path")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "intercom-hub"), nil
}

// Open makes the directory of a hub, where there is none. One that others may write is refused.
func Open(dir string) (Hub, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Hub{}, err
	}
	if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
		return Hub{}, err
	}
	_, err = own.List(dir)
	return Hub{dir: dir}, err
}

// Dir is its absolute path.
func (h Hub) Dir() string { return h.dir }

// Store is where the server keeps what waits for computers.
func (h Hub) Store() string { return filepath.Join(h.dir, "messages") }

// The files of the directory. All but the locks are written whole or not at all.
const (
	bookFile    = "computers.json"
	servingFile = "serving.json"
	caFile      = "ca.pem"     // certificate and key
	serverFile  = "server.pem" // certificate and key
	changeLock  = "lock"
	servingLock = "serving.lock"

	mostBytes = 4 << 20 // of one of them
)

func (h Hub) path(name string) string { return filepath.Join(h.dir, name) }

// Serving is what a hub that runs says of itself.
type Serving struct {
	Listen  string   `json:"listen"`          // host:port, as it is bound
	Hosts   []string `json:"hosts,omitempty"` // by which other computers call it, the best first
	Named   bool     `json:"named,omitempty"` // a person has named the first of them
	Plain   bool     `json:"plain,omitempty"` // without TLS
	Applied string   `json:"applied"`         // the version of the computers that it knows
	PID     int      `json:"pid"`
}

// ErrServed says that another hub serves from the same directory.
var ErrServed = errors.New("a hub is already running there")

// Begin keeps other hubs from serving from this directory until the claim is released.
func (h Hub) Begin(ctx context.Context) (*claim.Claim, error) {
	// Who asks whether a hub runs may hold it for an instant.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := take(ctx, h.path(servingLock))
	if errors.Is(err, claim.ErrHeld) {
		return nil, fmt.Errorf("%w: %s", ErrServed, h.dir)
	}
	return c, err
}

// Say writes down what the hub serves.
func (h Hub) Say(s Serving) error { return h.write(servingFile, s) }

// Serving is what the hub serves, or served when it last ran, and whether it runs now. The error of a hub that
// never ran is one of fs.ErrNotExist.
func (h Hub) Serving() (s Serving, runs bool, err error) {
	err = h.read(servingFile, &s)
	return s, err == nil && claim.Held(h.path(servingLock)), err
}

// ErrNotApplied says that a hub runs, and has not taken a change.
var ErrNotApplied = errors.New("the hub has not applied the change yet")

// Applied waits until the hub, if it runs, knows the computers as they are now.
func (h Hub) Applied(ctx context.Context) error {
	for {
		book, err := h.Book()
		if err != nil {
			return err
		}
		s, runs, err := h.Serving()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !runs || s.Applied == book.Version {
			return nil
		}
		select {
		case <-ctx.Done():
			return ErrNotApplied
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Watched are the names of the files that the hub reads again when they change.
func Watched(name string) bool { return filepath.Base(name) == bookFile }

func (h Hub) read(name string, into any) error {
	text, err := own.Read(h.path(name), mostBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", h.path(name), err)
	}
	return nil
}

func (h Hub) write(name string, value any) error {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.Write(h.path(name), append(text, '\n'), 0o600)
}

// change runs f, which nobody else of this directory does meanwhile.
func (h Hub) change(f func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := take(ctx, h.path(changeLock))
	if err != nil {
		return err
	}
	return errors.Join(f(), c.Release())
}

// take waits for a claim.
func take(ctx context.Context, path string) (*claim.Claim, error) {
	for {
		c, err := claim.Take(path)
		if !errors.Is(err, claim.ErrHeld) {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func version(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
