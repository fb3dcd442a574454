package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// A full-screen program counts cells to tell where the border of its composer belongs. Where tmux
// makes a character wider than the program does, the border is pushed into the next row, and
// nobody can tell any more what stands in the composer: neither we nor its person.

// Unselected is a text without the characters that ask for another picture of the one before
// them, and how many those were. They are no words, and versions of tmux do not agree on what
// they do to a width.
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

// single reports whether each character of a text stands for itself: none is put together of
// several, which a terminal or a program shows in as many cells as it sees fit.
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

// Steady reports whether terminals and programs agree well enough on the widths of a text for a
// box around it to hold: it has no Hangul that is put together of its parts, no half of a flag,
// and no picture that is newer than many of them.
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
