package screen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// A text stands right before the cursor, whatever frames it and wherever it wraps. A text that stands elsewhere, or
// has something after it, does not.
func TestBefore(t *testing.T) {
	const text = "[Ben] (2):\n\nhello to you,\n\tand 日本 too"
	at := func(rows ...string) screen.Screen {
		s := screen.Screen{Width: 40, Height: len(rows)}
		for y, row := range rows {
			before, after, here := strings.Cut(row, "|")
			if here {
				s.CursorX, s.CursorY = len([]rune(strings.NewReplacer("日", "日 ", "本", "本 ").Replace(before))), y
			}
			s.Rows = append(s.Rows, before+after)
		}
		return s
	}
	for name, c := range map[string]struct {
		shown screen.Screen
		want  bool
	}{
		"bare":                     {at("> [Ben] (2):", "", "hello to you,", "    and 日本 too|"), true},
		"in a frame":               {at("╭──────╮", "│ » [Ben] (2): │", "│              │", "│ hello to you, │", "│   and 日本 too|   │", "╰──────╯"), true},
		"wrapped":                  {at("» [Ben] (2):", "  hello t", "  o you, and", "  日本 too|"), true},
		"something before it":      {at("» words [Ben] (2):", "hello to you,", "and 日本 too|"), true},
		"something behind it":      {at("» [Ben] (2):", "hello to you,", "and 日本 too and|"), false},
		"the cursor within it":     {at("» [Ben] (2):", "hello to you,", "and 日|本 too"), false},
		"the cursor elsewhere":     {at("» [Ben] (2):", "hello to you,", "and 日本 too", "|"), true},
		"the cursor in other text": {at("» [Ben] (2):", "hello to you,", "and 日本 too", "» |"), false},
		"part of it":               {at("hello to you,", "and 日本 too|"), false},
		"a blank screen":           {at("|"), false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, screen.Before(c.shown, text))
		})
	}
	assert.False(t, screen.Before(at("> |"), " \n"), "no text")
	left := screen.Screen{Rows: []string{"» [Ben] (2): 👍 caf\u00e9"}, CursorX: 20, Width: 40, Height: 1}
	assert.True(t, screen.Before(left, "[Ben] (2):\n\n👍🏽 cafe\u0301"), "what a terminal leaves off")
	assert.False(t, screen.Before(left, "[Ben] (2):\n\n👍🏽 cafes"))
}
