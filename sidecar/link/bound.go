package link

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What an operation of the api is asked with, or answers, at most: far more than any of them has. What a type has room for is
// not known here, and three bytes of a list can be a hundred in memory, so it is looked at before it is read.
const (
	deepest    = 16
	mostValues = 200_000
	longest    = 2 * message.MaxBody // bytes of one string, with its escapes
)

// bound refuses JSON that has more than that. Whether it is JSON at all is for who reads it.
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
