package talk

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A stream of messages on one connection, each stored and acknowledged, with and without a sync to disk before
// the acknowledgement.
func BenchmarkQ6_stream(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			who := newPerson(b).configure(Config{MaxInbox: 10_000_000, Sync: &sync}).keep()
			defer who.end()
			p := who.start(Wish{})
			said, _ := p.advertised()
			f := newAcked(p.dial(b), said)
			b.ResetTimer()
			for next := 0; next < b.N; {
				n := min(b.N-next, 200)
				var out []byte
				for i := range n {
					out = AppendFrame(out, marshal(envelope{ID: fmt.Sprint(next + i), From: 9001, Text: "Hello from the other AI!"}))
				}
				stored, _ := f.exchange(b, out, n)
				require.Equal(b, n, stored)
				next += n
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}
