//go:build !race

package journal

const underRace = false
