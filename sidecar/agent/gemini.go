package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Gemini is Gemini CLI.
const Gemini Kind = "gemini"

func init() {
	register(Gemini, format{
		npm:       "@google/gemini-cli",
		packaged:  true,
		variables: []string{"GEMINI_CLI_HOME"},
		home: func(env map[string]string) string {
			return filepath.Join(cmp.Or(env["GEMINI_CLI_HOME"], env["HOME"]), ".gemini")
		},
		desk: func(a Agent, t *Transcript) string {
			if t != nil && t.Path != "" {
				return filepath.Join(filepath.Dir(filepath.Dir(t.Path)), deskName)
			}
			chats := a.chatsDir()
			if chats == "" {
				return ""
			}
			return filepath.Join(filepath.Dir(chats), deskName)
		},
		parser: func() parser { return &geminiChat{} },
		ask:    (*Follower).besides,
		watch: func(a Agent, bound string, _ time.Time) []spot {
			if bound == "" {
				return []spot{{cmp.Or(a.chatsDir(), a.Home), a.Home}}
			}
			return []spot{{filepath.Dir(bound), a.Home}}
		},
		pattern: func(a Agent, thread string) string {
			if thread != "*" {
				thread, _, _ = strings.Cut(thread, "-") // its first eight characters
			}
			dir := a.chatsDir()
			if dir == "" {
				return ""
			}
			return filepath.Join(quoteGlob(dir), "session-*-"+thread+".jsonl")
		},
		head:    chatHead,
		wrote:   chatWrote,
		begins:  true,
		witness: (*Machine).Rests,
	})
}

// geminiChat is the state that is kept between the records of a chat of Gemini CLI.
type geminiChat struct {
	said    string          // id of the last answer reported: it is written again with its calls, and with its tokens
	called  map[string]bool // its calls that were reported
	replays bool            // the program is writing old messages again
}

type geminiLine struct {
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	Type      string          `json:"type"`
	Model     string          `json:"model"`
	Content   json.RawMessage `json:"content"` // a text, or parts
	Shown     json.RawMessage `json:"displayContent"`
	Calls     []geminiCall    `json:"toolCalls"`
	Tokens    *struct {
		Input    int `json:"input"` // includes those from a cache
		Output   int `json:"output"`
		Cached   int `json:"cached"`
		Thoughts int `json:"thoughts"`
		Tool     int `json:"tool"`
	} `json:"tokens"`

	Session string `json:"sessionId"` // of the first line
	Project string `json:"projectHash"`
	Kind    string `json:"kind"`
	Began   string `json:"startTime"`

	Set *struct {
		Session    string          `json:"sessionId"`
		Messages   json.RawMessage `json:"messages"`
		Updated    string          `json:"lastUpdated"`
		Summary    json.RawMessage `json:"summary"`
		Scratchpad json.RawMessage `json:"memoryScratchpad"`
	} `json:"$set"`
	Rewind string `json:"$rewindTo"`
}

type geminiCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Timestamp string `json:"timestamp"`
}

// geminiCancelled is the note of Gemini CLI after a person has interrupted it.
const geminiCancelled = "Request cancelled."

// record reads one record of a chat of Gemini CLI. An answer of the model is written when it is complete, and again
// with its calls of tools when all of them have a result. Until then nothing shows that there are any.
//
// The end of a turn is not written down. The next prompt proves it, since prompts are queued while the agent works;
// Machine.Rests accepts another witness.
func (c *geminiChat) record(line []byte, r *Reader) []Event {
	var l geminiLine
	if !r.decode(line, &l) {
		return nil
	}
	at := timeOf(l.Timestamp)
	switch {
	case l.Set != nil:
		r.health.Known++
		if l.Set.Messages != nil {
			c.replays = false // the repetition ends with a list of all messages
		}
		return nil
	case l.Rewind != "":
		r.health.Known++
		return nil
	case l.Session != "" && l.Project != "":
		r.health.Known++
		r.health.Thread, r.health.Side = l.Session, l.side()
		return nil
	case l.Type == "user" || l.Type == "gemini" || l.Type == "info" || l.Type == "error" || l.Type == "warning":
		r.health.Known++
	default:
		r.unknown(l.Type)
		return nil
	}
	if r.health.Side {
		return nil
	}
	switch l.Type {
	case "user":
		return l.user(at, r, c)
	case "gemini":
		return l.answer(at, r, c)
	case "info":
		if text, _ := geminiText(l.Content); text == geminiCancelled {
			return []Event{{Kind: Interrupted, At: at}}
		}
	case "error":
		if text, _ := geminiText(l.Content); strings.HasPrefix(text, "[API Error: ") {
			return []Event{{Kind: Failed, At: at, Text: strings.TrimSuffix(strings.TrimPrefix(text, "[API Error: "), "]")}}
		}
	}
	return nil
}

// side reports whether the chat belongs to a sub-agent.
func (l geminiLine) side() bool { return l.Kind != "" && l.Kind != "main" }

