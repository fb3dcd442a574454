package profile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestByName_line(t *testing.T) {
	p, ok := ByName("line")
	require.True(t, ok)
	assert.Equal(t, Joined, p.Reads)
	assert.Equal(t, " ⏎ ", p.LineBreak)
	assert.Equal(t, 40*time.Millisecond, p.Quiet)
	assert.Equal(t, 64<<10, p.InlineMax)
	assert.Empty(t, p.Continuations, "a reader of lines has no second line")

	p, ok = ByName("line-paste")
	require.True(t, ok)
	assert.Equal(t, Bracketed, p.Reads)
	assert.NotEmpty(t, p.Continuations)

	_, ok = ByName("Line")
	assert.False(t, ok)
	assert.Equal(t, []string{"line", "line-paste", "aider", "tui"}, Names())
}

func TestByName_copies(t *testing.T) {
	p, _ := ByName("line-paste")
	p.Continuations[0] = "changed"
	again, _ := ByName("line-paste")
	assert.NotEqual(t, "changed", again.Continuations[0])
}

func TestRefuse(t *testing.T) {
	tests := []struct {
		name    string
		refused bool
	}{
		{"bash", true},
		{"-bash", true},
		{"/usr/bin/zsh", true},
		{"-sh", true},
		{"vim", true},
		{"vim.basic", true},
		{"nvim", true},
		{"less", true},
		{"ssh", true},
		{"mosh-client", true},
		{"tmux: client", true},
		{"python3", true},
		{"python3.12", true},
		{"lua5.4", true},
		{"sqlite3", true},
		{"R", true},
		{"emacs-29.3", true},
		{"intercom", false},
		{"aider", false},
		{"claude", false},
		{"", false},
		{"-", false},
		{"bashful", false},
		{"3.1", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			why, hint, refused := Refuse(tt.name)
			assert.Equal(t, tt.refused, refused)
			assert.Equal(t, tt.refused, why != "")
			assert.Equal(t, tt.refused, hint != "")
		})
	}
}
