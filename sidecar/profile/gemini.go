package profile

import "time"

const (
	// geminiSettle: for 40 ms behind a paste, Gemini CLI takes Enter for a line break of it, and
	// longer where it is busy: at 100 ms never on an idle machine, at 200 ms once on a busy one.
	geminiSettle = 300 * time.Millisecond
	// geminiInline: what is longer reaches its terminal in more than one piece.
	geminiInline = 8 << 10
)

func init() { register(Gemini) }

// Gemini is Gemini CLI. Its composer is a box without sides, under a rule and a row that
// tells its mode; it hides the terminal's cursor and paints one, and parks the other where
// it likes. Its title tells what it does, but not of each dialog.
func Gemini() Agent {
	return Agent{
		Profile: Profile{
			Name: "gemini", Reads: Bracketed, Quiet: agentQuiet, Settle: geminiSettle,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: geminiInline,
			Start: []string{"gemini"}, // no Quit: /quit opens a list of completions, and Enter waits for it: signals end it.
		},
		Verified:  "0.61.0",
		Processes: []string{"gemini"},
		Composer: Composer{
			Glyph:  ">",
			Gap:    " ",
			Modes:  []string{"!"},
			Text:   3,
			Tab:    4,
			Rule:   "─",
			Ghosts: []string{"Type your message or @path/to/file", "Press 'Esc' for NORMAL mode."},
			Right:  3,
			Less:   14,
			Least:  1,
			Most:   9,
		},
		Speech:    Speech{Bullet: "✦", Result: "╭", Cut: []string{"Request cancelled.", "[API Error"}},
		Active:    Active{At: true, Closes: "@\\"},
		Long:      Long{Chars: 500, Breaks: 4},
		Pasted:    []string{"[Pasted Text: %d lines]", "[Pasted Text: %d lines #%d]", "[Pasted Text: %d chars]", "[Pasted Text: %d chars #%d]"},
		Questions: []string{"ask_user", "exit_plan_mode"},
		Bypass:    []string{"--yolo", "-y", "--approval-mode yolo"},
		Marks: Marks{
			Live:    []string{"? for shortcuts"},
			Held:    []string{"workspace (/directory)", "/model"},
			Working: []string{"(esc to cancel, ", "Queued (press ", "Executing Hook"},
			Modal:   []string{"to unfocus", "(Focused)", "In Copy Mode", "Shell awaiting input", "Shortcuts See /help"},
			Insert:  []string{"[INSERT]"},
			Normal:  []string{"[NORMAL]", "Press 'i' for INSERT mode."},
			Dialog: []string{
				"Esc to", "esc to", "(esc)", "Enter to", "Use Enter", "Use arrow", "Press Esc", "Press Ctrl", "↑/↓", "Allow execution", "Apply this change", "Do you want", "Do you trust",
			},
		},
	}
}
