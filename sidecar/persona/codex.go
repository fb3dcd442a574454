package persona

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// codexVersion is the version of Codex that the stand-in imitates.
var codexVersion = profile.Codex().Verified

// codex is Codex.
type codex struct {
	*coder
	home, dir string
	rollout   *rollout   // of the conversation; nil before the first prompt, which makes it
	all       []*rollout // all rollouts so far, which stay open
	task      string     // id of the turn
	since     time.Time  // when it began
}

// rollout is one transcript.
type rollout struct {
	thread  string
	path    string
	file    *os.File
	behind  io.WriteCloser // set instead of file if a background process has the transcript open
	ordinal int
}

// Its screen.

func (l *codex) header(width int) []string {
	return []string{
		"  \x1b[38;5;75m>_ \x1b[1m\x1b[39mOpenAI Codex\x1b[0;2m (v" + codexVersion + ")",
		"     \x1b[2m" + cut(l.dir, width-6),
	}
}

// codexWheel has the frames of the spinner in the title.
var codexWheel = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

func (l *codex) title(shows string) string {
	name := filepath.Base(l.dir)
	switch shows {
	case showsWorking:
		return l.wheel(codexWheel) + " " + name
	case showsDialog, showsQuestion:
		return "[ " + l.wheel([]rune("!!!.....")) + " ] Action Required | " + name
	}
	return name
}

func (l *codex) cursorOn() string { return cursorOn }

func (l *codex) paint(p paragraph, width int) []string {
	switch p.kind {
	case ofPerson:
		bar := "\x1b[48;5;238m" + clearLine
		text := lines(p.text, width, "› ", nil)
		for i, row := range text {
			if rest, ok := strings.CutPrefix(row, "› "); ok && i == 0 {
				row = "\x1b[1;2m› \x1b[0m\x1b[38;5;255m\x1b[48;5;238m" + rest
			}
			text[i] = "\x1b[38;5;255m\x1b[48;5;238m" + row
		}
		return append(append([]string{bar}, text...), bar)
	case ofAgent:
		return lines(p.text, width, "\x1b[2m• \x1b[0m", nil)
	case ofTool:
		return []string{"\x1b[1m•\x1b[0m \x1b[1mRan\x1b[0m " + cut(p.text, width-8), "\x1b[2m  └ (no output)"}
	case ofError:
		return lines("unexpected status "+p.text, width, "\x1b[38;5;1m■ ", nil)
	case ofInterrupted:
		return []string{"■ Conversation interrupted - use /feedback if something went wrong"}
	}
	return []string{"\x1b[2m  Worked for <1s • 17:54"}
}

func (l *codex) below(shows string, width, height int) block {
	switch shows {
	case showsDialog, showsQuestion:
		return l.dialog(shows, width)
	case showsBlank:
		return block{rows: []string{""}, hidden: true}
	}
	rows := []string{"", ""}
	if shows == showsWorking {
		rows = []string{fmt.Sprintf("\x1b[2m◦\x1b[0m \x1b[2mWorking\x1b[0m \x1b[2m(%ds • \x1b[0;1mesc\x1b[0;2m to interrupt)", int(time.Since(l.began).Seconds())), "", ""}
	}
	glyph := "\x1b[1m›\x1b[0m "
	if shows == showsOdd {
		glyph = "\x1b[1m»\x1b[0m "
	}
	warning := "⚠ \x1b[38;5;179m1 warning\x1b[39m · \x1b[1mf2\x1b[0m to view"
	hints := "  \x1b[1m←\x1b[0m for agents · \x1b[1m?\x1b[0m for shortcuts"
	text, end := l.composed(width - 4)
	text = text[max(len(text)-max(height/2, 3), 0):] // a longer text is scrolled
	if len(l.standing()) == 0 {
		text[0] = "\x1b[2mAsk Codex to do anything"
	} else {
		if hints = ""; shows == showsWorking {
			hints, warning = "  \x1b[1mtab\x1b[0m to queue message", ""
		}
		if l.shortened() {
			text[0] = "\x1b[38;5;6m" + text[0]
		}
	}
	first := len(rows)
	for i, row := range text {
		if i > 0 {
			glyph = "  "
		}
		rows = append(rows, glyph+row)
	}
	rows = append(
		rows, "", "  \x1b[38;5;223mGPT-6.1-Sol default\x1b[39m · \x1b[38;5;151m"+cut(l.dir, width-26), rightward(hints, warning, width-1),
	)
	return block{rows: rows, x: 2 + end, y: first + len(text) - 1}
}

