package link_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// N3: how long a message takes from one computer to a pane of another one: alone, beside a third computer that
// sends as much as the server takes, and after that one has sent 5,000.
func BenchmarkN3_Quiet(b *testing.B) {
	for _, state := range []string{"alone", "beside one that sends without end", "after 5,000 of another"} {
		b.Run(state, func(b *testing.B) {
			s := newServer(b, nil)
			quiet, c := newComputer(b, "quiet", s.ClientURL(), nil), newComputer(b, "c", s.ClientURL(), nil)
			from, to, target := quiet.session("from"), c.session("to"), c.session("target")
			far := quiet.knows("c", to)
			var had atomic.Value
			c.told = func(d message.Delivery) {
				if d.Target == to.ID {
					had.Store(d.Message.Body)
				}
			}
			switch state {
			case "beside one that sends without end":
				defer flood(b, newMallory(b, s), "c", "flooded with mail", target.ID)()
			case "after 5,000 of another":
				m := newMallory(b, s)
				_, err := link.EnsureMailbox(b.Context(), m.js, "mallory")
				require.NoError(b, err)
				own := doc{"id": message.NewID(), "name": "Own"}
				for i := range 5000 {
					m.mail("c", doc{"kind": "message", "from": own, "to": target.ID, "message": text(fmt.Sprint("loud ", i))})
				}
				require.NoError(b, m.conn.Flush())
			}
			var took []time.Duration
			began := time.Now()
			b.Loop() // once is enough
			for i := 0; i < 200 && time.Since(began) < 20*time.Second; i++ {
				body := fmt.Sprint("quiet ", i)
				sent := time.Now()
				_, err := quiet.send(from.ID, far.ID, body)
				require.NoError(b, err)
				for had.Load() != body {
					time.Sleep(50 * time.Microsecond)
				}
				took = append(took, time.Since(sent))
			}
			for b.Loop() { //nolint:revive // it has been measured
			}
			report(b, took, "quiet")
			b.ReportMetric(float64(len(c.bodies())-len(took))/time.Since(began).Seconds(), "others/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
