package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Computer is one that may connect.
type Computer struct {
	Name  string    `json:"name"` // its token: what it goes by in subjects
	Key   string    `json:"key"`  // the public one, of nkeys; nobody here has the other
	Added time.Time `json:"added"`
}

// Book is whom the hub knows.
type Book struct {
	Computers []Computer `json:"computers"`       // by name
	Purge     []string   `json:"purge,omitempty"` // whose mailboxes are to be deleted, as soon as a hub runs

	Version string `json:"-"` // of the file
}

var (
	// ErrKnown says that a computer of that name has access already.
	ErrKnown = errors.New("has access already")
	// ErrUnknown says that no computer of that name has access.
	ErrUnknown = errors.New("no such computer")
)

// Book reads whom the hub knows. Before anybody was added that is nobody.
func (h Hub) Book() (b Book, err error) {
	text, err := own.Read(h.path(bookFile), mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fmt.Errorf("%s: %w", h.path(bookFile), err)
	}
	b.Version = version(text)
	return b, nil
}

// Add gives a computer access, and returns the seed that is for that computer alone: it is kept nowhere here.
func (h Hub) Add(name string, now time.Time) (c Computer, seed []byte, err error) {
	token, err := link.Token(name)
	if err != nil {
		return c, nil, err
	}
	err = h.rewrite(func(b *Book) error {
		if slices.ContainsFunc(b.Computers, named(token)) {
			return fmt.Errorf("computer %q %w", token, ErrKnown)
		}
		c = Computer{Name: token, Added: now.UTC().Truncate(time.Second)}
		if seed, c.Key, err = link.NewSeed(); err != nil {
			return err
		}
		b.Computers = append(b.Computers, c)
		return nil
	})
	return c, seed, err
}

// Revoke takes a computer's access. What waits for it stays, for a computer that is added by the same name, unless
// it is purged.
func (h Hub) Revoke(name string, purge bool) error {
	token, err := link.Token(name)
	if err != nil {
		return err
	}
	return h.rewrite(func(b *Book) error {
		known := slices.IndexFunc(b.Computers, named(token))
		if known < 0 {
			return fmt.Errorf("%w: %q", ErrUnknown, token)
		}
		b.Computers = slices.Delete(b.Computers, known, known+1)
		if purge && !slices.Contains(b.Purge, token) {
			b.Purge = append(b.Purge, token)
		}
		return nil
	})
}

// Purged says that the mailboxes of these computers are deleted.
func (h Hub) Purged(tokens []string) error {
	return h.rewrite(func(b *Book) error {
		b.Purge = slices.DeleteFunc(b.Purge, func(token string) bool { return slices.Contains(tokens, token) })
		return nil
	})
}

func (h Hub) rewrite(f func(*Book) error) error {
	return h.change(func() error {
		b, err := h.Book()
		if err != nil {
			return err
		}
		if err := f(&b); err != nil {
			return err
		}
		slices.SortFunc(b.Computers, func(x, y Computer) int { return strings.Compare(x.Name, y.Name) })
		return h.write(bookFile, b)
	})
}

func named(token string) func(Computer) bool {
	return func(c Computer) bool { return c.Name == token }
}
