package agent

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

const (
	// newestFiles is how many transcripts, the newest first, are searched for a typed text.
	newestFiles = 24
	// searchWindow is how much of the end of each is read for that, in bytes.
	searchWindow = 4 << 20
	// clockSlack is how much earlier than we typed it a prompt may be dated.
	clockSlack = 2 * time.Second
)

func ownEnvironment(names []string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		env[name] = os.Getenv(name)
	}
	return env
}

// Find is the transcript that the agent writes to now, by its process: whatever else goes
// on in the same directory cannot be taken for it. It is ErrNoTranscript while there is
// none (Codex and opencode begin it at the first prompt) or where processes do not tell
// (Codex with its background daemon), and ErrAmbiguous where several of Gemini CLI or of
// opencode work in one directory: see FindText and Follower.Show. The path of Claude Code may not exist yet.
func (a Agent) Find() (Transcript, error) {
	switch a.Kind {
	case Claude:
		s, err := a.Status()
		if err != nil {
			return Transcript{}, err
		}
		return a.claudeTranscript(s), nil
	case Codex:
		return a.findOpen(map[string]codexMeta{})
	case Gemini, OpenCode:
		b := newBeside(a)
		defer b.close()
		return b.find(time.Now())
	}
	return Transcript{}, a.unknown()
}

// unknown is the error of an agent of a kind of which nothing is known.
func (a Agent) unknown() error {
	return fmt.Errorf("transcripts of agents of the kind %q are not known: %w", a.Kind, ErrNoTranscript)
}

// Status reads the agent's own status file. Only Claude Code has one: it is ErrNoTranscript
// for others, if there is none, and if it was written by an earlier process of that number.
func (a Agent) Status() (Status, error) {
	if a.Kind != Claude {
		return Status{}, fmt.Errorf("status of %s: %w", a.Kind, ErrNoTranscript)
	}
	for _, pid := range a.Tried {
		path := filepath.Join(a.Home, "sessions", strconv.Itoa(pid)+".json")
		data, err := foreign.Read(path, smallFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Status{}, fmt.Errorf("status of %s: %w", a.Kind, err)
		}
		s, of, start, err := parseStatus(data)
		if err != nil {
			return Status{}, fmt.Errorf("%q: %w: %w", path, ErrNoTranscript, err)
		}
		now, err := started(pid)
		if err != nil {
			return Status{}, err
		}
		if of != pid || now != 0 && start != strconv.FormatUint(now, 10) {
			return Status{}, fmt.Errorf("%q is of an earlier process: %w", path, ErrNoTranscript)
		}
		if !plainName(s.Thread) {
			return Status{}, fmt.Errorf("%q names the session %q: %w", path, s.Thread, ErrNoTranscript)
		}
		return s, nil
	}
	return Status{}, fmt.Errorf("status of %s process %d below %q: %w", a.Kind, a.Process.PID, a.Home, ErrNoTranscript)
}

// claudeTranscript is the transcript that a status file names.
func (a Agent) claudeTranscript(s Status) Transcript {
	return Transcript{Path: a.claudePath(s), Thread: s.Thread, Version: s.Version, How: ByStatusFile}
}

// claudePath is where a session is written down. Its directory is named after the directory
// in which it began, which it may have left since.
func (a Agent) claudePath(s Status) string {
	name := s.Thread + ".jsonl"
	path := filepath.Join(a.Home, "projects", projectName(s.Dir), name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	others := foreign.Glob(filepath.Join(quoteGlob(a.Home), "projects", "*", name))
	if len(others) == 1 {
		return others[0]
	}
	return path
}

// projectName is the name that Claude Code gives to the directory of a project's sessions.
func projectName(dir string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, dir)
}

// plainName reports whether an id can be the name of a file and nothing more.
func plainName(id string) bool {
	return id != "" && id == filepath.Base(id) && !strings.ContainsAny(id, "*?[\\") && id[0] != '.'
}

