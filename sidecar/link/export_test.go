package link

import (
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

// Sign signs what the computer says whose key lies in dir.
func Sign(dir, subject string, data []byte) (*nats.Msg, error) {
	id, err := loadIdentity(dir)
	if err != nil {
		return nil, err
	}
	return id.sign(subject, data)
}

// ToSubject is where a computer's mail goes.
func ToSubject(to, from string) string { return toSubject(to, from) }

// AskWithin is how long a question waits for its answer.
const AskWithin = askWithin

// AskSubject is where a computer is asked.
func AskSubject(to, from string) string { return askSubject(to, from) }

// SignJSON is Sign of a value.
func SignJSON(dir, subject string, what any) (*nats.Msg, error) {
	data, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return Sign(dir, subject, data)
}

// All does one after the other with a link.
func All(changes ...func(*Link)) func(*Link) {
	return func(l *Link) {
		for _, change := range changes {
			change(l)
		}
	}
}

// LostAfter has what is not heard of sent again sooner.
func LostAfter(d time.Duration) func(*Link) { return func(l *Link) { l.timing.lost = d } }

// ListEvery has a mailbox listed as seldom.
func ListEvery(d time.Duration) func(*Link) { return func(l *Link) { l.timing.list = d } }

// UnheardFor has a computer that floods be heard again sooner, and be one sooner: beyond so much at once.
func UnheardFor(d time.Duration, burst int) func(*Link) {
	return func(l *Link) { l.timing.unheard, l.timing.excess = d, pace{rate.Limit(burst), burst} }
}

// AskEvery has other computers be asked sooner what became of what they were sent.
func AskEvery(d time.Duration) func(*Link) {
	return func(l *Link) { l.timing.confirm, l.timing.reconcile = d, d }
}

// SpareAfter has one that had the link be waited for longer, or not as long.
func SpareAfter(d time.Duration) func(*Link) { return func(l *Link) { l.timing.spare = d } }

// PublishWithin has a link wait longer for the word of the server.
func PublishWithin(d time.Duration) func(*Link) { return func(l *Link) { l.timing.publish = d } }

// RetryEvery has what failed, or must wait, be tried again sooner.
func RetryEvery(d time.Duration) func(*Link) {
	return func(l *Link) { l.timing.retry, l.timing.reconnect, l.timing.later = d, d, d }
}

// Rooms has so many sessions of one computer be peers here.
func Rooms(most int) func(*Link) { return func(l *Link) { l.rooms = most } }

// Paced has so much mail of one computer be read a second, and so much at once.
func Paced(perSecond float64, burst int) func(*Link) {
	return func(l *Link) { l.pace = pace{rate.Limit(perSecond), burst} }
}

// Refusal is what is logged when something of a computer is refused.
func (l *Link) Refusal(computer string) { l.refusal(computer, "mail", errLater) }

// ToldRefusals is what the beat of a link does.
func (l *Link) ToldRefusals() { l.toldRefusals() }
