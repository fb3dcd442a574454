package delta

import (
	"fmt"
	"testing"
)

func BenchmarkTracker_Feed(b *testing.B) {
	for _, bb := range []struct {
		name     string
		lines    int
		repeated bool
		complete bool
	}{
		{"84 lines", 84, false, false},
		{"2000 lines, from the top", 2_000, false, true},
		{"2000 lines, cut", 2_000, false, false},
		{"2000 lines, all alike, cut", 2_000, true, false},
		{"20000 lines, all alike, cut", 20_000, true, false},
	} {
		b.Run(bb.name, func(b *testing.B) {
			all := make([]string, bb.lines+64)
			for i := range all {
				all[i] = "the same line of a program's output, again and again"
				if !bb.repeated {
					all[i] = fmt.Sprintf("line %d of a program's output", i)
				}
			}
			tr := New(prompt)
			tr.Baseline(Capture{Lines: all[:bb.lines], Complete: bb.complete, Rows: bb.lines, Width: 80})
			for i := 0; b.Loop(); i++ {
				c := all[i%64 : i%64+bb.lines]
				if bb.complete {
					c = all[:bb.lines+i%64]
				}
				tr.Feed(Capture{Lines: c, Complete: bb.complete, Rows: bb.lines + i%64, Width: 80})
			}
		})
	}
}
