package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The types of messages that belong to no handshake.
const (
	TypeMessage   = "message"
	TypeBroadcast = "broadcast"
)

// Types has all types of messages, in the lesson's order.
var Types = []string{TypeMessage, TypeBroadcast, handshake.TypeShutdownRequest, handshake.TypeShutdownResponse, handshake.TypePlan}

// ParseType returns the type as it stands in a message. It accepts that word and those of the lesson's
// diagrams. For any other word the error is a *DocumentError.
func ParseType(word string) (string, error) {
	kind := handshake.Canonical(word)
	if !slices.Contains(Types, kind) {
		return "", &DocumentError{fmt.Sprintf("Error: Invalid type '%s'", word), "it is one of " + strings.Join(Types, ", ")}
	}
	return kind, nil
}

// Message is one line of an inbox. The additional fields of a handshake's message are at the top level of the
// line.
type Message struct {
	Type    string
	From    string
	Content string
	At      time.Time

	RequestID string  // "" in messages without one
	Approve   *bool   // in an answer
	Feedback  *string // in the answer to a plan
	Plan      *string // in a plan

	// Line is the object as it stands in the inbox, with all its other fields.
	Line json.RawMessage
}

// encode returns the line of m as Python's json.dumps writes it. The lesson's own program would have written
// the same bytes.
func (m Message) encode() ([]byte, error) {
	kind, err := ParseType(m.Type)
	if err != nil {
		return nil, err
	}
	if len(m.Content) > message.MaxBody {
		return nil, fmt.Errorf("content of %d bytes: the limit is %d", len(m.Content), message.MaxBody)
	}
	var b bytes.Buffer
	put := func(key, value string) {
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(key) + ": " + value)
	}
	put("type", quote(kind))
	put("from", quote(m.From))
	put("content", quote(m.Content))
	put("timestamp", seconds(m.At))
	if m.RequestID != "" {
		put("request_id", quote(m.RequestID))
	}
	if m.Approve != nil {
		put("approve", strconv.FormatBool(*m.Approve))
	}
	if m.Feedback != nil {
		put("feedback", quote(*m.Feedback))
	}
	if m.Plan != nil {
		put("plan", quote(*m.Plan))
	}
	return []byte("{" + b.String() + "}\n"), nil
}

// Same reports whether a message in an inbox is m as Send would write it.
func (m Message) Same(there Message) bool {
	line, err := m.encode()
	return err == nil && bytes.Equal(bytes.TrimSpace(line), there.Line)
}

// Text returns m as it will stand in an inbox.
func (m Message) Text() (string, error) {
	line, err := m.encode()
	return string(bytes.TrimSpace(line)), err
}

// seconds returns a time as seconds since 1970, in the form in which Python writes a float.
func seconds(t time.Time) string {
	text := strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// quote returns a text as Python's json.dumps quotes it, in visible ASCII only. So it has no character that any
// reader takes for the end of a line.
func quote(text string) string {
	b := []byte{'"'}
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r <= '~':
			b = append(b, byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\b':
			b = append(b, `\b`...)
		case r == '\f':
			b = append(b, `\f`...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return string(append(b, '"'))
}

// maxLine is the most bytes that a line may have. A plan of message.MaxBody bytes stands in it twice, and each
// byte of a text may need six.
const maxLine = 12*message.MaxBody + 1<<16

// parse reads one line. Its writer may have put more into it, or less; it only has to be an object. A field of
// the wrong kind counts as missing.
func parse(line []byte) (Message, error) {
	var all map[string]json.RawMessage
	if len(line) > maxLine {
		return Message{}, fmt.Errorf("a line of %d bytes: the limit is %d", len(line), maxLine)
	}
	if !utf8.Valid(line) {
		return Message{}, errors.New("not valid UTF-8")
	}
	if err := json.Unmarshal(line, &all); err != nil {
		return Message{}, err
	}
	if all == nil {
		return Message{}, errors.New("null is no object")
	}
	m := Message{Line: bytes.TrimSpace(line)}
	var at float64
	field(all, "type", &m.Type)
	field(all, "from", &m.From)
	field(all, "content", &m.Content)
	field(all, "timestamp", &at)
	field(all, "request_id", &m.RequestID)
	field(all, "approve", &m.Approve)
	field(all, "feedback", &m.Feedback)
	field(all, "plan", &m.Plan)
	for _, text := range []*string{&m.Content, m.Feedback, m.Plan} {
		if text != nil && len(*text) > message.MaxBody {
			return Message{}, fmt.Errorf("a text of %d bytes: the limit is %d", len(*text), message.MaxBody)
		}
	}
	m.Type = handshake.Canonical(m.Type)
	if most := float64(1 << 40); at > 0 && at < most {
		m.At = time.UnixMicro(int64(at * 1e6))
	}
	return m, nil
}

// field reads a field if it is there and of the right kind.
func field[T any](all map[string]json.RawMessage, key string, into *T) {
	var value T
	if text, is := all[key]; is && json.Unmarshal(text, &value) == nil {
		*into = value
	}
}
