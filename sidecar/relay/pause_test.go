package relay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A watcher that shows whether everything is paused is told to look when it begins and when it
// ends, also if there is no chat.
func TestPause_isTold(t *testing.T) {
	r := newRig(t)
	told := func() bool {
		return slices.ContainsFunc(r.last, func(e Effect) bool { _, is := e.(Publish); return is })
	}
	r.must(PauseChat{Chat: All})
	assert.True(t, told())
	r.must(ResumeChat{Chat: All})
	assert.True(t, told())
	r.must(ResumeChat{Chat: All})
	assert.False(t, told(), "nothing has changed")
}
