package door

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

// Message is a message to be handed over.
type Message struct {
	ID   string // appears byte for byte in the agent's record of the message
	Name string // the sender, for people; see plainName
	Text string // as Escape leaves it
}

// most is the longest frame that is written, in bytes. An inbox accepts 900 KB, and resets the connection at 1.2
// MB.
const most = 512 << 10

type authLine struct {
	Type  string `json:"type"`
	Token string `json:"token"`
}

type userLine struct {
	Type     string      `json:"type"`
	Version  int         `json:"msgV"`
	ID       string      `json:"msg_id"`
	Session  string      `json:"session_id,omitempty"`
	From     string      `json:"from"`
	Priority string      `json:"priority"`
	Message  userMessage `json:"message"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// frames returns the two lines that hand a message over: the token of the inbox, then the message to the
// conversation with the address for replies.
func frames(tag, token, session, address string, l Message) []byte {
	from := "uds:" + address
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// Neither line contains anything that cannot be encoded.
	_ = e.Encode(authLine{"auth", token})
	_ = e.Encode(userLine{
		Type: "user", Version: 1, ID: l.ID, Session: session, From: from, Priority: "next",
		Message: userMessage{"user", "<" + tag + ` from="` + from + `" from-name="` + plainName(l.Name) + "\">\n" + l.Text + "\n</" + tag + ">"},
	})
	return b.Bytes()
}

// Escape returns a text that neither begins nor ends the wrapper of that tag.
func Escape(tag, text string) string { return wrapper(tag).ReplaceAllString(text, `<\$1$2`) }

var wrappers sync.Map // of *regexp.Regexp, by tag

func wrapper(tag string) *regexp.Regexp {
	if known, ok := wrappers.Load(tag); ok {
		return known.(*regexp.Regexp)
	}
	re := regexp.MustCompile(`(?i)<(/?)(` + regexp.QuoteMeta(tag) + `)`)
	wrappers.Store(tag, re)
	return re
}

// longestName is how many bytes of a name are used.
const longestName = 64

// plainName returns a name that fits into the wrapper: letters, digits, ".", "_", "-" and blanks.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-', r == ' ':
			return r
		}
		return '-'
	}, name)
	name = strings.TrimSpace(name[:min(len(name), longestName)])
	if name == "" {
		return "intercom"
	}
	return name
}

// Status is what an agent reports about a message that it was handed. It reports nothing about a message that it
// takes at once.
type Status string

// The statuses.
const (
	Held      Status = "held"      // the agent asks its person
	Delivered Status = "delivered" // the person said yes
	Denied    Status = "denied"    // the person said no
	Expired   Status = "expired"   // the person said nothing
	Refused   Status = "refused"   // the agent's settings keep messages out
	Dropped   Status = "dropped"   // the message repeated the one before, or there were too many
)

// Word is what an agent sends to us: the status of a message, or a message of its own.
type Word struct {
	PID   int    // the sender, as reported by the kernel
	Start uint64 // start time of that process

	About  string // id of the message that the status is about
	Status Status
	Text   string // the text of the agent's own message; "" for a status
}

// parse reads a line from an agent, and the line's own id. ok is false for a line without content: an introduction,
// or something unknown.
func parse(tag string, line []byte) (w Word, id string, ok bool) {
	var l struct {
		Type    string      `json:"type"`
		Action  string      `json:"action"`
		Status  Status      `json:"status"`
		Detail  string      `json:"status_detail"`
		About   string      `json:"orig_msg_id"`
		ID      string      `json:"msg_id"`
		Message userMessage `json:"message"`
	}
	if json.Unmarshal(line, &l) != nil {
		return Word{}, "", false
	}
	switch {
	case l.Type == "control" && l.Action == "peer_message_status" && l.About != "":
		if l.Status == Expired && l.Detail == string(Refused) {
			l.Status = Refused
		}
		switch l.Status {
		case Held, Delivered, Denied, Expired, Refused, Dropped:
			return Word{About: l.About, Status: l.Status}, l.ID, true
		}
	case l.Type == "user" && strings.TrimSpace(l.Message.Content) != "":
		return Word{Text: unwrap(tag, l.Message.Content)}, l.ID, true
	}
	return Word{}, "", false
}

// unwrap returns the text of a message without its wrapper, if it has one.
func unwrap(tag, text string) string {
	inside, wrapped := strings.CutPrefix(text, "<"+tag+" ")
	_, inside, begun := strings.Cut(inside, ">\n")
	body, ended := strings.CutSuffix(strings.TrimRight(inside, "\n"), "\n</"+tag+">")
	if !wrapped || !begun || !ended {
		return text
	}
	return body
}
