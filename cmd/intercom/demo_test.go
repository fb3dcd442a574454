package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The commands that `demo --keep` prints work when pasted into a shell, whatever the path of the demo's directory. They remove
// that directory and nothing else.
func TestDemo_WhatKeepNamesIsForAShell(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "a b; touch pwned $(touch pwned) it's")
	dir := filepath.Join(base, "intercom-demo-1")
	bystander := filepath.Join(filepath.Dir(base), "a") // rm would get this path if the other were not quoted
	for _, one := range []string{dir, bystander} {
		require.NoError(t, os.MkdirAll(one, 0o700))
	}
	program := filepath.Join(base, "intercom")
	server := filepath.Join(dir, "tmux.sock")
	bin := t.TempDir()
	for _, file := range []string{program, filepath.Join(bin, "tmux")} {
		tmuxtest.Program(t, file, "#!/bin/sh\nfor word; do echo \"$word\"; done\n")
	}
	look, end := lookAndEnd(program, server, dir)
	run := exec.Command("sh", "-c", look+"; "+end)
	run.Dir, run.Env = t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "-S\n"+server+"\nattach\n--server\n"+server+"\ndown\n-S\n"+server+"\nkill-server\n", string(out))
	assert.NoDirExists(t, dir)
	assert.DirExists(t, bystander)
	left, err := os.ReadDir(run.Dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// The demo finds a directory whose paths are short enough for sockets even if the system's temporary directory has too long a
// path.
func TestDemo_longPathOfTheTemporary(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 60))
	require.NoError(t, os.Mkdir(long, 0o700))
	t.Setenv("TMPDIR", long)
	inner, dir, err := (&app{env: env{Getenv: os.Getenv}}).demoDir()
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_, err = api.Places(inner.Getenv, inner.server)
	require.NoError(t, err)
	left, err := os.ReadDir(long)
	require.NoError(t, err)
	assert.Empty(t, left)
}
