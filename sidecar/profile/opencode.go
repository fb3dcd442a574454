package profile

// opencodePlugin is a plugin for opencode, which runs each JavaScript file in the plugins directory of its
// configuration. The plugin asks before each use of a tool and throws if the answer denies it; opencode passes the
// reason on to the model. See https://opencode.ai/docs/plugins.
const opencodePlugin = `// Written by intercom hooks install opencode.
import { spawnSync } from "node:child_process"

export const Intercom = async () => ({
  "tool.execute.before": async (input, output) => {
    const asked = JSON.stringify({ session_id: input.sessionID, tool_name: input.tool, tool_input: output.args })
    const said = spawnSync(%s, ["hook", "opencode", "tool.execute.before"], { input: asked, encoding: "utf8", timeout: 10000 })
    let answer = {}
    try {
      answer = JSON.parse(said.stdout || "{}")
    } catch {}
    if (answer.decision === "deny") throw new Error(answer.reason)
  },
})
`

func init() { register(Opencode) }

// Opencode returns opencode. Its composer is a block with a bar on its left, `┃`, and a lower edge. It stands in
// the middle of the home screen, and at the bottom of a session, perhaps beside a sidebar. Columns are counted from
// the bar. opencode shows the cursor there and hides it in most dialogs. The row above the lower edge names the
// agent and the model, except in shell mode.
func Opencode() Agent {
	return Agent{
		Profile: Profile{
			Name: "opencode", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"opencode"}, // no Quit: /exit opens a list of completions, for which Enter waits: signals end it.
		},
		Title:     "opencode",
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
			Less:   1 << 10, // opencode shows a third of the pane's rows, at least Least: with this, only Least counts
			Least:  5,

			Miscounts: true,
		},
		Speech: Speech{Result: "┃", Cut: []string{"· interrupted"}},
		Active: Active{Closes: "@"},
		Long:   Long{Chars: 150, Breaks: 1, Trimmed: true},
		Pasted: []string{"[Pasted ~%d lines]"},
		Settings: Settings{
			Hooks: Hooks{
				Form: HookInPlugin, File: File{Variable: "XDG_CONFIG_HOME", Dir: ".config", Path: "opencode/plugins/intercom.js"},
				Events: []string{"tool.execute.before"}, Plugin: opencodePlugin,
				Holds: true,
				Help:  "a plugin of ours, plugins/intercom.js in ~/.config/opencode, that is asked before each use of a tool, for teammates with --require-plan. Its turns are read without hooks.",
				Gate: Gate{
					Event: "tool.execute.before", Shell: "bash", Ours: "intercom_", Deny: denyDecision,
					Reading: []string{
						"read", "glob", "grep", "list", "lsp", "webfetch", "websearch", "codesearch", "todoread", "todowrite", "question",
					},
				},
			},
			Server: Server{
				Form: ServerInJSON, File: File{Variable: "XDG_CONFIG_HOME", Dir: ".config", Path: "opencode/opencode.json", Or: "opencode/opencode.jsonc"}, Comments: true,
				Key: "mcp", Entry: `"type":"local","command":[%s,"mcp"],"enabled":true`, Environment: "environment",
			},
			Skills: File{Variable: "XDG_CONFIG_HOME", Dir: ".config", Path: "opencode/skills"},
		},
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
