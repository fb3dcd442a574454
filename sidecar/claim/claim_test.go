package claim_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// holdVar names the claim that this program takes and keeps when a test starts it again.
const holdVar = "INTERCOM_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdVar); path != "" {
		if _, err := claim.Take(path); err != nil {
			os.Exit(3)
		}
		_, _ = os.Stdout.WriteString("held\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or the test has ended
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTake_once(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claims", "port")
	assert.False(t, claim.Held(path))
	first, err := claim.Take(path)
	require.NoError(t, err)
	assert.True(t, claim.Held(path))
	_, err = claim.Take(path)
	assert.ErrorIs(t, err, claim.ErrHeld)
	require.NoError(t, first.Release())
	assert.False(t, claim.Held(path))
	second, err := claim.Take(path)
	require.NoError(t, err)
	assert.True(t, second.Intact())
	require.NoError(t, os.Remove(path))
	assert.False(t, second.Intact())
	require.NoError(t, second.Release())
}

// Take refuses whatever only looks like a lock file.
func TestTake_notOurs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "open"), nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Join(dir, "open"), 0o666))
	for _, name := range []string{"link", "dir", "open"} {
		_, err := claim.Take(filepath.Join(dir, name))
		assert.Error(t, err, name)
		assert.NotErrorIs(t, err, claim.ErrHeld, name)
	}
	assert.NoFileExists(t, filepath.Join(dir, "elsewhere"))
}

// Of two processes one has the claim, and the kernel releases it when that one is killed.
func TestTake_killed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "port")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holdVar+"="+path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	_, err = claim.Take(path)
	require.ErrorIs(t, err, claim.ErrHeld)

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		mine, err := claim.Take(path)
		if err == nil {
			require.NoError(t, mine.Release())
			return
		}
		require.True(t, time.Now().Before(end), "%v", err)
	}
}

// However many try at once, one gets the claim.
func TestTake_together(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "port")
	got := make(chan *claim.Claim, 50)
	for range cap(got) {
		go func() {
			mine, _ := claim.Take(path)
			got <- mine
		}()
	}
	var held []*claim.Claim
	for range cap(got) {
		if one := <-got; one != nil {
			held = append(held, one)
		}
	}
	require.Len(t, held, 1)
	require.NoError(t, held[0].Release())
}
