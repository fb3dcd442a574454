package link

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Presence is told every beat. A computer that has missed three is away.
const (
	beat = 10 * time.Second
	away = 3*beat + beat/2
	// greetEvery is how often at most a computer that says that it has just come is told who is here.
	greetEvery = 2 * time.Second
)

// Computer is another computer, as it is listed.
type Computer struct {
	Token    string
	Name     string
	Present  bool
	Since    time.Time // since when it is present or away; zero: not known
	Sessions []Session // as it last told them
	Key      string    // the key with which it signs
	Waiting  int       // messages for it that it has not confirmed yet
}

// known is another computer: the fields with JSON names are remembered, the others are known to this run only.
type known struct {
	Name     string    `json:"name"`
	Key      string    `json:"key"`
	Seen     time.Time `json:"seen"`
	Sessions []Session `json:"sessions,omitempty"`

	revision string    // of Sessions; "": they are from an earlier run
	told     string    // the latest revision, as it says
	asking   bool      // its sessions are being asked for
	boot     string    // identifies the life of its sidecar
	present  bool      // it said that it is here, and has not said goodbye
	since    time.Time // since when present has its value
	sent     time.Time // when it last said so, by its own clock
	greeted  time.Time // when its hello was last answered
}

// directory has the other computers, by their tokens. It is pure: the time is passed in.
type directory map[string]*known

// strangerError says that a computer signs with another key than before.
type strangerError struct{ token string }

func (e *strangerError) Error() string {
	return fmt.Sprintf("computer %q signs with another key than before", e.token)
}

// errCrowded says that no more computers are remembered.
var errCrowded = fmt.Errorf("more than %d computers: it is not taken for a new one", mostComputers)

// trust notes the key with which a computer signs. The first one counts. pinned is the key that a person has
// set for it, "" if none.
func (d directory) trust(token, key, pinned string) error {
	k := d[token]
	switch {
	case pinned != "" && pinned != key, k != nil && pinned == "" && k.Key != key:
		return &strangerError{token}
	case k == nil && len(d) >= mostComputers:
		return errCrowded
	case k == nil:
		d[token] = &known{Name: token, Key: key}
	default:
		k.Key = key
	}
	return nil
}

// heard handles what a computer says about itself. It reports whether its sessions are to be asked for, whether
// it has just come, and whether its hello is to be answered.
func (d directory) heard(token string, p presence, now time.Time) (ask, came, greet bool) {
	k := d[token]
	if !p.Sent.After(k.sent) && now.Sub(p.Sent) > stale {
		return false, false, false // repeated by somebody
	}
	k.sent = p.Sent
	if greet = p.Hello && now.Sub(k.greeted) >= greetEvery; greet {
		k.greeted = now
	}
	if its, err := Token(p.Name); err == nil && its == token {
		k.Name = p.Name
	}
	was := k.is(now)
	came = !was || k.boot != p.Boot
	if was == p.Bye || k.since.IsZero() {
		k.since = now
	}
	k.boot, k.Seen, k.present, k.told = p.Boot, now, !p.Bye, p.Revision
	return !p.Bye && k.revision != p.Revision && !k.asking, came && !p.Bye, greet
}

// is reports whether a computer is present.
func (k *known) is(now time.Time) bool { return k.present && now.Sub(k.Seen) < away }

// list returns all computers, ordered by token.
func (d directory) list(now time.Time) []Computer {
	var all []Computer
	for _, token := range slices.Sorted(maps.Keys(d)) {
		all = append(all, d.computer(token, now))
	}
	return all
}

func (d directory) computer(token string, now time.Time) Computer {
	k := d[token]
	c := Computer{Token: token, Key: k.Key, Name: cmp.Or(k.Name, token), Present: k.is(now), Since: k.since, Sessions: slices.Clone(k.Sessions)}
	if !c.Present {
		c.Since = k.Seen
	}
	return c
}

// tellers returns the computers that have told of sessions, by session.
func (d directory) tellers() map[message.ID]string {
	all := map[message.ID]string{}
	for token, k := range d {
		for _, s := range k.Sessions {
			all[s.ID] = token
		}
	}
	return all
}

// sessions counts the sessions of which all computers but one have told.
func (d directory) sessions(but string) (n int) {
	for token, k := range d {
		if token != but {
			n += len(k.Sessions)
		}
	}
	return n
}

// find returns the session that a computer and a name or id mean; without a computer, a session of any
// computer. With a computer, a session of which it did not tell can be named by its whole id.
func (d directory) find(token, ref string) (string, Session, error) {
	var found []string
	var last Session
	in := token
	for _, t := range slices.Sorted(maps.Keys(d)) {
		if token != "" && t != token {
			continue
		}
		for _, s := range d[t].Sessions {
			if strings.EqualFold(s.Name, ref) || s.ID.Is(ref) || token == "" && strings.EqualFold(s.Name+"."+t, ref) {
				found, last, in = append(found, s.Name+"."+t), s, t
			}
		}
	}
	id, err := message.ParseID(ref)
	switch {
	case len(found) == 1:
		return in, last, nil
	case len(found) > 1:
		return "", Session{}, &registry.LookupError{Kind: "session", Ref: ref, Candidates: found, Err: registry.ErrAmbiguous}
	case token != "" && d[token] != nil && err == nil:
		return token, Session{ID: id, Name: id.Short()}, nil
	}
	return "", Session{}, &registry.LookupError{Kind: "session", Ref: ref, Err: registry.ErrUnknown}
}
