package persona

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// claudeVersion is the version of Claude Code that the stand-in imitates, with the screens and transcripts of that
// version.
var claudeVersion = profile.Claude().Verified

// claude is Claude Code.
type claude struct {
	*coder
	home, dir string // ~/.claude, and the directory in which it was started
	session   string // id of the conversation
	file      *os.File
	parent    string // id of the previous record
	last      string // the last prompt
	prompt    string // id of the last prompt
	said      string // the state in its status file
	waitsFor  string
	since     time.Time
	started   time.Time
	inbox     *inbox // nil: none
}

// Its screen.

func (l *claude) header(width int) []string {
	return []string{
		"\x1b[38;5;174m ▐\x1b[48;5;16m▛███▛█\x1b[39m\x1b[49m   \x1b[1mClaude Code\x1b[0m \x1b[38;5;246mv" + claudeVersion,
		"\x1b[38;5;174m▝▜\x1b[48;5;16m█████\x1b[49m█▀\x1b[39m  \x1b[38;5;246mOpus 5.5 · API Usage Billing",
		"\x1b[38;5;174m ▝▝   ▝▝ \x1b[39m  \x1b[38;5;246m" + cut(l.dir, width-11),
	}
}

func (l *claude) title(string) string { return "✳ Claude Code" }

// cursorOn returns cursorOff: Claude Code never shows the terminal's cursor, and paints its own.
func (l *claude) cursorOn() string { return cursorOff }

func (l *claude) paint(p paragraph, width int) []string {
	switch p.kind {
	case ofPerson:
		return lines(p.text, width, "\x1b[48;5;237m❯ ", func(row string) string { return "\x1b[38;5;231m" + row })
	case ofAgent:
		return lines(p.text, width, "\x1b[38;5;231m●\x1b[39m ", nil)
	case ofTool:
		return []string{"\x1b[38;5;246m●\x1b[39m The user asked for it.", "\x1b[38;5;246m  ⎿  $ " + cut(p.text, width-8)}
	case ofError:
		return lines("API Error: "+p.text, width, "\x1b[38;5;220m● ", nil)
	case ofInterrupted:
		return []string{"\x1b[38;5;246m  ⎿ \u00a0Interrupted · What should Claude do instead?"}
	}
	return []string{"\x1b[38;5;246m✻\x1b[39m \x1b[38;5;246mWorked for 1s · done 5:54 PM"}
}

// claudeWheel has the frames of the spinner.
var claudeWheel = []rune("·✢✳✶✻✽")

func (l *claude) below(shows string, width, height int) block {
	switch shows {
	case showsDialog:
		return l.permission(width)
	case showsQuestion:
		return l.asksWhich(width)
	case showsBlank:
		return block{rows: []string{""}, hidden: true}
	}
	rule, glyph, foot := "─", "\x1b[39m❯\u00a0", "⏸ manual mode on · ? for shortcuts · ← for agents"
	hint := "◐ medium · /effort"
	var rows []string
	if shows == showsWorking {
		glyph = "\x1b[38;5;246m❯\u00a0\x1b[39m"
		foot = "⏸ manual mode on · esc to interrupt · ← for agents"
		rows = append(rows, fmt.Sprintf("\x1b[38;5;174m%s\x1b[39m \x1b[38;5;174mMeandering…\x1b[38;5;246m (%ds · ↓ 1 tokens)",
			l.wheel(claudeWheel), int(time.Since(l.began).Seconds())))
	}
	if shows == showsOdd {
		rule, glyph = "═", "»»"
	}
	text, end := l.composed(width - 4)
	list := l.list(strings.Join(text, "\n"))
	text = text[max(len(text)-max(height/2-5, 3), 0):] // a longer text is scrolled
	switch {
	case len(l.standing()) == 0 && l.ghost != "":
		first := []rune(l.ghost)[:1]
		text[0] = "\x1b[7m" + string(first) + "\x1b[0;2m" + strings.TrimPrefix(l.ghost, string(first))
	default:
		text[len(text)-1] += "\x1b[7m \x1b[0m"
	}
	if len(l.standing()) > 0 {
		if foot = "⏸ manual mode on"; l.shortened() {
			foot = "paste again to expand"
		}
	}
	if len(text) > 1 {
		hint = "ctrl+g to edit in Vim"
	}
	bar := "\x1b[38;5;244m" + strings.Repeat(rule, width)
	if list != nil {
		rows = append(rows, list...)
	} else {
		rows = append(rows, rightward("", "\x1b[38;5;246m"+hint, width-2))
	}
	rows = append(rows, bar)
	first := len(rows)
	for i, row := range text {
		if i > 0 {
			glyph = "  "
		}
		rows = append(rows, glyph+row)
	}
	rows = append(rows, bar, "  \x1b[38;5;246m"+cut(foot, width-2))
	return block{rows: rows, x: 2 + end, y: first + len(text) - 1}
}

