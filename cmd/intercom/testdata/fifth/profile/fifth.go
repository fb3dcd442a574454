package profile

func init() { register(Fifth) }

// Fifth is an agent that exists for a test alone.
func Fifth() Agent {
	return Agent{
		Profile: Profile{
			Name: "fifth", Reads: Bracketed, Quiet: agentQuiet, SeenWithin: agentSeen, TakenWithin: agentTaken, InlineMax: agentInline,
			Start: []string{"fifth"}, Quit: "/quit",
		},
		Title:     "The Fifth",
		Verified:  "5.0.0",
		Processes: []string{"fifth"},
		Composer:  Composer{Glyph: "▷", Gap: " ", Text: 2, Tab: 4, Cursor: true, Rule: "─", Less: 4, Least: 3},
		Marks:     Marks{Live: []string{"the fifth waits"}, Working: []string{"the fifth works"}, Dialog: []string{"yes or no"}},
		Settings: Settings{
			Hooks: Hooks{
				Form: HooksInGroups, File: File{Variable: "FIFTH_HOME", Dir: ".fifth", Path: "hooks.json"},
				Events: []string{"TurnOver"}, Help: "a hook in hooks.json in $FIFTH_HOME.",
				Tells: []Tell{{"TurnOver", "", "idle"}},
			},
			Server: Server{
				Form: ServerInTOML, File: File{Variable: "FIFTH_HOME", Dir: ".fifth", Path: "servers.toml"}, Key: "tools",
			},
			Skills: File{Dir: ".fifth", Path: "skills"},
		},
	}
}
