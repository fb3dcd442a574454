package ui

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Once the presser's own pane was adopted as a line program, it is no longer listed: the first pane that can be
// picked becomes current, and a pane that can no longer be picked loses its mark.
func TestPicker_listedAgain(t *testing.T) {
	ben, cyd := Pane{ID: "%1", Name: "ben", Agent: "line"}, Pane{ID: "%3", Name: "cyd", Agent: "line"}
	refused := Pane{ID: "%2", Name: "dan", Why: "dan is in a chat with eve"}
	here := Pane{ID: "%0", Name: "ada", Why: "ada is in front, which is not a known agent", Lines: true}
	m, begun := picks(false, Panes{Here: here, Others: []Pane{ben, cyd, refused}})
	m = m.typed("open home space space end")
	assert.Contains(t, sees(m), "l adopt as a line program")

	here.Why, here.Lines, cyd.Why = "", false, "cyd is in a chat with eve"
	m, _ = m.update(noon, listed{m.top().(picker).page, Panes{Here: here, Others: []Pane{ben, refused, cyd}}})
	assert.NotContains(t, sees(m), "cannot be picked")
	m.typed("enter")
	assert.Equal(t, []Picked{{Panes: []string{"%0", "%1"}}}, *begun)
}
