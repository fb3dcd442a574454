package daemon_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// floodFor is how long panes flood.
const floodFor = 15 * time.Second

// BenchmarkD5_FloodingPanes has 50 and 500 adopted panes print without a pause, as fast as tmux reads, and sends
// messages to a program in a quiet pane. It measures the sidecar's memory and the time that a message takes, beside
// the time of a tmux command that only prints a word. Each message must arrive once.
func BenchmarkD5_FloodingPanes(b *testing.B) {
	needProc(b)
	for _, v := range ends(b) {
		for _, panes := range []int{50, 500} {
			b.Run(fmt.Sprintf("tmux=%s/panes=%d", v.Name, panes), func(b *testing.B) {
				for b.Loop() {
					c := newCrowd(b, v, panes, 10, 100)
					quiet := c.lines(1)[0]
					p := c.serve(b)
					c.adopt(b, c.panes)
					c.adopt(b, []string{quiet.pane})
					before, _ := settled(b, p)
					spent := cpuOf(b, p.Process.Pid)
					stop := c.flood()
					var took, bare times
					for began := time.Now(); time.Since(began) < floodFor; {
						at := time.Now()
						c.Run("display-message", "-p", "a word")
						bare = append(bare, time.Since(at))
						at = time.Now()
						sent, err := c.client.Send(b.Context(), api.SendRequest{To: quiet.pane, Text: fmt.Sprintf("word %d", len(took)), Timeout: 5 * time.Minute})
						require.NoError(b, err)
						require.Equal(b, message.Submitted, sent.Receipt.State)
						took = append(took, time.Since(at))
					}
					spent = cpuOf(b, p.Process.Pid) - spent
					lines := stop()
					_, most := memoryOf(b, p.Process.Pid)
					after, _ := settled(b, p)
					for i := range took {
						require.Equal(b, 1, strings.Count(string(quiet.bytes()), fmt.Sprintf("word %d\r", i)))
					}
					table(b, fmt.Sprintf("%s, %d panes, %d lines a second", v.Name, panes, lines/int(floodFor.Seconds())),
						[]string{"MB before", "at most", "after", "% of one CPU", "messages", "ms p50", "most", "a tmux command"},
						[]string{
							fmt.Sprintf("%.0f", before), fmt.Sprintf("%.0f", most), fmt.Sprintf("%.0f", after),
							fmt.Sprintf("%.0f", 100*spent.Seconds()/floodFor.Seconds()), fmt.Sprint(len(took)), ms(took.at(0.5)), ms(took.at(1)), ms(bare.at(0.5)),
						})
					b.ReportMetric(most, "MB-at-most")
					report(b, took.at(0.5), "message-p50")
				}
			})
		}
	}
}

// flood has every pane print lines without a pause. The function that it returns ends that, brings the prompts back,
// and returns the number of lines.
func (c *crowd) flood() (stop func() int) {
	var over atomic.Bool
	var lines atomic.Int64
	var writing sync.WaitGroup
	for _, tty := range c.ttys {
		writing.Go(func() {
			for i := 0; !over.Load(); i++ {
				fmt.Fprintf(tty, "line %d of a program that prints and prints, whoever reads it\r\n", i)
				lines.Add(1)
			}
			fmt.Fprint(tty, crowdPrompt)
		})
	}
	return func() int {
		over.Store(true)
		writing.Wait()
		return int(lines.Load())
	}
}
