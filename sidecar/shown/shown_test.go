package shown

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// sequences are characters that terminals combine, leave out in part, or do not know.
var sequences = []string{
	"👨‍👩‍👧‍👦", "👩🏽‍❤️‍💋‍👨🏽", "👍🏽", "🏳️‍🌈", "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "🇩🇪", "🇫🇷", "❤️", "1️⃣", "☎︎",
	"क्षत्रिय", "हिन्दी", "स्त्री", "السَّلامُ", "لا", "\u1112\u1161\u11ab", "한글", "e\u0301", "é", "a\u0300\u0301\u0302\u0303\u0304", "ก็", "நி", "မြန်မာ", "\U0001fae9", "\U0001fabe", "葛\U000E0100", "می\u200cخواهم",
}

// texts returns words with such sequences between them.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.SampledFrom(sequences), rapid.SampledFrom([]string{"and", "so", " ", "x", "\n", "[Ada] (1):", "日本", "?"}), rapid.String())
	return rapid.Map(rapid.SliceOfN(piece, 1, 12), func(all []string) string { return "[Ada] (1): " + strings.Join(all, " ") })
}

// left returns a text without some of the characters that may be missing, wrapped anywhere.
func left(t *rapid.T, text string) string {
	var b strings.Builder
	for _, r := range text {
		// A character that decomposes to another one (U+1FEF is a grave accent) counts as the other one.
		if missing(r) && Over(Ink(string(r))) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			if rapid.Bool().Draw(t, "left off") {
				continue
			}
		}
		b.WriteRune(r)
		if rapid.IntRange(0, 9).Draw(t, "wrap") == 0 {
			b.WriteString("\n  ")
		}
	}
	return b.String()
}

func TestS29_WhatIsLeftOffIsLookedThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		seen := left(t, text)
		assert.True(t, Same(Ink(text), Ink(seen)), "%q", seen)
		assert.True(t, Within(Ink(text), Ink("> "+seen+" more")), "%q", seen)
		// In pieces, one after the other.
		rest := Ink(text)
		for line := range strings.SplitSeq(seen, "\n") {
			used, ok := Follow(rest, Ink(line))
			if !assert.True(t, ok, "%q", line) {
				return
			}
			rest = rest[used:]
		}
		assert.True(t, Over(rest))
	})
}

// A letter, digit, sign or emoji that a person added is noticed wherever it stands, and so is a missing letter.
func TestS29_WhatIsNotOursIsSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		seen := []rune(left(t, text))
		extra := rapid.SampledFrom([]rune("qZ7!§語щ")).Filter(func(r rune) bool { return !strings.ContainsRune(text, r) }).Draw(t, "a person's")
		at := rapid.IntRange(0, len(seen)).Draw(t, "at")
		with := string(seen[:at]) + string(extra) + string(seen[at:])
		assert.False(t, Same(Ink(text), Ink(with)), "%q", with)
	})
	rapid.Check(t, func(t *rapid.T) {
		text := []rune(texts().Draw(t, "text"))
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		r := text[at]
		if !unicode.In(r, unicode.N, unicode.P, unicode.Latin, unicode.Han, unicode.Arabic) || missing(r) || unicode.In(r, unicode.M) || Ink(string(r)) == "" {
			return
		}
		without := string(text[:at]) + string(text[at+1:])
		assert.False(t, Same(Ink(string(text)), Ink(without)), "%q", without)
	})
	assert.False(t, Same("", ""))
	assert.False(t, Same(Ink("[Ada] (1): x 👍"), Ink("[Ada] (1): x 👍 👍")), "twice")
	assert.False(t, Same(Ink("[Ada] (1): 하"), Ink("[Ada] (1): 한")), "a letter more in a syllable")
	assert.False(t, Same(Ink("👍👍"), ""))
}
