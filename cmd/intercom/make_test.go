package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The make targets that README names and that the checks use exist.
func TestMake_targets(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make: install it")
	}
	for _, target := range []string{"demo", "test", "lint", "lab", "long", "soak", "bench", "teeth"} {
		out, err := exec.CommandContext(t.Context(), "make", "-C", "../..", "-n", target).CombinedOutput()
		assert.NoError(t, err, "%s: %s", target, out)
	}
}
