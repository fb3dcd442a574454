//go:build race

package journal

// underRace says that the race detector makes everything some twenty times slower.
const underRace = true
