//go:build race

package journal

// underRace says that the race detector is on, which makes everything some twenty times slower.
const underRace = true
