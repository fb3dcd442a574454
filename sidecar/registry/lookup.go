package registry

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/spelling"
)

// The possible failures of a lookup; a LookupError wraps one of them.
var (
	ErrUnknown   = message.NewError(message.KindUnknown, "unknown")
	ErrAmbiguous = message.NewError(message.KindAmbiguous, "ambiguous")
	ErrEnded     = message.NewError(message.KindGone, "ended")
)

// LookupError says that a reference names nothing, or more than one thing.
type LookupError struct {
	Kind       string   // "session" or "chat"
	Ref        string   // the reference
	Candidates []string // ErrAmbiguous: everything that Ref names; ErrUnknown: the nearest names, at most three
	Why        string   // ErrEnded: why it ended
	Err        error    // ErrUnknown, ErrAmbiguous or ErrEnded
}

func (e *LookupError) Error() string {
	switch {
	case errors.Is(e.Err, ErrAmbiguous):
		return fmt.Sprintf("%s %q is ambiguous: %s", e.Kind, e.Ref, strings.Join(e.Candidates, ", "))
	case errors.Is(e.Err, ErrEnded) && e.Why != "":
		return fmt.Sprintf("%s %q has ended: %s", e.Kind, e.Ref, e.Why)
	case errors.Is(e.Err, ErrEnded):
		return fmt.Sprintf("%s %q has ended", e.Kind, e.Ref)
	case len(e.Candidates) > 0:
		return fmt.Sprintf("no %s %q; nearest: %s", e.Kind, e.Ref, strings.Join(e.Candidates, ", "))
	}
	return fmt.Sprintf("no %s %q", e.Kind, e.Ref)
}

// Unwrap returns the sentinel.
func (e *LookupError) Unwrap() error { return e.Err }

// nearest returns at most three of the names that a person may have meant by ref, the nearest first: those that
// begin with it or differ by few letters.
func nearest(ref string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	// A reference may be of any length; a name may not.
	if ref == "" || len(ref) > 2*MaxName {
		return nil
	}
	ref = strings.ToLower(ref)
	most := max(1, min(3, len(ref)/2))
	var found []candidate
	for _, name := range names {
		low := strings.ToLower(name)
		if low == "" {
			continue
		}
		far := spelling.Distance(ref, low)
		if strings.HasPrefix(low, ref) {
			far = 0
		}
		if far <= most {
			found = append(found, candidate{name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range found[:min(3, len(found))] {
		out = append(out, c.name)
	}
	return out
}
