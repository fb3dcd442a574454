// Package message is the vocabulary of the sidecar: every type that crosses from one
// layer to another lives here, so that a layer can be understood without its neighbours.
// It owns no state and starts no goroutine.
package message

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ID names a message, delivery, session, chat or turn: a UUIDv7 in its canonical
// lower-case text form, so that ids sort by the time at which they were made.
type ID string

// NewID makes a fresh id. It panics only if the machine has no source of randomness.
func NewID() ID { return ID(uuid.Must(uuid.NewV7()).String()) }

// DerivedID is the id of something that happened at a time and that the parts name: the same
// whenever it is asked for.
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

// Made is when an id was made, to the millisecond, if it is a UUID of version 7, which tells that.
func (id ID) Made() (at time.Time, ok bool) {
	u, err := uuid.Parse(string(id))
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(u[:8]) >> 16)), true
}

// Timeless reports whether an id was derived from no moment, as that of an author on another computer who has no session there
// is: a person, or who is not proven.
func (id ID) Timeless() bool { return strings.HasPrefix(string(id), "00000000-0000-") }

// ParseID checks that s is a UUID of any version and returns it in canonical form.
func ParseID(s string) (ID, error) {
	u, err := uuid.Parse(s)
	if err != nil {
		return "", fmt.Errorf("id %q: %w", s, err)
	}
	return ID(u.String()), nil
}

// Short is the last eight digits of the id, which are random: enough to tell the ids of
// one listing apart. It is for people; commands accept it where it is unambiguous.
func (i ID) Short() string {
	if len(i) < 8 {
		return string(i)
	}
	return string(i[len(i)-8:])
}

// LeastPrefix is how many characters of an id a person must give at least.
const LeastPrefix = 4

// Is reports whether a word that a person gave is the id, its short form, or the beginning of
// one of them, in any case.
func (i ID) Is(word string) bool {
	word = strings.ToLower(word)
	if i == "" || len(word) < LeastPrefix {
		return false
	}
	return strings.HasPrefix(strings.ToLower(string(i)), word) || strings.HasPrefix(strings.ToLower(i.Short()), word)
}

// At is when the id was made, or what it is derived from happened; false of one that does not say.
func (i ID) At() (time.Time, bool) {
	u, err := uuid.Parse(string(i))
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	return time.Unix(u.Time().UnixTime()), true
}
