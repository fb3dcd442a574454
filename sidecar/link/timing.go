package link

import (
	"cmp"
	"time"
)

// timing is how long things wait, and how much is too much in a given time. Each link has its own, so that a
// test can shorten that of its own links only. A zero field means the usual value.
type timing struct {
	publish    time.Duration // for the server to confirm that it keeps a parcel; an unconfirmed parcel is sent again, and recognised by its id
	retry      time.Duration // until a failed step is tried again
	reconnect  time.Duration // until a lost connection is tried again
	later      time.Duration // until a parcel is tried again that rests on something that has not come yet
	list       time.Duration // between two questions about who has sent something; the server announces it too, but an announcement may be lost
	listUnrung time.Duration // the same if the server does not announce it
	confirm    time.Duration // between two questions about messages that a computer has not confirmed, beside what it tells unasked
	reconcile  time.Duration // the same for all others, since a message that it has taken may have been answered
	lost       time.Duration // until a delivery that a present computer knows nothing of is sent once more (isLost)
	unheard    time.Duration // how long nothing is heard of a computer that floods this one
	spare      time.Duration // how long a spare, or a sidecar that did not have the link last, leaves it to the other: a killed sidecar comes back
	excess     pace          // how much excess of one computer is dropped here before that
}

var usualTiming = timing{
	publish: publishWithin, retry: 2 * time.Second, reconnect: time.Second, later: 500 * time.Millisecond,
	list: 10 * time.Second, listUnrung: time.Second,
	confirm: 5 * time.Second, reconcile: time.Minute,
	lost:    dupWithin + 30*time.Second, // by then the stream takes the id again
	unheard: time.Minute, spare: 10 * time.Second, excess: pace{5000, 20_000},
}

func (t timing) orUsual() timing {
	u := usualTiming
	return timing{
		cmp.Or(t.publish, u.publish), cmp.Or(t.retry, u.retry), cmp.Or(t.reconnect, u.reconnect), cmp.Or(t.later, u.later), cmp.Or(t.list, u.list), cmp.Or(t.listUnrung, u.listUnrung),
		cmp.Or(t.confirm, u.confirm), cmp.Or(t.reconcile, u.reconcile), cmp.Or(t.lost, u.lost), cmp.Or(t.unheard, u.unheard), cmp.Or(t.spare, u.spare), cmp.Or(t.excess, u.excess),
	}
}
