package daemon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// A caller that is not shown to be in a team whose teammates have sessions may be one of them. It is not told that it
// is the lead for certain.
func TestDoor_whoIsTheLeadForCertain(t *testing.T) {
	t.Parallel()
	w := newDoorway(t)
	files := filepath.Join(filepath.Dir(w.dirs["ada"]), "files")
	require.NoError(t, os.MkdirAll(filepath.Join(files, team.Folder, "inbox"), 0o700))
	for name, c := range map[string]struct {
		k    *asker
		dir  string
		want api.InboxOwner
	}{
		"a person":                              {w.person, w.dirs["ada"], api.InboxOwner{Name: team.Lead, Part: true, Sure: true}},
		"the agent that leads it":               {w.agent, w.dirs["ada"], api.InboxOwner{Name: team.Lead, Part: true, Sure: true}},
		"a teammate":                            {w.mate, w.dirs["ada"], api.InboxOwner{Name: "qa", Part: true, Sure: true}},
		"nobody knows who":                      {w.stranger, w.dirs["ada"], api.InboxOwner{Name: team.Lead}},
		"nobody knows who, and it has no seats": {w.stranger, files, api.InboxOwner{Name: team.Lead, Sure: true}},
	} {
		code, body := c.k.ask(api.TeamInbox.Name, api.InboxRequest{Dir: c.dir, Peek: true}, nil)
		require.Empty(t, code, "%s: %s", name, body)
		var got api.InboxOwner
		require.NoError(t, json.Unmarshal(body, &got), name)
		assert.Equal(t, c.want, got, name)
	}
}
