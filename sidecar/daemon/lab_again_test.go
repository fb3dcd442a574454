package daemon_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An agent that was killed and is started anew in its pane is offered, and nothing is typed into it by itself. On a
// person's word its model gets the message that was kept, once, and its answer is heard.
func TestLab_V12_StartedAnewInItsPane(t *testing.T) {
	eachLab(t, func(t *testing.T, l *labRig, a *labAgent) {
		chat, ben := l.alone(a)
		a.says("begin [[say the first]]")
		ben.gets("[" + a.session().Name + "] (1):\n\nthe first")
		first := a.session()
		a.Prompt("please [[bash touch proof]]")
		a.WaitForDialog()
		id := l.tellAll(chat, "kept for you [[say the second]]")
		l.waitTold(id, a, "held")
		ben.gets("[tester] (0):\n\nkept for you [[say the second]]") // or the end of the chat would leave it in his composer
		killGroup(t, first.Foreground.PID)
		l.until("the end of the chat", func() bool { return l.current(chat).State == message.ChatOver })
		gone := time.Now()
		before := len(a.Received())

		// Not at once: the last records of the old opencode would count for the new one, whose turn would then be
		// open, so that everything would be held. And not in the terminal as the old agent left it.
		l.until("some time to pass", func() bool { return time.Since(gone) > 3*time.Second })
		l.rig.Run("respawn-pane", "-k", "-t", a.Pane, "exec '"+filepath.Join(a.Dir, "start")+"'")
		a.WaitForIdle()
		l.until("the offer", func() bool { return len(l.offers()) == 1 })
		require.Len(t, l.returned(), 1)
		assert.Equal(t, []api.ReturnedAgent{{Name: first.Name, Agent: string(a.Kind), Pane: a.Pane}}, l.returned()[0].Agents)
		l.stays(func() bool { return len(a.Received()) == before && a.session().ID == "" })

		_, err := l.client.StartChat(l.Context(), api.StartChatRequest{Again: string(chat.ID)})
		require.NoError(t, err)
		assert.Equal(t, first.Name, a.session().Name)
		assert.NotEqual(t, first.ID, a.session().ID)
		ben.gets("[" + first.Name + "] (1):\n\nthe second")
		kept := 0
		for _, text := range a.heard() {
			kept += strings.Count(text, "kept for you")
		}
		assert.Equal(t, 1, kept, "%q", a.heard())
		assert.Len(t, l.offers(), 1)
	})
}
