package ui

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The line holds what a plain list of characters with a cursor would hold, and its cursor is drawn inside the
// popup, however small that is.
func TestU23_line(t *testing.T) {
	keys := []string{"a", " ", "é", "日", "👩", "\u200d", "left", "right", "home", "end", "backspace", "delete", "ctrl+u", "ctrl+w", "up", "enter", "\x1b", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		var l line
		before, after := []rune{}, []rune{} // the cursor is between them
		for _, key := range rapid.SliceOf(rapid.SampledFrom(keys)).Draw(t, "keys") {
			l = l.press(pressed(key))
			switch n := len(before); {
			case key == "left" && n > 0:
				before, after = before[:n-1], append([]rune{before[n-1]}, after...)
			case key == "right" && len(after) > 0:
				before, after = append(before, after[0]), after[1:]
			case key == "home":
				before, after = nil, append(append([]rune{}, before...), after...)
			case key == "end":
				before, after = append(before, after...), nil
			case key == "backspace" && n > 0:
				before = before[:n-1]
			case key == "delete" && len(after) > 0:
				after = after[1:]
			case key == "ctrl+u":
				before = nil
			case key == "ctrl+w":
				text := strings.TrimRight(string(before), " ")
				before = []rune(text[:strings.LastIndex(text, " ")+1])
			case len([]rune(key)) == 1 && key >= " " && key != "\xff":
				before = append(append([]rune{}, before...), []rune(key)...)
			}
			require.Equal(t, string(before)+string(after), string(l.text))
			require.Equal(t, len(before), l.at)
			width := rapid.IntRange(1, 9).Draw(t, "width")
			rows, cursor := l.rows(width)
			require.Less(t, cursor.y, len(rows))
		}
	})
}
