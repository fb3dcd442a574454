package tmux

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// However many commands there are, each batch fits into a command line, and all are executed in
// their order.
func TestSplit(t *testing.T) {
	t.Parallel()
	for panes, batches := range map[int]int{0: 0, 1: 1, 10: 1, 100: 8} {
		var cmds []command.Command
		for i := range panes {
			for _, name := range paneOptions {
				cmds = append(cmds, command.DropOption(command.Pane(fmt.Sprintf("%%%d", i)), name))
			}
		}
		all := split(cmds)
		assert.Len(t, all, batches, "%d panes", panes)
		assert.Equal(t, cmds, slices.Concat(all...))
		for _, batch := range all {
			assert.LessOrEqual(t, len(command.Argv(framed(newNonce(), batch))), 1000)
			assert.True(t, length(batch).fits())
		}
	}
}
