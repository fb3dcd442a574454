package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// MaxName is how many characters a name may have.
const MaxName = 64

// ErrName is wrapped by every refusal of a name.
var ErrName = message.NewError(message.KindBadName, "not a name")

// TakenError says that another session has the name. It wraps ErrName.
type TakenError struct {
	Name string
	Pane string // pane of that session; "" if it has none, like a port
}

func (e *TakenError) Error() string {
	if e.Pane == "" {
		return fmt.Sprintf("name taken: %q is the name of a peer that is in no pane", e.Name)
	}
	return fmt.Sprintf("name taken: %q is the name of pane %s", e.Name, e.Pane)
}

// Unwrap returns ErrName.
func (e *TakenError) Unwrap() error { return ErrName }

// ErrorKind returns KindTaken.
func (e *TakenError) ErrorKind() message.ErrorKind { return message.KindTaken }

// reserved lists the names with another meaning in headers, addresses and commands.
var reserved = []string{"ai", "local", "relay", "notice", "system", "person", "all", "yes", "no", "unverified"}

// CheckName returns an error for a string that cannot be the name of a session or chat. A name has 1 to 64
// characters of `[A-Za-z0-9._-]` and does not begin with "." or "-", so that an attribution or header made from it
// is never read as another one, a path, or an option. It is not a reserved word and does not look like an id.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case len(name) > MaxName:
		return fmt.Errorf("%w: %q… is %d bytes long; the limit is %d", ErrName, name[:8], len(name), MaxName)
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return fmt.Errorf("%w: %q: only ASCII letters, digits, \".\", \"_\" and \"-\" are allowed", ErrName, name)
		}
	}
	switch {
	case name[0] == '.' || name[0] == '-':
		return fmt.Errorf("%w: %q begins with %q", ErrName, name, name[:1])
	case isReserved(name):
		return fmt.Errorf("%w: %q is reserved", ErrName, name)
	case looksLikeID(name):
		return fmt.Errorf("%w: %q looks like an id", ErrName, name)
	}
	return nil
}

// CheckName returns an error for an invalid name, as the function does, and a *TakenError for the name of another
// present session, in any case of letters. The session bearer may already have the name.
func (s Snapshot) CheckName(name string, bearer message.ID) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for one := range s.peers.so(name) {
		if one.Ended == nil && one.ID != bearer && strings.EqualFold(one.Name, name) {
			return &TakenError{Name: name, Pane: one.Pane}
		}
	}
	return nil
}

// FreeName makes a name from base that no present session has: NameFrom(base) itself, otherwise base-2, base-3 and
// so on. If nothing is left of base, it uses "agent". The name differs from all besides, in any case of letters.
func (s Snapshot) FreeName(base string, besides ...string) string {
	base = NameFrom(base)
	if base == "" {
		base = "agent"
	}
	name := base
	taken := func() bool {
		return s.CheckName(name, "") != nil || slices.ContainsFunc(besides, func(b string) bool { return strings.EqualFold(b, name) })
	}
	for n := 2; taken(); n++ {
		end := "-" + strconv.Itoa(n)
		name = base[:min(len(base), MaxName-len(end))] + end
	}
	return name
}

// NameFrom makes a name that is as close as possible to a title, which is free text: each run of spaces and invalid
// characters becomes one "-". The result may be empty, reserved or taken; FreeName handles these cases.
func NameFrom(title string) string {
	var b strings.Builder
	gap := false
	for i := 0; i < len(title) && b.Len() < MaxName; i++ {
		c := title[i]
		if !nameByte(c) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 && b.Len() < MaxName-1 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteByte(c)
	}
	return strings.TrimRight(strings.TrimLeft(b.String(), ".-"), ".-")
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

func isReserved(name string) bool {
	for _, r := range reserved {
		if strings.EqualFold(r, name) {
			return true
		}
	}
	return false
}

// looksLikeID reports whether name could be mistaken for an id or its short form: a session named like another's
// short id would get its messages.
func looksLikeID(name string) bool {
	if _, err := message.ParseID(name); err == nil {
		return true
	}
	if len(name) != 8 {
		return false
	}
	for i := range len(name) {
		c := name[i] | 0x20
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
