// Package spelling compares words as people mistype them. It is pure.
package spelling

// most is the maximum length in bytes of words that are compared letter by letter.
const most = 256

// Distance returns the number of bytes to insert, delete, replace or swap with a neighbour to turn one word into the
// other. If either word has more than 256 bytes, it returns the length of the longer one.
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