// dialog returns the dialog before a command is run, or that of a question of the model.
func (l *codex) dialog(shows string, width int) block {
	text, choice := "touch proof", 0
	if l.question != nil {
		text, choice = l.question.text, l.question.choice
	}
	rows := []string{
		"", "  \x1b[1mWould you like to run the following command?", "", "  Environment: \x1b[1mlocal", "",
		"  Reason: \x1b[3mThe user asked for it.", "", "  $ " + cut(text, width-5), "", "",
	}
	answers, foot := []string{"Yes, proceed (y)", "No, and tell Codex what to do differently (esc)"},
		"  \x1b[2mPress \x1b[0;1menter\x1b[0;2m to confirm or \x1b[0;1mesc\x1b[0;2m to cancel"
	if shows == showsQuestion {
		rows = []string{"", "  \x1b[2mQuestion 1/1 (1 unanswered)", "  \x1b[38;5;75m" + cut(text, width-3), ""}
		answers, foot = []string{"red", "blue"}, "  \x1b[1mtab\x1b[0m to add notes\x1b[2m | \x1b[0;1menter\x1b[0m to submit answer\x1b[2m | \x1b[0;1mesc\x1b[0m to interrupt"
	}
	for i, answer := range answers {
		row := fmt.Sprintf("  %d. %s", i+1, answer)
		if i == choice {
			row = fmt.Sprintf("\x1b[1;7m› %d. %s", i+1, answer)
		}
		rows = append(rows, row)
	}
	return block{rows: append(rows, "", foot), x: width, hidden: true}
}

// What it takes.

func (l *codex) shortens(paste string, _ int) string {
	if n := len([]rune(paste)); n > 1000 {
		return fmt.Sprintf("[Pasted Content %d chars]", n)
	}
	return ""
}

func (l *codex) takes(pieces []piece) string {
	var text strings.Builder
	for _, p := range pieces {
		text.WriteString(p.text)
	}
	return text.String()
}

func (l *codex) fresh(text string) bool { return text == "/new" }
func (l *codex) steers() bool           { return true }

// What it writes down.

func (l *codex) opened() {
	l.home = filepath.Join(os.Getenv("HOME"), ".codex")
	l.dir, _ = os.Getwd()
	if err := os.MkdirAll(filepath.Join(l.home, "sessions"), 0o700); err != nil {
		l.log.add(Record{Event: EventChange, Text: err.Error()})
	}
}

func (l *codex) closed() {
	for _, r := range l.all {
		if r.behind != nil {
			r.behind.Close()
			continue
		}
		r.file.Close()
	}
}

// behindScript is the script of the background process: it writes the records that it reads to the transcript, and runs
// the other lines as commands of the conversation.
const behindScript = `exec 3>>"$1"
while IFS= read -r line; do case $line in
"{"*) printf '%s\n' "$line" >&3 ;;
*) CODEX_THREAD_ID="$2" sh -c "$line" 3>&- </dev/null & ;;
esac; done`

