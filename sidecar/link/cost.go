package link

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Limits on what one other computer may cost this one, whatever it sends. The excess is dropped before its
// signature is checked, or refused, so that a flood from one computer slows neither this computer nor what
// comes from others.
const (
	hereRate, hereBurst    = 4, 20     // presence, per second
	askRate, askBurst      = 500, 2000 // questions, most of which tell fates; dropped fates are asked for
	workRate, workBurst    = 20, 200   // questions that are answered
	askedMost              = 16        // questions at once
	tellRate, tellBurst    = 1, 20     // replies of which a person is told
	failRate, failBurst    = 1, 100    // messages that come to nothing here: each costs the journal as much as a delivered one
	mailRate, mailBurst    = 40, 200   // mail that is read, in mailUnits
	mailUnit               = 32 << 10  // bytes
	mailShares             = 3         // all computers together get as much as this many
	patience               = 6         // how often a parcel that cannot be taken yet is tried
	patienceRate           = 2 * patience
	mostComputers          = 4096
	mostSessions           = 1000 // of one computer
	mostSessionsAltogether = 50_000
	mostSeats              = 200 // in a chat
	mostDepth              = 1 << 20
	maxTitle               = 200
	maxPresence            = 4 << 10 // bytes; checked before presence is parsed
)

// cost is what one computer has made this one do lately.
type cost struct {
	here, asks, work, tells, waits *rate.Limiter
	fails                          *rate.Limiter
	mail                           *rate.Limiter
	excess                         *rate.Limiter // of what is dropped
	answering                      int
	over                           time.Time // when its excess was last logged
	loud                           time.Time // until then nothing of it is heard
}

// costs is the costs of all computers.
type costs struct {
	pace   pace
	timing timing

	mu   sync.Mutex
	all  map[string]*cost
	mail *rate.Limiter // of all together
}

// pace is how much mail of one computer is read: more than a conversation of agents reaches, and a small part
// of what this computer could read. The excess waits in the mailbox, and only its sender is to blame if it
// fills.
type pace struct {
	rate  rate.Limit // per second
	burst int
}

func (p pace) limiter(shares int) *rate.Limiter {
	return rate.NewLimiter(p.rate*rate.Limit(shares), p.burst*shares)
}

// read notes that mail of a computer was read, of so many bytes, and returns when more of it may be read. Only
// the sender of the mail waits for what it costs.
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

// of returns the cost of a computer. Those beyond the number that is remembered share one.
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

// may reports whether a computer may have something more done, whether it is time to log that it may not, and
// whether it has just become so loud that it is no longer heard.
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

// fails reports whether so many messages of a computer come to nothing that no more are tried.
func (c *costs) fails(token string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(token).fails.TokensAt(now) < 1
}

// loud returns the computers of which nothing is heard.
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

// begin takes one of the places in which questions of a computer are answered. end gives it back.
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

// allows reports whether a computer may have something more done. An excess is logged, at most once a minute.
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

// waitsFor reports whether a parcel that cannot be taken now comes again, ahead of all others of its sender. It
// does so the first few times, and not too often for one computer.
func (l *Link) waitsFor(lf *life, token string, p parcel) bool {
	return p.tries < patience && l.allows(lf, token, "parcels that wait", func(c *cost) *rate.Limiter { return c.waits })
}

// plausible returns those of a computer's sessions that can be sessions, without those that others have.
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

// shortTitle returns the part of a title for which a list has room.
func shortTitle(title string) string { return short(title, maxTitle) }

// Short returns the part of another computer's word or line for which a list has room.
func Short(text string) string { return short(text, maxTitle) }

// short returns the beginning of a text, of not much more than most bytes. The result does not keep the rest in
// memory.
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

// word returns a word of a protocol, or other if w is none.
func word(w, other string) string {
	if w == "" || len(w) > registry.MaxName || strings.ContainsFunc(w, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return other
	}
	return w
}
