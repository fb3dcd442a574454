package delta

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// The log keeps copies of a capture's lines: a line that lies within the whole answer of tmux would keep all of
// that in memory, for as long as the line is known.
func TestTracker_keepsNoCapture(t *testing.T) {
	tr := New(prompt)
	for n := range 3 {
		answer := strings.Repeat("old\n", 50) + fmt.Sprintf("> q\nanswer %d\n> ", n)
		lines := strings.Split(answer, "\n")
		if n == 0 {
			tr.Baseline(Capture{Lines: lines, Complete: true})
		} else {
			tr.Feed(Capture{Lines: lines, Complete: true})
		}
		begin := uintptr(unsafe.Pointer(unsafe.StringData(answer)))
		for _, l := range tr.log {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(l.text))); l.text != "" {
				assert.False(t, at >= begin && at < begin+uintptr(len(answer)), "%q lies in the capture", l.text)
			}
		}
	}
}
