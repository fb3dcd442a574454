package profile

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	agentQuiet  = 150 * time.Millisecond
	agentSeen   = 8 * time.Second
	agentTaken  = 12 * time.Second // the first prompt after a start may take half of that on a busy machine
	agentInline = 64 << 10
)

// Agent is what is known of a coding agent's screen: values alone, each of them seen in
// recordings of the version that it names.
type Agent struct {
	Profile
	Title     string   // what people call it
	Verified  string   // the version whose screens and transcripts were recorded, and that the lab starts
	Processes []string // names of its process, as the terminal's foreground group has them
	Composer  Composer
	Marks     Marks
	Active    Active
	Speech    Speech
	Long      Long     // which paste its composer shows in one line
	Pasted    []string // that line: a pattern with %d for each number
	Vim       VimKeys
	Questions []string // its tools that ask its person something, and end with the answer
	Commands  Commands // of a person's, which may be typed as they are; none in most
	Inbox     Inbox    // where it takes messages of other programs; none in most
	Settings  Settings // what of its own files intercom changes, where a person asks for it
	Bypass    []string // options with which it is started, by which it acts without asking: `--name`, or `--name value`
}

// Bypasses reports whether a program that was started with those arguments acts without asking its person.
// Arguments alone say so: what its settings have is not known here.
func (a Agent) Bypasses(arguments []string) bool {
	if end := slices.Index(arguments, "--"); end >= 0 {
		arguments = arguments[:end]
	}
	return slices.ContainsFunc(a.Bypass, func(option string) bool {
		name, value, valued := strings.Cut(option, " ")
		for i, argument := range arguments {
			switch {
			case !valued && argument == name,
				valued && argument == name+"="+value,
				valued && !strings.HasPrefix(name, "--") && argument == name+value,
				valued && argument == name && i+1 < len(arguments) && arguments[i+1] == value:
				return true
			}
		}
		return false
	})
}

// Speech is how an agent draws what it says, in column 0 and below.
type Speech struct {
	Bullet string   // before the first row of what it says, and of a call of a tool
	Result string   // what the rows of a call's result begin with
	Cut    []string // what stands below a turn that was interrupted, or failed
}

// Active is what an agent takes for more than words in the middle of a prompt. The first
// characters of a prompt are always ours, so what is live there alone is not listed.
type Active struct {
	At     bool   // `@name` reads that file
	Closes string // characters which, in the last word, open a list of completions that takes Enter
	Skills bool   // `$name` loads the skill of that name
	// Pictures says that a line which is nothing but the path of a picture attaches that picture.
	Pictures bool
	// Keywords are words that, wherever they stand, change how a turn is run, with a hyphen where
	// one takes that away from them.
	Keywords []string
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
	Tab    int      // cells that a tab takes in what was pasted
	Right  int      // cells left free at the right edge, at most
	// Miscounts says that it draws characters which are put together of several, such as families of
	// emoji and conjuncts, in other cells than tmux does: a text with such is typed as a long paste.
	Miscounts bool
	// The rows of its text that are shown are half of the pane's, less Less, and Least at
	// least; there may be more.
	Less, Least int
	// Most is how many rows of its text are shown at most, in a pane that has Less rows besides;
	// zero: as above.
	Most int
}

// Long is what makes a paste long: more characters than Chars, or more line breaks than
// Breaks. Zero means that it does not count.
type Long struct {
	Chars, Breaks int
	// Trimmed says that blanks and line breaks at the ends of a paste are dropped before they
	// are counted.
	Trimmed bool
}

// Marks are the words by which a screen tells its state. All of them are parts of one row,
// and which rows count for each of them, package screen says.
type Marks struct {
	Live     []string // below a composer that waits, one at least
	Held     []string // below one that holds text, in their place
	Working  []string // around a composer: a turn is under way
	Modal    []string // below: keys do not go to the composer alone
	Scrolled []string // above the composer: not the end of the conversation is shown
	Insert   []string // below: vim keys, and text is text
	Normal   []string // below: vim keys, and letters are commands
	Dialog   []string // in the last rows of a dialog, a picker or a panel
	Question []string // in those of a dialog that asks for an answer, and for no leave
}

var agents []func() Agent

// register makes an agent known. Each agent's file does so itself: nothing here names any.
func register(agent func() Agent) { agents = append(agents, agent) }

// Agents are the agents whose screens can be judged, by their names.
func Agents() []Agent { return slices.Clone(known()) }

// known makes them once: a start of the program asks for them a dozen times, and they are large.
var known = sync.OnceValue(func() []Agent {
	all := make([]Agent, len(agents))
	for i, agent := range agents {
		all[i] = agent()
	}
	slices.SortFunc(all, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// AgentByName finds an agent by the name of its profile. Names are exact.
func AgentByName(name string) (Agent, bool) {
	for _, a := range known() {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// Has reports whether one of the marks stands in the row.
func Has(row string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(row, mark) })
}
