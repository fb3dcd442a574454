package screen

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestS29_Steady(t *testing.T) {
	for text, want := range map[string]bool{
		"plain": true, "한글 日本 é": true, "हिन्दी السَّلامُ": true, "👨‍👩‍👧‍👦 👍🏽 😀": true, "🇩🇪🇫🇷": true,
		"\u1112\u1161\u11ab": false, "🇩": false, "🇩x🇪": false, "🇩🇪🇫": false, "\U0001fae8": false, "\U0001fffd": false,
	} {
		assert.Equal(t, want, Steady(text), "%q", text)
	}
	rest, left := Unselected("❤️ 1️⃣ ☎︎ x")
	assert.Equal(t, "❤ 1⃣ ☎ x", rest)
	assert.Equal(t, 3, left)
}
