// Package message is the vocabulary of the sidecar: every type that crosses from one layer to
// another is defined here, so that a layer can be understood without its neighbours. The package
// owns no state and starts no goroutine.
package message

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ID identifies a message, delivery, session, chat or turn. It is a UUIDv7 in its canonical
// lower-case text form, so that ids sort by the time at which they were made.
type ID string

// NewID returns a new id. It panics only if the machine has no source of randomness.
func NewID() ID { return ID(uuid.Must(uuid.NewV7()).String()) }

// DerivedID returns the id of something that happened at a time and that the parts name. The same
// arguments always give the same id.
func DerivedID(at time.Time, parts ...string) ID {
	sum := sha256.New()
	for _, part := range append(parts, at.UTC().Format(time.RFC3339Nano)) {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	u := uuid.UUID(sum.Sum(nil)[:16])
	ms := uint64(max(at.UnixMilli(), 0))
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return ID(u.String())
}

// Made returns the time at which an id was made, or at which the thing happened that it is derived
// from, to the millisecond. ok is false if the id is not a UUID of version 7.
func (id ID) Made() (at time.Time, ok bool) {
	u, err := uuid.Parse(string(id))
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)), true
}

// Timeless reports whether an id was derived without a time. So is the id of an author on another
// computer that has no session there: a person, or an unproven caller.
func (id ID) Timeless() bool { return strings.HasPrefix(string(id), "00000000-0000-") }

// ParseID checks that s is a UUID of any version and returns it in canonical form.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil {
		return "", fmt.Errorf("id %q: %w", s, err)
	}
	return ID(u.String()), nil
}

// Short returns the last eight digits of the id. They are random, enough to tell the ids of one
// listing apart. The short form is for people; commands accept it if it is unambiguous.
func (i ID) Short() string {
	if len(i) < 8 {
		return string(i)
	}
	return string(i[len(i)-8:])
}

// LeastPrefix is the minimum number of characters of an id that a person must give.
const LeastPrefix = 4

// Is reports whether a word that a person gave is the id, its short form, or a prefix of either,
// ignoring case.
func (i ID) Is(word string) bool {
	word = strings.ToLower(word)
	if i == "" || len(word) < LeastPrefix {
		return false
	}
	return strings.HasPrefix(strings.ToLower(string(i)), word) || strings.HasPrefix(strings.ToLower(i.Short()), word)
}
