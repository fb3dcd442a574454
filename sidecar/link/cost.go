package link

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// What one other computer may cost this one, whatever it sends. What is beyond is dropped before its signature is
// checked, or refused, so that a flood from one slows neither this computer nor what comes from others.
const (
	hereRate, hereBurst    = 4, 20     // presence, a second
	askRate, askBurst      = 500, 2000 // questions, most of which tell fates; those that are dropped are asked for
	workRate, workBurst    = 20, 200   // questions that are answered
	askedMost              = 16        // of them at once
	tellRate, tellBurst    = 1, 20     // replies that a person is told of
	failRate, failBurst    = 1, 100    // messages that come to nothing here: each costs the journal as much as one that is delivered
	mailRate, mailBurst    = 40, 200   // mail that is read, each mailUnit of it
	mailUnit               = 32 << 10  // bytes
	mailShares             = 3         // as much of all together as of so many
	patience               = 6         // how often a parcel is tried that cannot be taken yet
	patienceRate           = 2 * patience
	mostComputers          = 4096
	mostSessions           = 1000 // of one computer
	mostSessionsAltogether = 50_000
	mostSeats              = 200 // in a chat
	mostDepth              = 1 << 20
	maxTitle               = 200
	maxPresence            = 4 << 10 // bytes, before it is looked at
)

// cost is what one computer has had this one do lately.
type cost struct {
	here, asks, work, tells, waits *rate.Limiter
	fails                          *rate.Limiter
	mail                           *rate.Limiter
	excess                         *rate.Limiter // of what is dropped
	answering                      int
	over                           time.Time // that an excess of it was logged
	loud                           time.Time // until when nothing of it is heard
}

// costs are those of all.
type costs struct {
	pace   pace
	timing timing

	mu   sync.Mutex
	all  map[string]*cost
	mail *rate.Limiter // of all together
}

// pace is how much mail of one computer is read: what a conversation of agents does not reach, and a small part of what this
// computer could. What is beyond waits in the mailbox, which is its sender's to fill.
type pace struct {
	rate  rate.Limit // a second
	burst int
}

func (p pace) limiter(shares int) *rate.Limiter {
	return rate.NewLimiter(p.rate*rate.Limit(shares), p.burst*shares)
}

// read notes that mail of a computer was read, of so many bytes, and returns when more of it is. Nobody but its sender
// waits for what it costs.
func (c *costs) read(token string, bytes int, now time.Time) (next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mail == nil {
		c.mail = c.pace.limiter(mailShares)
	}
	units := min(1+bytes/mailUnit, c.pace.burst)
	wait := c.of(token).mail.ReserveN(now, units).DelayFrom(now)
	return now.Add(max(wait, c.mail.ReserveN(now, units).DelayFrom(now)))
}

// of is the cost of a computer. Those beyond what is remembered share one.
func (c *costs) of(token string) *cost {
	if c.all == nil {
		c.all = map[string]*cost{}
	}
	if c.all[token] == nil && len(c.all) >= mostComputers {
		token = ""
	}
	one := c.all[token]
	if one == nil {
		one = &cost{
			here: rate.NewLimiter(hereRate, hereBurst), asks: rate.NewLimiter(askRate, askBurst), work: rate.NewLimiter(workRate, workBurst),
			tells: rate.NewLimiter(tellRate, tellBurst), waits: rate.NewLimiter(rate.Every(time.Minute/patienceRate), patienceRate),
			fails: rate.NewLimiter(failRate, failBurst), excess: c.timing.excess.limiter(1),
			mail: c.pace.limiter(1),
		}
		c.all[token] = one
	}
	return one
}

// may reports whether a computer may have something more done, whether it is time to say that it may not, and whether it
// has just become so loud that it is not to be heard.
func (c *costs) may(token string, now time.Time, of func(*cost) *rate.Limiter) (ok, say, loud bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of(token)
	if of(one).AllowN(now, 1) {
		return true, false, false
	}
	if loud = !one.excess.AllowN(now, 1) && !now.Before(one.loud); loud {
		one.loud = now.Add(c.timing.unheard)
	}
	if say = now.Sub(one.over) > time.Minute; say {
		one.over = now
	}
	return false, say, loud
}

// failed notes that a message of a computer has come to nothing.
func (c *costs) failed(token string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of(token).fails.AllowN(now, 1)
}

// fails reports whether so many of the messages of a computer come to nothing that one more is not tried.
func (c *costs) fails(token string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(token).fails.TokensAt(now) < 1
}

// loud are the computers of which nothing is heard.
func (c *costs) loud(now time.Time) (tokens []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for token, one := range c.all {
		if now.Before(one.loud) {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// begin takes one of the places in which questions of a computer are answered, and returns how it is given back.
func (c *costs) begin(token string) (end func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.of(token)
	if one.answering >= askedMost {
		return nil, false
	}
	one.answering++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		one.answering--
	}, true
}

// allows reports whether a computer may have something more done. What it may not is logged, once a minute.
func (l *Link) allows(lf *life, token, what string, of func(*cost) *rate.Limiter) bool {
	ok, say, loud := lf.costs.may(token, l.Now(), of)
	if loud {
		l.Log.Warn("another computer floods this one: it is not heard for a while", "computer", token, "for", l.timing.unheard)
		wake(lf.flooded)
	}
	if say {
		l.Log.Warn("too much from another computer: the rest is dropped", "computer", token, "what", what)
	}
	return ok
}

// waitsFor reports whether a parcel that cannot be taken now is to come again, ahead of all others: the first few
// times, and of one computer not too often.
func (l *Link) waitsFor(lf *life, token string, p parcel) bool {
	return p.tries < patience && l.allows(lf, token, "parcels that wait", func(c *cost) *rate.Limiter { return c.waits })
}

// plausible are those of the sessions that a computer tells of that can be sessions, without what others have.
func plausible(told []Session, taken func(message.ID) bool, most int) []Session {
	var all []Session
	for _, s := range told {
		if len(all) >= min(most, mostSessions) {
			break
		}
		id, err := message.ParseID(string(s.ID))
		if err != nil || registry.CheckName(s.Name) != nil || taken(id) {
			continue
		}
		s.ID, s.Title = id, shortTitle(s.Title)
		if registry.CheckName(s.Agent) != nil {
			s.Agent = ""
		}
		all = append(all, s)
	}
	return all
}

// shortTitle is a title that a list has room for.
func shortTitle(title string) string { return short(title, maxTitle) }

// Short is a word or a line of another computer that a list has room for.
func Short(text string) string { return short(text, maxTitle) }

// short is the beginning of a text, of not much more than so many bytes, which keeps nothing of the rest.
func short(text string, most int) string {
	cut := len(text)
	for i := range text {
		if i >= most {
			cut = i
			break
		}
	}
	return strings.Clone(strings.ToValidUTF8(text[:cut], ""))
}

// word is a word of a protocol, or other where it is none.
func word(w, other string) string {
	if w == "" || len(w) > registry.MaxName || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return other
	}
	return w
}
