package profile

func init() { register(Codex) }

// Codex is Codex. Its composer has blank rows around it; it shows the cursor there and hides
// it in dialogs; the glyph is bold and bright in the composer alone, and an empty composer
// always shows the same dim words.
func Codex() Agent {
	return Agent{
		Profile: Profile{
			Name: "codex", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"codex"}, // no Quit: /quit opens a list of completions, and Enter waits for it: a hangup ends it.
			Thinking: map[string][]string{
				"fast": {"-c", `model_reasoning_effort="low"`}, "med": {"-c", `model_reasoning_effort="medium"`}, "slow": {"-c", `model_reasoning_effort="high"`},
			},
		},
		Verified:  "0.169.0",
		Processes: []string{"codex"},
		Composer: Composer{
			Glyph:  "›",
			Gap:    " ",
			Modes:  []string{"!"},
			Text:   2,
			Tab:    1,
			Cursor: true,
			Ghosts: []string{"Ask Codex to do anything"},
			Right:  2,
			Least:  3,
		},
		Speech:    Speech{Bullet: "•", Result: "└", Cut: []string{"Conversation interrupted", "unexpected status"}},
		Active:    Active{Closes: "@$", Skills: true},
		Long:      Long{Chars: 1000},
		Pasted:    []string{"[Pasted Content %d chars]"},
		Questions: []string{"request_user_input"},
		Bypass:    []string{"--dangerously-bypass-approvals-and-sandbox", "--yolo", "--sandbox danger-full-access", "-s danger-full-access"},
		Marks: Marks{
			Live:     []string{"? for shortcuts", "← for agents", "esc again to edit previous message"},
			Working:  []string{"esc to interrupt"},
			Modal:    []string{"esc back", "esc close", "esc to", "enter/esc", "enter submit", "enter select", "reverse-i-search", "Browsing transcript", "tab to queue"},
			Scrolled: []string{"↓ Back to bottom"},
			Insert:   []string{"Vim: Insert"},
			Normal:   []string{"Vim: Normal", "Vim: Visual", "Vim: Replace", "Vim: Operator"},
			Dialog:   []string{"esc to", "esc back", "esc close", "enter to", "enter submit", "enter select", "Press enter", "esc dismiss", "esc cancel", "esc save", "↑/↓", "q close"},
			Question: []string{"to submit answer"},
		},
	}
}
