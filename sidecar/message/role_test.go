package message_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestCheckRole(t *testing.T) {
	for role, ok := range map[string]bool{
		"":                                           true,
		"reviewer, in a hurry":                       true,
		"Prüferin 検査":                                true,
		strings.Repeat("x", message.MaxRole):         true,
		strings.Repeat("x", message.MaxRole+1):       false,
		strings.Repeat("ü", message.MaxRole/2):       true, // bytes count
		"ü" + strings.Repeat("x", message.MaxRole-1): false,
		"two\nlines":                                 false,
		"tab\there":                                  false,
		"\x1b[31mred":                                false,
		"c1 \u009b31m":                               false,
		"not \xff it":                                false,
	} {
		assert.Equal(t, ok, message.CheckRole(role) == nil, "%q", role)
	}
}