// user reads what the model gets under the user's name: prompts, but also results of tools and the program's own
// messages.
func (l *geminiLine) user(at time.Time, r *Reader, chat *geminiChat) []Event {
	text, ok := geminiText(l.Content)
	switch {
	case !ok:
		r.health.Bad++
		return nil
	case strings.HasPrefix(text, "<session_context>"):
		chat.replays = true // the whole conversation may follow, as if it were said now
		return nil
	case chat.replays || text == "" || strings.HasPrefix(text, "<hook_context>"):
		return nil
	}
	if line, ok := strings.CutPrefix(text, "I ran the following shell command:\n```sh\n"); ok {
		line, _, _ = strings.Cut(line, "\n```")
		return []Event{{Kind: Commanded, At: at, Text: "!" + line}}
	}
	if shown, ok := geminiText(l.Shown); ok && shown != "" {
		text = shown // without the files that its @ references have read
	}
	return []Event{{Kind: Prompted, At: at, Turn: l.ID, Text: text, By: ByKeys}}
}

// answer reads what the model said and did. What the program itself writes under the model's name has no model
// field.
func (l *geminiLine) answer(at time.Time, r *Reader, chat *geminiChat) []Event {
	text, ok := geminiText(l.Content)
	if !ok && l.Content != nil {
		r.health.Bad++
	}
	if l.Model == "" {
		return nil
	}
	chat.replays = false
	var events []Event
	if l.ID != chat.said || l.ID == "" {
		chat.said, chat.called = l.ID, map[string]bool{}
		if text != "" {
			events = append(events, Event{Kind: Spoke, At: at, Text: text})
		}
	}
	for _, c := range l.Calls {
		if chat.called[c.ID] {
			continue
		}
		chat.called[c.ID] = true
		done := later(at, timeOf(c.Timestamp))
		events = append(events,
			Event{Kind: ToolBegan, At: at, Tool: Tool{ID: c.ID, Name: c.Name, Began: at}},
			Event{Kind: ToolEnded, At: done, Tool: Tool{ID: c.ID}, Denied: c.Status == "cancelled"},
		)
	}
	if u := l.Tokens; u != nil {
		events = append(events, Event{Kind: Spent, At: at, Call: l.ID, Tokens: message.Tokens{
			Fresh: max(0, u.Input-u.Cached) + u.Tool, Cached: u.Cached, Output: u.Output + u.Thoughts,
		}})
	}
	return events
}

// geminiText reads a content that is either a text or a list of parts. It joins the parts that are text without a
// separator.
func geminiText(content json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(content, &text) == nil {
		return text, true
	}
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		return "", false
	}
	var out strings.Builder
	for _, raw := range parts {
		var p struct {
			Text    string `json:"text"`
			Thought bool   `json:"thought"`
		}
		if json.Unmarshal(raw, &p.Text) != nil { // a part may be a plain string
			_ = json.Unmarshal(raw, &p) // a part that does not fit stays empty
		}
		if !p.Thought {
			out.WriteString(p.Text)
		}
	}
	return out.String(), true
}

// chatsDir returns the directory in which Gemini CLI keeps the chats of the agent's working directory, below a name
// that it has given to that directory. It returns "" if there is no such name.
func (a Agent) chatsDir() string {
	data, err := foreign.Read(filepath.Join(a.Home, "projects.json"), smallFile)
	if err != nil {
		return ""
	}
	var names struct {
		Projects map[string]string `json:"projects"`
	}
	name := ""
	if json.Unmarshal(data, &names) == nil {
		name = names.Projects[a.Dir]
	}
	if !plainName(name) {
		return ""
	}
	return filepath.Join(a.Home, "tmp", name, "chats")
}

// chatHead reads the first line of a chat of Gemini CLI. That line may be gone: another Gemini CLI that starts in
// the same directory removes chats in which nothing has been said yet, and the agent of such a chat continues it
// without a head. Then the name of the file gives the first eight characters of the conversation's id, and nothing
// tells when the chat began.
func chatHead(path string) (head, bool) {
	line, ok := firstLine(path)
	var l geminiLine
	if !ok || !NewReader(Gemini, 0).decode(line, &l) {
		return head{}, false
	}
	short := l.Session == "" || l.Project == ""
	if short {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		l = geminiLine{Session: name[strings.LastIndexByte(name, '-')+1:]}
	}
	return head{thread: l.Session, short: short, side: l.side(), began: timeOf(l.Began)}, l.Session != ""
}

// chatEnd is how many bytes at the end of a chat are read to tell who wrote there last.
const chatEnd = 64 << 10

// chatWrote returns when a chat of Gemini CLI was last written to by its own agent. When another Gemini CLI has
// started in the directory, it appends a note about the content to the previous chat, possibly as late as when
// something is said in its own. After such a note, the date of the record before it counts, not that of the file.
func chatWrote(path string, modified time.Time) time.Time {
	f, err := foreign.Open(path)
	if err != nil {
		return modified
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return modified
	}
	if _, _, err := seekRecord(f, info.Size()-chatEnd); err != nil {
		return modified
	}
	end, err := io.ReadAll(io.LimitReader(f, chatEnd))
	if err != nil {
		return modified
	}
	noted := false
	for _, line := range slices.Backward(bytes.Split(bytes.TrimSpace(end), []byte("\n"))) {
		var l geminiLine
		if json.Unmarshal(line, &l) != nil {
			return modified
		}
		said := timeOf(l.Timestamp)
		if l.Set != nil {
			said = timeOf(l.Set.Updated)
		}
		switch {
		case l.Set != nil && (l.Set.Summary != nil || l.Set.Scratchpad != nil):
			noted = true
		case !noted:
			return modified
		case !said.IsZero():
			return said
		}
	}
	return modified
}
