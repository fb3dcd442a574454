package link

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The most that a question to an operation of the api, or its answer, may have: far more than any of them has.
// The link does not know what the types of the api have room for, and three bytes of a list can take a hundred
// in memory, so it checks the JSON before it is read.
const (
	deepest    = 16
	mostValues = 200_000
	longest    = 2 * message.MaxBody // bytes of one string, including its escapes
)

// bound returns an error if JSON exceeds these limits. It does not check that the text is valid JSON; its
// reader does.
func bound(text []byte) error {
	deep, values := 0, 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			if deep++; deep > deepest {
				return fmt.Errorf("it nests deeper than %d", deepest)
			}
			values++
		case ']', '}':
			deep--
		case ',', ':':
			values++
		case '"':
			began := i
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if i-began > longest {
				return fmt.Errorf("it has a text of more than %d bytes", longest)
			}
		}
		if values > mostValues {
			return fmt.Errorf("it has more than %d values", mostValues)
		}
	}
	return nil
}