// writeBehind starts another process, in a session of its own, that writes a file. Its arguments identify it, and it
// has the environment of this process.
func writeBehind(path, thread string) (io.WriteCloser, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	from, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer from.Close()
	writer, err := os.StartProcess("/bin/sh", []string{"codex", "-c", behindScript, "app-server", path, thread}, &os.ProcAttr{
		Files: []*os.File{from, nil, nil}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		in.Close()
		return nil, err
	}
	go func() { _, _ = writer.Wait() }() // it ends at the end of its input
	return in, nil
}

// runsBehind makes the background process of the conversation run a command.
func (l *codex) runsBehind(command string) {
	l.notes.later(func() {
		if r := l.rollout; r != nil && r.behind != nil {
			_, _ = io.WriteString(r.behind, command+"\n")
		}
	})
}

// open creates a transcript, which stays open. For a sub-agent, parent is its conversation.
func (l *codex) open(parent string) *rollout {
	now := wall()
	r := &rollout{thread: newID()}
	r.path = filepath.Join(l.home, "sessions", now.Format("2006"), now.Format("01"), now.Format("02"),
		"rollout-"+now.Format("2006-01-02T15-04-05")+"-"+r.thread+".jsonl")
	source := `"source":"cli","thread_source":"user",`
	if parent != "" {
		source = record(`"parent_thread_id":%s,"source":{"subagent":{"thread_spawn":{"parent_thread_id":%s,"depth":1}}},"thread_source":"subagent",`, parent, parent)
	}
	meta := record(`{"account_scoped":true,"session_id":%s,"id":%s,"timestamp":%s,"cwd":%s,"originator":"codex-tui","cli_version":%s,`,
		r.thread, r.thread, stamp(now), l.dir, codexVersion) + source + `"model_provider":"mock","history_mode":"paginated"}`
	l.notes.later(func() {
		if l.notes.mode == notesOff {
			return
		}
		var err error
		if l.notes.mode == notesBehind {
			r.behind, err = writeBehind(r.path, r.thread)
			if err != nil {
				l.log.add(Record{Event: EventChange, Text: err.Error()})
			}
			l.all = append(l.all, r)
			return
		}
		if r.file, err = appendTo(r.path); err != nil {
			l.log.add(Record{Event: EventChange, Text: err.Error()})
			return
		}
		l.all = append(l.all, r)
	})
	l.write(r, "session_meta", meta)
	return r
}

// write adds a record to a transcript.
func (l *codex) write(r *rollout, kind, payload string) {
	at := stamp(wall())
	l.notes.later(func() {
		if r.file == nil && r.behind == nil || l.notes.mode == notesOff {
			return
		}
		if l.notes.mode == notesGarbage && kind != "session_meta" {
			payload = quoted("v9:" + payload)
		}
		line := record(`{"timestamp":%s,"ordinal":%s,"type":%s,"payload":`, at, r.ordinal, kind)
		r.ordinal++
		if r.behind != nil {
			_, _ = io.WriteString(r.behind, line+payload+"}\n")
			return
		}
		_, _ = r.file.WriteString(line + payload + "}\n")
	})
}

// event records something that was shown; the fields of the turn follow its own.
func (l *codex) event(kind, fields string) {
	l.write(l.rollout, "event_msg", record(`{"type":%s,`, kind)+fields+record(`"turn_id":%s}`, l.task))
}

// item records words of a person or of the agent.
func (l *codex) item(r *rollout, who, kind, text string) {
	now := wall().UnixMilli()
	l.write(r, "event_msg", record(`{"type":"item_completed","thread_id":%s,"turn_id":%s,"item":{"type":%s,"id":%s,"content":[{"type":%s,"text":%s}]},"started_at_ms":%s,"completed_at_ms":%s}`,
		r.thread, l.task, who, newID(), kind, text, now, now))
}

// message records a message to or from the model.
func (l *codex) message(role, kind, text string) {
	l.write(l.rollout, "response_item", record(`{"type":"message","id":%s,"role":%s,"content":[{"type":%s,"text":%s}]}`, "msg_"+newID(), role, kind, text))
}

func (l *codex) prompted(text string, _ []piece, how string) {
	if l.rollout == nil {
		l.rollout = l.open("")
	}
	if how != steered {
		l.task, l.since = newID(), wall()
		l.event("task_started", record(`"started_at":%s,"model_context_window":258400,"collaboration_mode_kind":"default",`, l.since.Unix()))
		l.message("developer", "input_text", "<skills_instructions>\n## Skills\n</skills_instructions>")
		l.message("user", "input_text", "<environment_context>\n  <cwd>"+l.dir+"</cwd>\n</environment_context>")
		l.write(l.rollout, "turn_context", record(`{"turn_id":%s,"cwd":%s,"approval_policy":"on-request","model":"mock-model"}`, l.task, l.dir))
		for range 4 { // the real one writes more of them, and all are known to mean nothing
			l.event("token_count", `"info":null,`)
		}
	}
	if how == itself {
		return
	}
	l.message("user", "input_text", text)
	l.item(l.rollout, "UserMessage", "text", text)
}

func (l *codex) queued(string) {}

func (l *codex) spoke(text string) {
	l.item(l.rollout, "AgentMessage", "Text", text)
	l.message("assistant", "output_text", text)
}

func (l *codex) called(t call) {
	l.write(l.rollout, "response_item", record(`{"type":"function_call","status":"completed","id":%s,"name":"exec_command","arguments":%s,"call_id":%s}`,
		"fc_"+t.id, record(`{"cmd":%s}`, t.input), "call_"+t.id))
}

func (l *codex) answered(t call, denied bool) {
	output := "Process exited with code 0\nOutput:\n"
	if denied {
		output = "aborted by user"
	}
	l.write(l.rollout, "response_item", record(`{"type":"function_call_output","id":%s,"call_id":%s,"output":%s}`, "fco_"+t.id, "call_"+t.id, output))
}

func (l *codex) aside(text string) {
	side, task := l.open(l.rollout.thread), l.task
	l.task = newID()
	l.write(side, "event_msg", record(`{"type":"task_started","turn_id":%s}`, l.task))
	l.item(side, "UserMessage", "text", "look into it")
	l.item(side, "AgentMessage", "Text", text)
	l.write(side, "event_msg", record(`{"type":"task_complete","turn_id":%s,"last_agent_message":%s}`, l.task, text))
	l.task = task
}

func (l *codex) ended(words string) {
	var last any
	if words != "" {
		last = words
	}
	l.event("task_complete", record(`"last_agent_message":%s,"started_at":%s,"completed_at":%s,"duration_ms":151,`, last, l.since.Unix(), wall().Unix()))
}

// interrupted records no part of what was being said.
func (l *codex) interrupted(string, bool) {
	l.message("user", "input_text", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>")
	l.event("turn_aborted", record(`"reason":"interrupted","started_at":%s,"completed_at":%s,"duration_ms":1255,`, l.since.Unix(), wall().Unix()))
}

func (l *codex) failed(text string) {
	l.event("task_complete", record(`"last_agent_message":null,"error":{"message":%s},"started_at":%s,"completed_at":%s,"duration_ms":677,`,
		"unexpected status "+text, l.since.Unix(), wall().Unix()))
}

func (l *codex) another() { l.rollout = nil }

// state does nothing: Codex has no status file.
func (l *codex) state(string, string) {}
