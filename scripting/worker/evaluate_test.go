package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
