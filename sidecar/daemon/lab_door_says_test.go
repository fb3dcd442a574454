package daemon_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// atDoor is a lab in which a test can do something between the look at an agent and the write to its inbox.
func atDoor(t *testing.T) (l *labRig, happens func(func())) {
	var at func()
	l = newLab(t, []labtest.Kind{labtest.Claude}, func(c *daemon.Config) {
		c.Gap = func(_, moment string) {
			if moment == "door" && at != nil {
				at()
			}
		}
	})
	return l, func(do func()) { at = sync.OnceFunc(do) }
}

// Between the look and the write, the settings of an agent that acts without asking change, so that it no longer
// accepts messages. It asks its person, who says no in its dialog. That becomes the receipt, and nothing is typed.
func TestLab_G9_DeniedByItsPerson(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	l, happens := atDoor(t)
	settings := func(a *labtest.Agent, text string) {
		assert.NoError(t, a.WriteFile(filepath.Join(a.Home, ".claude", "settings.json"), `{"skipDangerousModePermissionPrompt": true`+text+`}`))
	}
	a := l.agent(labtest.Claude, labtest.Environ("IS_SANDBOX=1"), labtest.Arguments("--dangerously-skip-permissions"),
		labtest.Configured(func(a *labtest.Agent) { settings(a, `, "crossSessionInbound": "accept"`) }))
	chat, _ := l.doored(a)
	happens(func() {
		settings(a.Agent, "")
		changed := time.Now()
		l.until("it has read them, which it does every two seconds", func() bool { return time.Since(changed) > 5*time.Second })
	})
	id := l.tellAll(chat, "a message [[say as you like]]")
	l.waitTold(id, a, "held: the agent asks its person")
	assert.Equal(t, "inbox", a.through(id))
	a.WaitForText("Held message")
	a.WaitForStill(labtest.Stillness)
	a.Keys("Enter") // Deny is marked
	l.waitTold(id, a, "failed: denied in the agent's own dialog")
	assert.NotContains(t, strings.Join(a.heard(), "\n"), "a message [[")
	t.Logf("%q", l.trailTo(id, a))
}

// Between the look and the write, another connection hands over the same text, so that the inbox drops ours. The
// receipt says so, the agent has the text once, and ours is not typed.
func TestLab_G9_Dropped(t *testing.T) {
	inALongRun(t)
	t.Parallel()
	l, happens := atDoor(t)
	a := l.agent(labtest.Claude)
	chat, _ := l.doored(a)
	first := l.tellAll(chat, "first [[say as you like]]")
	l.waitTold(first, a, "answered")
	require.Equal(t, "inbox", a.through(first))
	heard := a.heard()
	_, wrapped, found := strings.Cut(heard[len(heard)-1], "<cross-session-message ")
	require.True(t, found)
	head, _, _ := strings.Cut(wrapped, ">\n")
	_, from, _ := strings.Cut(head, `from="`)
	from, _, _ = strings.Cut(from, `"`)
	const body = "second [[say as you like]]"
	happens(func() {
		var record struct{ SessionID, MessagingSocketPath string }
		var key struct{ PeerToken string }
		for pattern, into := range map[string]any{"*.json": &record, "*.key": &key} {
			all, _ := filepath.Glob(filepath.Join(a.Home, ".claude", "sessions", pattern))
			if assert.Len(t, all, 1) {
				text, err := os.ReadFile(all[0])
				assert.NoError(t, err)
				assert.NoError(t, json.Unmarshal(text, into))
			}
		}
		conn, err := net.Dial("unix", record.MessagingSocketPath)
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		lines := json.NewEncoder(conn)
		assert.NoError(t, lines.Encode(map[string]any{"type": "auth", "token": key.PeerToken}))
		assert.NoError(t, lines.Encode(map[string]any{
			"type": "user", "msgV": 1, "msg_id": "of-another-connection", "session_id": record.SessionID, "from": from, "priority": "next",
			"message": map[string]string{"role": "user", "content": "<cross-session-message " + head + ">\n[tester] (0):\n\n" + body + "\n</cross-session-message>"},
		}))
		l.until("it is taken", func() bool { return strings.Contains(strings.Join(a.heard(), "\n"), body) })
	})
	id := l.tellAll(chat, body)
	l.waitTold(id, a, "failed: dropped by the agent's inbox")
	assert.Equal(t, "inbox", a.through(id))
	assert.Equal(t, 1, strings.Count(strings.Join(a.heard(), "\n"), body))
	t.Logf("%q", l.trailTo(id, a))
}
