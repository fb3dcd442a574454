package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The process that processes a repository writes PIDFile again if somebody removed it, as git clean does.
func TestPIDFile_isMadeAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.run()
	defer h.end()
	h.until(func() bool { return h.target.PID() == os.Getpid() })
	require.NoError(t, os.Remove(h.target.at(PIDFile)))
	h.until(func() bool { return h.target.PID() == os.Getpid() })
}

// Whoever stops processing a repository removes its own PIDFile, never another process's or one behind a link.
func TestPIDFile_ofOthersStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pid    int
		linked bool
		stays  bool
	}{
		"our own":               {os.Getpid(), false, false},
		"another process's":     {1, false, true},
		"our own behind a link": {os.Getpid(), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, e := repo(t, "repo"), EnabledIn(t.TempDir())
			held, err := claim.Take(e.claim(d.Path))
			require.NoError(t, err)
			b := newBox(&Peers{Enabled: e}, d, message.Peer{})
			b.claim, b.ledger = held, &ledger{}
			file := d.at(PIDFile)
			require.NoError(t, os.WriteFile(file, fmt.Appendln(nil, c.pid), 0o600))
			if c.linked {
				aside := filepath.Join(t.TempDir(), "aside")
				require.NoError(t, os.Rename(d.at(), aside))
				require.NoError(t, os.Symlink(aside, d.at()))
			}
			b.leave()
			_, err = os.Stat(file)
			assert.Equal(t, c.stays, err == nil)
		})
	}
}
