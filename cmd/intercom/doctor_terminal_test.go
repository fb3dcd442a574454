package main

import (
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// At a terminal findings are wrapped between words, but hints, which may be copied, are not. If the list is longer than the
// screen, the verdict stands below it too.
func TestDoctor_atATerminal(t *testing.T) {
	t.Parallel()
	const hint = "tmux set -g @something-rather-long to a value, and another one, that together need more than the columns"
	found := finding{Level: fine, Text: "the tmux server runs version 3.3a, process 23214, and this program runs it by version 3.3a too", Hint: hint}
	shown := func(n int) []string {
		screen, terminal, err := pty.Open()
		require.NoError(t, err)
		defer screen.Close()
		require.NoError(t, pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 80}))
		var r doctorReply
		for range n {
			r.Findings = append(r.Findings, found)
		}
		read := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(screen) // reading ends with an error when the terminal is closed
			read <- string(text)
		}()
		(&app{env: env{Stdout: terminal}}).showFindings(r)
		require.NoError(t, terminal.Close())
		return strings.Split(strings.TrimSuffix(<-read, "\r\n"), "\r\n")
	}
	assert.Equal(t, []string{
		"nothing is wrong", "",
		"ok       the tmux server runs version 3.3a, process 23214, and this program runs",
		"         it by version 3.3a too",
		"         → " + hint,
	}, shown(1))
	long := shown(8)
	assert.Len(t, long, 2+8*3+2)
	assert.Equal(t, []string{"", "nothing is wrong"}, long[len(long)-2:])
	assert.Equal(t, "nothing is wrong", long[0])
}
