// Package spelling compares words as people mistype them. It is pure.
package spelling

// most is how long a word may be to be compared letter by letter.
const most = 256

// Distance is the number of bytes that are to be put in, left out, replaced or exchanged with
// their neighbours to make one word of another. Words of more than 256 bytes are as far from
// all others as the longer one is long.
func Distance(a, b string) int {
	if far := max(len(a), len(b)); far > most {
		return far
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
