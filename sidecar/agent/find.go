package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// plainName reports whether an id can be the name of a file and nothing more.
func plainName(id string) bool {
	return id != "" && id == filepath.Base(id) && !strings.ContainsAny(id, "*?[\\") && id[0] != '.'
}

func quoteGlob(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// findText is the transcript in which a text stands as a prompt that was taken at that time or later. not says which
// paths belong to other agents. It is ErrAmbiguous if there are two: one text may have been typed into two agents of one
// directory.
func (b *beside) findText(text string, at time.Time, not func(path string) bool) (Transcript, error) {
	since := at.Add(-clockSlack)
	all, err := b.archive.recent(since)
	if err != nil {
		return Transcript{}, err
	}
	var found []Transcript
	for _, t := range all {
		if not != nil && not(t.Path) || !b.archive.took(&t, text, since) {
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

// findThread is the transcript of the conversation of that name.
func (b *beside) findThread(thread string) (Transcript, error) {
	if !plainName(thread) {
		return Transcript{}, fmt.Errorf("conversation %q: %w", thread, ErrNoTranscript)
	}
	return b.archive.thread(thread)
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
