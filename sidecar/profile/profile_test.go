package profile

import (
	"strings"
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
	assert.Equal(t, 65<<10, p.InlineMax)
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
		{"gdb-multiarch", true},
		{"x86_64-linux-gnu-gdb", true},
		{"python3.13t", true},
		{"python3.11-dbg", true},
		{"node-24", true},
		{"bash-static", true},
		{"busybox.static", true},
		{"nslookup", true},
		{"MainThread", false},
		{"node-red", false},
		{"lft", false},
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

// The executable of a process counts as well as its name, except for scripts that were started by their own name.
func TestRefuseRun(t *testing.T) {
	tests := []struct {
		name, executable, args string
		refused                bool
	}{
		{"MainThread", "node", "node", true},
		{"MainThread", "node", "node chat.js", true}, // as an argument, as before
		{"chat", "python3.11", "python3 -q", true},
		{"chat", "python3.11", "chat", true},
		{"chat", "bash", "chat --norc -i", true},
		{"ash", "busybox", "ash", true},
		{"chat", "busybox", "chat", true},
		{"aider", "python3.12", "/usr/bin/python3 /home/me/.local/bin/aider --model x", false},
		{"aider", "python3.12", "/usr/bin/python3 -sE /home/me/.local/bin/aider", false},
		{"aider", "python3.12", "/usr/bin/python3 -i /home/me/.local/bin/aider", true},
		{"aider", "python3.12", "/usr/bin/python3 -qi /home/me/.local/bin/aider", true},
		{"a-very-long-nam", "python3.12", "/usr/bin/python3 /opt/a-very-long-name", false},
		{"chat", "bash", "/bin/bash ./chat", false},
		{"chat", "bash", "/bin/bash ./other", true},
		{"bash", "bash", "/bin/bash ./bash", true},
		{"chat", "chat", "chat", false},
		{"chat", "", "", false},
		{"python3", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name+" "+tt.args, func(t *testing.T) {
			why, hint, refused := RefuseRun(tt.name, tt.executable, func() []string { return strings.Fields(tt.args) })
			assert.Equal(t, tt.refused, refused, why)
			assert.Equal(t, tt.refused, hint != "")
		})
	}
}

func TestStarter(t *testing.T) {
	for name, starts := range map[string]bool{"sh": true, "-bash": true, "MainThread": true, "npm exec claude": true, "python3.12": true, "vim": false, "sudo": false, "unshare": false, "script": false} {
		executable := ""
		if name == "MainThread" {
			executable = "node"
		}
		assert.Equal(t, starts, Starter(name, executable), name)
	}
}
