package aea

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxNesting is how deep arrays and objects of a message may be nested.
const maxNesting = 32

// Read reads the file of a message with that name. It takes both versions of the protocol and what people write
// by hand. A message needs a type, an author, either in the file or in its name, and a subject or something
// that stands for a body. The error is an *InvalidError.
func Read(name string, text []byte) (Message, error) {
	if len(text) > MaxMessage {
		return Message{}, invalid("", "%d bytes; the limit is %d", len(text), MaxMessage)
	}
	root, err := decode(text)
	if err != nil {
		return Message{}, err
	}
	r := &fieldReader{}
	m := r.message(name, root)
	if r.err == nil {
		r.err = m.checkTexts()
	}
	if r.err != nil {
		return Message{}, r.err
	}
	return m, nil
}

// object is a JSON object whose values are not read yet.
type object map[string]json.RawMessage

// decode reads one JSON object with nothing after it. Duplicate keys in an object and too deep nesting are
// errors, because different programs would read different things.
func decode(text []byte) (object, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := walk(d, 0); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, invalid("", "there is text after the message")
	}
	var root object
	if err := json.Unmarshal(text, &root); err != nil || root == nil {
		return nil, invalid("", "it is no JSON object")
	}
	return root, nil
}

// walk checks one value.
func walk(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return invalid("", "it is not valid JSON: %v", cause(err))
	}
	open, is := token.(json.Delim)
	if !is {
		return nil
	}
	if depth >= maxNesting {
		return invalid("", "more than %d levels of nesting", maxNesting)
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return invalid("", "it is not valid JSON: %v", cause(err))
			}
			name, _ := key.(string)
			if seen[name] {
				return invalid("", "key %.40q appears twice", name)
			}
			seen[name] = true
		}
		if err := walk(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return invalid("", "it is not valid JSON: %v", cause(err))
	}
	return nil
}

