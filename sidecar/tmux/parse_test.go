package tmux

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A server counts as gone only if nothing can listen. A socket that may not be used, or whose queue
// is full, says nothing about its server.
func TestCommandError_gone(t *testing.T) {
	for text, gone := range map[string]bool{
		"no server running on /tmp/s":                                       true,
		"error connecting to /tmp/s (No such file or directory)":            true,
		"error connecting to /tmp/s (Connection refused)":                   true,
		"server exited unexpectedly":                                        true,
		"error connecting to /tmp/s (Permission denied)":                    false,
		"error connecting to /tmp/s (Resource temporarily unavailable)":     false,
		"error connecting to /tmp/s (Connection refused) (Not a directory)": false,
	} {
		assert.Equal(t, gone, NoServer(&commandError{text: text}), text)
	}
}

// Keys as list-keys writes them, and the keys themselves.
func TestKeys_asTheyAre(t *testing.T) {
	for listed, key := range map[string]string{
		"@": "@", "M-v": "M-v", `\;`: ";", `\"`: `"`, `\'`: "'", `\\`: `\`, `\`: `\`, `"`: `"`, `"C-;"`: "C-;", `"M-'"`: "M-'", `'M-"'`: `M-"`, `M-\\`: `M-\`,
	} {
		assert.Equal(t, key, unescapeKey(listed), listed)
	}
}