func quoteGlob(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// findOpen is the newest of the rollouts that the processes of a Codex have open, those of
// its sub-agents apart. Newest is the one written to last: /new begins another file and
// /resume takes up an old one, and those before stay open.
func (a Agent) findOpen(known map[string]codexMeta) (Transcript, error) {
	var best Transcript
	var newest time.Time
	for _, pid := range a.Tried {
		for _, path := range openFiles(pid, a.isRollout) {
			info, err := os.Stat(path)
			if err != nil {
				continue // removed while it was open
			}
			meta, ok := known[path]
			if !ok {
				if meta, ok = rolloutMeta(path); !ok {
					continue // its first line is not written yet
				}
				known[path] = meta
			}
			later := info.ModTime().Compare(newest)
			if meta.side() || later < 0 || later == 0 && path < best.Path {
				continue
			}
			newest = info.ModTime()
			best = Transcript{Path: path, Thread: meta.ID, Version: meta.Version, How: ByOpenFile}
		}
	}
	if best.Path == "" {
		return Transcript{}, fmt.Errorf("%s process %d has no rollout open: %w", a.Kind, a.Process.PID, ErrNoTranscript)
	}
	return best, nil
}

func (a Agent) isRollout(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(path, filepath.Join(a.Home, "sessions")+"/") &&
		strings.HasPrefix(name, "rollout-") && strings.HasSuffix(name, ".jsonl")
}

// rolloutMeta reads the first line of a rollout.
func rolloutMeta(path string) (codexMeta, bool) {
	line, ok := firstLine(path)
	if !ok {
		return codexMeta{}, false
	}
	var l codexLine
	var m codexMeta
	r := NewReader(Codex, 0)
	if !r.decode(line, &l) || l.Type != "session_meta" || !r.decode(l.Payload, &m) {
		return codexMeta{}, false
	}
	return m, true
}

// FindText is the transcript in which a text stands as a prompt that was taken at that
// time or later. not says which paths belong to other agents. It is ErrAmbiguous if there
// are two: one text may have been typed into two agents of one directory.
func (a Agent) FindText(text string, at time.Time, not func(path string) bool) (Transcript, error) {
	b := newBeside(a)
	defer b.close()
	return b.findText(text, at, not)
}

func (b *beside) findText(text string, at time.Time, not func(path string) bool) (Transcript, error) {
	since := at.Add(-clockSlack)
	all, err := b.recent(since)
	if err != nil {
		return Transcript{}, err
	}
	var found []Transcript
	for _, t := range all {
		if not != nil && not(t.Path) || !b.took(&t, text, since) {
			continue
		}
		t.How = ByTypedText
		found = append(found, t)
	}
	switch len(found) {
	case 0:
		return Transcript{}, fmt.Errorf("what was typed stands in no transcript below %q: %w", b.agent.Home, ErrNoTranscript)
	case 1:
		return found[0], nil
	}
	return Transcript{}, fmt.Errorf("what was typed stands in %q and %q: %w", found[0].Path, found[1].Path, ErrAmbiguous)
}

// recent lists the newest transcripts that were written to since then.
func (b *beside) recent(since time.Time) (all []Transcript, err error) {
	if b.agent.Kind == OpenCode {
		found, err := b.base.since(b.agent.Dir, since)
		for _, c := range found {
			all = append(all, c.Transcript)
		}
		return all, err
	}
	paths := foreign.Glob(b.agent.pattern("*"))
	for _, path := range newestPaths(paths, since) {
		all = append(all, Transcript{Path: path})
	}
	return all, nil
}

// took reports whether a text stands in a transcript as a prompt that was taken since then,
// by this agent as far as its directory tells, and fills in what the transcript says of
// itself.
func (b *beside) took(t *Transcript, text string, since time.Time) bool {
	if b.agent.Kind == OpenCode {
		_, thread, _ := strings.Cut(t.Path, "#")
		return b.base.tookPrompt(thread, text, since)
	}
	r, ok := b.agent.tookPrompt(t.Path, text, since)
	if !ok || r.health.Side || b.agent.Dir != "" && r.health.Dir != "" && r.health.Dir != b.agent.Dir {
		return false
	}
	t.Thread, t.Version = r.health.Thread, cmp.Or(r.health.Version, b.agent.Version)
	return true
}

// FindThread is the transcript of the conversation of that name.
func (a Agent) FindThread(thread string) (Transcript, error) {
	b := newBeside(a)
	defer b.close()
	return b.findThread(thread)
}

func (b *beside) findThread(thread string) (Transcript, error) {
	a := b.agent
	if !plainName(thread) {
		return Transcript{}, fmt.Errorf("conversation %q: %w", thread, ErrNoTranscript)
	}
	if a.Kind == OpenCode {
		all, err := b.base.conversations("id = ?", thread)
		if err != nil {
			return Transcript{}, err
		}
		if len(all) != 1 {
			return Transcript{}, fmt.Errorf("conversation %q is not one with a person: %w", thread, ErrNoTranscript)
		}
		all[0].How = ByHook
		return all[0].Transcript, nil
	}
	paths := foreign.Glob(a.pattern(thread))
	switch len(paths) {
	case 0:
		return Transcript{}, fmt.Errorf("conversation %q below %q: %w", thread, a.Home, ErrNoTranscript)
	case 1:
	default:
		return Transcript{}, fmt.Errorf("conversation %q: %q and %q: %w", thread, paths[0], paths[1], ErrAmbiguous)
	}
	t := Transcript{Path: paths[0], Thread: thread, Version: a.Version, How: ByHook}
	own := false
	switch a.Kind {
	case Claude:
		own = true
	case Codex:
		meta, ok := rolloutMeta(t.Path)
		own, t.Version = ok && !meta.side() && meta.ID == thread, meta.Version
	case Gemini:
		head, ok := chatHead(t.Path)
		own = ok && !head.side() && (head.Session == thread || head.Project == "" && strings.HasPrefix(thread, head.Session))
	}
	if !own {
		return Transcript{}, fmt.Errorf("conversation %q is not one with a person: %w", thread, ErrNoTranscript)
	}
	return t, nil
}

// tookPrompt reads the end of a transcript and looks for the text among its prompts.
func (a Agent) tookPrompt(path, text string, since time.Time) (*Reader, bool) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	r := NewReader(a.Kind, 0)
	if !r.head(path) {
		return nil, false
	}
	info, err := f.Stat()
	if err != nil {
		return nil, false
	}
	if _, _, err := seekRecord(f, info.Size()-searchWindow); err != nil {
		return nil, false
	}
	took := false
	piece := make([]byte, pieceOfFile)
	for from := io.LimitReader(f, 2*searchWindow); ; {
		n, err := from.Read(piece)
		took = tookPrompt(r.Feed(piece[:n]), text, since) || took
		switch {
		case errors.Is(err, io.EOF):
			return r, took
		case err != nil:
			return nil, false
		}
	}
}

func tookPrompt(events []Event, text string, since time.Time) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		return (e.Kind == Prompted || e.Kind == Queued) && !e.At.Before(since) && (Same(text, e.Text) || Within(e.Text, text))
	})
}

// seekRecord goes to the first record that begins at a place in a file or behind it, and
// tells where that is. In the midst of one it stops where that is too long, or ends the file.
func seekRecord(f *os.File, at int64) (begin int64, midst bool, err error) {
	if at <= 0 {
		return 0, false, nil
	}
	if _, err := f.Seek(at-1, io.SeekStart); err != nil {
		return 0, false, err
	}
	r := bufio.NewReader(io.LimitReader(f, maxRecord))
	for at--; ; {
		skipped, err := r.ReadSlice('\n')
		at += int64(len(skipped))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && !errors.Is(err, io.EOF):
			return 0, false, err
		default:
			_, seekErr := f.Seek(at, io.SeekStart)
			return at, err != nil, seekErr
		}
	}
}
