package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// This logs how the time of one message is spent, from `send` until an agent's model has it: by its receipts, by the
// hook between look and typing, and by the model's own clock. The medians are logged, not asserted.
func TestLab_TraceOfAMessage(t *testing.T) {
	for _, kind := range labtest.Kinds {
		t.Run(string(kind), func(t *testing.T) { traced(t, kind, long(5, 20)) })
	}
}

func traced(t *testing.T, kind labtest.Kind, times int) {
	var (
		mu    sync.Mutex
		marks map[string]time.Time
	)
	mark := func(name string, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if _, set := marks[name]; !set && marks != nil {
			marks[name] = at
		}
	}
	l := newLab(t, []labtest.Kind{kind}, func(c *daemon.Config) {
		c.Gap = func(_, moment string) { mark(moment, time.Now()) }
	})
	a := l.agent(kind, labtest.Name("traced"))
	a.says("Good morning.")
	session, err := l.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.Pane})
	require.NoError(t, err)
	steps := []string{"queued", "typed", "paste unchecked", "paste", "pasted", "enter unchecked", "enter", "entered", "the model", "submitted"}
	took := map[string][]time.Duration{}
	for n := range times {
		a.drawn()
		l.until("it is known to be idle", func() bool { return a.explain().WouldType })
		a.WaitForStill(500 * time.Millisecond)
		mu.Lock()
		marks = map[string]time.Time{}
		mu.Unlock()
		text := fmt.Sprintf("trace %d [[say as you like]]", n)
		began := time.Now()
		sent, err := l.client.Send(t.Context(), api.SendRequest{To: string(session.ID), Text: text})
		require.NoError(t, err)
		mark("answered the sender", time.Now())
		l.waitTold(sent.Message, a, "answered")
		for _, r := range l.receiptsOf(sent.Message) {
			if r.State == message.Queued || r.State == message.Typed || r.State == message.Submitted {
				mark(string(r.State), r.At)
			}
		}
		for _, e := range a.Conversation() {
			if len(e.User) > 0 && strings.Contains(e.User[len(e.User)-1], text) {
				mark("the model", e.Began)
			}
		}
		mu.Lock()
		for name, at := range marks {
			took[name] = append(took[name], at.Sub(began))
			if !slices.Contains(steps, name) {
				steps = append(steps, name)
			}
		}
		marks = nil
		mu.Unlock()
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	slices.SortStableFunc(steps, func(x, y string) int {
		at := func(name string) float64 {
			if len(took[name]) == 0 {
				return 1e9
			}
			return median(took[name])
		}
		return int(1000 * (at(x) - at(y)))
	})
	for _, name := range steps {
		if len(took[name]) > 0 {
			t.Logf("%-10s %-20s after %7.1f ms", kind, name, median(took[name]))
		}
	}
}
