package worker

import (
	"fmt"
	"slices"
)

// meant is a hint at the name that somebody may have meant, or "".
func meant(name string, known []string) string {
	best, least := "", 3
	if len(name) < 4 {
		least = 2
	}
	for _, k := range known {
		if d := distance(name, k); d < least && d < len(name) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of letters that are to be put in, left out, replaced or exchanged
// with their neighbours to make one word of another.
func distance(a, b string) int {
	if max(len(a), len(b)) > 64 {
		return max(len(a), len(b))
	}
	before, row := []int{}, make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// quoted lists names for an error.
func quoted(names []string) string {
	text := ""
	for i, n := range slices.Sorted(slices.Values(names)) {
		switch {
		case i > 0 && i == len(names)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("%q", n)
	}
	return text
}
