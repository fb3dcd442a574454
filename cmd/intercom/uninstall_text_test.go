package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// What `make install` put beside the program is named, and nothing of another bin directory.
func TestUninstall_namesWhatMakeInstalled(t *testing.T) {
	prefix := t.TempDir()
	a := &app{env: env{Executable: filepath.Join(prefix, "bin", "intercom")}}
	_, ok := a.installed()
	assert.False(t, ok, "there is no manual page")
	man := filepath.Join(prefix, "share", "man", "man1")
	require.NoError(t, os.MkdirAll(man, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(man, "intercom.1"), nil, 0o644))
	found, ok := a.installed()
	assert.True(t, ok)
	assert.Equal(t, prefix, found)
	a.Executable = filepath.Join(prefix, "libexec", "intercom")
	_, ok = a.installed()
	assert.False(t, ok)
}
