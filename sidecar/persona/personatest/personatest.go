// Package personatest has the program that runs personas for the tests of other packages. A test
// program that starts itself as one takes several times as long: it is ten times as large, and all
// that its packages prepare is prepared each time.
package personatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Program is the path of the program: it takes the arguments of persona.Main. Tests run in the
// directory of their package, from which it is built into /bin if it is not there as it should be.
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
	path, err := build()
	if err != nil {
		return "", fmt.Errorf("program of the personas: %w", err)
	}
	return path, nil
})

// build asks the go command, which leaves alone what is up to date. One test program does so at
// a time, and replaces what another one may just be starting only where the sources have changed.
func build() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", err
	}
	root := string(out[:len(out)-1])
	path := filepath.Join(root, "bin", "persona")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./sidecar/persona/program")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	return path, nil
}
