package link

import (
	"slices"
	"time"

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
	subject func(from string) string
	hear    nats.MsgHandler
}

// everybody is whose words are heard while nobody says too much.
var everybody = []string{"*"}

// of has those be heard, and nobody else.
func (h *hearing) of(speakers []string) error {
	var wanted []string
	for _, p := range h.parts {
		for _, from := range speakers {
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

// speakers are whose words are heard now.
func (l *Link) speakers(lf *life) []string {
	loud := lf.costs.loud(l.Now())
	if len(loud) == 0 {
		return everybody
	}
	var all []string
	for _, c := range l.Computers() {
		if c.Present && !slices.Contains(loud, c.Token) {
			all = append(all, c.Token)
		}
	}
	return all
}

// How much of what is too much from one computer is dropped here, a second, before nothing of it is heard, and how long.
const excessRate, excessBurst = 5000, 20_000

var unheardFor = time.Minute
