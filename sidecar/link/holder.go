package link

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// errHeld says that another sidecar of this computer has the link. errLast says that another sidecar had it
// last and may come back.
var (
	errHeld = errors.New("the sidecar of another tmux server has the link")
	errLast = errors.New("the sidecar of another tmux server had the link, and may be starting anew")
)

// wished returns the claim of a sidecar that wants the link for its sessions. If another sidecar holds it, that
// is as good.
func (l *Link) wished() string { return l.Lock + ".wished" }

// wish takes that claim while the link is wanted, and gives it back otherwise.
func (l *Link) wish(held *claim.Claim, wanted bool) *claim.Claim {
	switch {
	case l.Spare:
	case wanted && held == nil:
		held, _ = claim.Take(l.wished())
	case !wanted && held != nil:
		_ = held.Release()
		held = nil
	}
	return held
}

// yields reports whether a spare leaves the link to another sidecar.
func (l *Link) yields() bool {
	if !l.Spare {
		return false
	}
	if claim.Held(l.wished()) {
		l.yielded = time.Now()
	}
	return !l.yielded.IsZero() && time.Since(l.yielded) < l.timing.spare
}

// last returns the path of the file that says which sidecar had the link last.
func (l *Link) last() string { return l.Lock + ".last" }

// waitsForLast reports whether the link is left to the sidecar that had it last. A sidecar that is restarted
// comes back, and without it mail for its sessions would be refused as if they did not exist.
func (l *Link) waitsForLast() bool {
	last, err := own.Read(l.last(), 1<<10)
	if l.Spare || err != nil || string(last) == l.Key {
		return false
	}
	if l.left.IsZero() || claim.Held(l.Lock) {
		l.left = time.Now()
	}
	return time.Since(l.left) < l.timing.spare
}

// isLast notes that this sidecar has the link. A sidecar without sessions has none to come back to, so it notes
// nothing.
func (l *Link) isLast() {
	if l.Spare || l.Key == "" {
		return
	}
	if err := atomicfile.Write(l.last(), []byte(l.Key), 0o600); err != nil {
		l.Log.Warn("note who has the link", "file", filepath.Base(l.last()), "err", err)
	}
}
