package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// Whoever started the worker knows of each function, and of each rule, that it is what runs.
func TestEvaluation_announces(t *testing.T) {
	of, _ := testSet(t, `intercom.on("filter", function() end)`, `intercom.rule("long", { body = "(x+x+)+y" }, intercom.ask())`)
	e := newEvaluation(of, testInput(), nil)
	var said []string
	e.announce = func(script string, h policy.Hook) { said = append(said, script+" "+string(h)) }
	e.run()
	assert.Equal(t, []string{"a.lua filter", "b.lua decide"}, said)
}

// What a file may not register is told once, and kept by no machine that is made later.
func TestSet_ignoredIsKeptOnce(t *testing.T) {
	q := loadOf(`intercom.on("route", function() end) intercom.on("guard", function() end)`)
	q.Files.Sources[0].GuardsOnly = true
	of, loaded := load(q, policy.Memories{}, func(string) {})
	require.Len(t, loaded.Problems, 1)
	s := of.scripts[0]
	first := s.fresh(of)
	assert.Len(t, first.ignored, 1)
	assert.Len(t, s.fresh(of).ignored, 1)
}
