package profile

func init() { register(Claude) }

// Claude is Claude Code. Its composer is framed by two rules; the glyph is followed by a
// no-break space, in every list and dialog by a plain one; and the glyph is dim exactly
// while a turn is under way.
func Claude() Agent {
	return Agent{
		Profile: Profile{
			Name: "claude", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"claude"}, Quit: "/exit",
		},
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
