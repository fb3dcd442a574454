package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// There is a page for each command that a person calls, with the values of the options by their names.
func TestMan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	require.Zero(t, run(t.Context(), env{Args: []string{"man", dir}, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}))
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for i := range pages {
		pages[i] = filepath.Base(pages[i])
	}
	assert.Equal(t, []string{"intercom-hub-add.1", "intercom-hub-list.1", "intercom-hub-revoke.1", "intercom-hub.1"}, pages)
	text, err := os.ReadFile(filepath.Join(dir, "intercom-hub.1"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `\fB\-\-listen\fP \fI`)
	assert.Contains(t, string(text), ".BR intercom\\-hub\\-add (1)")
}
