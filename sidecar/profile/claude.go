package profile

func init() { register(Claude) }

// Claude returns Claude Code. Its composer is framed by two rules. The glyph is followed by a no-break space, but
// in every list and dialog by a plain one. The glyph is dim exactly while a turn is under way.
func Claude() Agent {
	return Agent{
		Profile: Profile{
			Name: "claude", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"claude"}, Quit: "/exit",
		},
		Title:     "Claude Code",
		Verified:  "2.1.329",
		Processes: []string{"claude"},
		Composer: Composer{
			Glyph: "❯",
			Gap:   "\u00a0",
			Modes: []string{"!", "#", "&"},
			Text:  2,
			Tab:   4,
			Rule:  "─",
			Right: 2,
			Less:  5,
			Least: 3,
		},
		Speech: Speech{Bullet: "●", Result: "⎿", Cut: []string{"Interrupted ·", "API Error"}},
		Active: Active{
			At: true, Closes: "@:/\\[", Pictures: true,
			Keywords: []string{"ultra-code", "ultra-plan", "ultra-review", "ultra-think"},
		},
		Long:   Long{Chars: 800, Breaks: 2},
		Pasted: []string{"[Pasted text #%d +%d lines]", "[Pasted text #%d]"},
		Vim: VimKeys{
			Files: []string{
				"/etc/claude-code/managed-settings.json",
				".claude/settings.local.json",
				".claude/settings.json",
				"@/settings.json",
				"~/.claude.json",
			},
			Key: "editorMode", On: "vim",
		},
		Commands: Commands{Dirs: []string{".claude/commands", "@/commands"}, End: ".md", Skills: []string{".claude/skills", "@/skills"}, Hint: "argument-hint", Own: ownOfClaude},
		Inbox: Inbox{
			Name:     "inbox",
			Record:   "@/sessions/{pid}.json",
			Key:      "@/sessions/{pid}.{socket}.key",
			Protocol: 1,
			Since:    "2.1.224",
			Tag:      "cross-session-message",
			Settings: []string{
				"/etc/claude-code/managed-settings.json",
				".claude/settings.local.json",
				".claude/settings.json",
				"@/settings.json",
			},
			Default: "permissions.defaultMode",
			Accepts: "crossSessionInbound",
			Accept:  "accept",
			Careful: []string{"default", "manual", "acceptEdits", "plan", "auto"},
			Warns:   []string{"bypass permissions on"},
			Options: []string{"--settings", "--setting-sources"},
		},
		Settings: Settings{
			Hooks: Hooks{
				Form: HooksInGroups, File: File{Variable: "CLAUDE_CONFIG_DIR", Dir: ".claude", Path: "settings.json"},
				Events: []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "Notification", "Stop", "SessionEnd"},
				Holds:  true,
				Help: "hooks in settings.json in $CLAUDE_CONFIG_DIR, or ~/.claude: session start and end, prompts, uses of tools, requests for permission, notifications, " +
					"turn ends. Other hooks stay. A teammate that was spawned with --require-plan is denied tools that may change something until its plan is approved. Used at once.",
				Tells: tellsOfClaude,
				Gate: Gate{ // https://code.claude.com/docs/en/hooks
					Event: "PreToolUse", Shell: "Bash", Ours: "mcp__intercom__", Deny: denyPermission,
					Reading: []string{
						"Read", "Glob", "Grep", "LS", "LSP", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch",
						"ListMcpResourcesTool", "ReadMcpResourceTool", "BashOutput", "TaskOutput",
						"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate",
					},
				},
			},
			Server: Server{
				Form: ServerInJSON, File: File{Variable: "CLAUDE_CONFIG_DIR", Path: ".claude.json"},
				Key: "mcpServers", Entry: `"type":"stdio","command":%s,"args":["mcp"]`, Environment: "env",
			},
			Skills: File{Variable: "CLAUDE_CONFIG_DIR", Dir: ".claude", Path: "skills"},
		},
		Questions: []string{"AskUserQuestion", "ExitPlanMode"},
		Bypass:    []string{"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--permission-mode bypassPermissions"},
		Marks: Marks{
			Live:     []string{"⏸ ", "⏵⏵ ", "? for shortcuts", "← for agents", "shift+tab to cycle", "Press Ctrl-C again to exit", "Press Ctrl-D again to exit"},
			Held:     []string{"paste again to expand"},
			Working:  []string{"esc to interrupt"},
			Modal:    []string{"for shell mode", "Esc to", "esc to cl", "esc to ca", "Enter to", "enter to view", "to navigate", "to select"},
			Scrolled: []string{"Jump to bottom"},
			Insert:   []string{"-- INSERT --"},
			Normal:   []string{"-- NORMAL --", "-- VISUAL", "-- REPLACE"},
			Dialog:   []string{"Esc to", "Enter to", "Showing detailed transcript", "ctrl+g to edit in", "Do you want", "trust this folder"},
		},
	}
}
