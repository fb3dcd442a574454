package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Word is what a person said to a message that waited for a yes. Several sidecars may ask about one message,
// for example when one that was given up comes back. The first word counts, whichever sidecar heard it.
type Word struct {
	File    string         `json:"file"`
	Message message.ID     `json:"message"` // our id of it, the same in all sidecars
	Verb    message.Verb   `json:"verb"`
	Person  message.Person `json:"person"`
	By      string         `json:"by"` // the sidecar, named like its places
	At      time.Time      `json:"at"`
}

const (
	maxWords = 16 << 20        // bytes
	wordTime = 2 * time.Second // how long another sidecar may keep the list, or this one may take to begin
)

// TakeWord records what a person says to a message that came as a file, before anything comes of it. If another
// sidecar has already heard a word, that one counts and is returned: there is nothing to do here. If that
// sidecar has ended, it may have done nothing more, so the same word is heard again.
func (p *Peers) TakeWord(ctx context.Context, m message.Envelope, verb message.Verb, who message.Person) (earlier *Word, err error) {
	if len(m.To) == 0 || m.Meta[metaFile] == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wordTime)
	defer cancel()
	for !p.ready() {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("message %s: its repository is not served yet: %w", m.ID.Short(), ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	b := p.box(m.To[0].Peer)
	if b == nil { // messages are no longer processed there
		return nil, nil
	}
	w := Word{File: m.Meta[metaFile], Message: m.ID, Verb: verb, Person: who, By: p.By, At: p.Now().UTC()}
	err = p.Enabled.changeWords(ctx, b.dir, func(all []Word) []Word {
		i := slices.IndexFunc(all, func(one Word) bool { return one.Message == m.ID })
		switch {
		case i < 0:
			return append(all, w)
		case all[i].By == p.By, all[i].Verb == verb && !p.runs(all[i].By):
			all[i] = w
		default:
			earlier = &all[i]
		}
		return all
	})
	return earlier, err
}

func (p *Peers) runs(by string) bool { return p.Runs == nil || p.Runs(by) }

func (e Enabled) wordsFile(path string) string { return filepath.Join(e.Dir, Key(path)+".words") }

// words returns what persons said to those messages of a repository whose files are there.
func (e Enabled) words(d Dir) (all []Word, err error) {
	text, err := own.Read(e.wordsFile(d.Path), maxWords)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("decisions about %q: %w", d.Path, err)
	}
	return slices.DeleteFunc(all, func(w Word) bool { return !d.has(w.File) }), nil
}

// changeWords rewrites the list of words while no other sidecar does.
func (e Enabled) changeWords(ctx context.Context, d Dir, change func([]Word) []Word) error {
	lock := e.claim(d.Path) + ".words"
	c, err := claim.Take(lock)
	for ; errors.Is(err, claim.ErrHeld); c, err = claim.Take(lock) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("decisions about %q: %w", d.Path, err)
		case <-time.After(time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Release() }()
	all, err := e.words(d)
	if err != nil {
		return err
	}
	text, err := json.Marshal(change(all))
	if err != nil {
		return err
	}
	return atomicfile.Write(e.wordsFile(d.Path), append(text, '\n'), 0o600)
}

// heedWords stops asking a person here about messages that were decided at another sidecar. If a sidecar that
// heard a yes no longer runs, that yes may have come to nothing: the person is still asked until something is
// done.
func (b *box) heedWords(ctx context.Context) {
	list, err := os.Stat(b.peers.Enabled.wordsFile(b.dir.Path))
	if err != nil || len(b.awaited) == 0 || b.words != nil && os.SameFile(b.words, list) && b.words.ModTime().Equal(list.ModTime()) {
		return
	}
	b.words = list
	words, err := b.peers.Enabled.words(b.dir)
	if err != nil {
		b.complain(ctx, err)
		return
	}
	for _, w := range words {
		no := w.Verb != message.VerbDeliver
		if b.awaited[w.Message] == "" || w.By == b.peers.By || !no && !b.peers.runs(w.By) {
			continue
		}
		b.withdraw(ctx, w.Message)
		delete(b.awaited, w.Message)
		if no {
			b.noes[w.File] = string(message.Rejected)
		}
	}
	b.recordNoes(ctx)
}