// permission returns the dialog before a command is run.
func (l *claude) permission(width int) block {
	command, choice := "touch proof", 0
	if l.question != nil {
		command, choice = l.question.text, l.question.choice
	}
	dashes := "\x1b[38;5;239m" + strings.Repeat("╌", width)
	rows := []string{
		"\x1b[38;5;153m" + strings.Repeat("─", width),
		" \x1b[1m\x1b[38;5;153mBash command",
		" \x1b[38;5;246mThe user asked for it.",
		dashes, " " + cut(command, width-2), dashes,
		" Do you want to proceed?",
	}
	return choosing(rows, " ", []string{"Yes", "No"}, choice, 1, "", " \x1b[38;5;246mEsc to cancel · Tab to amend")
}

// asksWhich returns the dialog with a question of the model.
func (l *claude) asksWhich(width int) block {
	text, choice := "Which colour?", 0
	if l.question != nil {
		text, choice = l.question.text, l.question.choice
	}
	rows := []string{
		"\x1b[38;5;246m" + strings.Repeat("─", width),
		"\x1b[38;5;16m\x1b[48;5;153m ☐ Choice ", "",
		"\x1b[1m\x1b[38;5;231m" + cut(text, width), "",
	}
	return choosing(rows, "", []string{"red", "blue"}, choice, 0, "     \x1b[38;5;246mOne of the answers.", "\x1b[38;5;246mEnter to select · ↑/↓ to navigate · Esc to cancel")
}

// choosing adds the answers to a dialog of Claude Code, and puts the cursor on the mark.
func choosing(rows []string, indent string, answers []string, choice, x int, about, foot string) block {
	b := block{rows: rows, x: x}
	for i, answer := range answers {
		mark := "  "
		if i == choice {
			mark, b.y = "\x1b[38;5;153m❯\x1b[39m ", len(b.rows)
		}
		b.rows = append(b.rows, fmt.Sprintf("%s%s\x1b[38;5;246m%d.\x1b[39m %s", indent, mark, i+1, answer))
		if about != "" {
			b.rows = append(b.rows, about)
		}
	}
	b.rows = append(b.rows, "", foot)
	b.hidden = true
	return b
}

// What it takes.

func (l *claude) shortens(paste string, n int) string {
	switch breaks := strings.Count(paste, "\n"); {
	case breaks == 0 && len([]rune(paste)) > 800:
		return fmt.Sprintf("[Pasted text #%d]", n)
	case breaks >= 3 || len([]rune(paste)) > 800:
		return fmt.Sprintf("[Pasted text #%d +%d lines]", n, breaks)
	}
	return ""
}

func (l *claude) takes(pieces []piece) string {
	var text strings.Builder
	for _, p := range pieces {
		text.WriteString(strings.ReplaceAll(p.text, "\t", "    "))
	}
	return l.chosen(text.String())
}

func (l *claude) fresh(text string) bool { return text == "/clear" }
func (l *claude) steers() bool           { return false }

// What it writes down.

func (l *claude) opened() {
	l.home = filepath.Join(os.Getenv("HOME"), ".claude")
	l.dir, _ = os.Getwd()
	l.started = wall()
	l.converse()
}

func (l *claude) closed() {
	if l.file != nil {
		l.file.Close()
	}
	os.Remove(l.statusFile())
	if l.inbox != nil {
		os.RemoveAll(filepath.Dir(l.inbox.path))
	}
}

// converse begins a conversation in a new file.
func (l *claude) converse() {
	l.session, l.parent = newID(), ""
	session := l.session
	l.notes.later(func() {
		if l.file != nil {
			l.file.Close()
			l.file = nil
		}
		if l.notes.mode == notesOff {
			return
		}
		path := filepath.Join(l.home, "projects", nameOfDir(l.dir), session+".jsonl")
		var err error
		if l.file, err = appendTo(path); err != nil {
			l.log.add(Record{Event: EventChange, Text: err.Error()})
		}
	})
	l.modes()
	if l.notes.mode == notesGarbage {
		for range 4 {
			l.modes()
		}
	}
}

// nameOfDir returns Claude Code's name for the directory of a project's conversations.
func nameOfDir(dir string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, dir)
}

