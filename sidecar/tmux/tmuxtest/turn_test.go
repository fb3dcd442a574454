package tmuxtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The same test has the same version each time, and every version has tests.
func TestTurn(t *testing.T) {
	all := []Version{{Name: "3.3a"}, {Name: "3.5a"}, {Name: "3.8"}}
	met := map[string]int{}
	for i := range 300 {
		name := fmt.Sprintf("TestU%d_something", i)
		v := turn(name, all)
		assert.Equal(t, v, turn(name, all))
		met[v.Name]++
	}
	for _, v := range all {
		assert.Greater(t, met[v.Name], 60, v.Name)
	}
}
