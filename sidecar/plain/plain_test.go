package plain

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBeginning(t *testing.T) {
	for most, want := range []string{"", "a", "a", "a", "a€", "a€b"} {
		assert.Equal(t, want, Beginning("a€b", most), most)
	}
	assert.Equal(t, "a€b", Beginning("a€b", 99))
	assert.Empty(t, Beginning("€", 2))
}

// What words and pictures need stays; what is invisible, or turns or hides the rest, does not.
func TestActs(t *testing.T) {
	for what, text := range map[string]string{
		"Persian: I want":            "می\u200cخواهم",
		"Sinhala: Sri Lanka":         "ශ්\u200dරී",
		"a family":                   "👨\u200d👩\u200d👧",
		"a heart as a picture":       "❤\ufe0f",
		"a heart as text":            "❤\ufe0e",
		"an ayah's number":           "\u06dd١",
		"Mongolian, a vowel apart":   "ᠠ\u180eᠠ",
		"marks that stand on others": "e\u0301",
	} {
		assert.Equal(t, text, Text(text), what)
		assert.Equal(t, text, Line(text), what)
	}
	for what, r := range map[string]rune{
		"escape": 0x1b, "delete": 0x7f, "an escape in one byte": 0x9b, "soft hyphen": 0xad, "combining joiner that is not seen": 0x34f,
		"the next words are left to right": 0x200e, "right to left": 0x200f, "Arabic": 0x61c,
		"embedding": 0x202a, "its end": 0x202c, "override": 0x202e, "isolate": 0x2066, "end of isolate": 0x2069,
		"zero width space": 0x200b, "word joiner": 0x2060, "invisible times": 0x2062, "byte order mark": 0xfeff, "annotation": 0xfff9,
		"line separator": 0x2028, "paragraph separator": 0x2029, "Hangul filler": 0x3164, "Khmer vowel that is not seen": 0x17b4,
		"first selector": 0xfe00, "first of the other selectors": 0xe0100, "last of them": 0xe01ef, "tag": 0xe0041, "end of tags": 0xe007f, "beam of notes": 0x1d173,
	} {
		assert.True(t, Acts(r), "%s: %U", what, r)
		assert.NotContains(t, Text("a"+string(r)+"b"), string(r), "%s: %U", what, r)
	}
}
