package pane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An agent shows one line instead of a long paste, without a number. A look may find it being drawn anew, with an empty
// composer. What stands there afterwards is ours if no key has been read since it stood there before; otherwise it may be a
// person's own paste.
func TestCore_emptyBetweenTwoLooks(t *testing.T) {
	held := fmt.Sprintf("held: %s, our text stands in the composer | notify", message.InComposer)
	pastes := func(f *found) { f.placeholder = "[Pasted ~3 lines]" }
	for name, tt := range map[string]struct {
		first, empty uint64
		want, acts   string
	}{
		"nobody has read a key":    {7, 7, "permitting", rendered},
		"somebody has":             {7, 8, "composed", held},
		"it is not known":          {0, 0, "composed", held},
		"it is not known any more": {7, 0, "composed", held},
	} {
		t.Run(name, func(t *testing.T) {
			during := func(n uint64) func(*found) { return func(f *found) { f.reads = reads{n, n} } }
			c := coreOf()
			c.prof.Settle = time.Second
			c.at = pasted{batch: ours(), spell: spell{since: noon}}
			c.step(noon, sighted{agentic(whole, pastes, during(tt.first))})
			c.step(noon, sighted{agentic(during(tt.empty))})
			assert.Equal(t, "composed", nameOf(c.at))
			var acts []string
			for _, a := range c.step(noon.Add(time.Second), sighted{agentic(whole, pastes, during(tt.empty))}) {
				acts = append(acts, said(a))
			}
			assert.Equal(t, tt.want, nameOf(c.at))
			assert.Equal(t, tt.acts, strings.Join(acts, " | "))
		})
	}
}
