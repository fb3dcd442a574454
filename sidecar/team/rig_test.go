package team

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123456000, time.UTC)

// newTeam is a team of alice and bob.
func newTeam(t testing.TB) Dir {
	t.Helper()
	d := Dir{t.TempDir()}
	require.NoError(t, os.Mkdir(d.at(), 0o755))
	config := `{"team_name": "default", "members": [{"name": "alice", "role": "frontend dev", "status": "working"}, {"name": "bob", "role": "tester", "status": "idle"}]}`
	require.NoError(t, os.WriteFile(d.at(configName), []byte(config), 0o644))
	return d
}

// python runs the peer that does as the lesson's programs do.
func python(t testing.TB, d Dir, stdin string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3: install it to run the peers")
	}
	peer, err := filepath.Abs(filepath.Join("..", "..", "testdata", "peers", "team.py"))
	require.NoError(t, err)
	cmd := exec.Command("python3", append([]string{peer, d.at()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Errorf("team.py %v: %s", args, failed.Stderr)
	}
	return string(out)
}

// say is a message from the lead.
func say(content string) Message {
	return Message{Type: TypeMessage, From: Lead, Content: content, At: noon}
}

// drained takes everything out of an inbox.
func drained(t testing.TB, d Dir, name string) (contents []string) {
	t.Helper()
	_, err := d.Drain(name, func(all []Message) error {
		contents = bodies(all)
		return nil
	})
	require.NoError(t, err)
	return contents
}

func bodies(all []Message) (contents []string) {
	for _, m := range all {
		contents = append(contents, m.Content)
	}
	return contents
}
