package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestU26_manualPages checks that each command for people has a manual page with its summary, and that groff reads it without a
// complaint.
func TestU26_manualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "share", "man1")
	out, err := exec.Command(thisProgram(), "man", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	pages := 0
	every(t, func(cmd *cobra.Command) {
		for c := cmd; c.HasParent(); c = c.Parent() {
			if !c.IsAvailableCommand() {
				return
			}
		}
		pages++
		text, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if assert.NoError(t, err) {
			assert.Contains(t, string(text), ".SH NAME")
			assert.Contains(t, string(text), strings.Fields(cmd.Short)[0])
		}
	})
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, left, pages, "nothing else")
	if _, err := exec.LookPath("groff"); err == nil {
		out, err := exec.Command("sh", "-c", `groff -Kutf8 -man -Tutf8 -ww "$1"/*.1 >/dev/null`, "sh", dir).CombinedOutput()
		require.NoError(t, err)
		assert.Empty(t, string(out), "what groff says of them")
	} else {
		t.Log("not read as man does: groff is missing: apt-get install groff-base")
	}
}
