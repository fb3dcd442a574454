package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a person may run to remove the rest stays whole in a narrow terminal, so that it can be copied.
func TestUninstall_commandsCanBeCopied(t *testing.T) {
	var out bytes.Buffer
	a := &app{env: env{Stdout: &out, Width: 80}}
	long := "rm -r /home/somebody/.local/state/intercom/a/rather/long/directory/of/journals"
	a.showUninstalled(uninstallReply{PID: 7, Left: []leftover{{What: "journals and logs of all tmux servers: what was said", Remove: long}}})
	assert.Contains(t, out.String(), "\n    "+long+"\n")
	assert.Contains(t, out.String(), "panes released: none")
}
