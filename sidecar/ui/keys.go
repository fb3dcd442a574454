package ui

import "github.com/tmux-intercom/tmux-intercom/sidecar/plain"

// allKeys are the keys of the tabs and what each does, under where they are; one of "" is a blank row.
var allKeys = [][2]string{
	{"1 to 4, Tab", "another tab"},
	{"arrows, j k, Home End", "move"},
	{"Enter", "read whole, or watch"},
	{"/", "filter; in the log, Enter searches all that was said"},
	{"P", "pause everything, or resume it"},
	{"q, Esc", "back, or close"},
	{"", ""},
	{"waits, chats", ""},
	{"g", "go to the pane"},
	{"w", "watch the chat"},
	{"s", "say a line in the chat"},
	{"p, r", "pause the chat, resume it"},
	{"m", "mute somebody, or let them speak again"},
	{"e, x", "end the chat after the answer, or at once"},
	{"R", "release the pane: it is neither read nor typed into"},
	{"", ""},
	{"waits, inbox", ""},
	{"a, x, e, r", "approve, reject, edit, reply"},
	{"l", "type it into a pane whose screen is not recognised"},
}

// keysPage shows all keys.
func keysPage() reading {
	return reading{title: "keys", text: func(_ model, width int) (rows []string) {
		for _, k := range allKeys {
			row := " " + plain.Pad(k[0], 24) + k[1]
			if k[1] == "" {
				rows = append(rows, styled(bold, plain.Cut(" "+k[0], width)))
				continue
			}
			rows = append(rows, plain.Cut(row, width))
		}
		return rows
	}}
}
