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

// AskSubject is where a computer is asked.
func AskSubject(to, from string) string { return askSubject(to, from) }

// SetLostAfter has what is not heard of sent again sooner.
func SetLostAfter(t interface{ Cleanup(func()) }, d time.Duration) {
	was := lostAfter
	lostAfter = d
	t.Cleanup(func() { lostAfter = was })
}

// SignJSON is Sign of a value.
func SignJSON(dir, subject string, what any) (*nats.Msg, error) {
	data, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return Sign(dir, subject, data)
}

// SetListEvery has a mailbox listed as seldom.
func SetListEvery(t interface{ Cleanup(func()) }, d time.Duration) {
	was := listEvery
	listEvery = d
	t.Cleanup(func() { listEvery = was })
}

// SetUnheardFor has a computer that floods be heard again sooner.
func SetUnheardFor(t interface{ Cleanup(func()) }, d time.Duration) {
	was := unheardFor
	unheardFor = d
	t.Cleanup(func() { unheardFor = was })
}

// SetReconcileEvery has the computers that are here be asked sooner what became of what they have taken.
func SetReconcileEvery(t interface{ Cleanup(func()) }, d time.Duration) {
	was := reconcileEvery
	reconcileEvery = d
	t.Cleanup(func() { reconcileEvery = was })
}

// Paced has so much mail of one computer be read a second, and so much at once.
func Paced(perSecond float64, burst int) func(*Link) {
	return func(l *Link) { l.pace = pace{rate.Limit(perSecond), burst} }
}

// Refusal is what is logged when something of a computer is refused.
func (l *Link) Refusal(computer string) { l.refusal(computer, "mail", errLater) }

// ToldRefusals is what the beat of a link does.
func (l *Link) ToldRefusals() { l.toldRefusals() }
