package profile

// Claude is Claude Code. Its composer is framed by two rules; the glyph is followed by a
// no-break space, in every list and dialog by a plain one; and the glyph is dim exactly
// while a turn is under way.
func Claude() Agent {
	return Agent{
		Profile: Profile{
			Name: "claude", Reads: Bracketed, Quiet: agentQuiet,
			SeenWithin: agentDeadline, TakenWithin: agentDeadline, InlineMax: agentInline,
		},
		Verified:  "2.1.329",
		Processes: []string{"claude"},
		Composer: Composer{
			Glyph: "❯",
			Gap:   "\u00a0",
			Modes: []string{"!", "#", "&"},
			Text:  2,
			Rule:  "─",
		},
		Marks: Marks{
			Live:     []string{"⏸ ", "⏵⏵ ", "? for shortcuts", "← for agents", "shift+tab to cycle", "Press Ctrl-C again to exit", "Press Ctrl-D again to exit"},
			Working:  []string{"esc to interrupt"},
			Modal:    []string{"for shell mode", "Esc to", "esc to cl", "esc to ca", "Enter to", "enter to view", "to navigate", "to select"},
			Scrolled: []string{"Jump to bottom"},
			Insert:   []string{"-- INSERT --"},
			Normal:   []string{"-- NORMAL --", "-- VISUAL", "-- REPLACE"},
			Dialog:   []string{"Esc to", "Enter to", "Showing detailed transcript", "ctrl+g to edit in", "Do you want", "trust this folder"},
		},
	}
}
