// Package programtest builds programs of this module for its tests. The alternative, a test program that starts itself
// under another name, takes several times as long to start: it is far larger, and all of its packages are initialised
// each time.
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

// Build builds the program in dir, a path relative to the root of the module, as bin/name below that root, and returns
// its path. It finds the root from the working directory, which for a test is the directory of its package. It builds
// like make build, so that the two share compiled packages and the program starts like a person's. The go command does
// nothing if the program is up to date. A lock lets only one test program build at a time. A program that another test
// may be starting is replaced only if the sources have changed.
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

// Recorded at the start: a test may later set another HOME, without a cache in it, and another PATH.
var (
	environ     = os.Environ()
	compiler, _ = exec.LookPath("go")
)

// root returns the root directory of the module.
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
