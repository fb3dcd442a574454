package tmux

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// newNonce returns a word that no pane can guess. It is safe in formats and in globs.
func newNonce() string {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return "ic-" + hex.EncodeToString(raw[:])
}

// mark returns the line that precedes the reply to command i of a batch. If i is the number of
// commands, it returns the line at the end of the batch.
func mark(nonce string, i int) string { return nonce + "." + strconv.Itoa(i) }

// framed adds a command that prints a mark before each command and after the last.
func framed(nonce string, cmds []command.Command) []command.Command {
	all := make([]command.Command, 0, 2*len(cmds)+1)
	for i, c := range cmds {
		all = append(all, command.Print(mark(nonce, i)), c)
	}
	return append(all, command.Print(mark(nonce, len(cmds))))
}

var paneID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^%[0-9]{1,10}$`) })

// checkPane refuses everything that is not a pane id, so that tmux never resolves a name to some
// other pane.
func checkPane(pane string) error {
	if !paneID().MatchString(pane) {
		return fmt.Errorf("pane %q: not a pane id", pane)
	}
	return nil
}

// A comparedFact is a fact that the server tests in the same step in which it types.
type comparedFact struct {
	gate  string // its name in the list of gates
	field command.Field
	never bool // must be 0, whatever the look said; otherwise nothing may be typed
}

// compared lists the facts that compare-and-type tests, in the order in which a look asks for them.
// The id proves that tmux found the target at all: without a target tmux expands formats to nothing
// and goes on. The id has no gate, since nothing works without it.
var compared = []comparedFact{
	{field: command.PaneID},
	{gate: "tmux:dead", field: command.PaneDead, never: true}, // a paste would crash the server up to 3.3a
	{gate: "tmux:mode", field: command.PaneInMode, never: true},
	{gate: "tmux:inputoff", field: command.PaneInputOff, never: true},
	{gate: "tmux:synchronised", field: command.PaneSynchronised, never: true},
	{gate: "tmux:pid", field: command.PanePID},
	{gate: "tmux:alternate", field: command.Alternate},
	{gate: "tmux:cursorflag", field: command.CursorFlag},
	{gate: "tmux:cursor", field: command.CursorX},
	{gate: "tmux:cursor", field: command.CursorY},
	{gate: "tmux:history", field: command.HistorySize},
	{gate: "tmux:width", field: command.PaneWidth},
}

// toldFields is the number of fields that told adds behind the compared facts in a look. The title
// is free text and therefore the last.
const toldFields = 8

func told(pane string) command.Format {
	return command.Join("|",
		command.Fields("|", command.HistoryLimit, command.PaneHeight, command.SessionActivity, command.PaneTTY, command.PaneMode, command.BracketPaste),
		command.Environment(markName(pane)), command.PaneTitle.Format())
}

// lookFormat returns the format of a look: the compared facts, then the facts of told.
func lookFormat(pane string) command.Format {
	all := make([]command.Format, 0, len(compared)+1)
	for _, f := range compared {
		all = append(all, f.field.Format())
	}
	return command.Join("|", append(all, told(pane))...)
}

// glanceFields is the number of fields in a line of glanceFormat; all but the id are numbers.
const glanceFields = 11

var glanceFormat = command.Fields("|", command.PaneID, command.PaneDead, command.PaneInMode, command.Alternate, command.CursorFlag,
	command.PanePID, command.CursorX, command.CursorY, command.HistorySize, command.PaneWidth, command.PaneHeight)

// parseGlance parses lines of glanceFormat. A pane whose window is linked into several sessions
// appears several times.
func parseGlance(reply string) (map[string]Facts, error) {
	panes := map[string]Facts{}
	for line := range strings.Lines(reply) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != glanceFields || f[glanceFields-1] == "" { // from 3.7 on, a format that takes too long is cut short
			return nil, fmt.Errorf("facts %q: %d fields", line, len(f))
		}
		var n numbers
		panes[strings.Clone(f[0])] = Facts{
			Dead: n.flag(f[1]), InMode: n.flag(f[2]), Alternate: n.flag(f[3]), CursorVisible: n.flag(f[4]), PID: n.number(f[5]),
			CursorX: n.number(f[6]), CursorY: n.number(f[7]), HistorySize: n.number(f[8]), Width: n.number(f[9]), Height: n.number(f[10]),
		}
		if n.err != nil {
			return nil, fmt.Errorf("facts %q: %w", line, n.err)
		}
	}
	return panes, nil
}

// lookCommands returns the commands that ask for facts and screen, and with history ≥ 0 for the
// joined lines.
func lookCommands(pane string, history int) []command.Command {
	cmds := []command.Command{command.Expand(pane, lookFormat(pane)), command.Capture(pane)}
	if history >= 0 {
		cmds = append(cmds, command.CaptureLines(pane, history))
	}
	return cmds
}

// condition returns the test of compare-and-type. It is one comparison of all facts, since && with
// more than two parts and ! are broken on old versions, and, if tail is not empty, a search for the
// tail of our own text. It leaves out gates that the tests switched off.
func condition(pane string, f Facts, tail string, keys Keys) (command.Format, error) {
	values := strings.Split(f.raw, "|")
	if len(values) != len(compared) {
		return command.Format{}, fmt.Errorf("facts %q: not from a look", f.raw)
	}
	if err := checkMark(f.Mark); err != nil {
		return command.Format{}, err // not our mark: it does not tell what we typed last
	}
	var facts []command.Format
	var want []string
	for i, f := range compared {
		// Allow only digits and the id's %: anything else could end the comparison early. (3.8
		// leaves the pid of a dead pane empty, which is as good a value.)
		if strings.Trim(values[i], "%0123456789") != "" || i == 0 && values[i] == "" {
			return command.Format{}, fmt.Errorf("fact %q: %q is not a number", f.gate, values[i])
		}
		if f.gate == "" || gate.Stands(f.gate) {
			if f.never {
				values[i] = "0"
			}
			facts, want = append(facts, f.field.Format()), append(want, values[i])
		}
	}
	if keys.session != "" && gate.Stands("tmux:keys") {
		facts, want = append(facts, command.SessionActivity.Format()), append(want, keys.session)
	}
	same, err := command.Equal(append(facts, command.Environment(markName(pane))), append(want, f.Mark))
	if err != nil {
		return command.Format{}, err
	}
	if tail == "" || !gate.Stands("tmux:tail") {
		// tmux 3.7 gives up a format that takes longer than 100 ms, because the machine or the
		// server stood still. The rest of the format then expands to nothing, even both sides of a
		// comparison. So we also require a field that is never empty.
		return command.Both(same, command.ServerPID.Format()), nil
	}
	seen, err := command.OnScreen(tail)
	if err != nil {
		return command.Format{}, err
	}
	return command.Both(same, seen), nil
}

// typeCommands returns the commands of compare-and-type: load the text from standard input, then
// test and paste in one step of the server. Every branch removes the buffer: on old versions the
// person's own paste key would paste a leftover.
func typeCommands(t Typing, cond command.Format, nonce string) []command.Command {
	pasted := []command.Command{command.Paste(t.Pane, nonce, t.Bracketed)}
	if t.Mark != "" {
		pasted = append(pasted, command.SetEnvironment(markName(t.Pane), t.Mark))
	}
	return []command.Command{
		command.LoadBuffer(nonce),
		command.If(t.Pane, cond,
			append(pasted, command.Print("TYPED-"+nonce)),
			[]command.Command{command.DeleteBuffer(nonce), command.Print("REFUSED-" + nonce)}),
	}
}

var optionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@[A-Za-z0-9_-]{1,64}$`) })