// write adds a record to the conversation's file.
func (l *claude) write(line string) {
	l.notes.later(func() {
		if l.file == nil || l.notes.mode == notesOff {
			return
		}
		if l.notes.mode == notesGarbage {
			line = strings.ReplaceAll(line, `"type":"`, `"sort":"v9-`)
		}
		_, _ = l.file.WriteString(line + "\n")
	})
}

func (l *claude) modes() {
	l.write(record(`{"type":"mode","mode":"normal","sessionId":%s}`, l.session))
	l.write(record(`{"type":"permission-mode","permissionMode":"default","sessionId":%s}`, l.session))
}

// link returns the id of the previous record, and a new one for this record.
func (l *claude) link() (parent any, own string) {
	if l.parent != "" {
		parent = l.parent
	}
	l.parent = newID()
	return parent, l.parent
}

// tail returns the end of each record of a conversation.
func (l *claude) tail() string {
	return record(`"userType":"external","entrypoint":"cli","cwd":%s,"sessionId":%s,"version":%s,"gitBranch":"HEAD"}`, l.dir, l.session, claudeVersion)
}

func (l *claude) prompted(text string, pieces []piece, how string) {
	source, origin := how, "human"
	if how == itself {
		source, origin = "system", "task-notification"
		text = "<task-notification>\n<summary>a task has finished</summary>\n</task-notification>"
	} else {
		l.last = text
		text = l.content(pieces)
	}
	if how == queued {
		l.write(record(`{"type":"queue-operation","operation":"dequeue","timestamp":%s,"sessionId":%s}`, stamp(wall()), l.session))
	}
	parent, own := l.link()
	l.prompt = newID()
	if command := l.commanded(l.last); command != "" && how == typed {
		l.write(record(`{"parentUuid":%s,"isSidechain":false,"promptId":%s,"type":"user","message":{"role":"user","content":%s},"uuid":%s,"timestamp":%s,`+
			`"origin":{"kind":%s},"turnOrigin":%s,`, parent, l.prompt, command, own, stamp(wall()), origin, origin) + l.tail())
		return
	}
	l.write(record(`{"parentUuid":%s,"isSidechain":false,"promptId":%s,"type":"user","message":{"role":"user","content":%s},"uuid":%s,"timestamp":%s,`+
		`"permissionMode":"default","origin":{"kind":%s},"promptSource":%s,"turnOrigin":%s,`, parent, l.prompt, text, own, stamp(wall()), origin, source, origin) + l.tail())
	parent, own = l.link()
	l.write(record(`{"parentUuid":%s,"isSidechain":false,"attachment":{"type":"session_context","context":{}},"type":"attachment","uuid":%s,"timestamp":%s,`,
		parent, own, stamp(wall())) + l.tail())
}

// defused escapes the marks of a paste in a text that contains them.
var defused = strings.NewReplacer("<pasted_content", `<\pasted_content`, "</pasted_content", `<\/pasted_content`)

// content returns a prompt as the model gets it: long pastes are enclosed in marks.
func (l *claude) content(pieces []piece) string {
	var text strings.Builder
	for _, p := range pieces {
		words := defused.Replace(strings.ReplaceAll(p.text, "\t", "    "))
		if p.shown == "" {
			text.WriteString(words)
			continue
		}
		mark := newID()[:4]
		fmt.Fprintf(&text, "\n\n<pasted_content id=%q>\n%s\n</pasted_content id=%q>\n", mark, words, mark)
	}
	if len(pieces) == 1 && pieces[0].shown == "" {
		return strings.TrimSpace(text.String())
	}
	return text.String()
}

func (l *claude) queued(text string) {
	l.write(record(`{"type":"queue-operation","operation":"enqueue","timestamp":%s,"sessionId":%s,"content":%s}`, stamp(wall()), l.session, text))
}

// block writes one block of the model's output.
func (l *claude) block(side bool, block, why string) {
	parent, own := l.link()
	l.write(record(`{"parentUuid":%s,"isSidechain":%s,"message":{"content":[`, parent, side) + block +
		record(`],"id":%s,"model":"claude-opus-5-5","role":"assistant","stop_reason":%s,"stop_sequence":null,"type":"message","usage":{"input_tokens":10,"output_tokens":20}},`+
			`"type":"assistant","uuid":%s,"timestamp":%s,`, "msg_"+newID(), why, own, stamp(wall())) + l.tail())
}

func (l *claude) spoke(text string) {
	l.block(false, record(`{"text":%s,"type":"text"}`, text), "end_turn")
}

func (l *claude) called(t call) {
	l.block(false, record(`{"id":%s,"input":{"command":%s},"name":%s,"type":"tool_use"}`, "toolu_"+t.id, t.input, t.name), "tool_use")
}

