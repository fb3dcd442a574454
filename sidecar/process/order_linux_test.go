package process

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Pids begin anew: a child may have a smaller one than its parent.
func TestFront_oldestFirst(t *testing.T) {
	starter, agent, sibling := Process{PID: 32700, Start: 100}, Process{PID: 340, Start: 130}, Process{PID: 341, Start: 130}
	all := []Process{sibling, agent, starter}
	slices.SortFunc(all, byAge)
	assert.Equal(t, []Process{starter, agent, sibling}, all)
}
