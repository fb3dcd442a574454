package command

import (
	"strconv"
	"strings"
	"time"
)

// Command is one command for a server. The zero Command is empty, and tmux refuses it.
type Command struct{ words []string }

func of(words ...string) Command { return Command{words} }

// Name returns tmux's name for the command.
func (c Command) Name() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0]
}

// Size returns the number of bytes that the command takes of a command line.
func (c Command) Size() (size int) {
	for _, word := range c.words {
		size += len(word) + 1
	}
	return size
}

// Words returns the number of words in the command.
func (c Command) Words() int { return len(c.words) }

// Print prints text, one line.
func Print(text string) Command { return of("display-message", "-p", "--", literal(text)) }

// Expand prints the expansion of a format for a pane, or without a target if pane is "". It is no
// error if there is no such pane: its fields expand to nothing.
func Expand(pane string, f Format) Command {
	if pane == "" {
		return of("display-message", "-p", f.text)
	}
	return of("display-message", "-p", "-t", pane, f.text)
}

// Message shows text in the status line of a client for d, or, if d is 0, for as long as the
// client's person has set. Nothing in text is expanded. It is no error if there is no such client.
// tmux before 3.6 refuses the command: see FreezingMessage.
func Message(client, text string, d time.Duration) Command {
	return of(append(append([]string{"display-message", "-C"}, delay(d)...), "-c", client, "--", literal(text))...)
}

// FreezingMessage is Message, but that client shows nothing new of the panes meanwhile. tmux 3.2a
// refuses it for any client: see MessageHere.
func FreezingMessage(client, text string, d time.Duration) Command {
	return of(append(append([]string{"display-message"}, delay(d)...), "-c", client, "--", literal(text))...)
}

// MessageHere is FreezingMessage at the client that the server takes for the current one.
func MessageHere(text string, d time.Duration) Command {
	return of(append(append([]string{"display-message"}, delay(d)...), "--", literal(text))...)
}

func delay(d time.Duration) []string {
	if d == 0 {
		return nil
	}
	return []string{"-d", strconv.FormatInt(d.Milliseconds(), 10)}
}

// Panes lists all panes of the server.
func Panes(f Format) Command { return of("list-panes", "-a", "-F", f.text) }

// Clients lists the clients of the server.
func Clients(f Format) Command { return of("list-clients", "-F", f.text) }

// Sessions lists the sessions of the server.
func Sessions(f Format) Command { return of("list-sessions", "-F", f.text) }

// If runs then if a format expands for a pane to something other than nothing or 0, and otherwise
// if not. The test and the sequence are one step of the server. pane may be "".
func If(pane string, f Format, then, otherwise []Command) Command {
	words := []string{"if-shell", "-F"}
	if pane != "" {
		words = append(words, "-t", pane)
	}
	words = append(words, f.text, Sequence(then))
	if len(otherwise) > 0 {
		words = append(words, Sequence(otherwise))
	}
	return of(words...)
}

// Capture prints the visible rows of a pane with their attributes.
func Capture(pane string) Command { return of("capture-pane", "-p", "-e", "-t", pane) }

// CaptureLines prints the visible screen and history rows above it, with wrapped rows joined,
// without attributes.
func CaptureLines(pane string, history int) Command {
	return of("capture-pane", "-p", "-J", "-S", strconv.Itoa(-history), "-t", pane)
}

// LoadBuffer reads standard input into a buffer.
func LoadBuffer(name string) Command { return of("load-buffer", "-b", name, "-") }

// DeleteBuffer removes a buffer.
func DeleteBuffer(name string) Command { return of("delete-buffer", "-b", name) }

