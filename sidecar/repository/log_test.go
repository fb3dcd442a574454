package repository

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of the notes that several programs write at once while one shortens them, none is lost.
func TestNoteSent_atOnce(t *testing.T) {
	t.Parallel()
	d, e := repo(t, "repo"), EnabledIn(t.TempDir())
	require.NoError(t, os.MkdirAll(e.Dir, 0o700))
	for round := range 5 {
		require.NoError(t, os.WriteFile(e.sentLog(d.Path), []byte(strings.Repeat("0123456789\n", 2*searched/11)), 0o600))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				err := e.NoteSent(d.Path, fmt.Sprintf("id-%d-%d", round, i))
				for errors.Is(err, errBusy) { // a slow disk
					err = e.NoteSent(d.Path, fmt.Sprintf("id-%d-%d", round, i))
				}
				assert.NoError(t, err)
			})
		}
		all.Wait()
		for i := range 8 {
			assert.True(t, e.Sent(d, fmt.Sprintf("id-%d-%d", round, i)), "%d %d", round, i)
		}
	}
}
