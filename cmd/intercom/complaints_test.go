package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func TestDoctor_complaintsOfEarlierStarts(t *testing.T) {
	w := newWorld(t)
	p := w.places(t)
	require.NoError(t, api.Private(p.State))
	file := filepath.Join(p.State, complaintsFile)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Empty(t, w.allOf(t, "complaints"))
	w.serve(t, &fakeBackend{status: api.Status{Log: p.Log}})
	assert.NotContains(t, w.run("status").out, complaintsFile)

	require.NoError(t, os.WriteFile(file, []byte("panic: no\n"), 0o600))
	f, _ := w.examined(t, "complaints")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, file)
	assert.Contains(t, w.run("status").out, file)

	require.NoError(t, os.WriteFile(file, []byte("fatal error: of old\nSIGSEGV: segmentation violation\nPC=0x43413d m=6 sigcode=1 addr=0x0\n"), 0o600))
	f, _ = w.examined(t, "complaints")
	assert.Contains(t, f.Text, file+", SIGSEGV: segmentation violation")

	require.NoError(t, os.WriteFile(file, []byte("fatal error: of old\nfatal error: runtime: cannot allocate memory\ngoroutine 1\n"), 0o600))
	f, _ = w.examined(t, "complaints")
	assert.Contains(t, f.Text, file+", fatal error: runtime: cannot allocate memory")
	assert.NotContains(t, f.Text, "old")
}

// The doctor still names the cause of a crash whose traces fill the file.
func TestDoctor_aCrashWithManyTraces(t *testing.T) {
	w := newWorld(t)
	p := w.places(t)
	require.NoError(t, api.Private(p.State))
	file := filepath.Join(p.State, complaintsFile)
	traces := strings.Repeat("goroutine 7 [select]:\n\tinto/the/core.go:12 +0x1f\n\n", 4000)
	for text, says := range map[string]string{
		"fatal error: of old\n" + traces + "fatal error: runtime: out of memory\n\n" + traces:        "fatal error: runtime: out of memory\n",
		"panic: of old\n" + traces + "panic: nil map\n\n" + traces:                                   "panic: nil map\n",
		"fatal error: of old\n" + traces + "panic: nil map\n\n" + traces:                             "panic: nil map\n",
		"panic: of old\n" + traces + "SIGSEGV: segmentation violation\nPC=0x43413d m=6\n\n" + traces: "SIGSEGV: segmentation violation\n",
		traces + "intercom: error: the last one\n":                                                   "intercom: error: the last one\n",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		c, err := openComplaints(file)
		require.NoError(t, err)
		defer c.file.Close()
		kept, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(kept), says)
		assert.NotContains(t, string(kept), "old")
		assert.LessOrEqual(t, len(kept), maxGist)
		assert.NoError(t, c.read(), "nothing of this start")
	}
	require.NoError(t, os.WriteFile(file, []byte("fatal error: runtime: out of memory\n"+traces), 0o600))
	c, err := openComplaints(file)
	require.NoError(t, err)
	defer c.file.Close()
	f, _ := w.examined(t, "complaints")
	assert.Contains(t, f.Text, ", fatal error: runtime: out of memory")
}