func cause(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Incomplete reports whether a text may be the beginning of a message that is being written.
func Incomplete(text []byte) bool {
	if len(bytes.TrimSpace(text)) == 0 {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := d.Token(); err != nil {
			return err == io.EOF && !json.Valid(text) || err == io.ErrUnexpectedEOF
		}
	}
}

// fieldReader reads fields and keeps the first error.
type fieldReader struct{ err error }

func (r *fieldReader) fail(field, wanted string) {
	if r.err == nil {
		r.err = invalid(field, "it must be %s", wanted)
	}
}

func null(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }

// get reads a value of one Go type.
func get[T any](r *fieldReader, o object, field, wanted string) (v T) {
	if null(o[field]) {
		return v
	}
	if err := json.Unmarshal(o[field], &v); err != nil {
		r.fail(field, wanted)
	}
	return v
}

func (r *fieldReader) text(o object, fields ...string) string {
	for _, field := range fields {
		if t := get[string](r, o, field, "a text"); t != "" {
			return t
		}
	}
	return ""
}

func (r *fieldReader) object(o object, fields ...string) object {
	for _, field := range fields {
		if in := get[object](r, o, field, "an object"); in != nil {
			return in
		}
	}
	return nil
}

// bodies are the fields that stand for the body in messages of the various types. The first that is present is
// the body; the others become details.
var bodies = []string{"body", "question", "issue_description", "handoff_details", "request_details", "description", "details"}

// details are the further fields of the types.
var details = []string{"changes", "reproduction_steps", "impact", "next_steps", "documentation", "rationale", "acceptance_criteria"}

func (r *fieldReader) message(name string, root object) Message {
	content, metadata, routing := r.object(root, "message", "content"), r.object(root, "metadata"), r.object(root, "routing")
	m := Message{
		Version: r.text(root, "protocol_version"), ID: r.text(root, "message_id"), Type: strings.ToLower(r.text(root, "message_type")),
		From: r.agent(root, "from", "sender"), To: r.agent(root, "to", "recipient"), Subject: r.text(content, "subject"),
		Thread: r.text(metadata, "conversation_id"), ReplyTo: r.text(metadata, "reply_to"), Topic: r.text(metadata, "topic"), Category: r.text(metadata, "category"),
	}
	m.Tags = get[[]string](r, metadata, "tags", "a list of texts")
	if m.ReplyTo == "" {
		correlation := r.object(root, "correlation")
		if m.ReplyTo = r.text(correlation, "in_reply_to"); m.Thread == "" {
			m.Thread = r.text(correlation, "conversation_id", "correlation_id")
		}
	}
	switch m.Version {
	case "", Version, "0.1.0", "0.1":
	default:
		r.fail("protocol_version", "1.0 or 0.1.0")
	}
	if !slices.Contains(types, m.Type) {
		r.fail("message_type", "question, update, issue, handoff, request or response")
	}
	r.priority(&m, root, routing, content)
	r.wanted(&m, root, routing)
	r.content(&m, content)
	r.author(&m, name, root)
	return m
}

func (r *fieldReader) agent(root object, fields ...string) Agent {
	o := r.object(root, fields...)
	return Agent{ID: r.text(o, "agent_id"), Path: r.text(o, "repo_path"), User: r.text(o, "user")}
}

func (r *fieldReader) priority(m *Message, places ...object) {
	word := ""
	for _, field := range []string{"priority", "severity"} {
		for _, o := range places {
			if word == "" {
				word = r.text(o, field)
			}
		}
	}
	if word == "" {
		word = "normal"
	}
	if m.Priority = priority(word); m.Priority == "" {
		r.fail("priority", "low, normal, high or urgent")
	}
}

func (r *fieldReader) wanted(m *Message, places ...object) {
	for _, o := range places {
		if m.Wanted == nil {
			m.Wanted = get[*bool](r, o, "requires_response", "true or false")
		}
	}
}

func (r *fieldReader) content(m *Message, o object) {
	for _, field := range bodies {
		text := r.text(o, field)
		switch {
		case text == "":
		case m.Body == "":
			m.Body = text
		default:
			m.Details = append(m.Details, Detail{field, []string{text}})
		}
	}
	for _, field := range details {
		if lines := r.lines(o, field); len(lines) > 0 {
			m.Details = append(m.Details, Detail{field, lines})
		}
	}
	if c := o["context"]; !null(c) {
		if m.Context = bytes.TrimSpace(c); !isObject(m.Context) && m.Context[0] != '"' {
			r.fail("context", "an object")
		}
	}
	m.Attachments = get[[]json.RawMessage](r, o, "attachments", "a list")
	if strings.TrimSpace(m.Subject) == "" && strings.TrimSpace(m.Body) == "" && len(m.Details) == 0 {
		r.fail("message", "something with a subject or a body")
	}
}

// lines reads a text, or a list of them.
func (r *fieldReader) lines(o object, field string) []string {
	v := bytes.TrimSpace(o[field])
	switch {
	case null(v):
		return nil
	case v[0] == '"':
		return []string{r.text(o, field)}
	}
	return get[[]string](r, o, field, "a text or a list of texts")
}

// author completes the author and the time of a message from the name of the file.
func (r *fieldReader) author(m *Message, name string, root object) {
	n := ParseName(name)
	if m.From.ID == "" {
		m.From.ID = n.Agent
	}
	if m.From.ID == "" {
		r.fail("from", "there, or in the name of the file")
	}
	m.Time = n.Time
	if at, ok := parseTime(r.text(root, "timestamp")); ok {
		m.Time = at
	}
	if m.From.Path != "" && !strings.HasPrefix(m.From.Path, "/") {
		r.fail("from.repo_path", "an absolute path")
	}
}

// parseTime reads the time formats in use: those of both versions, and that of a file name.
func parseTime(text string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "20060102T150405Z07:00", "20060102T150405", "20060102T150405Z"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// Timestamp returns a time in the form of a message: UTC, to the second.
func Timestamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// String describes a message for a log.
func (m Message) String() string { return fmt.Sprintf("%s from %s", m.Type, m.From.ID) }
