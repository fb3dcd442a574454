//go:build !race

package delta

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A look at a pane that said one line more costs no more memory for the thousands of lines that were seen before.
// (Under the race detector a pool loses some of what is put there.)
func TestTracker_feedsWithLittleGarbage(t *testing.T) {
	tr, lines := New(prompt), make([]string, 3*anchorMax)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d of what a program says", i)
	}
	shown := func(n int) Capture { return Capture{Lines: lines[n-100 : n], Rows: n, Width: 80} }
	tr.Baseline(shown(100))
	for n := 101; n <= 2*anchorMax; n++ {
		tr.Feed(shown(n))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for n := range 1000 {
		tr.Feed(shown(2*anchorMax + 1 + n))
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/1000, uint64(40<<10), "bytes for each look")
}
