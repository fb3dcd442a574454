package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// How long it takes from `send` until the agent's model has the message, with all gates on:
// beside it the floor, which pastes, sees the text and presses Enter with no gate at all, and
// the usual way, which pastes, waits for a second, and presses Enter. Each came whole and
// once. The figures are printed; they are no test.
func TestLab_Q11_HowLongAMessageTakes(t *testing.T) {
	times := long(3, 10)
	for _, kind := range labtest.Kinds { // one after the other, and beside nothing else
		t.Run(string(kind), func(t *testing.T) { howLong(t, kind, times) })
	}
}

func howLong(t *testing.T, kind labtest.Kind, times int) {
	l := newLab(t, []labtest.Kind{kind})
	a := l.agent(kind, labtest.Name("timed"))
	prof, _ := profile.AgentByName(string(kind))
	a.Prompt("Good morning.")
	a.hears(1)
	a.WaitForIdle()
	session, err := l.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.Pane})
	require.NoError(t, err)
	waits := func() {
		l.until("its answer is over", func() bool {
			all := a.Conversation()
			return all[len(all)-1].Over
		})
		l.until("it is known to be idle", func() bool { return a.explain().WouldType })
		a.WaitForStill(500 * time.Millisecond)
	}
	arrives := func(text string) time.Time {
		var at time.Time
		l.until("the model has it", func() bool {
			for _, e := range a.Conversation() {
				if len(e.User) > 0 && strings.Contains(e.User[len(e.User)-1], text) {
					at = e.Began
				}
			}
			return !at.IsZero()
		})
		return at
	}
	paste := func(text string) {
		l.rig.Run("set-buffer", "-b", "floor", text, ";", "paste-buffer", "-p", "-d", "-b", "floor", "-t", a.Pane)
	}
	ways := []struct {
		name string
		give func(text string)
	}{
		{"intercom send", func(text string) {
			_, err := l.client.Send(t.Context(), api.SendRequest{To: string(session.ID), Text: text})
			require.NoError(t, err)
		}},
		{"the floor", func(text string) {
			paste(text)
			for !strings.Contains(l.rig.Run("capture-pane", "-p", "-J", "-t", a.Pane), text) {
			}
			time.Sleep(prof.Settle) // without it, Enter is lost
			l.rig.Run("send-keys", "-t", a.Pane, "Enter")
		}},
		{"paste, a second, Enter", func(text string) {
			paste(text)
			time.Sleep(time.Second)
			l.rig.Run("send-keys", "-t", a.Pane, "Enter")
		}},
	}
	took := make([][]time.Duration, len(ways))
	for n := range times {
		for i, way := range ways {
			waits()
			text := fmt.Sprintf("message %d by way %d", n, i)
			began := time.Now()
			way.give(text)
			took[i] = append(took[i], arrives(text).Sub(began))
		}
	}
	waits()
	heard := strings.Join(a.heard(), "\n")
	for n := range times {
		for i := range ways {
			assert.Equal(t, 1, strings.Count(heard, fmt.Sprintf("message %d by way %d", n, i)), "whole and once")
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	median := func(i int) float64 { return float64(took[i][times/2].Microseconds()) / 1000 }
	for i, way := range ways {
		t.Logf("%s %-22s p50 %7.1f ms, most %7.1f ms, %.2f times the floor", a.Name, way.name, median(i), float64(took[i][times-1].Microseconds())/1000, median(i)/median(1))
	}
}
