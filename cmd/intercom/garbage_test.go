package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGCPercent(t *testing.T) {
	for inUse, want := range map[uint64]int{0: 400, 1 << 20: 400, 8 << 20: 400, 16 << 20: 200, 32 << 20: 100, 1 << 30: 100} {
		assert.Equal(t, want, gcPercent(inUse), "%d", inUse)
	}
	runtime.GC()
	assert.NotZero(t, measured("/gc/heap/live:bytes"))
	assert.NotZero(t, measured("/gc/heap/allocs:bytes"))
}

// Memory is given back once after a busy time, and again only once enough has been allocated anew.
func TestRest_worth(t *testing.T) {
	var r rest
	for i, one := range []struct {
		more uint64
		want bool
	}{
		{100 << 20, false}, {50 << 20, false}, {0, true}, {0, false}, {8 << 20, false}, {9 << 20, false}, {1 << 20, true}, {1 << 20, false},
	} {
		assert.Equal(t, one.want, r.worth(r.allocated+one.more), "%d", i)
	}
}
