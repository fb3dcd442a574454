package aea

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Version is the version of the protocol in which messages are written.
const Version = "1.0"

// The limits of a message.
const (
	MaxMessage     = 1 << 20 // bytes of its file
	MaxSubject     = 1000    // bytes
	LongSubject    = 200     // characters beyond which a subject is hard to scan
	maxTags        = 32
	maxWord        = 256  // bytes of an id, a tag or a name
	maxPath        = 4096 // bytes
	maxAttachments = 64
)

// Agent is one end of a message.
type Agent struct {
	ID   string `json:"agent_id"`
	Path string `json:"repo_path"`
	User string `json:"user,omitempty"` // of the sender only
}

// Message is one message of the protocol, in whichever version the file is.
type Message struct {
	Version     string
	ID          string // as its author chose it; "" if they gave none
	Type        string // one of Types
	Priority    string // one of Priorities
	Time        time.Time
	Wanted      *bool // requires_response; nil if the file does not say
	From, To    Agent
	Subject     string
	Body        string // the body, or the field that stands for it in a message of that type
	Details     []Detail
	Context     json.RawMessage // an object, or nil
	Attachments []json.RawMessage
	Thread      string // metadata.conversation_id
	ReplyTo     string // metadata.reply_to: the id of the message that this one answers
	Tags        []string
	Topic       string // metadata.topic
	Category    string // metadata.category
}

// Detail is a field that only messages of one type have.
type Detail struct {
	Name  string   // as the protocol spells it: reproduction_steps
	Lines []string // one line, or the items of a list
}

// RequiresResponse reports whether the author waits for an answer: as the message says, or else as is usual for
// its type.
func (m Message) RequiresResponse() bool {
	if m.Wanted != nil {
		return *m.Wanted
	}
	return slices.Contains([]string{"question", "issue", "request"}, m.Type)
}

// Text returns everything that the message says below its subject, for a reader.
func (m Message) Text() string {
	var b strings.Builder
	b.WriteString(m.Body)
	for _, d := range m.Details {
		name := strings.ReplaceAll(d.Name, "_", " ")
		fmt.Fprintf(&b, "\n\n%s:", strings.ToUpper(name[:1])+name[1:])
		if len(d.Lines) == 1 {
			b.WriteString(" " + d.Lines[0])
			continue
		}
		for _, line := range d.Lines {
			b.WriteString("\n- " + line)
		}
	}
	for _, more := range []struct {
		name string
		all  []json.RawMessage
	}{{"Context", []json.RawMessage{m.Context}}, {"Attachments", m.Attachments}} {
		for i, one := range more.all {
			if len(one) == 0 || string(one) == "{}" {
				continue
			}
			if i == 0 {
				fmt.Fprintf(&b, "\n\n%s:", more.name)
			}
			b.WriteString("\n" + string(one))
		}
	}
	return strings.TrimLeft(b.String(), "\n")
}

// InvalidError says what is wrong with a message.
type InvalidError struct {
	Field string // "" for the whole file
	Why   string
	Cause error // of a file that could not be read; otherwise nil
}

func (e *InvalidError) Unwrap() error { return e.Cause }

func (e *InvalidError) Error() string {
	if e.Field == "" {
		return e.Why
	}
	return e.Field + ": " + e.Why
}

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Why: fmt.Sprintf(format, args...)}
}

// Check returns why a message cannot be sent, nil if it can. It applies the protocol's own rules strictly.
func (m Message) Check() error {
	switch {
	case !ValidID(m.ID):
		return invalid("message_id", "%.40q is no UUID", m.ID)
	case m.Type == "response" || !slices.Contains(types, m.Type):
		return invalid("message_type", "%.40q must be question, update, issue, handoff or request", m.Type)
	case !slices.Contains(priorities, m.Priority):
		return invalid("priority", "%.40q must be low, normal, high or urgent", m.Priority)
	case m.Time.IsZero():
		return invalid("timestamp", "it has none")
	case strings.TrimSpace(m.Subject) == "":
		return invalid("subject", "it is empty")
	case strings.TrimSpace(m.Body) == "":
		return invalid("body", "it is empty")
	case m.Context != nil && !isObject(m.Context):
		return invalid("context", "it must be a JSON object")
	}
	for _, end := range []struct {
		name string
		Agent
	}{{"from", m.From}, {"to", m.To}} {
		if end.ID == "" || end.ID != CleanID(end.ID) {
			return invalid(end.name+".agent_id", "%.40q may have letters, digits, dot, underscore and hyphen only", end.ID)
		}
		if !strings.HasPrefix(end.Path, "/") {
			return invalid(end.name+".repo_path", "%.80q must be an absolute path", end.Path)
		}
	}
	return m.checkTexts()
}

