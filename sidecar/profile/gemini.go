package profile

import "time"

const (
	// geminiSettle: for 40 ms after a paste, Gemini CLI takes Enter for a line break of it, and longer while it is
	// busy: at 100 ms never on an idle machine, at 200 ms once on a busy one.
	geminiSettle = 300 * time.Millisecond
	// geminiInline: a longer text reaches its terminal in more than one piece.
	geminiInline = 8 << 10
)

func init() { register(Gemini) }

// Gemini returns Gemini CLI. Its composer is a box without sides, below a rule and a row with its mode. It hides
// the terminal's cursor, leaves it anywhere, and paints one of its own. Its title shows what it does, but not every
// dialog.
func Gemini() Agent {
	return Agent{
		Profile: Profile{
			Name: "gemini", Reads: Bracketed, Quiet: agentQuiet, Settle: geminiSettle,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: geminiInline,
			Start: []string{"gemini"}, // no Quit: /quit opens a list of completions, for which Enter waits: signals end it.
		},
		Title:     "Gemini CLI",
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

			Miscounts: true,
		},
		Speech:   Speech{Bullet: "✦", Result: "╭", Cut: []string{"Request cancelled.", "[API Error"}},
		Active:   Active{At: true, Closes: "@\\"},
		Long:     Long{Chars: 500, Breaks: 4},
		Pasted:   []string{"[Pasted Text: %d lines]", "[Pasted Text: %d lines #%d]", "[Pasted Text: %d chars]", "[Pasted Text: %d chars #%d]"},
		Commands: Commands{Dirs: []string{".gemini/commands", "@/commands"}, End: ".toml", Own: ownOfGemini},
		Settings: Settings{
			Hooks: Hooks{ // its transcript tells everything except what it is about to do
				Form: HooksInGroups, File: File{Dir: ".gemini", Path: "settings.json"}, Comments: true,
				Events: []string{"BeforeTool"},
				Holds:  true,
				Help:   "a hook in ~/.gemini/settings.json that is asked before each use of a tool, for teammates with --require-plan. Its turns are read without hooks.",
				Gate: Gate{ // https://geminicli.com/docs/hooks/reference
					Event: "BeforeTool", Shell: "run_shell_command", Ours: "mcp_intercom_", Deny: denyDecision,
					Reading: []string{
						"read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content",
						"google_web_search", "web_fetch", "get_internal_docs", "write_todos", "ask_user", "enter_plan_mode", "exit_plan_mode",
					},
				},
			},
			Server: Server{
				Form: ServerInJSON, File: File{Dir: ".gemini", Path: "settings.json"}, Comments: true,
				Key: "mcpServers", Entry: `"command":%s,"args":["mcp"]`, Environment: "env",
			},
			Skills: File{Dir: ".gemini", Path: "skills"},
		},
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
