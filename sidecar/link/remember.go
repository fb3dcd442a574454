package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// maxRemembered bounds the file of the computers that were ever seen.
const maxRemembered = 64 << 20

// recollect reads who the other computers were.
func recollect(dir string) (directory, error) {
	d := directory{}
	path := filepath.Join(dir, "computers.json")
	text, err := own.Read(path, maxRemembered)
	if errors.Is(err, fs.ErrNotExist) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		// Its keys are what a computer is known by: nothing is trusted anew because the file is broken.
		return nil, fmt.Errorf("known computers in %q: %w", path, err)
	}
	for token, k := range d {
		if k == nil {
			delete(d, token)
		}
	}
	return d, nil
}

// recall has the link know who the other computers are, as it is written down. Whoever calls it has the claim.
func (l *Link) recall() error {
	known, err := recollect(l.Dir)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.told = known, known.tellers()
	return nil
}

// How often what is new of other computers is written down, and what is new of their sessions alone: that they tell again.
const (
	rememberEvery      = time.Second
	rememberSessionsIn = 10 * time.Second
)

// remember writes down who the other computers are, as that changes.
func (l *Link) remember(ctx context.Context) {
	whole := time.Time{}
	for {
		now := l.Now()
		all := ctx.Err() != nil || now.Sub(whole) >= rememberSessionsIn
		if all {
			whole = now
		}
		if err := l.save(all); err != nil {
			l.Log.Warn("remember other computers", "err", err)
		}
		if ctx.Err() != nil {
			return
		}
		sleep(ctx, rememberEvery)
	}
}

// save writes them down if there is news, or with all, if their sessions are others. The relay does not wait for the disk.
func (l *Link) save(all bool) error {
	l.saving.Lock()
	defer l.saving.Unlock()
	l.mu.Lock()
	if !l.news && !(all && l.stale) {
		l.mu.Unlock()
		return nil
	}
	known := make(directory, len(l.known))
	for token, k := range l.known {
		now := *k
		known[token] = &now // what it points to is replaced, never changed
	}
	l.news, l.stale = false, false
	l.mu.Unlock()
	text, err := json.MarshalIndent(known, "", "\t")
	if err == nil {
		err = atomicfile.Write(filepath.Join(l.Dir, "computers.json"), append(text, '\n'), 0o600)
	}
	if err != nil {
		l.mu.Lock()
		l.news = true
		l.mu.Unlock()
	}
	return err
}
