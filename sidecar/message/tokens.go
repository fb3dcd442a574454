package message

import "fmt"

// Tokens is what a turn used, by its agent's own account.
type Tokens struct {
	Fresh  int `json:"fresh"`  // that its model read for the first time, what it wrote into a cache included
	Cached int `json:"cached"` // that its model had from a cache
	Output int `json:"output"` // that it wrote, what it thought included
}

// Counted are those that a limit counts: what is in a cache is read again at every call, and costs
// little.
func (t Tokens) Counted() int { return t.Fresh + t.Output }

// Add adds what another turn used.
func (t *Tokens) Add(more Tokens) {
	t.Fresh, t.Cached, t.Output = t.Fresh+more.Fresh, t.Cached+more.Cached, t.Output+more.Output
}

// Spent is what the turns of a chat used so far, as far as their agents write that down.
type Spent struct {
	Tokens
	Turns   int `json:"turns,omitempty"`   // of which that is known
	Granted int `json:"granted,omitempty"` // of those counted, when a person last let the chat go on beyond a limit
}

// Words says it of a chat of that many turns: "unknown" where none has told.
func (s Spent) Words(turns int) string {
	switch unknown := turns - s.Turns; {
	case s.Turns == 0 && turns == 0:
		return "0"
	case s.Turns == 0:
		return "unknown"
	case unknown > 0:
		return fmt.Sprintf("%s; unknown of %d turns", s, unknown)
	}
	return s.String()
}

func (s Spent) String() string {
	return fmt.Sprintf("%d (fresh %d, output %d; from a cache %d more)", s.Counted(), s.Fresh, s.Output, s.Cached)
}
