package profile

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func init() { register(Codex) }

// Codex returns Codex. Its composer has blank rows around it. Codex shows the cursor there and hides it in dialogs.
// Only in the composer is the glyph bold and bright, and an empty composer always shows the same dim words.
func Codex() Agent {
	return Agent{
		Profile: Profile{
			Name: "codex", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"codex"}, // no Quit: /quit opens a list of completions, for which Enter waits: a hangup ends it.
			Thinking: map[string][]string{
				"fast": {"-c", `model_reasoning_effort="low"`}, "med": {"-c", `model_reasoning_effort="medium"`}, "slow": {"-c", `model_reasoning_effort="high"`},
			},
		},
		Title:     "Codex",
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

			Miscounts: true,
		},
		Speech: Speech{Bullet: "•", Result: "└", Cut: []string{"Conversation interrupted", "unexpected status"}},
		Active: Active{Closes: "@$", Skills: true},
		Long:   Long{Chars: 1000},
		Pasted: []string{"[Pasted Content %d chars]"},
		Settings: Settings{
			// It also has hooks like those of Claude Code, in hooks.json, which a person may write. They run only
			// after that person has looked at each of them, and until then every start begins with a dialog about
			// it. So intercom installs none.
			Hooks: Hooks{
				Form: HookInNotify, File: File{Variable: "CODEX_HOME", Dir: ".codex", Path: "config.toml"},
				Events: []string{"notify"},
				Help: "notify in config.toml in $CODEX_HOME, or ~/.codex: turn ends. If it already calls another program, nothing is changed. Nothing goes into hooks.json: " +
					"Codex would ask at every start whether you trust it, until you say so.",
				Taken: "Codex calls only one program, so let yours call this one with the same last argument: %s hook codex notify",
				Tells: slices.Concat(tellsOfClaude, []Tell{{"notify", "", message.Idle}}),
				Gate: Gate{ // https://developers.openai.com/codex/hooks, for a person who put the hook there and trusts it
					Event: "PreToolUse", Shell: "Bash", Ours: "mcp__intercom__", Deny: denyPermission, Reading: []string{"update_plan", "view_image"},
				},
			},
			Server: Server{
				Form: ServerInTOML, File: File{Variable: "CODEX_HOME", Dir: ".codex", Path: "config.toml"}, Key: "mcp_servers",
				// Codex gives servers hardly anything of its environment, and starts them in a daemon that all its
				// windows share. So the variables that lead to a sidecar must be requested, and none of them tells
				// the pane of the agent.
				Passes: []string{"TMUX", "INTERCOM_SERVER", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"},
			},
			Skills: File{Dir: ".agents", Path: "skills"},
		},
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
