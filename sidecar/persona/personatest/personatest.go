// Package personatest has the program that runs personas for the tests of other packages.
package personatest

import (
	"sync"
	"testing"

	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
)

// Program is the path of the program: it takes the arguments of persona.Main.
func Program(t testing.TB) string {
	t.Helper()
	path, err := Path()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Path is Program for who has no test at hand.
var Path = sync.OnceValues(func() (string, error) {
	return programtest.Build("persona", "sidecar/persona/program")
})
