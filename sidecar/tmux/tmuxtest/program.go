package tmuxtest

import (
	"os"
	"syscall"
	"testing"
)

// Program writes a script that can be run at once. While this process holds the file open, it
// starts no other process: a process that another test starts just then would inherit the file for
// a moment, and running the script would fail with "text file busy".
func Program(t testing.TB, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(script), 0o700)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.Chmod(path, 0o700) // the file may have existed
	}
	if err != nil {
		t.Fatalf("write script: %v", err)
	}
}
