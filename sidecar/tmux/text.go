package tmux

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// command is one tmux command in words, as the server is to see them.
type command []string

// argv turns commands into the arguments of a tmux process. A word that ends in a
// semicolon would end its command, so that last semicolon is escaped.
func argv(cmds []command) []string {
	var args []string
	for i, c := range cmds {
		if i > 0 {
			args = append(args, ";")
		}
		for _, word := range c {
			if strings.HasSuffix(word, ";") {
				word = word[:len(word)-1] + `\;`
			}
			args = append(args, word)
		}
	}
	return args
}

// sequence turns commands into text for tmux's own parser: a line of control mode, or a
// branch of if-shell. It never holds a line break.
func sequence(cmds []command) string {
	var b strings.Builder
	for i, c := range cmds {
		if i > 0 {
			b.WriteString(" ; ")
		}
		for j, word := range c {
			if j > 0 {
				b.WriteByte(' ')
			}
			quote(&b, word)
		}
	}
	return b.String()
}

// quote writes word for tmux's parser. Inside double quotes every byte but letters, digits
// and a few harmless ones becomes an octal escape; that is exact for the bytes 1 to 255 on
// every version, and 0xFF would otherwise end the token in the middle of quotes. A NUL
// would end the string, and no caller has one: it is left out.
func quote(b *strings.Builder, word string) {
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == 0:
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == ' ', c == '-', c == '_', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
}

// newNonce is a word that no pane can have guessed. It is safe in formats and in globs.
func newNonce() string {
	var raw [12]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the program instead
	return "ic-" + hex.EncodeToString(raw[:])
}

// mark is the line that stands before the reply to command i of a batch, and, for i equal
// to the number of commands, at its end.
func mark(nonce string, i int) string { return nonce + "." + strconv.Itoa(i) }

// framed puts a command that prints a mark before each command and after the last.
func framed(nonce string, cmds []command) []command {
	all := make([]command, 0, 2*len(cmds)+1)
	for i, c := range cmds {
		all = append(all, command{"display-message", "-p", mark(nonce, i)}, c)
	}
	return append(all, command{"display-message", "-p", mark(nonce, len(cmds))})
}

var paneID = regexp.MustCompile(`^%[0-9]{1,10}$`)

// checkPane refuses everything that is not a pane id, so that no name is ever resolved to
// some other pane.
func checkPane(pane string) error {
	if !paneID.MatchString(pane) {
		return fmt.Errorf("pane %q: not a pane id", pane)
	}
	return nil
}

// A compared fact is tested inside the server, in the same step that types.
type comparedFact struct {
	gate   string // its name in the list of gates
	format string
	never  bool // must be 0 whatever the look said: nothing may be typed otherwise
}

// compared lists what compare-and-type tests, in the order in which a look asks for it.
// The id stands for "the target was found at all": without a target tmux expands formats
// to nothing and goes on. It has no gate, since nothing works without it.
var compared = []comparedFact{
	{format: "#{pane_id}"},
	{gate: "dead", format: "#{pane_dead}", never: true}, // a paste would crash the server up to 3.3a
	{gate: "mode", format: "#{pane_in_mode}", never: true},
	{gate: "inputoff", format: "#{pane_input_off}", never: true},
	{gate: "synchronised", format: "#{pane_synchronized}", never: true},
	{gate: "pid", format: "#{pane_pid}"},
	{gate: "alternate", format: "#{alternate_on}"},
	{gate: "cursorflag", format: "#{cursor_flag}"},
	{gate: "cursor", format: "#{cursor_x}"},
	{gate: "cursor", format: "#{cursor_y}"},
	{gate: "history", format: "#{history_size}"},
	{gate: "width", format: "#{pane_width}"},
}

// told follows the compared facts in a look: so many fields, of which the title is free
// text and so the last. The verb is the name of the pane's mark.
const (
	toldFields = 7
	told       = "#{history_limit}|#{pane_height}|#{session_activity}|#{pane_tty}|#{pane_mode}|#{%s}|#{pane_title}"
)

// lookFormat is the format of a look: the compared facts, then those that are only told.
func lookFormat(pane string) string {
	var b strings.Builder
	for _, f := range compared {
		b.WriteString(f.format)
		b.WriteByte('|')
	}
	return b.String() + fmt.Sprintf(told, markName(pane))
}

// glanceFields are those of a line of glanceFormat; all but the id are numbers.
const (
	glanceFields = 11
	glanceFormat = "#{pane_id}|#{pane_dead}|#{pane_in_mode}|#{alternate_on}|#{cursor_flag}|#{pane_pid}|" +
		"#{cursor_x}|#{cursor_y}|#{history_size}|#{pane_width}|#{pane_height}"
)

