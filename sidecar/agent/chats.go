package agent

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

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

// chats are those of the agent's directory that were written to since then, those of
// sub-agents apart. known keeps what their first lines say.
func (a Agent) chats(since time.Time, known map[string]geminiLine) (all []conversation) {
	dir := a.chatsDir()
	if dir == "" {
		return nil
	}
	paths := foreign.Glob(filepath.Join(quoteGlob(dir), "session-*.jsonl"))
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || info.ModTime().Before(since) {
			continue
		}
		head, ok := known[path]
		if !ok {
			if head, ok = chatHead(path); !ok {
				continue // its first line is not written yet
			}
			known[path] = head
		}
		if head.side() {
			continue
		}
		all = append(all, conversation{
			Transcript: Transcript{Path: path, Thread: head.Session, Version: a.Version},
			began:      timeOf(head.Began), wrote: info.ModTime(),
		})
	}
	return all
}

// chatHead reads the first line of a chat of Gemini CLI. It may be gone: another one that
// starts in the same directory removes chats in which nothing has been said yet, and the
// agent that lives in such a chat writes on without a head. Then the name of the file tells
// the first eight characters of the conversation's, and nothing tells when it began.
func chatHead(path string) (geminiLine, bool) {
	line, ok := firstLine(path)
	var l geminiLine
	if !ok || !NewReader(Gemini, 0).decode(line, &l) {
		return geminiLine{}, false
	}
	if l.Session == "" || l.Project == "" {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		l = geminiLine{Session: name[strings.LastIndexByte(name, '-')+1:]}
	}
	return l, l.Session != ""
}

// firstLine reads the first line of a file, if it is whole and of a length that first lines have.
func firstLine(path string) ([]byte, bool) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, smallFile)).ReadBytes('\n')
	return line, err == nil
}

// head takes in what the first line of a transcript says when reading begins behind it.
func (r *Reader) head(path string) bool {
	switch r.Kind {
	case Codex:
		meta, ok := rolloutMeta(path)
		if ok {
			r.about(meta)
		}
		return ok
	case Gemini:
		l, ok := chatHead(path)
		if ok {
			r.health.Thread, r.health.Side = l.Session, l.side()
		}
		return ok
	case Claude: // every record says it
		return true
	}
	return false
}

// pattern is where the transcripts of a kind of agent that writes files are, of one
// conversation or of all ("*"); "" where that is not known.
func (a Agent) pattern(thread string) string {
	home := quoteGlob(a.Home)
	switch a.Kind {
	case Claude:
		return filepath.Join(home, "projects", "*", thread+".jsonl")
	case Codex:
		return filepath.Join(home, "sessions", "*", "*", "*", "rollout-*-"+thread+".jsonl")
	case Gemini:
		if thread != "*" {
			thread, _, _ = strings.Cut(thread, "-") // its first eight characters
		}
		dir := a.chatsDir()
		if dir == "" {
			return ""
		}
		return filepath.Join(quoteGlob(dir), "session-*-"+thread+".jsonl")
	}
	return ""
}

// newestPaths are the newest of some files that were written to since then.
func newestPaths(paths []string, since time.Time) []string {
	times := map[string]time.Time{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.ModTime().Before(since) {
			times[path] = info.ModTime()
		}
	}
	newest := make([]string, 0, len(times))
	for path := range times {
		newest = append(newest, path)
	}
	slices.SortFunc(newest, func(a, b string) int {
		if c := times[b].Compare(times[a]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return newest[:min(len(newest), newestFiles)]
}
