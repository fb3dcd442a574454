package profile

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVim(t *testing.T) {
	vim, normal, nothing := []byte(`{"theme":"dark","editorMode":"vim"}`), []byte(`{"editorMode":"normal"}`), []byte(`{"theme":"dark"}`)
	for _, c := range []struct {
		name     string
		settings [][]byte
		want     bool
	}{
		{"no files", nil, false},
		{"none is there", [][]byte{nil, nil}, false},
		{"nothing said", [][]byte{nothing, nothing}, false},
		{"in the last", [][]byte{nil, nothing, vim}, true},
		{"the first that says counts", [][]byte{nil, normal, vim}, false},
		{"the other way", [][]byte{vim, normal}, true},
		{"not JSON", [][]byte{[]byte("{"), vim}, true},
		{"not a word", [][]byte{[]byte(`{"editorMode":7}`), vim}, true},
		{"null", [][]byte{[]byte(`{"editorMode":null}`), vim}, true},
		{"another mode", [][]byte{[]byte(`{"editorMode":"emacs"}`)}, false},
	} {
		assert.Equal(t, c.want, Claude().Vim.Set(c.settings...), c.name)
	}
	assert.NotEmpty(t, Claude().Vim.Files)
	assert.Empty(t, Codex().Vim.Files)
}
