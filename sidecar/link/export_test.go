package link

import (
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"
)

// Sign signs a message of the computer whose key is in dir.
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

// All combines several changes of a link, in order.
func All(changes ...func(*Link)) func(*Link) {
	return func(l *Link) {
		for _, change := range changes {
			change(l)
		}
	}
}

// LostAfter sets when a delivery that is not heard of is sent again.
func LostAfter(d time.Duration) func(*Link) { return func(l *Link) { l.timing.lost = d } }

// ListEvery sets how often a mailbox is listed.
func ListEvery(d time.Duration) func(*Link) { return func(l *Link) { l.timing.list = d } }

// UnheardFor sets for how long a flooding computer is not heard, and beyond how much at once a computer floods.
func UnheardFor(d time.Duration, burst int) func(*Link) {
	return func(l *Link) { l.timing.unheard, l.timing.excess = d, pace{rate.Limit(burst), burst} }
}

// AskEvery sets how often other computers are asked what became of the messages to them.
func AskEvery(d time.Duration) func(*Link) {
	return func(l *Link) { l.timing.confirm, l.timing.reconcile = d, d }
}

// SpareAfter sets how long a sidecar that had the link is waited for.
func SpareAfter(d time.Duration) func(*Link) { return func(l *Link) { l.timing.spare = d } }

// PublishWithin sets how long a link waits for the server's confirmation.
func PublishWithin(d time.Duration) func(*Link) { return func(l *Link) { l.timing.publish = d } }

// RetryEvery sets how soon something that failed, or must wait, is tried again.
func RetryEvery(d time.Duration) func(*Link) {
	return func(l *Link) { l.timing.retry, l.timing.reconnect, l.timing.later = d, d, d }
}

// Rooms sets how many sessions of one computer may be peers here.
func Rooms(most int) func(*Link) { return func(l *Link) { l.rooms = most } }

// Paced sets how much mail of one computer is read per second, and at once.
func Paced(perSecond float64, burst int) func(*Link) {
	return func(l *Link) { l.pace = pace{rate.Limit(perSecond), burst} }
}

// Refusal logs that something of a computer is refused.
func (l *Link) Refusal(computer string) { l.refusal(computer, "mail", errLater) }

// ToldRefusals does what the beat of a link does.
func (l *Link) ToldRefusals() { l.toldRefusals() }
