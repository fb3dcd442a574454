package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// A person can disable a repository that they enabled, even after it has gone from the disk. It is then no peer, and AEA's
// registry no longer offers it as a target. Installing it again enables it again.
func TestAEA_disable(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two", "three")
	in := k.in(k.tmuxServer("aea"))
	in.runs("up")
	keys := func() (found []string) {
		var peers []api.Peer
		require.NoError(t, json.Unmarshal([]byte(in.runs("peers", "--json")), &peers))
		for _, p := range peers {
			for _, alias := range p.Aliases {
				if filepath.IsAbs(alias) {
					found = append(found, alias)
				}
			}
		}
		return found
	}
	until(t, func() bool { return len(keys()) == 3 })
	inside := filepath.Join(all[0], "src")
	require.NoError(t, os.Mkdir(inside, 0o700))
	var told aeaDisabled
	require.NoError(t, json.Unmarshal([]byte(in.runsIn(inside, "aea", "disable")), &told))
	assert.Equal(t, aeaDisabled{Repository: all[0], Agent: "claude-one"}, told)
	until(t, func() bool { return len(keys()) == 2 })
	assert.DirExists(t, filepath.Join(all[0], ".aea"), "nothing there is removed")

	require.NoError(t, os.RemoveAll(all[1]))
	assert.Contains(t, keys(), all[1], "it may come back, as after a checkout")
	until(t, func() bool {
		return strings.Contains(in.runs("peers"), "intercom aea disable --repository "+all[1]+" ends that")
	})
	in.runs("aea", "disable", "--repository", all[1])
	until(t, func() bool { return len(keys()) == 1 })
	assert.Equal(t, []string{all[2]}, keys())

	send := in.command(thisProgram(), "aea", "send", "--to", "claude-one", "--type", "update", "--subject", "S", "--message", "B")
	send.Dir = all[2]
	out, err := send.CombinedOutput()
	require.Error(t, err, "%s", out)
	cmd := in.command(thisProgram(), "aea", "disable", "--repository", all[0])
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "intercom: error: repository \""+all[0]+"\" is not enabled on this computer\nintercom: hint: intercom peers --json")

	in.runsIn(all[0], "aea", "install")
	until(t, func() bool { return len(keys()) == 2 })
	in.runsIn(all[2], "aea", "send", "--to", "claude-one", "--type", "update", "--subject", "S", "--message", "B")
}
