package message

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxRole is the most bytes that the role of a participant may have.
const MaxRole = 64

// CheckRole refuses a role that could not stand in one line beside a name. No role is one.
func CheckRole(role string) error {
	switch {
	case len(role) > MaxRole:
		return fmt.Errorf("role of %d bytes: the limit is %d", len(role), MaxRole)
	case !utf8.ValidString(role), strings.ContainsFunc(role, unicode.IsControl):
		return fmt.Errorf("role %q contains control characters or is not valid UTF-8", role)
	}
	return nil
}
