package hub

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
)

// Invitation is all that a computer needs to join: one word, which a person carries to it. Anybody who has it
// can speak as that computer.
type Invitation struct {
	Name string // of the invited computer
	URL  string
	Seed string
	CA   []byte // PEM; nil: the server is recognised otherwise, or there is no TLS
}

// wire is the content of the word. Its names are short because people paste it by hand.
type wire struct {
	Version int    `json:"v"`
	Name    string `json:"n"`
	URL     string `json:"u"`
	Seed    string `json:"s"`
	CA      []byte `json:"c,omitempty"` // DER
}

// ErrInvitation says that a word is no invitation.
var ErrInvitation = errors.New("not an invitation")

// String returns the invitation as one word of base64url.
func (i Invitation) String() string {
	w := wire{Version: 1, Name: i.Name, URL: i.URL, Seed: i.Seed}
	if block, _ := pem.Decode(i.CA); block != nil {
		w.CA = block.Bytes
	}
	text, _ := json.Marshal(w) // strings and bytes cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// ParseInvitation reads such a word. It returns an error if a part is missing.
func ParseInvitation(word string) (i Invitation, err error) {
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(word), "="))
	if err != nil {
		return i, fmt.Errorf("%w: %w", ErrInvitation, err)
	}
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return i, fmt.Errorf("%w: it is cut off, or was changed", ErrInvitation)
	}
	if w.Version != 1 {
		return i, fmt.Errorf("%w: version %d is not known here", ErrInvitation, w.Version)
	}
	if w.Name, err = link.Token(w.Name); err != nil {
		return i, fmt.Errorf("%w: %w", ErrInvitation, err)
	}
	if u, err := url.Parse(w.URL); err != nil || u.Host == "" && u.Path == "" || strings.ContainsAny(w.URL, "\"\\ ") {
		return i, fmt.Errorf("%w: %q is not a URL", ErrInvitation, w.URL)
	}
	i = Invitation{Name: w.Name, URL: w.URL, Seed: w.Seed}
	if len(w.CA) > 0 {
		i.CA = encode("CERTIFICATE", w.CA)
	}
	if _, err := link.ParseCredentials(i.Credentials()); err != nil {
		return i, fmt.Errorf("%w: %w", ErrInvitation, err)
	}
	return i, nil
}

// Credentials returns the file that the computer keeps.
func (i Invitation) Credentials() []byte { return link.Format([]byte(i.Seed), i.CA) }

// Invite gives a computer access to the hub at a URL. A running hub knows the computer once Applied returns.
func (h Hub) Invite(name, url string, now time.Time) (i Invitation, err error) {
	ca, err := h.Authority(now) // first, so that no computer is added that cannot be told of it
	if err != nil {
		return i, err
	}
	c, seed, err := h.Add(name, now)
	if err != nil {
		return i, err
	}
	i = Invitation{Name: c.Name, URL: url, Seed: string(seed)}
	if !strings.HasPrefix(url, "nats:") {
		i.CA = ca
	}
	return i, nil
}
