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

// recollect reads the file of the other computers.
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
		// Its keys identify the computers. A broken file must not make this computer trust new keys.
		return nil, fmt.Errorf("known computers in %q: %w", path, err)
	}
	for token, k := range d {
		if k == nil {
			delete(d, token)
		}
	}
	return d, nil
}

// recall loads the other computers from the file. The caller has the claim.
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

// How often changes in the known computers are saved, and how often those in their sessions alone, which the
// computers tell again anyway.
const (
	rememberEvery      = time.Second
	rememberSessionsIn = 10 * time.Second
)

// remember saves the other computers as they change.
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

// save writes the file if there is news or, with all, if the sessions have changed. The relay does not wait for
// the disk.
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
