package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Before reports whether the text stands right before the cursor, whatever frames it and wherever its rows wrap:
// the visible rows down to the cursor end with it, apart from blanks and drawn lines. It is for screens about which
// nothing else is known.
func Before(s Screen, text string) bool {
	if text = bareInk(text); text == "" || !s.sound() {
		return false
	}
	stands := bareInk(ansi.Truncate(Plain(s.Rows[s.CursorY]), s.CursorX, ""))
	for y := s.CursorY - 1; y >= 0 && len(stands) < len(text); y-- {
		stands = bareInk(Plain(s.Rows[y])) + stands
	}
	for from := range stands {
		if len(stands)-from <= len(text) && shown.Same(text, stands[from:]) {
			return true
		}
	}
	return false
}

// bareInk returns the ink of a text without the characters that draw boxes and blocks.
func bareInk(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x2500 && r <= 0x259f {
			return -1
		}
		return r
	}, shown.Ink(text))
}
