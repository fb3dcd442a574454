// Package programtest builds programs of this module for its tests. A test program that starts itself
// under another name takes several times as long: it is far larger, and all that its packages prepare
// is prepared each time.
package programtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// Build builds the program in a directory of the module, given from its root, into /bin under a name,
// and returns its path. Tests run in the directory of their package, from which the root is found. It is
// built as make build does, so that the two share what they compile, and starts as a person's does. The
// go command leaves alone what is up to date. One test program builds at a time, and replaces what
// another one may just be starting only where the sources have changed.
func Build(name, dir string, env ...string) (string, error) {
	root, err := root()
	if err != nil {
		return "", fmt.Errorf("program %s: %w", name, err)
	}
	path := filepath.Join(root, "bin", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("program %s: %w", name, err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("program %s: %w", name, err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("program %s: %w", name, err)
	}
	cmd := exec.Command(compiler, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./"+dir)
	cmd.Dir, cmd.Env = root, append(append(slices.Clone(environ), "CGO_ENABLED=0"), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("program %s: %w\n%s", name, err, said)
	}
	return path, nil
}

// A test may already have another HOME, with no cache in it, and another PATH.
var (
	environ     = os.Environ()
	compiler, _ = exec.LookPath("go")
)

// root is the directory of the module.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no go.mod above the directory of the test")
		}
		dir = above
	}
}
