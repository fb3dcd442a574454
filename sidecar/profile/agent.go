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

// Agent describes a coding agent's screen. It consists only of values, each seen in recordings of the version that
// it names.
type Agent struct {
	Profile
	Title     string   // what people call it
	Verified  string   // the version whose screens and transcripts were recorded; the lab starts it
	Processes []string // names of its process, as in the terminal's foreground group
	Composer  Composer
	Marks     Marks
	Active    Active
	Speech    Speech
	Long      Long     // which pastes its composer shows as one line
	Pasted    []string // the patterns of that line, with %d for each number
	Vim       VimKeys
	Questions []string // its tools that ask the person something and end with the answer
	Commands  Commands // a person's commands that may be typed unchanged; most agents have none
	Inbox     Inbox    // where it takes messages of other programs; most agents have none
	Settings  Settings // which of its files intercom changes when a person asks for it
	Bypass    []string // start options that make it act without asking: `--name`, or `--name value`
}

// Bypasses reports whether a program started with those arguments acts without asking its person. It only looks at
// the arguments, not at the agent's settings.
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

// Speech says how an agent draws its words, in column 0 and below.
type Speech struct {
	Bullet string   // before the first row of its words, and of a call of a tool
	Result string   // before the rows of a call's result
	Cut    []string // below a turn that was interrupted or has failed
}

// Active lists what an agent treats as more than words in the middle of a prompt. The beginning of a prompt is
// always ours, so what is only active there is not listed.
type Active struct {
	At     bool   // `@name` reads that file
	Closes string // characters which, in the last word, open a list of completions that takes Enter
	Skills bool   // `$name` loads the skill of that name
	// Pictures says that a line that consists only of the path of a picture attaches that picture.
	Pictures bool
	// Keywords are words that change how a turn runs, wherever they stand. Each is given with a hyphen at the place
	// where a hyphen disables it.
	Keywords []string
}

// Composer says how an agent's composer looks on the screen. Columns are cells, from 0.
type Composer struct {
	Glyph  string   // the beginning of its first row, in column 0
	Gap    string   // between the glyph and the text
	Modes  []string // glyphs instead of Glyph while the text is not a prompt but, for example, a shell command
	Text   int      // the column of the text, and of the cursor in an empty composer
	Cursor bool     // it shows the terminal's cursor; otherwise the agent hides it and paints one
	Rule   string   // the character of the rows right above and below; empty: these rows are blank
	Ghosts []string // the dim placeholders of an empty composer; empty: any dim text or none
	Tab    int      // the cells of a tab in pasted text
	Right  int      // cells left free at the right edge, at most
	// Miscounts says that it draws composed characters, such as families of emoji and conjuncts, in other cells
	// than tmux does. A text with such characters is typed as a long paste.
	Miscounts bool
	// The composer shows half of the pane's rows, less Less, but at least Least rows of its text; it may show more.
	Less, Least int
	// Most is how many rows of text it shows at most, in a pane with Less rows besides; zero: as above.
	Most int
}

// Long says which pastes are long: those with more than Chars characters or more than Breaks line breaks. A zero
// limit does not count.
type Long struct {
	Chars, Breaks int
	// Trimmed says that the agent drops blanks and line breaks at both ends of a paste before it counts.
	Trimmed bool
}

// Marks are the words that reveal the state of a screen. Each is a part of one row. Package screen defines which
// rows count for which mark.
type Marks struct {
	Live     []string // at least one stands below a composer that waits
	Held     []string // below a composer that holds text, in place of Live
	Working  []string // around a composer: a turn is under way
	Modal    []string // below: keys do not go only to the composer
	Scrolled []string // above the composer: the end of the conversation is not shown
	Insert   []string // below: vim keys, and text is text
	Normal   []string // below: vim keys, and letters are commands
	Dialog   []string // in the last rows of a dialog, a picker or a panel
	Question []string // in the last rows of a dialog that asks for an answer, not for permission
}

var agents []func() Agent

// register adds an agent. The file of each agent calls it; nothing else here names an agent.
func register(agent func() Agent) { agents = append(agents, agent) }

// Agents returns the agents whose screens can be judged, sorted by name.
func Agents() []Agent { return slices.Clone(known()) }

// known builds the agents once: each start of the program asks for them a dozen times, and they are large.
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

// Has reports whether the row contains one of the marks.
func Has(row string, marks []string) bool {
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(row, mark) })
}
