package sidecar_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The test runs the commands of the README as a person does. They run all other tests too, so the test is one of the
// long tests only, and does not run itself.
func TestR35_R36_C32_TestAndLintPass(t *testing.T) {
	const inner = "INTERCOM_HOUSE_TEST"
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("runs make test and make lint, which takes minutes: make long does it, and so does .ci/run")
	}
	if os.Getenv(inner) != "" {
		t.Skip("started by itself")
	}
	for _, target := range []string{"test", "lint"} {
		t.Run("make "+target, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "make", "-C", "..", target)
			// As in a fresh shell: hide the length of this run and the make that started it.
			cmd.Env = append(os.Environ(), inner+"=1", "INTERCOM_LONG=", "MAKEFLAGS=", "MAKELEVEL=")
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
}
