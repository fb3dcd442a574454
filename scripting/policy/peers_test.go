package policy

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Who is told the news of one after the other knows what the last one holds, whichever came
// before.
func TestPeers_news(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var told Peers
		all := []Peers{nil}
		known := map[string]Agent{}
		for range rapid.IntRange(1, 10).Draw(t, "steps") {
			next := slices.Clone(rapid.SampledFrom(all).Draw(t, "from"))
			names := map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(t, "pages that change") {
				var page []Agent
				for range rapid.IntRange(0, 4).Draw(t, "agents") {
					page = append(page, Agent{
						Address: message.Address{Name: fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "name"))}, State: rapid.SampledFrom([]string{"idle", "working"}).Draw(t, "state"),
					})
				}
				if i := rapid.IntRange(0, len(next)).Draw(t, "page"); i < len(next) {
					next[i] = page
				} else {
					next = append(next, page)
				}
			}
			if len(next) > 0 && rapid.Bool().Draw(t, "one page less") {
				next = next[:len(next)-1]
			}
			for i, page := range next { // each has a name of its own
				own := slices.DeleteFunc(slices.Clone(page), func(a Agent) bool { was := names[a.Address.Name]; names[a.Address.Name] = true; return was })
				if len(own) < len(page) {
					next[i] = own
				}
			}
			all = append(all, next)
			news := next.Since(told)
			for _, name := range news.Gone {
				require.Contains(t, known, name)
				delete(known, name)
			}
			for _, a := range news.Known {
				require.NotEqual(t, known[a.Address.Name], a, "no news")
				known[a.Address.Name] = a
			}
			told = next
			want := map[string]Agent{}
			for _, page := range next {
				for _, a := range page {
					want[a.Address.Name] = a
				}
			}
			require.True(t, maps.Equal(want, known), "%v %v", want, known)
			for i := range 10 {
				a, ok := Input{Others: next}.Agent(fmt.Sprint(i))
				_, is := want[fmt.Sprint(i)]
				require.Equal(t, is, ok)
				require.Equal(t, want[fmt.Sprint(i)], a)
			}
		}
	})
	in := Input{Agents: []Agent{{Address: message.Address{Name: "Ben", Number: 2}}}, Others: Peers{{{Address: message.Address{Name: "Ben"}}}}}
	ben, _ := in.Agent("Ben")
	assert.Equal(t, 2, ben.Address.Number, "who is in the chat is so there")
}