func (l *claude) answered(t call, denied bool) {
	parent, own := l.link()
	kind := ""
	if denied {
		kind = `"toolDenialKind":"user-rejected",`
	}
	l.write(record(`{"parentUuid":%s,"isSidechain":false,"promptId":%s,"type":"user","message":{"role":"user","content":[{"tool_use_id":%s,"type":"tool_result","content":"(no output)","is_error":%s}]},`+
		`"uuid":%s,"timestamp":%s,`, parent, l.prompt, "toolu_"+t.id, denied, own, stamp(wall())) + kind + l.tail())
}

func (l *claude) aside(text string) {
	l.block(true, record(`{"text":%s,"type":"text"}`, text), "end_turn")
}

func (l *claude) ended(string) {
	parent, own := l.link()
	l.write(record(`{"parentUuid":%s,"isSidechain":false,"type":"system","subtype":"turn_duration","durationMs":259,"messageCount":13,"timestamp":%s,"uuid":%s,"isMeta":false,`,
		parent, stamp(wall()), own) + l.tail())
	l.write(record(`{"type":"last-prompt","lastPrompt":%s,"leafUuid":%s,"sessionId":%s}`, l.last, own, l.session))
	l.modes()
}

func (l *claude) interrupted(partial string, atTool bool) {
	if partial != "" {
		l.spoke(partial)
	}
	parent, own := l.link()
	text, of := "[Request interrupted by user for tool use]", ""
	if !atTool {
		text, of = "[Request interrupted by user]", record(`"interruptedMessageId":%s,`, "msg_"+newID())
	}
	l.write(record(`{"parentUuid":%s,"isSidechain":false,"promptId":%s,"type":"user","message":{"role":"user","content":[{"type":"text","text":%s}]},"uuid":%s,"timestamp":%s,`,
		parent, l.prompt, text, own, stamp(wall())) + of + l.tail())
}

func (l *claude) failed(text string) {
	parent, own := l.link()
	l.write(record(`{"parentUuid":%s,"isSidechain":false,"type":"assistant","uuid":%s,"timestamp":%s,"message":{"id":%s,"model":"<synthetic>","role":"assistant","stop_reason":"stop_sequence",`+
		`"type":"message","content":[{"type":"text","text":%s}]},"error":"server_error","isApiErrorMessage":true,"apiErrorStatus":529,`, parent, own, stamp(wall()), newID(), "API Error: "+text) + l.tail())
}

func (l *claude) another() {
	l.converse()
	for _, text := range []string{
		"<local-command-caveat>The command below was run directly in Claude Code, not sent to you as a request.</local-command-caveat>",
		"<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n            <command-args></command-args>",
	} {
		parent, own := l.link()
		l.write(record(`{"parentUuid":%s,"isSidechain":false,"type":"user","message":{"role":"user","content":%s},"isMeta":%s,"uuid":%s,"timestamp":%s,`,
			parent, text, strings.Contains(text, "caveat"), own, stamp(wall())) + l.tail())
	}
}

func (l *claude) statusFile() string {
	return filepath.Join(l.home, "sessions", fmt.Sprint(os.Getpid())+".json")
}

// state writes the status file. If state is "", it writes the last state again.
func (l *claude) state(state, waitsFor string) {
	if state != "" && (state != l.said || waitsFor != l.waitsFor) {
		l.said, l.waitsFor, l.since = state, waitsFor, wall()
	}
	says, now, session, since := l.said, l.waitsFor, l.session, l.since
	l.notes.later(func() {
		forced, of, _ := strings.Cut(l.notes.status, " ")
		switch forced {
		case "none":
			os.Remove(l.statusFile())
			return
		case "auto":
		default:
			says, now = forced, of
		}
		end := "}"
		if says == "waiting" {
			end = record(`,"waitingFor":%s}`, now)
		}
		text := record(`{"pid":%s,"sessionId":%s,"cwd":%s,"startedAt":%s,"procStart":%s,"version":%s,"peerProtocol":1,"kind":"interactive","entrypoint":"cli",`+
			`"pidDomain":"linux","tmux":%s,"name":"work-87","nameSource":"derived","status":%s,"updatedAt":%s,"statusUpdatedAt":%s`,
			os.Getpid(), session, l.dir, l.started.UnixMilli(), startTicks(), claudeVersion, "base:@0."+os.Getenv("TMUX_PANE"),
			says, wall().UnixMilli(), since.UnixMilli()) + l.inbox.place() + end
		path := l.statusFile()
		if err := replace(path, text); err != nil {
			l.log.add(Record{Event: EventChange, Text: err.Error()})
		}
	})
}

// replace writes a whole file atomically.
func replace(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := own.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
