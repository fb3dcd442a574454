package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// A full-screen program counts cells to place the border of its composer. If tmux makes a character wider than the
// program does, the border is pushed into the next row, and then neither we nor the person can tell what the
// composer holds.

// Unselected returns a text without its variation selectors, which ask for another picture of the character before
// them, and how many it dropped. They are not words, and versions of tmux disagree on how they change a width.
func Unselected(text string) (rest string, left int) {
	rest = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Variation_Selector, r) {
			left++
			return -1
		}
		return r
	}, text)
	return rest, left
}

// single reports whether no character of a text is composed of several. Each terminal or program shows a composed
// one in its own number of cells.
func single(text string) bool {
	if !Steady(text) {
		return false
	}
	for rest := norm.NFC.String(text); rest != ""; {
		cluster, _ := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		if utf8.RuneCountInString(cluster) != 1 {
			return false
		}
		rest = rest[len(cluster):]
	}
	return true
}

// Steady reports whether terminals and programs agree well enough on the widths of a text for a box around it to
// keep its shape. The text must not contain Hangul composed of its parts, half of a flag, or a picture that is too
// new for many of them.
func Steady(text string) bool {
	half := false
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Regional_Indicator, r):
			half = !half
		case half:
			return false
		}
	}
	return !half && !strings.ContainsFunc(text, func(r rune) bool {
		switch {
		case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff: // vowels and ends of Hangul
			return true
		case r >= 0x1f6d6 && r <= 0x1f6df, r >= 0x1fa70 && r <= 0x1faff: // pictures of 2020 and later, and a few of 2019
			return true
		}
		return !shown.Assigned(r)
	})
}
