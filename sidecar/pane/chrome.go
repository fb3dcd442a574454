package pane

import (
	"slices"
	"strings"
)

// chromeless returns what a line program said without the lines that it draws around its words and
// the blank lines beside those. Each line that it draws begins with one of chrome.
func chromeless(said string, chrome []string) string {
	if len(chrome) == 0 {
		return said
	}
	drawn := func(line string) bool {
		return strings.TrimSpace(line) == "" || slices.ContainsFunc(chrome, func(begin string) bool { return strings.HasPrefix(line, begin) })
	}
	lines := strings.Split(said, "\n")
	for len(lines) > 0 && drawn(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && drawn(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return strings.Join(lines, "\n")
}
