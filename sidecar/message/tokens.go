package message

import "fmt"

// Tokens are the tokens that a turn used, by its agent's own account.
type Tokens struct {
	Fresh  int `json:"fresh"`  // read by the model for the first time, including what it wrote into a cache
	Cached int `json:"cached"` // read by the model from a cache
	Output int `json:"output"` // written by the model, including its thinking
}

// Counted returns the tokens that a limit counts. What is in a cache is read again at every call,
// and costs little.
func (t Tokens) Counted() int { return t.Fresh + t.Output }

// Add adds the tokens of another turn.
func (t *Tokens) Add(more Tokens) {
	t.Fresh, t.Cached, t.Output = t.Fresh+more.Fresh, t.Cached+more.Cached, t.Output+more.Output
}

// Spent is what the turns of a chat have used so far, as far as their agents record that.
type Spent struct {
	Tokens
	Turns   int `json:"turns,omitempty"`   // number of turns whose tokens are known
	Granted int `json:"granted,omitempty"` // value of Counted when a person last let the chat go on beyond a limit
}

// Words describes the tokens used in a chat of that many turns: "unknown" if no turn reported any.
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
