// Package hub keeps the files of a hub, the server between a person's computers: the computers that it knows,
// their keys, and the certificates by which they recognise it. The hub itself is another program
// (cmd/intercom-hub), which reads the files again when they change. So a computer can be added whether the hub
// runs or not.
//
// A program that changes something holds the lock of the directory. There is no state but the files.
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

// Hub is the directory of one hub.
type Hub struct{ dir string }

// Place returns the directory of this user's hub: $XDG_STATE_HOME/intercom-hub.
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

// Open makes the directory of a hub if there is none. A directory that others may write is refused.
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

// Dir returns the absolute path of the directory.
func (h Hub) Dir() string { return h.dir }

// Store returns the directory in which the server keeps what waits for computers.
func (h Hub) Store() string { return filepath.Join(h.dir, "messages") }

// The files of the directory. All but the locks are written whole or not at all.
const (
	bookFile    = "computers.json"
	servingFile = "serving.json"
	caFile      = "ca.pem"     // certificate and key
	serverFile  = "server.pem" // certificate and key
	changeLock  = "lock"
	servingLock = "serving.lock"

	mostBytes = 4 << 20 // of one file
)

func (h Hub) path(name string) string { return filepath.Join(h.dir, name) }

// Serving is what a running hub says about itself.
type Serving struct {
	Listen  string   `json:"listen"`          // host:port to which it is bound
	Hosts   []string `json:"hosts,omitempty"` // by which other computers reach it, the best first
	Named   bool     `json:"named,omitempty"` // a person has named the first of them
	Plain   bool     `json:"plain,omitempty"` // without TLS
	Applied string   `json:"applied"`         // Book.Version of the computers that it knows
	PID     int      `json:"pid"`
}

// ErrServed says that another hub serves from the same directory.
var ErrServed = errors.New("a hub is already running there")

// Begin keeps other hubs from serving from this directory until the claim is released.
func (h Hub) Begin(ctx context.Context) (*claim.Claim, error) {
	// A program that asks whether a hub runs may hold the claim for an instant.
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := take(ctx, h.path(servingLock))
	if errors.Is(err, claim.ErrHeld) {
		return nil, fmt.Errorf("%w: %s", ErrServed, h.dir)
	}
	return c, err
}

// Say records what the hub serves.
func (h Hub) Say(s Serving) error { return h.write(servingFile, s) }

// Serving returns what the hub serves, or served when it last ran, and whether it runs now. If it never ran,
// the error wraps fs.ErrNotExist.
func (h Hub) Serving() (s Serving, runs bool, err error) {
	err = h.read(servingFile, &s)
	return s, err == nil && claim.Held(h.path(servingLock)), err
}

// ErrNotApplied says that a running hub has not taken over a change yet.
var ErrNotApplied = errors.New("the hub has not applied the change yet")

// Applied waits until the hub, if it runs, knows the present computers.
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

// Watched reports whether the hub reads the file with that name again when it changes.
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

// change runs f while nobody else changes this directory.
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
