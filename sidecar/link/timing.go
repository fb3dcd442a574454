package link

import (
	"cmp"
	"time"
)

// timing is how long things wait, and what is too much in a time. Each link has its own, so that a test that cannot wait for
// a minute shortens that of its own links alone. What is zero is as usual.
type timing struct {
	publish    time.Duration // that the server has to say that it keeps a parcel: one of which it did not is sent again, and known by its id
	retry      time.Duration // until what failed is tried again
	reconnect  time.Duration // until a connection that is lost is
	later      time.Duration // until a parcel is, that rests on what has not come yet
	list       time.Duration // between two questions who has sent something: the server says so by itself, which may be lost
	listUnrung time.Duration // the same where the server was not told to say so
	confirm    time.Duration // between two questions what became of what a computer has not confirmed, beside what it tells by itself
	reconcile  time.Duration // the same of all else, since what it has taken may have been answered
	lost       time.Duration // until what a computer that is here knows nothing of is sent once more (isLost)
	unheard    time.Duration // how long nothing is heard of a computer that floods this one
	spare      time.Duration // how long nobody has to have wanted the link before another sidecar takes it from one that did: who is killed comes back
	excess     pace          // how much of what is too much from one computer is dropped here before that
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
