package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/porttest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// talker is a person without tmux who runs the real program.
type talker struct {
	t   testing.TB
	env map[string]string
}

func newTalker(t testing.TB) *talker {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "ic")
	require.NoError(t, err)
	k := &talker{t, map[string]string{
		"HOME": t.TempDir(), "XDG_RUNTIME_DIR": run, "PATH": os.Getenv("PATH"), "INTERCOM_TEST_MAIN": "1", "GOCOVERDIR": os.Getenv("GOCOVERDIR"),
		"INTERCOM_TRANSPORT": transportOf(t.Name()),
	}}
	t.Cleanup(func() {
		k.endAll()
		assert.NoError(t, endRest(run))
		os.RemoveAll(run)
	})
	return k
}

func (k *talker) getenv(name string) string { return k.env[name] }

// endAll ends every sidecar of the person, the headless one last.
func (k *talker) endAll() {
	for _, wanted := range []string{".ai-talk", ".local/state/intercom/repositories"} { // otherwise each would start a successor
		_ = os.RemoveAll(filepath.Join(k.env["HOME"], wanted))
	}
	locks, _ := filepath.Glob(filepath.Join(k.env["XDG_RUNTIME_DIR"], "intercom", "*.lock"))
	p, err := api.Places(k.getenv, "")
	require.NoError(k.t, err)
	for _, lock := range append(locks, p.Lock) {
		assert.NoError(k.t, endHolder(lock))
	}
}

// endRest ends what is left of the program with a runtime directory, and waits for that. A sidecar that has ended by itself,
// with its tmux server, may hold no lock any more, and one that follows another hold none yet; both write into the home.
func endRest(run string) error {
	told := map[int]bool{} // each once: a second signal would cut its end short
	for end := time.Now().Add(tmuxtest.Patience); ; time.Sleep(20 * time.Millisecond) {
		left := processesIn(run)
		for _, pid := range left {
			if !told[pid] {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
			told[pid] = true
		}
		switch {
		case len(left) == 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("process %d does not end; what it was doing:\n%s", left[0], quit(process.Process{PID: left[0]}))
		}
	}
}

// processesIn returns the processes of the program that have a runtime directory, where the system tells.
func processesIn(run string) (pids []int) {
	here := []byte("\x00XDG_RUNTIME_DIR=" + run + "\x00")
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if program, err := os.Readlink(dir + "/exe"); err != nil || program != thisProgram() {
			continue
		}
		env, _ := os.ReadFile(dir + "/environ")
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && bytes.Contains(append([]byte{0}, env...), here) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// headless are the paths of the sidecar without a tmux server.
func (k *talker) headless() api.Paths {
	p, err := api.Places(k.getenv, "")
	require.NoError(k.t, err)
	return p
}

func (k *talker) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = k.env["HOME"]
	for key, value := range k.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return cmd
}

// says runs `intercom talk WORDS` and returns its output and exit code.
func (k *talker) says(words ...string) (out string, code int) {
	k.t.Helper()
	cmd := k.command(thisProgram(), append([]string{"talk"}, words...)...)
	text, err := cmd.Output()
	if err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		require.True(k.t, ok, "%v", err)
		code = failed.ExitCode()
	}
	return string(text), code
}

// talks is like says, for a command that prints one JSON object.
func (k *talker) talks(words ...string) (got map[string]any, code int) {
	k.t.Helper()
	out, code := k.says(words...)
	require.NoError(k.t, json.Unmarshal([]byte(out), &got), "%q", out)
	return got, code
}

// ok is like talks, for a command that succeeds.
func (k *talker) ok(words ...string) map[string]any {
	k.t.Helper()
	got, code := k.talks(words...)
	require.Zero(k.t, code, "%v", got)
	return got
}

// fails is like talks, for a command that ends with that error; it returns the details.
func (k *talker) fails(code string, words ...string) map[string]any {
	k.t.Helper()
	got, exit := k.talks(words...)
	assert.NotZero(k.t, exit)
	assert.Equal(k.t, "error", got["status"])
	assert.Equal(k.t, code, got["error_code"], "%v", got)
	assert.NotEmpty(k.t, got["error_message"])
	assert.Contains(k.t, got, "details")
	details, _ := got["details"].(map[string]any)
	return details
}

// aFreePort is a free port below those that the system gives to connections.
func aFreePort(t testing.TB) string {
	t.Helper()
	return strconv.Itoa(porttest.Free(t))
}

func bodies(got map[string]any) (all []string) {
	for _, m := range got["messages"].([]any) {
		all = append(all, m.(map[string]any)["message"].(string))
	}
	return all
}

func talkKeys(m any) (all []string) {
	for key := range m.(map[string]any) {
		all = append(all, key)
	}
	return all
}

func until(t testing.TB, so func() bool) {
	t.Helper()
	pause := 5 * time.Millisecond
	for end := time.Now().Add(40 * time.Second); !so(); time.Sleep(pause) {
		pause = min(2*pause, 80*time.Millisecond) // each check is often a process
		require.True(t, time.Now().Before(end), "waited in vain")
	}
}
