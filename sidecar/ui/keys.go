package ui

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// allKeys lists the keys of the tabs and what each does, under headings that say where they work; a key of ""
// is a blank row. The keys that choose a tab are not among them.
var allKeys = [][2]string{
	{"arrows, j k, Home End", "move"},
	{"Enter", "read whole, or watch"},
	{"/", "filter; in the log, Enter searches all that was said"},
	{"P", "stop everything, or resume it"},
	{"q, Esc", "back, or close"},
	{"", ""},
	{"waits, chats", ""},
	{"g", "go to the pane"},
	{"w", "watch the chat"},
	{"s", "say a line in the chat"},
	{"p, r", "pause the chat, resume it"},
	{"m", "mute somebody, or let them speak again"},
	{"e, x", "end the chat after the answer, or at once"},
	{"a", "restart a chat that has ended"},
	{"R", "release the pane: it is neither read nor typed into"},
	{"", ""},
	{"waits, inbox", ""},
	{"a, x, e, r", "approve, reject, edit, reply"},
	{"l", "type it into a pane whose screen is not recognised"},
}

// keysWidth is the width of the keys' column.
const keysWidth = 24

// keysPage shows all keys.
func keysPage() reading {
	return reading{title: "keys", text: func(m model, width int) (rows []string) {
		for _, k := range append([][2]string{{"1 to " + itoa(len(m.tabs())) + ", Tab", "another tab"}}, allKeys...) {
			if k[1] == "" {
				rows = append(rows, styled(bold, plain.Cut(" "+k[0], width)))
				continue
			}
			head := " " + plain.Pad(k[0], keysWidth)
			for _, part := range plain.Wrap(k[1], max(leastCell, width-keysWidth-1)) {
				rows = append(rows, plain.Cut(head+part, width))
				head = strings.Repeat(" ", keysWidth+1)
			}
		}
		return rows
	}}
}