// checkTexts checks the texts of a message, both for sending and for reading.
func (m Message) checkTexts() error {
	line := func(name, text string, most int) error {
		switch {
		case len(text) > most:
			return invalid(name, "%d bytes; the limit is %d", len(text), most)
		case !utf8.ValidString(text):
			return invalid(name, "it is not valid UTF-8")
		case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return invalid(name, "it has control characters")
		}
		return nil
	}
	if len(m.Tags) > maxTags {
		return invalid("tags", "%d of them; the limit is %d", len(m.Tags), maxTags)
	}
	if len(m.Attachments) > maxAttachments {
		return invalid("attachments", "%d of them; the limit is %d", len(m.Attachments), maxAttachments)
	}
	checks := []error{
		line("subject", m.Subject, MaxSubject), line("message_id", m.ID, maxWord), line("conversation_id", m.Thread, maxWord), line("reply_to", m.ReplyTo, maxWord),
		line("topic", m.Topic, maxWord), line("category", m.Category, maxWord), line("user", m.From.User, maxWord),
		line("from.repo_path", m.From.Path, maxPath), line("to.repo_path", m.To.Path, maxPath), line("protocol_version", m.Version, maxWord),
		agentID("from", m.From.ID), agentID("to", m.To.ID),
	}
	for _, tag := range m.Tags {
		checks = append(checks, line("tags", tag, maxWord))
	}
	checks = append(checks, body("body", m.Body))
	for _, d := range m.Details {
		checks = append(checks, body(d.Name, strings.Join(d.Lines, "\n")))
	}
	if i := slices.IndexFunc(checks, func(err error) bool { return err != nil }); i >= 0 {
		return checks[i]
	}
	return nil
}

// body returns an error for a text with control characters other than tabs and line breaks, or one that is not
// UTF-8.
func body(name, text string) error {
	switch {
	case !utf8.ValidString(text):
		return invalid(name, "it is not valid UTF-8")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }):
		return invalid(name, "it has control characters")
	}
	return nil
}

// agentID returns an error for an id that could lead out of a directory. Other characters that a file name
// should not have are replaced later.
func agentID(end, id string) error {
	if len(id) > maxWord || !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == '/' || r == 0x7f }) || strings.HasPrefix(id, ".") {
		return invalid(end+".agent_id", "%.40q is no name of an agent", id)
	}
	return nil
}

// CleanID returns an agent's id with a hyphen in place of each character that a file name should not have, and
// without leading dots.
func CleanID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, strings.TrimLeft(id, "."))
}

// ValidID reports whether an id is a UUID.
func ValidID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, c := range []byte(id) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdefABCDEF", rune(c)) {
				return false
			}
		}
	}
	return true
}

func isObject(text json.RawMessage) bool {
	text = bytes.TrimSpace(text)
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

// wire is the form of the file, with its fields in the order of the document.
type wire struct {
	Version  string `json:"protocol_version"`
	ID       string `json:"message_id"`
	Type     string `json:"message_type"`
	Time     string `json:"timestamp"`
	Priority string `json:"priority"`
	Wanted   bool   `json:"requires_response"`
	From     Agent  `json:"from"`
	To       Agent  `json:"to"`
	Message  struct {
		Subject     string            `json:"subject"`
		Body        string            `json:"body"`
		Context     json.RawMessage   `json:"context"`
		Attachments []json.RawMessage `json:"attachments"`
	} `json:"message"`
	Metadata struct {
		Thread  string   `json:"conversation_id"`
		ReplyTo *string  `json:"reply_to"`
		Tags    []string `json:"tags"`
	} `json:"metadata"`
}

// restMost is more than a file has besides its body, in bytes.
const restMost = 64 << 10

// CutBody returns as much of a text as a message's file has room for, considering that JSON writes some
// characters as several. If the text is cut, a last line says so.
func CutBody(text string) string {
	room := MaxMessage - restMost
	for i, r := range text {
		switch r { // Check lets no other control character through
		case '"', '\\', '\n', '\t', '\r':
			room -= 2
		case '\u2028', '\u2029', utf8.RuneError:
			room -= 6
		default:
			room -= utf8.RuneLen(r)
		}
		if room < 0 {
			return text[:i] + "\n[cut]"
		}
	}
	return text
}

// Encode returns the file of a message, in version 1.0 of the protocol. The error is that of Check, or says
// that the file would be too large.
func (m Message) Encode() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	w := wire{
		Version: Version, ID: m.ID, Type: m.Type, Time: Timestamp(m.Time), Priority: m.Priority, Wanted: m.RequiresResponse(), From: m.From, To: m.To,
	}
	w.To.User = ""
	w.Message.Subject, w.Message.Body, w.Message.Context, w.Message.Attachments = m.Subject, m.Body, m.Context, m.Attachments
	if w.Message.Context == nil {
		w.Message.Context = json.RawMessage("{}")
	}
	if w.Message.Attachments == nil {
		w.Message.Attachments = []json.RawMessage{}
	}
	if w.Metadata.Thread, w.Metadata.Tags = m.Thread, m.Tags; w.Metadata.Thread == "" {
		w.Metadata.Thread = m.ID
	}
	if m.ReplyTo != "" {
		w.Metadata.ReplyTo = &m.ReplyTo
	}
	if w.Metadata.Tags == nil {
		w.Metadata.Tags = []string{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(w); err != nil {
		return nil, err
	}
	if b.Len() > MaxMessage {
		return nil, invalid("", "%d bytes; the limit is %d", b.Len(), MaxMessage)
	}
	return b.Bytes(), nil
}
