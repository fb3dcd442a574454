package profile

func init() { register(Opencode) }

// Opencode is opencode. Its composer is a block with a bar at its left, `┃`, and a lower edge;
// it stands in the middle of the home screen and at the bottom of a session, where a sidebar
// may stand beside it. Columns are counted from the bar. It shows the cursor there and hides
// it in most dialogs; the row above the lower edge names the agent and the model, and in
// shell mode neither.
func Opencode() Agent {
	return Agent{
		Profile: Profile{
			Name: "opencode", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"opencode"}, // no Quit: /exit opens a list of completions, and Enter waits for it: signals end it.
		},
		Verified:  "1.18.33",
		Processes: []string{"opencode"},
		Composer: Composer{
			Glyph:  "┃",
			Gap:    " ",
			Text:   3,
			Tab:    2,
			Cursor: true,
			Ghosts: []string{"Ask anything… \"", "Ask anything... \""}, // the second until 1.18.20, or later
			Right:  2,
			Less:   1 << 10, // a third of the pane's rows, and never fewer than Least
			Least:  5,
		},
		Speech:    Speech{Result: "┃", Cut: []string{"· interrupted"}},
		Active:    Active{Closes: "@"},
		Long:      Long{Chars: 150, Breaks: 1, Trimmed: true},
		Pasted:    []string{"[Pasted ~%d lines]"},
		Questions: []string{"question"},
		Bypass:    []string{"--auto"},
		Marks: Marks{
			Live:    []string{" commands"},
			Working: []string{"esc interrupt", "again to interrupt", "[retrying ", "⬝", "[⋯]"},
			Modal:   []string{"esc exit shell mode"},
			Dialog:  []string{"enter confirm", "enter submit", "enter toggle", "esc dismiss", "esc cancel", "Parent up"},
		},
	}
}
