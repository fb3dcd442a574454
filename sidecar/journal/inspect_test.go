package journal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Inspect says what is wrong with a journal that nobody has open, and changes no byte of it.
func TestInspect(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	require.NoError(t, Inspect(t.Context(), dir), "there is none")
	j, err := Open(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, j.Commit(t.Context(), message.Step{Notices: []message.Notice{{Text: "hello"}}}))
	require.NoError(t, j.Close())
	path := filepath.Join(dir, fileName)
	sound, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, Inspect(t.Context(), dir))

	for name, change := range map[string]func([]byte){
		"its first bytes": func(b []byte) { copy(b, make([]byte, 100)) },
		"bits all over it": func(b []byte) {
			for i := 120; i < len(b); i += 41 {
				b[i] ^= 0x55
			}
		},
		"a newer version": func(b []byte) { b[63] = 99 },
	} {
		t.Run(name, func(t *testing.T) {
			changed := append([]byte(nil), sound...)
			change(changed)
			require.NoError(t, os.WriteFile(path, changed, 0o600))
			err := Inspect(t.Context(), dir)
			require.Error(t, err)
			if name == "a newer version" {
				assert.ErrorIs(t, err, ErrNewer)
			}
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, changed, after)
		})
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	assert.ErrorIs(t, Inspect(t.Context(), dir), ErrUnsafe)
}

// A journal reports if its file is taken away or replaced.
func TestJournal_Intact(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	j, err := Open(t.Context(), dir)
	require.NoError(t, err)
	defer j.Close()
	require.NoError(t, j.Intact())
	require.NoError(t, os.Rename(j.Path(), j.Path()+".away"))
	assert.ErrorIs(t, j.Intact(), os.ErrNotExist)
	require.NoError(t, os.WriteFile(j.Path(), nil, 0o600))
	assert.ErrorContains(t, j.Intact(), "another file")
}
