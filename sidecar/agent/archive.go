package agent

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// archive is the store in which an agent keeps its conversations.
type archive interface {
	// recent lists the newest transcripts that were written to since a time.
	recent(since time.Time) ([]Transcript, error)
	// since lists the conversations of the agent's directory that were written to since a time, without those of
	// sub-agents.
	since(since time.Time) ([]conversation, error)
	// took reports whether a transcript holds a text as a prompt that was taken since a time, by this agent as far
	// as its directory tells. It fills in what the transcript says about itself.
	took(t *Transcript, text string, since time.Time) bool
	// thread returns the transcript of the conversation with that name.
	thread(name string) (Transcript, error)
	// source returns a source that reads a transcript from a place on.
	source(t Transcript, p place) source
	close()
}

// noArchive is the archive of an agent of an unknown kind.
type noArchive struct{ agent Agent }

func (s noArchive) recent(time.Time) ([]Transcript, error)   { return nil, s.agent.unknown() }
func (s noArchive) since(time.Time) ([]conversation, error)  { return nil, s.agent.unknown() }
func (s noArchive) took(*Transcript, string, time.Time) bool { return false }
func (s noArchive) thread(string) (Transcript, error)        { return Transcript{}, s.agent.unknown() }

func (s noArchive) source(t Transcript, p place) source {
	return &tail{place: p, kind: s.agent.Kind, path: t.Path, thread: t.Thread}
}
func (s noArchive) close() {}

// files is the archive of an agent that keeps each conversation in a file.
type files struct {
	agent Agent
	heads *heads
}

// head is what the first line of a transcript says.
type head struct {
	thread  string
	short   bool   // thread is only the beginning of its name
	parent  string // the conversation that started a sub-agent, if the transcript says so
	version string
	dir     string
	side    bool // it belongs to a sub-agent, or the program keeps it for itself
	fork    fork // only of Codex
	began   time.Time
}

// heads caches what first lines say; they do not change.
type heads struct {
	read  func(path string) (head, bool)
	known map[string]head
}

// of returns the head of a transcript, or false while it is not written yet.
func (h *heads) of(path string) (head, bool) {
	if h.read == nil {
		return head{}, true
	}
	known, ok := h.known[path]
	if !ok {
		if known, ok = h.read(path); ok {
			h.known[path] = known
		}
	}
	return known, ok
}

func (s files) close() {}

func (s files) recent(since time.Time) (all []Transcript, err error) {
	for _, path := range newestPaths(foreign.Glob(s.agent.pattern("*")), since) {
		all = append(all, Transcript{Path: path})
	}
	return all, nil
}

func (s files) since(since time.Time) (all []conversation, err error) {
	for _, path := range foreign.Glob(s.agent.pattern("*")) {
		info, err := os.Stat(path)
		if err != nil || info.ModTime().Before(since) {
			continue
		}
		head, ok := s.heads.of(path)
		if !ok || head.side {
			continue
		}
		wrote := info.ModTime()
		if own := s.agent.Kind.format().wrote; own != nil {
			wrote = own(path, wrote)
		}
		all = append(all, conversation{
			Transcript: Transcript{Path: path, Thread: head.thread, Version: s.agent.Version},
			began:      head.began, wrote: wrote,
		})
	}
	return all, nil
}

func (s files) took(t *Transcript, text string, since time.Time) bool {
	r, ok := s.agent.tookPrompt(t.Path, text, since)
	if !ok || r.health.Side || r.health.Dir != "" && !s.agent.worksIn(r.health.Dir) {
		return false
	}
	t.Thread, t.Version = r.health.Thread, cmp.Or(r.health.Version, s.agent.Version)
	return true
}

func (s files) thread(name string) (Transcript, error) {
	paths := foreign.Glob(s.agent.pattern(name))
	switch len(paths) {
	case 0:
		return Transcript{}, fmt.Errorf("conversation %q below %q: %w", name, s.agent.Home, ErrNoTranscript)
	case 1:
	default:
		return Transcript{}, fmt.Errorf("conversation %q: %q and %q: %w", name, paths[0], paths[1], ErrAmbiguous)
	}
	t := Transcript{Path: paths[0], Thread: name, Version: s.agent.Version, How: ByHook}
	if s.heads.read == nil {
		return t, nil
	}
	head, ok := s.heads.of(t.Path)
	if !ok || head.side || head.thread != name && !(head.short && strings.HasPrefix(name, head.thread)) {
		return Transcript{}, fmt.Errorf("conversation %q is not one with a person: %w", name, ErrNoTranscript)
	}
	t.Version = cmp.Or(head.version, t.Version)
	return t, nil
}

func (s files) source(t Transcript, p place) source {
	return &tail{place: p, kind: s.agent.Kind, path: t.Path, thread: t.Thread}
}

// pattern returns the glob pattern of the transcript of one conversation, or of all ("*"), for an agent that writes
// files. It returns "" if the place is not known.
func (a Agent) pattern(thread string) string {
	if where := a.Kind.format().pattern; where != nil {
		return where(a, thread)
	}
	return ""
}

// head reads the first line of a transcript that is not read from its beginning.
func (r *Reader) head(path string) bool {
	f, known := formats[r.Kind]
	if !known || f.head == nil {
		return known
	}
	h, ok := f.head(path)
	if ok {
		r.about(h)
	}
	return ok
}

// about applies a head. Only the first head counts, except for its version: a fork may repeat the heads of its
// ancestors, and another version may continue the conversation.
func (r *Reader) about(h head) {
	if r.health.Thread == "" {
		r.health.Thread, r.health.Dir, r.health.Side = h.thread, h.dir, h.side
		r.fork = h.fork
	}
	r.health.Version = h.version
}

// firstLine reads the first line of a file. It reports false if that line is incomplete or longer than smallFile.
func firstLine(path string) ([]byte, bool) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, smallFile)).ReadBytes('\n')
	return line, err == nil
}

// newestPaths returns the newest of the files that were written to since a time, at most newestFiles.
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
