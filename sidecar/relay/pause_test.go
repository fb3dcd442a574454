package relay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whoever shows whether all is paused is told to look when it is, and when it is no more, also where there is no chat.
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
