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
	// searchWindow is how many bytes at the end of each are read for that.
	searchWindow = 4 << 20
	// clockSlack is how much earlier than we typed a prompt the agent may date it.
	clockSlack = 2 * time.Second
)

// plainName reports whether an id can be the name of a file and nothing more.
func plainName(id string) bool {
	return id != "" && id == filepath.Base(id) && !strings.ContainsAny(id, "*?[\\") && id[0] != '.'
}

func quoteGlob(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// findText returns the transcript that holds a text as a prompt taken at that time or later. not reports whether a
// path belongs to another agent. The error is ErrAmbiguous if two transcripts hold it: the same text may have been
// typed into two agents of one directory.
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
		return Transcript{}, fmt.Errorf("no transcript below %q contains the typed text: %w", b.agent.Home, ErrNoTranscript)
	case 1:
		return found[0], nil
	}
	return Transcript{}, fmt.Errorf("both %q and %q contain the typed text: %w", found[0].Path, found[1].Path, ErrAmbiguous)
}

// findThread returns the transcript of the conversation with that name.
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

// seekRecord goes to the first record that begins at or after a place in a file and returns its position. If the
// record there is longer than maxRecord, or the file ends first, it stops in the middle of the record and reports
// midst.
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
