package screen

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestColours_text(t *testing.T) {
	for text, want := range map[string]Colours{
		"":     {},
		"0":    {{}},
		"b0":   {{bold: true}},
		"d0 0": {{dim: true}, {}},
		"dbrg4311744769 g90 b36": {
			{dim: true, bold: true, reverse: true, grey: true, colour: 1<<32 | 1<<24 | 1<<8 | 1}, {grey: true, colour: 90}, {bold: true, colour: 36},
		},
	} {
		written, err := want.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
		var got Colours
		require.NoError(t, got.UnmarshalText([]byte(text)))
		assert.Equal(t, want, got, "%q", text)
	}
	for text, want := range map[string]Colours{
		"{dim:false bold:false reverse:false grey:false colour:0}":                                                        {{}},
		"{dim:true bold:false reverse:false grey:true colour:90}":                                                         {{dim: true, grey: true, colour: 90}},
		"{dim:false bold:true reverse:false grey:false colour:36}{dim:false bold:false reverse:true grey:false colour:0}": {{bold: true, colour: 36}, {reverse: true}},
	} {
		var got Colours
		require.NoError(t, got.UnmarshalText([]byte(text)))
		assert.Equal(t, want, got, "%q", text)
	}
	for _, text := range []string{"b", "red", "bd0", "0 x", "{}", "{dim:false}", "{dim:false bold:true reverse:false grey:false colour:36}x", "{dim:maybe bold:true reverse:false grey:false colour:36}"} {
		was := Colours{{bold: true}}
		assert.ErrorContains(t, was.UnmarshalText([]byte(text)), "colours", "%q", text)
		assert.Equal(t, Colours{{bold: true}}, was)
	}
}

// A frame stored by an earlier version still finds the composer from which it was learned.
func TestFrame_storedByAnEarlierVersion(t *testing.T) {
	const stored = `{"left":"│ ❯ ","paint":"{dim:false bold:false reverse:false grey:true colour:90}{dim:false bold:true reverse:false grey:false colour:36}",` +
		`"right":"│","above":"╭─╮","below":["╰─╯","? for shortcuts · 0 tokens"],"seen":["● ready"],"alternate":true}`
	f, err := ParseFrame(stored)
	require.NoError(t, err)
	s := Screen{
		CursorVisible: true, Alternate: true, Width: 40, Height: 5, CursorX: 4, CursorY: 2,
		Rows: []string{
			"● ready",
			"╭──────────────────────────────────────╮",
			"\x1b[90m│\x1b[39m \x1b[1;36m❯\x1b[0m                                    │",
			"╰──────────────────────────────────────╯",
			"  ? for shortcuts · 417 tokens",
		},
	}
	assert.Equal(t, message.Idle, f.View(s).Reading.State, "%v", f.View(s).Reading.Evidence)
	s.Rows[2] = "\x1b[90m│\x1b[39m ❯                                    │"
	assert.NotEqual(t, message.Idle, f.View(s).Reading.State, "its sign is painted otherwise")

	again, err := ParseFrame(f.String())
	require.NoError(t, err)
	assert.Equal(t, f, again)
	assert.Contains(t, f.String(), `"paint":"g90 b36"`)
}