// Paste types a buffer into a pane and removes the buffer. bracketed asks for tmux's -p and -r. Up
// to 3.3a a paste into a dead pane crashes the server, so Paste belongs into an If that has checked
// that the pane lives.
func Paste(pane, buffer string, bracketed bool) Command {
	if bracketed {
		return of("paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane)
	}
	return of("paste-buffer", "-d", "-b", buffer, "-t", pane)
}

// Scope is where an option is set.
type Scope struct {
	flag string
	pane string
}

// The scopes other than panes.
var (
	Server   = Scope{flag: "s"} // the server itself
	Everyone = Scope{flag: "g"} // all sessions
)

// Pane returns the scope of one pane.
func Pane(id string) Scope { return Scope{flag: "p", pane: id} }

func (s Scope) words(name, flags string) []string {
	words := []string{name, "-" + s.flag + flags}
	if s.pane != "" {
		words = append(words, "-t", s.pane)
	}
	return words
}

// SetOption sets a user option. Nothing in value is expanded.
func SetOption(s Scope, name, value string) Command {
	return of(append(s.words("set-option", ""), name, value)...)
}

// UnsetOption removes an option.
func UnsetOption(s Scope, name string) Command {
	return of(append(s.words("set-option", "u"), name)...)
}

// DropOption is UnsetOption, but silent if the scope does not exist.
func DropOption(s Scope, name string) Command {
	return of(append(s.words("set-option", "qu"), name)...)
}

// ShowOption prints the value of an option, and nothing if it is not set.
func ShowOption(s Scope, name string) Command {
	return of(append(s.words("show-options", "qv"), name)...)
}

// ShowOptions prints all options of a scope.
func ShowOptions(s Scope) Command { return of(s.words("show-options", "")...) }

// ShowHooks prints the hooks of a session, or those of all sessions if session is "".
func ShowHooks(session string) Command {
	if session == "" {
		return of("show-hooks", "-g")
	}
	return of("show-hooks", "-t", session)
}

// ShowAliases prints the server's aliases of commands.
func ShowAliases() Command { return of("show-options", "-sq", "command-alias") }

// SetEnvironment sets a hidden variable of the global environment.
func SetEnvironment(name, value string) Command {
	return of("set-environment", "-gh", name, value)
}

// UnsetEnvironment removes a variable of the global environment.
func UnsetEnvironment(name string) Command { return of("set-environment", "-gu", name) }

// ShowEnvironment prints the hidden variables of the global environment.
func ShowEnvironment() Command { return of("show-environment", "-gh") }

// Keys prints the bindings of all key tables.
func Keys() Command { return of("list-keys") }

// Unbind removes a binding.
func Unbind(table, key string) Command { return of("unbind-key", "-T", table, key) }

// Start is a program to start in a pane of its own.
type Start struct {
	Session       string
	Window        string // its name; "" leaves it to tmux
	Dir           string
	Env           []string
	Width, Height int // for NewSession
	Program       []string
}

// NewSession starts a program in a session of its own, in the background, and prints the id of
// its pane.
func NewSession(s Start) Command {
	return of(append([]string{
		"new-session", "-d", "-P", "-F", PaneID.Format().text, "-s", unexpanded(s.Session),
		"-x", strconv.Itoa(s.Width), "-y", strconv.Itoa(s.Height),
	}, s.words()...)...)
}

// NewWindow starts a program in a window of a session, in the background, and prints the id of
// its pane.
func NewWindow(s Start) Command {
	return of(append([]string{"new-window", "-d", "-P", "-F", PaneID.Format().text, "-t", "=" + s.Session + ":"}, s.words()...)...)
}

// KillPane ends a pane and what runs in it.
func KillPane(id string) Command { return of("kill-pane", "-t", id) }

func (s Start) words() []string {
	var words []string
	if s.Window != "" {
		words = append(words, "-n", unexpanded(s.Window))
	}
	if s.Dir != "" {
		words = append(words, "-c", unexpanded(s.Dir))
	}
	for _, kv := range s.Env {
		words = append(words, "-e", kv)
	}
	words = append(words, "--")
	if len(s.Program) == 1 { // tmux would give a single word to a shell
		return append(words, "exec "+shellWord(s.Program[0]))
	}
	return append(words, s.Program...)
}

// SwitchTo makes a client show a pane, with its session and window. If client is "", it is the
// current one.
func SwitchTo(client, pane string) Command {
	if client == "" {
		return of("switch-client", "-t", pane)
	}
	return of("switch-client", "-c", client, "-t", pane)
}

// KillServer ends the server.
func KillServer() Command { return of("kill-server") }

// Switch makes a client show a pane; a zoomed window stays zoomed.
func Switch(client, pane string) Command {
	return of("switch-client", "-Z", "-c", client, "-t", pane)
}

// WaitFor waits until somebody signals a channel.
func WaitFor(channel string) Command { return of("wait-for", channel) }

// Signal ends all commands that wait for a channel.
func Signal(channel string) Command { return of("wait-for", "-S", channel) }

// Continue makes a control client receive the output of a paused pane again.
func Continue(pane string) Command { return of("refresh-client", "-A", pane+":continue") }

// shellWord quotes a word for sh.
func shellWord(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
