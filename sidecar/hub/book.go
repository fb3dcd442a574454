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

// Computer is a computer that may connect.
type Computer struct {
	Name  string    `json:"name"` // its token, which is its name in subjects
	Key   string    `json:"key"`  // its public nkey; the private one is not kept here
	Added time.Time `json:"added"`
}

// Book is the list of computers that the hub knows.
type Book struct {
	Computers []Computer `json:"computers"`       // by name
	Purge     []string   `json:"purge,omitempty"` // names of computers whose mailboxes are to be deleted as soon as a hub runs

	Version string `json:"-"` // of the file
}

var (
	// ErrKnown says that a computer of that name already has access.
	ErrKnown = errors.New("has access already")
	// ErrUnknown says that no computer of that name has access.
	ErrUnknown = errors.New("no such computer")
)

// Book reads the computers that the hub knows: none before the first was added.
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

// Add gives a computer access, and returns its seed. The seed is for that computer only and is not kept here.
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

// Revoke takes a computer's access away. The messages that wait for it stay, for a computer that is added under
// the same name, unless they are purged.
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

// Purged notes that the mailboxes of these computers are deleted.
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
