package link

import (
	"slices"

	"github.com/nats-io/nats.go"
)

// hearing is the subscriptions beside the mail: questions, answers, and who is here. Normally they cover all
// computers. If one computer says far more than is listened to, dropping its messages still costs the processor
// time of local work, because they have to be read first. So the server is then asked for the messages of each
// other computer by name, and for nothing of the loud one, until its time is over. A computer that was not here
// before is not heard during that time either.
type hearing struct {
	conn  *nats.Conn
	parts []part                        // presence comes last: a computer that is heard of is asked at once
	open  map[string]*nats.Subscription // by subject
}

// part is one kind of message that is heard.
type part struct {
	kind    string
	subject func(from string) string
	hear    nats.MsgHandler
}

// everybody is the speakers while no computer says too much.
func everybody(string) []string { return []string{"*"} }

func nobody(string) []string { return nil }

// underItsName returns who pays for a message that bears the name of a known computer, but not its key. Anybody
// can have the server answer under any name. So an excess of such messages only silences that kind for that
// computer; everything else of it is still heard.
func underItsName(kind, token string) string { return kind + "?" + token }

// payer returns who pays for a message that is heard.
func (l *Link) payer(kind string, m *nats.Msg) string {
	token := from(m.Subject)
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.known[token]; k != nil && m.Header.Get(keyHeader) != k.Key {
		return underItsName(kind, token)
	}
	return token
}

// The kinds of what is heard.
const (
	kindAsk    = "ask"
	kindAnswer = "answer"
	kindHere   = "here"
)

// of changes the subscriptions, so that for each kind exactly these speakers are heard.
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

// speakers returns the computers that are heard now, for each kind.
func (l *Link) speakers(lf *life) func(kind string) []string {
	loud := lf.costs.loud(l.Now())
	if len(loud) == 0 {
		return everybody
	}
	computers := l.Computers()
	return func(kind string) (all []string) {
		for _, c := range computers {
			here := c.Present || slices.Contains(loud, underItsName(kindHere, c.Token)) // it may be here unheard
			if here && !slices.Contains(loud, c.Token) && !slices.Contains(loud, underItsName(kind, c.Token)) {
				all = append(all, c.Token)
			}
		}
		return all
	}
}
