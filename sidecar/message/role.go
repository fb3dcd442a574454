package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxRole is the maximum size of a participant's role in bytes.
const MaxRole = 64

// CheckRole refuses a role that cannot stand in one line beside a name. An empty role is allowed.
func CheckRole(role string) error {
	switch {
	case len(role) > MaxRole:
		return fmt.Errorf("role of %d bytes: the limit is %d", len(role), MaxRole)
	case !utf8.ValidString(role), strings.ContainsFunc(role, unicode.IsControl):
		return fmt.Errorf("role %q contains control characters or is not valid UTF-8", role)
	}
	return nil
}
