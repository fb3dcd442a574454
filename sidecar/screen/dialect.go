package screen

import "github.com/tmux-intercom/tmux-intercom/sidecar/profile"

// A dialect is how the screens of one agent are read. Each agent's file registers its own, so
// that nothing else here knows which agents there are.
type dialect struct {
	judge func(picture) Verdict       // the state of the whole screen
	field func(picture) (field, bool) // the composer in which the cursor stands
	talk  func(picture) (Talk, bool)  // the last turn above the composer

	// partly reports whether the composer holds rows that it does not show.
	partly func(field) bool
	// clear reports whether nothing keeps Enter from submitting what the composer holds.
	clear func(field) bool
	// counts reports whether the numbers in a placeholder (profile.Agent.Pasted) are those of the text.
	counts func(a profile.Agent, text string, numbers []int) bool

	after  string // what the agent itself puts behind a placeholder
	breaks bool   // it may take Enter behind a paste for a line break of it, which it drops later
}

var dialects = map[string]dialect{}

// register makes the dialect of an agent known, by the name of its profile.
func register(name string, d dialect) { dialects[name] = d }
