package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A full disk on which no sidecar can start may still take empty files and directories. The doctor, which the error of the start
// recommends, finds the full disk all the same.
func TestD2_U9_TheDoctorFindsAFullDisk(t *testing.T) {
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare is missing: it gives a process file systems of its own")
	}
	flags := "-Urm"
	if os.Getuid() == 0 {
		flags = "-m"
	}
	dir := t.TempDir()
	on := func(then ...string) *exec.Cmd {
		fill := `mount -t tmpfs -o size=64k,mode=700 tmpfs "$0"; head -c 1000000 /dev/zero 2>/dev/null >"$0/filler" || :; exec "$@"`
		return exec.CommandContext(t.Context(), unshare, append([]string{flags, "sh", "-ec", fill, dir}, then...)...)
	}
	if out, err := on("true").CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	w, _ := onTmux(t)
	w.env["XDG_STATE_HOME"] = dir
	for name, before := range map[string]string{"nothing is there": "", "a start has failed": "umask 077; mkdir -p " + w.places(t).State + "; "} {
		t.Run(name, func(t *testing.T) {
			cmd := on("sh", "-c", before+`exec "$@"`, "sh", thisProgram(), "doctor", "--json")
			cmd.Env = append(os.Environ(), "INTERCOM_TEST_MAIN=1")
			for name, value := range w.env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			out, err := cmd.Output()
			exit, failed := errors.AsType[*exec.ExitError](err)
			require.True(t, failed, "%v: %s", err, out)
			assert.Equal(t, 1, exit.ExitCode(), "%s %s", out, exit.Stderr)
			assert.Contains(t, string(out), "no space left on device")
		})
	}
}
