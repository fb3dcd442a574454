package screen

import "github.com/tmux-intercom/tmux-intercom/sidecar/profile"

// A dialect holds the functions that read the screens of one agent. The file of each agent registers its own
// dialect, so nothing else in this package knows which agents exist.
type dialect struct {
	judge func(picture) Verdict       // the state of the whole screen
	field func(picture) (field, bool) // the composer with the cursor
	talk  func(picture) (Talk, bool)  // the last turn above the composer

	// partly reports whether the composer holds rows that it does not show.
	partly func(field) bool
	// clear reports whether nothing keeps Enter from submitting what the composer holds.
	clear func(field) bool
	// counts reports whether the numbers in a placeholder (profile.Agent.Pasted) are those of the text.
	counts func(a profile.Agent, text string, numbers []int) bool

	after  string // what the agent itself appends to a placeholder
	breaks bool   // the agent may take an Enter after a paste for one of its line breaks, which it drops later
}

var dialects = map[string]dialect{}

// register adds the dialect of an agent, by the name of its profile.
func register(name string, d dialect) { dialects[name] = d }
