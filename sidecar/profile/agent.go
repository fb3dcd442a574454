package profile

import (
	"slices"
	"strings"
	"time"
)

const (
	agentQuiet    = 150 * time.Millisecond
	agentDeadline = 5 * time.Second
	agentInline   = 64 << 10
)

// Agent is what is known of a coding agent's screen: values alone, each of them seen in
// recordings of the version that it names.
type Agent struct {
	Profile
	Verified  string   // the version whose screens were recorded
	Processes []string // names of its process, as the terminal's foreground group has them
	Composer  Composer
	Marks     Marks
}

// Composer is how an agent's composer stands on the screen. Columns are cells from 0.
type Composer struct {
	Glyph  string   // what its first row begins with, in column 0
	Gap    string   // what stands between the glyph and the text
	Modes  []string // glyphs instead of Glyph while what is typed is no prompt: a shell's command
	Text   int      // the column in which the text begins, and the cursor of an empty composer stands
	Cursor bool     // the terminal's cursor is shown in it; without, the agent hides it and paints one
	Rule   string   // of what the rows right above and right below are made; empty: they are blank
	Ghosts []string // what an empty composer shows, dim; empty: any dim text or none
}

// Marks are the words by which a screen tells its state. All of them are parts of one row,
// and which rows count for each of them, package screen says.
type Marks struct {
	Live     []string // below a composer that waits, one at least
	Working  []string // around a composer: a turn is under way
	Modal    []string // below: keys do not go to the composer alone
	Scrolled []string // above the composer: not the end of the conversation is shown
	Insert   []string // below: vim keys, and text is text
	Normal   []string // below: vim keys, and letters are commands
	Dialog   []string // in the last rows of a dialog, a picker or a panel
}

// Agents are the agents whose screens can be judged, in the order in which help shows them.
func Agents() []Agent { return []Agent{Claude(), Codex()} }

// AgentByName finds an agent by the name of its profile. Names are exact.
func AgentByName(name string) (Agent, bool) {
	for _, a := range Agents() {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// AgentByProcess finds the agent that runs under that process name. The name may be a path;
// the system may have cut it at 15 bytes.
func AgentByProcess(name string) (Agent, bool) {
	key := processName(name)
	for _, a := range Agents() {
		if slices.Contains(a.Processes, key) {
			return a, true
		}
	}
	return Agent{}, false
}

// Has reports whether one of the marks stands in the row.
func Has(row string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(row, mark) })
}