// parseGlance reads lines of glanceFormat. A pane whose window is linked into several
// sessions stands there several times.
func parseGlance(reply string) (map[string]Facts, error) {
	panes := map[string]Facts{}
	for line := range strings.Lines(reply) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(f) != glanceFields || f[glanceFields-1] == "" { // a format that takes too long is cut short from 3.7 on
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

// lookCommands asks for facts and screen, and with history ≥ 0 for the joined lines.
func lookCommands(pane string, history int) []command {
	cmds := []command{
		{"display-message", "-p", "-t", pane, lookFormat(pane)},
		{"capture-pane", "-p", "-e", "-t", pane},
	}
	if history >= 0 {
		cmds = append(cmds, command{"capture-pane", "-p", "-J", "-S", strconv.Itoa(-history), "-t", pane})
	}
	return cmds
}

// condition is the test of compare-and-type: one comparison of all facts, since && with
// more than two parts and ! are broken on old versions, and the tail of our own text if
// there is one. A gate that the tests switched off is left out.
func condition(pane string, f Facts, tail string, keys Keys) (string, error) {
	values := strings.Split(f.raw, "|")
	if len(values) != len(compared) {
		return "", fmt.Errorf("facts %q: not from a look", f.raw)
	}
	if err := checkMark(f.Mark); err != nil {
		return "", err // somebody else's: nothing that we know was typed last
	}
	var format, want []string
	for i, f := range compared {
		// Digits and the id's % only: anything else could end the comparison early.
		// (3.8 leaves the pid of a dead pane empty, which is as good a value.)
		if strings.Trim(values[i], "%0123456789") != "" || i == 0 && values[i] == "" {
			return "", fmt.Errorf("fact %q: %q is not a number", f.gate, values[i])
		}
		if f.gate == "" || gate(f.gate) {
			if f.never {
				values[i] = "0"
			}
			format, want = append(format, f.format), append(want, values[i])
		}
	}
	if keys.session != "" && gate("keys") {
		format, want = append(format, "#{session_activity}"), append(want, keys.session)
	}
	format, want = append(format, "#{"+markName(pane)+"}"), append(want, f.Mark)
	cond := "#{==:" + strings.Join(format, "|") + "," + strings.Join(want, "|") + "}"
	if tail == "" || !gate("tail") {
		// tmux 3.7 gives up a format that takes it longer than 100 ms, because the machine or
		// the server stood still, and what it had left to expand is empty then: also both sides
		// of a comparison. Something that is never empty must have been expanded with them.
		return "#{&&:" + cond + ",#{pid}}", nil
	}
	glob, err := literalGlob(tail)
	if err != nil {
		return "", err
	}
	return "#{&&:" + cond + ",#{C:" + glob + "}}", nil
}

// literalGlob makes a glob that finds text on the screen. Whatever means something to
// globs, formats or tmux's parser becomes a question mark, which stands for any one
// character; text that has nothing else is refused, since it would match every row.
func literalGlob(text string) (string, error) {
	var b strings.Builder
	literal := 0
	for _, r := range strings.Trim(text, " ") {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r > 0x9f && r != utf8.RuneError:
			literal++
			b.WriteRune(r)
		case r == ' ', r == '-', r == '_', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('?')
		}
	}
	if literal == 0 {
		return "", fmt.Errorf("tail %q: no letter or digit to look for", text)
	}
	return b.String(), nil
}

// typeCommands is compare-and-type: the text from standard input, then the test and the
// paste in one step of the server. The buffer is gone in every branch: a leftover would be
// pasted by the person's own key on old versions.
func typeCommands(t Typing, cond, nonce string) []command {
	pasted := []command{{"paste-buffer", "-d", "-b", nonce, "-t", t.Pane}}
	if t.Bracketed {
		pasted[0] = command{"paste-buffer", "-p", "-r", "-d", "-b", nonce, "-t", t.Pane}
	}
	if t.Mark != "" {
		pasted = append(pasted, command{"set-environment", "-gh", markName(t.Pane), t.Mark})
	}
	pasted = append(pasted, command{"display-message", "-p", "TYPED-" + nonce})
	return []command{
		{"load-buffer", "-b", nonce, "-"},
		{
			"if-shell", "-F", "-t", t.Pane, cond,
			sequence(pasted),
			sequence([]command{{"delete-buffer", "-b", nonce}, {"display-message", "-p", "REFUSED-" + nonce}}),
		},
	}
}

// literal makes text that a format expands to itself, also where strftime runs over it.
// Control characters, among them line breaks, become blanks.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x20 || 0x7f <= r && r <= 0x9f || r == utf8.RuneError:
			b.WriteByte(' ')
		case r == '#' || r == '%':
			b.WriteRune(r)
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

var optionName = regexp.MustCompile(`^@[A-Za-z0-9_-]{1,64}$`)

// checkOption admits user options only, so that nothing of tmux's own is ever set.
func checkOption(name, value string) error {
	if !optionName.MatchString(name) {
		return fmt.Errorf("option %q: not a user option", name)
	}
	if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
		return fmt.Errorf("option %q: value %q is not text", name, value)
	}
	return nil
}

// row makes a -F format of fields that are told apart by sep, a nonce: a title or a name
// may hold any character that a person can think of, a line break too.
func row(sep string, fields []string) string {
	return sep + strings.Join(fields, sep) + sep
}

var (
	paneFields = []string{
		"#{pane_id}", "#{session_id}", "#{session_name}", "#{window_id}", "#{window_index}", "#{window_name}",
		"#{pane_index}", "#{pane_active}", "#{window_active}", "#{session_attached}", "#{pane_pid}", "#{pane_tty}",
		"#{pane_dead}", "#{pane_in_mode}", "#{pane_width}", "#{pane_height}", "#{pane_title}", "#{pane_current_command}",
	}
	clientFields = []string{
		"#{client_name}", "#{client_tty}", "#{client_pid}", "#{client_session}", "#{session_id}", "#{pane_id}",
		"#{client_control_mode}", "#{client_activity}", "#{client_key_table}", "#{client_flags}", "#{client_width}", "#{client_height}",
	}
	sessionFields = []string{"#{session_id}", "#{session_attached}", "#{destroy-unattached}"}
	serverFields  = []string{"#{pid}", "#{start_time}", "#{version}", "#{socket_path}"}
)

// shellWord quotes a word for sh.
func shellWord(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
