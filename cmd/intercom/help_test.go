package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHelp_fitsATerminal(t *testing.T) {
	w := newWorld(t)
	every(t, func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		r := w.run(append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		assert.Zero(t, r.code, cmd.CommandPath())
		assert.Contains(t, r.out, "Usage:\n  "+cmd.CommandPath())
		for line := range strings.Lines(r.out) {
			line = strings.TrimRight(line, "\n")
			assert.LessOrEqual(t, utf8.RuneCountInString(line), helpWidth, "%s --help: %s", cmd.CommandPath(), line)
		}
	})
}

func TestHelp_nearCommand(t *testing.T) {
	a := &app{env: env{Getenv: func(string) string { return "" }}}
	for word, want := range map[string]string{
		"chta": "chat", "stauts": "status", "sned": "send", "doc": "doctor", "adpot": "adopt",
		"foo": "", "ls": "", "frobnicate": "", "x": "", "s": "", "kill": "",
	} {
		assert.Equal(t, want, nearCommand(a.root(), word), word)
	}
}

// The program builds only the command that it is asked for, with the same output as if it had built all of them.
func TestRoot_onlyTheCommandThatIsAskedFor(t *testing.T) {
	fresh := func() *app {
		return &app{env: env{Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}
	}
	said := func(line []string, built ...string) string {
		var out bytes.Buffer
		root := fresh().root(built...)
		root.SetArgs(line)
		root.SetOut(&out)
		root.SetErr(&out)
		cmd, err := root.ExecuteContextC(t.Context())
		return fmt.Sprintf("%s%s: %v", &out, cmd.CommandPath(), err)
	}
	same := func(line ...string) { assert.Equal(t, said(line), said(line, line...), line) }

	for _, c := range fresh().commands() {
		for _, before := range [][]string{nil, {"--json"}, {"--server", "status"}, {"--server=x", "--json"}} {
			only := fresh().root(append(before, c.name, "version")...).Commands()
			require.Len(t, only, 1, c.name)
			require.Equal(t, c.name, only[0].Name())
		}
	}
	every(t, func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		same(append(words, "--help")...)
		same(append(words, "--frobnicate")...)
		same(append(words, "--server")...)
		same(append([]string{"help"}, words...)...)
	})
	for line := range strings.Lines(`
--server send version --help
--server
--server send
--server --json send --help
--json --server=x send --help
--json=perhaps send --help
--frobnicate send --help
--help send
-- send
-x send
send -- --help
"send" --help
chta --help
chat strat
stop plans
completion bsah
`) {
		same(strings.Fields(line)...)
	}
	assert.Greater(t, len(fresh().root().Commands()), len(fresh().commands()), "help and completion, too")
}
