package link

import (
	"slices"

	"github.com/nats-io/nats.go"
)

// hearing is what is heard beside the mail: questions, answers, and who is here. That is everybody's, until one computer
// says far more than is listened to: what is dropped has been read, and to read that costs the processor of what is
// local. So the server is asked for what each of the others says, and for nothing of that one, until its time is over.
// Who was not here before is not heard meanwhile either.
type hearing struct {
	conn  *nats.Conn
	parts []part                        // what is heard last comes last: who is heard of is asked at once
	open  map[string]*nats.Subscription // by subject
}

// part is one kind of what is heard.
type part struct {
	kind    string
	subject func(from string) string
	hear    nats.MsgHandler
}

// everybody are whose words are heard while nobody says too much.
func everybody(string) []string { return []string{"*"} }

func nobody(string) []string { return nil }

// underItsName is who pays for what bears the name of a computer that is known, and not its key: anybody can have the server
// answer under any name, so that what is too much there is not heard of that kind, and all else of that computer is.
func underItsName(kind, token string) string { return kind + "?" + token }

// payer is who pays for what is heard.
func (l *Link) payer(kind string, m *nats.Msg) string {
	token := from(m.Subject)
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.known[token]; k != nil && m.Header.Get(keyHeader) != k.Key {
		return underItsName(kind, token)
	}
	return token
}

// The kinds.
const (
	kindAsk    = "ask"
	kindAnswer = "answer"
	kindHere   = "here"
)

// of has those be heard of each kind, and nobody else.
func (h *hearing) of(speakers func(kind string) []string) error {
	var wanted []string
	for _, p := range h.parts {
		for _, from := range speakers(p.kind) {
			subject := p.subject(from)
			wanted = append(wanted, subject)
			if h.open[subject] != nil {
				continue
			}
			sub, err := h.conn.Subscribe(subject, p.hear)
			if err != nil {
				return err
			}
			h.open[subject] = sub
		}
	}
	for subject, sub := range h.open {
		if !slices.Contains(wanted, subject) {
			_ = sub.Unsubscribe()
			delete(h.open, subject)
		}
	}
	return nil
}

// speakers are whose words are heard now, of each kind.
func (l *Link) speakers(lf *life) func(kind string) []string {
	loud := lf.costs.loud(l.Now())
	if len(loud) == 0 {
		return everybody
	}
	computers := l.Computers()
	return func(kind string) (all []string) {
		for _, c := range computers {
			here := c.Present || slices.Contains(loud, underItsName(kindHere, c.Token)) // nobody heard that it is
			if here && !slices.Contains(loud, c.Token) && !slices.Contains(loud, underItsName(kind, c.Token)) {
				all = append(all, c.Token)
			}
		}
		return all
	}
}
