package route

import (
	"cmp"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The limits of a chat that sets none of its own.
const (
	DefaultDepth  = 20
	DefaultRate   = 20        // deliveries a minute to one pane
	DefaultBytes  = 4 << 20   // bytes an hour to one pane
	DefaultExpire = time.Hour // awake time until a delivery that waits for a safe moment expires
)

// WithDefaults returns the limits with each zero field replaced by that of defaults, or by the
// built-in limit if that is zero too. Tokens, Away, Person and Approve have no built-in limit: zero
// is off, and stays off if Off says so.
func WithDefaults(l, defaults message.Limits) message.Limits {
	l.Depth = cmp.Or(l.Depth, defaults.Depth, DefaultDepth)
	l.Rate = cmp.Or(l.Rate, defaults.Rate, DefaultRate)
	l.Bytes = cmp.Or(l.Bytes, defaults.Bytes, DefaultBytes)
	l.Tokens = cmp.Or(l.Tokens, defaults.Tokens)
	l.LineBreak = cmp.Or(l.LineBreak, defaults.LineBreak)
	l.Header = cmp.Or(l.Header, defaults.Header)
	l.Door = cmp.Or(l.Door, defaults.Door)
	l.Deliver = cmp.Or(l.Deliver, defaults.Deliver)
	l.Words = cmp.Or(l.Words, defaults.Words)
	l.Person = l.Person || defaults.Person && !l.Off.Person
	l.Stall = cmp.Or(l.Stall, defaults.Stall)
	l.Expire = cmp.Or(l.Expire, defaults.Expire, DefaultExpire)
	if !l.Off.Approve {
		l.Approve = cmp.Or(l.Approve, defaults.Approve)
	}
	if !l.Off.Away {
		l.Away = cmp.Or(l.Away, defaults.Away)
	}
	return l
}

// Sends limits what one agent sends of its own accord, outside of chats. A zero field means the
// built-in limit.
type Sends struct {
	Minute int // messages to one peer
	Hour   int // messages to all, since a person's word
	FanOut int // peers that one message may go to
}

// WithDefaults replaces each zero field by the built-in limit.
func (s Sends) WithDefaults() Sends {
	return Sends{cmp.Or(s.Minute, 10), cmp.Or(s.Hour, 30), cmp.Or(s.FanOut, 5)}
}

// TooDeep reports whether a message is beyond the depth limit: a message at the limit still goes,
// the next does not. A person's word always goes.
func TooDeep(e message.Envelope, limit int) bool {
	return e.Origin != message.OriginHuman && e.Depth > limit
}

// parts is the number of slices that a Window divides its span into.
const parts = 60

// Window counts what happened within a span of time that ends now. It is exact to a sixtieth of its
// span and errs on the side of caution: it forgets an event up to that much too late, but never too
// early. Its size does not grow with its counts. A clock that goes back makes it forget nothing.
type Window struct {
	span  time.Duration
	count [parts + 1]int // a ring of slices, each span/parts long
	base  time.Time      // the first now: slices are numbered from it, by the monotonic clock if there is one
	slice int64          // the number of the newest slice
}

// NewWindow returns a Window over a span of at least a minute.
func NewWindow(span time.Duration) Window { return Window{span: max(span, time.Minute)} }

// Sum returns what was added within the span that ends now.
func (w *Window) Sum(now time.Time) int {
	w.move(now)
	total := 0
	for _, n := range w.count {
		total += n
	}
	return total
}

// Add counts n more.
func (w *Window) Add(now time.Time, n int) {
	w.move(now)
	w.count[w.slice%int64(len(w.count))] += n
}

// Count is what a Window counted in one slice of its span.
type Count struct {
	Age time.Duration `json:"age"` // of the slice's beginning
	N   int           `json:"n"`
}

// Counts returns what was added within the span that ends now, oldest first.
func (w *Window) Counts(now time.Time) (all []Count) {
	w.move(now)
	for slice := max(0, w.slice-parts); slice <= w.slice; slice++ {
		if n := w.count[slice%int64(len(w.count))]; n != 0 {
			all = append(all, Count{max(0, now.Sub(w.base)-time.Duration(slice)*(w.span/parts)), n})
		}
	}
	return all
}

// Restore adds the Counts that another Window of the same span returned at that time.
func (w *Window) Restore(at time.Time, counts []Count) {
	for _, c := range counts {
		w.Add(at.Add(-c.Age), c.N)
	}
}

// Reset forgets all counts.
func (w *Window) Reset() { w.count = [parts + 1]int{} }

// move makes the slice of now the newest.
func (w *Window) move(now time.Time) {
	if w.base.IsZero() {
		w.base = now
	}
	slice := int64(now.Sub(w.base) / (w.span / parts))
	if slice <= w.slice {
		return
	}
	for old := max(w.slice+1, slice-parts); old <= slice; old++ {
		w.count[old%int64(len(w.count))] = 0
	}
	w.slice = slice
}

// Budget counts what goes to one pane.
type Budget struct {
	deliveries Window
	bytes      Window
}

// NewBudget returns an unused Budget.
func NewBudget() *Budget {
	return &Budget{deliveries: NewWindow(time.Minute), bytes: NewWindow(time.Hour)}
}

// Over returns the reason why a body of n bytes must not go to the pane now, or "". A body that
// just reaches a limit still goes.
func (b *Budget) Over(now time.Time, n int, limits message.Limits) message.Reason {
	switch {
	case b.deliveries.Sum(now) >= limits.Rate:
		return message.AtRateLimit
	case b.bytes.Sum(now)+n > limits.Bytes:
		return message.AtByteLimit
	}
	return ""
}

// Spend counts a body of n bytes that goes to the pane.
func (b *Budget) Spend(now time.Time, n int) {
	b.deliveries.Add(now, 1)
	b.bytes.Add(now, n)
}

// Spent is what a Budget has counted.
type Spent struct {
	Deliveries []Count `json:"deliveries,omitempty"`
	Bytes      []Count `json:"bytes,omitempty"`
}

// Empty reports whether nothing was counted.
func (s Spent) Empty() bool { return len(s.Deliveries)+len(s.Bytes) == 0 }

// Spent returns what the Budget counts now.
func (b *Budget) Spent(now time.Time) Spent {
	return Spent{b.deliveries.Counts(now), b.bytes.Counts(now)}
}

// Restore adds what another Budget had counted at that time.
func (b *Budget) Restore(at time.Time, s Spent) {
	b.deliveries.Restore(at, s.Deliveries)
	b.bytes.Restore(at, s.Bytes)
}

// Reset forgets what was spent: a person said that it may go on.
func (b *Budget) Reset() {
	b.deliveries.Reset()
	b.bytes.Reset()
}

// Seen remembers the latest ids, to find a repeated message without asking the journal. Its zero
// value is empty; it holds as many ids as the number given to Add.
type Seen struct {
	ids  map[message.ID]struct{}
	ring []message.ID
	next int
}

// Has reports whether id is among the latest.
func (s *Seen) Has(id message.ID) bool {
	_, ok := s.ids[id]
	return ok
}

// Add notes an id. If more than most ids are known, it forgets the oldest.
func (s *Seen) Add(id message.ID, most int) {
	if s.Has(id) {
		return
	}
	if s.ids == nil {
		s.ids = make(map[message.ID]struct{})
	}
	s.ids[id] = struct{}{}
	if len(s.ring) < most {
		s.ring = append(s.ring, id)
		return
	}
	delete(s.ids, s.ring[s.next])
	s.ring[s.next] = id
	s.next = (s.next + 1) % len(s.ring)
}
