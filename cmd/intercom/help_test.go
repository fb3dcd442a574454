package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
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
