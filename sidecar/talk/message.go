package talk

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// Types of message. The document has only text.
const (
	TypeText   = "text"
	TypeJSON   = "json"
	TypeBinary = "binary"
)

// Message is a line of an inbox, in the document's form. Type and thread are there if the sender set them.
// Receipt is only in the file, not in what Check prints.
type Message struct {
	Timestamp string `json:"timestamp"`
	Sender    int    `json:"sender_port"` // as the sender claims; 0 if it cannot say
	Text      string `json:"message"`     // base64 if binary
	Type      string `json:"type,omitempty"`
	Thread    string `json:"thread,omitempty"`
	Receipt   string `json:"receipt,omitempty"` // the id by which the sender is told that it was read
}

// Raw returns the bytes that were sent.
func (m Message) Raw() []byte {
	if m.Type == TypeBinary {
		if raw, err := base64.StdEncoding.DecodeString(m.Text); err == nil {
			return raw
		}
	}
	return []byte(m.Text)
}

// appendLine appends the message as a line.
func (m Message) appendLine(to []byte) []byte {
	b := bytes.NewBuffer(to)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(m) // strings and numbers
	return b.Bytes()
}

// parseLine reads a line of an inbox. A line of another form, which somebody else wrote, becomes a message as
// it stands: the reader gets to see all that is in the file.
func parseLine(line []byte) Message {
	var m Message
	if err := json.Unmarshal(line, &m); err != nil {
		return Message{Text: string(bytes.TrimRight(line, "\r\n"))}
	}
	return m
}

// CheckBody returns an error if bytes cannot be sent as that type.
func CheckBody(kind string, body []byte) error {
	size := len(body)
	switch {
	case size > MaxMessage:
		return Errorf(MessageTooLarge, 0, "Message of %d bytes exceeds the limit of %d bytes", size, MaxMessage).With("size", size).With("limit", MaxMessage)
	case kind == "" || kind == TypeText:
		if !utf8.Valid(body) {
			return Errorf(InvalidMessage, 0, "Message is not valid UTF-8")
		}
	case kind == TypeJSON:
		if !utf8.Valid(body) || !json.Valid(body) {
			return Errorf(InvalidMessage, 0, "Message is not valid JSON")
		}
	case kind != TypeBinary:
		return Errorf(InvalidMessage, 0, "Message type %q is none of text, json, binary", kind)
	}
	return nil
}
