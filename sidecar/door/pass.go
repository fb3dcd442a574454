package door

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Outcome is what is known of a message after an attempt to hand it over.
type Outcome int

// The outcomes. None of them proves that a message was taken.
const (
	Nothing Outcome = iota // not a byte was written
	Handed                 // everything was written
	Unknown                // some of it may have been written
)

// Pass hands a message to the inbox of an offer, if that is still the same. The error says why nothing, or not
// everything, was written. Nothing is written once ctx is done.
func (h *House) Pass(ctx context.Context, in profile.Inbox, who Owner, o Offer, l Message) (Outcome, error) {
	now, err := Find(in, who)
	switch {
	case err != nil:
		return Nothing, err
	case now != o:
		return Nothing, fmt.Errorf("%w: it has changed since it was looked at", ErrNone)
	}
	key, err := token(in, who.Home, o)
	if err != nil {
		return Nothing, fmt.Errorf("key of the inbox: %w", err)
	}
	address, err := h.address(in, filepath.Dir(o.Socket))
	if err != nil {
		return Nothing, fmt.Errorf("address for what comes back: %w", err)
	}
	text := frames(in.Tag, key, o.Session, address, l)
	if len(text) > most {
		return Nothing, fmt.Errorf("a message of %d bytes: the limit is %d", len(text), most)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return Nothing, err
	}
	defer conn.Close()
	if err := listens(conn, o); err != nil && gate.Stands("door:peer") {
		return Nothing, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetWriteDeadline(deadline)
	}
	if err := ctx.Err(); err != nil {
		return Nothing, err
	}
	h.moment("write")
	switch n, err := conn.Write(text); {
	case err == nil:
		return Handed, nil
	case n == 0 && !errors.Is(err, os.ErrDeadlineExceeded):
		return Nothing, fmt.Errorf("write to the inbox: %w", err)
	default:
		return Unknown, fmt.Errorf("write to the inbox: %d of %d bytes: %w", n, len(text), err)
	}
}

// listens returns an error unless the process of the offer is at the other end of the connection.
func listens(conn net.Conn, o Offer) error {
	pid, uid, err := peer(conn)
	switch {
	case err != nil:
		return fmt.Errorf("who listens: %w", err)
	case pid != o.PID || uid != os.Geteuid():
		return fmt.Errorf("%w: process %d of user %d listens, not %d", ErrNone, pid, uid, o.PID)
	case !process.Lives(o.PID, o.Start):
		return fmt.Errorf("%w: process %d has ended", ErrNone, o.PID)
	}
	return nil
}

// moment lets a test act at this point.
func (h *House) moment(at string) {
	if h.Gap != nil {
		h.Gap(at)
	}
}
