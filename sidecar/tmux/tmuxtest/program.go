package tmuxtest

import (
	"os"
	"syscall"
	"testing"
)

// Program writes a script that can be run at once. While this process holds the file open, it starts no other:
// one that another test starts just then would inherit it for a moment, and to run the script would fail with
// "text file busy".
func Program(t testing.TB, path, script string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(script), 0o700)
	syscall.ForkLock.RUnlock()
	if err == nil {
		err = os.Chmod(path, 0o700) // it may have been there
	}
	if err != nil {
		t.Fatalf("write script: %v", err)
	}
}
