package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	processes "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// The document's question, dropped into the repository in which a real agent works: the agent gets
// it, and its words come back as a file in the asker's repository.
func TestLab_A64_TheAgentAnswers(t *testing.T) {
	eachOf(t, []labtest.Kind{labtest.Claude, labtest.Codex}, func(t *testing.T, kind labtest.Kind) {
		l := newLab(t, []labtest.Kind{kind})
		agent := l.agent(kind)
		_, err := l.client.Adopt(l.Context(), api.AdoptRequest{Pane: agent.Pane})
		require.NoError(l, err)
		list := repository.EnabledIn(filepath.Dir(l.cfg.Paths.State))
		enable := func(dir string) repository.Dir {
			d, _, err := repository.Install(dir, "/bin/intercom", false)
			require.NoError(l, err)
			require.NoError(l, list.Set(repository.Wish{Path: d.Path, Agent: d.Own().ID, Since: time.Now()}))
			return d
		}
		asker := enable(t.TempDir())
		target := enable(processes.WorkingDir(agent.session().Foreground.PID))
		name := "message-20251014T054200Z-from-claude-asker.json"
		require.NoError(l, os.WriteFile(target.File(name), fmt.Appendf(nil, `{
  "message_id": "11111111-2222-4333-8444-555555555555",
  "from": {"agent_id": "claude-asker", "repo_path": %q},
  "message_type": "question",
  "priority": "normal",
  "message": {
    "subject": "Connection pool sizing for high throughput?",
    "question": "What pool_size should we use for 10k updates/sec? [[say Use **25** connections.]]",
    "context": {"current_throughput": "10000 updates/sec", "batch_size": 100}
  }
}`, asker.Path), 0o600))
		var answer aea.Message
		l.until("an answer", func() bool {
			all, err := asker.List()
			require.NoError(l, err)
			if len(all) == 0 {
				return false
			}
			answer, _, err = asker.Read(all[0].Name)
			return err == nil
		}, func() any { text, _ := os.ReadFile(filepath.Join(target.Path, ".aea", "agent.log")); return string(text) })
		assert.Equal(l, "Use **25** connections.", answer.Body)
		assert.Equal(l, "11111111-2222-4333-8444-555555555555", answer.ReplyTo)
		assert.Equal(l, target.Own().ID, answer.From.ID)
		l.until("a marker", func() bool {
			all, err := target.List()
			return err == nil && len(all) == 1 && all[0].Processed
		})
	})
}