// checkOption admits only user options, so that we never set an option of tmux's own.
func checkOption(name, value string) error {
	if !optionName().MatchString(name) {
		return fmt.Errorf("option %q: not a user option", name)
	}
	if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
		return fmt.Errorf("option %q: value %q is not text", name, value)
	}
	return nil
}

var (
	paneFields = []command.Field{
		command.PaneID, command.SessionID, command.SessionName, command.WindowID, command.WindowIndex, command.WindowName,
		command.PaneIndex, command.PaneActive, command.WindowActive, command.SessionAttached, command.PanePID, command.PaneTTY,
		command.PaneDead, command.PaneInMode, command.PaneWidth, command.PaneHeight, command.PaneTitle, command.PaneCommand,
		command.PaneStartCommand,
	}
	clientFields = []command.Field{
		command.ClientName, command.ClientTTY, command.ClientPID, command.ClientSession, command.SessionID, command.PaneID,
		command.ClientControl, command.ClientActivity, command.ClientKeyTable, command.ClientFlags, command.ClientWidth, command.ClientHeight,
	}
	sessionFields = []command.Field{command.SessionID, command.SessionAttached, command.DestroyUnattached, command.ExitUnattached}
	serverFields  = []command.Field{command.ServerPID, command.ServerStart, command.ServerVersion, command.ServerSocket}
)
