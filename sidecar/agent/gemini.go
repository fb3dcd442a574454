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

// geminiChat is what of a chat of Gemini CLI has to be remembered between its records.
type geminiChat struct {
	said    string          // id of the answer that was told last: it is written again with its tools, and with its tokens
	called  map[string]bool // the calls of it that were told
	replays bool            // the program writes down anew what was said before
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
		Input    int `json:"input"` // those from a cache among them
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

// geminiCancelled is what Gemini CLI notes when a person has interrupted it.
const geminiCancelled = "Request cancelled."

// record reads one record of a chat of Gemini CLI. An answer of the model is written
// when it is complete, and once more with the calls of tools that were in it when all of
// them have a result: until then nothing tells that there are any.
//
// The end of a turn is not written down. What proves it is the next prompt, since prompts
// are queued while it works; Machine.Rests takes another witness's word.
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
			c.replays = false // it ends with a list of all
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

// side reports whether the chat is a sub-agent's.
func (l geminiLine) side() bool { return l.Kind != "" && l.Kind != "main" }

// user reads what goes to the model under the user's name: prompts, but also results of
// tools, and what the program itself tells it.
func (l *geminiLine) user(at time.Time, r *Reader, chat *geminiChat) []Event {
	text, ok := geminiText(l.Content)
	switch {
	case !ok:
		r.health.Bad++
		return nil
	case strings.HasPrefix(text, "<session_context>"):
		chat.replays = true // all of the conversation may follow, as if it were said now
		return nil
	case chat.replays || text == "" || strings.HasPrefix(text, "<hook_context>"):
		return nil
	}
	if line, ok := strings.CutPrefix(text, "I ran the following shell command:\n```sh\n"); ok {
		line, _, _ = strings.Cut(line, "\n```")
		return []Event{{Kind: Commanded, At: at, Text: "!" + line}}
	}
	if shown, ok := geminiText(l.Shown); ok && shown != "" {
		text = shown // without the files that its @ have read
	}
	return []Event{{Kind: Prompted, At: at, Turn: l.ID, Text: text, By: ByKeys}}
}

// answer reads what the model said and did. What the program itself writes under its name
// names no model.
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

// geminiText reads a content that is either a text or a list of parts, of which those that
// are text follow each other without anything between.
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
		if json.Unmarshal(raw, &p.Text) != nil { // a part may be a mere text
			_ = json.Unmarshal(raw, &p) // what does not fit stays empty
		}
		if !p.Thought {
			out.WriteString(p.Text)
		}
	}
	return out.String(), true
}

// chatsDir is where Gemini CLI keeps the chats of a directory: below a name that it has
// given to that directory. It is "" if it has given none.
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

// chatHead reads the first line of a chat of Gemini CLI. It may be gone: another one that
// starts in the same directory removes chats in which nothing has been said yet, and the
// agent that lives in such a chat writes on without a head. Then the name of the file tells
// the first eight characters of the conversation's, and nothing tells when it began.
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

// chatEnd is how much of the end of a chat is read to tell who wrote there last, in bytes.
const chatEnd = 64 << 10

// chatWrote is when a chat of Gemini CLI was written to by who lives in it. One that starts notes
// at the end of the chat before what that was about, as late as when something was said in its own:
// after such a note the date of what stands before it counts, not that of the file.
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
