package tmuxtest

import (
	"os/exec"
	"strings"
	"testing"
)

// Program writes a script that can be run at once. Another process writes it: where this
// one holds the file open, a process that another test starts just then inherits it for a
// moment, and to run the script fails with "text file busy".
func Program(t testing.TB, path, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `PATH=/usr/bin:/bin; cat >"$1" && chmod 0700 "$1"`, "sh", path)
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %s: %v: %s", path, err, out)
	}
}
