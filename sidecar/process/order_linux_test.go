package process

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Numbers of processes begin anew: who was started by another may have the smaller one.
func TestFront_oldestFirst(t *testing.T) {
	starter, agent, sibling := Process{PID: 32700, Start: 100}, Process{PID: 340, Start: 130}, Process{PID: 341, Start: 130}
	all := []Process{sibling, agent, starter}
	slices.SortFunc(all, byAge)
	assert.Equal(t, []Process{starter, agent, sibling}, all)
}
