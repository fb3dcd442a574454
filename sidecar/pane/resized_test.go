package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A pane is resized while our text stands there. The program draws the text anew, and what shows meanwhile proves
// neither that the text is gone nor that a person wrote something.
func TestCore_resized(t *testing.T) {
	sized := func(width int) func(*found) { return func(f *found) { f.look.Facts.Width = width } }
	for name, shows := range map[string]func(*found){"gone": echoed, "among others": among} {
		t.Run(name, func(t *testing.T) {
			c := coreOf()
			c.at = pasted{batch: ours(), spell: spell{since: noon}}
			c.prof.Settle = time.Minute
			c.step(noon, sighted{line(whole, sized(80))})
			assert.Equal(t, "composed", nameOf(c.at))
			assert.Empty(t, c.step(noon.Add(time.Second), sighted{line(shows, sized(60))}))
			assert.Empty(t, c.step(noon.Add(time.Second+settles-1), sighted{line(shows, sized(60))}))
			assert.Equal(t, "composed", nameOf(c.at))
			assert.NotEmpty(t, c.step(noon.Add(time.Second+settles), sighted{line(shows, sized(60))}))
		})
	}
}
