package relay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// expired is the reason with which a sink is told to forget an expired delivery.
const expired = message.Reason(message.Expired)

// Interval of ticks while there is something to wait for, and otherwise.
const (
	tickWaiting = time.Second
	tickIdle    = time.Minute
)

// clock measures time while the computer is awake.
type clock struct {
	*time.Ticker
	pace  time.Duration
	awake func() time.Duration
	last  time.Duration // awake, at the last tick
}

// newClock makes a clock. Without awake, Go's own monotonic clock measures awake time: it stands
// still on Linux and macOS while the computer sleeps (CLOCK_MONOTONIC, mach_absolute_time).
func newClock(awake func() time.Duration) *clock {
	if awake == nil {
		start := time.Now()
		awake = func() time.Duration { return time.Since(start) }
	}
	return &clock{Ticker: time.NewTicker(tickIdle), pace: tickIdle, awake: awake, last: awake()}
}

func (c *clock) reset(pace time.Duration) {
	if pace != c.pace {
		c.pace = pace
		c.Reset(pace)
	}
}

func (c *clock) tick() Tick {
	now := c.awake()
	t := Tick{Awake: now - c.last}
	c.last = now
	return t
}

// Tick says that time has passed: what waited too long expires, and chats pause that nobody may be
// looking at. A wait begins to count at the first Tick after its start, so that nothing comes too
// early, however long the interval before that Tick was.
type Tick struct {
	Awake time.Duration // how long the computer was awake since the last Tick; below 0 is 0
}

func (e Tick) wait(s *stuck, _ *posted) (later bool) {
	s.awake += e.Awake
	return false
}

// UserActive says that a person is at a terminal of the tmux server, or just came. A new State
// assumes it too, and so do a person's requests, adoptions and releases.
type UserActive struct{}

func (UserActive) step(tx *tx) { tx.here = true }

// step takes in that time has passed. It runs every second while there is something to wait for,
// and returns no effects unless something follows.
func (e Tick) step(tx *tx) {
	awake := max(e.Awake, 0)
	if awake > math.MaxInt64-tx.awake {
		awake = math.MaxInt64 - tx.awake
	}
	tx.awake += awake
	if tx.here {
		tx.here, tx.attended = false, tx.awake
	}
	tx.forgetSends()
	tx.expire()
	tx.lapse()
	tx.leftAlone()
	tx.expireHandshakes()
	tx.checkHealth()
}

// waits reports whether passing time may have an effect: a delivery or handshake that may expire, a
// chat that may be left alone, or a turn that may go on for too long.
func (s *State) waits() bool {
	if s.counted != s.changes {
		s.counted = s.changes
		s.watched = slices.ContainsFunc(s.chats, func(c *chat) bool { return c.State == message.ChatOn && c.Limits.Away > 0 })
	}
	return s.waiting > 0 || s.watched || !s.book.Next().IsZero() || s.health > 0 && s.notices.armed > 0
}

// expire ends deliveries that waited at their sinks for too long for a safe moment. What is kept
// from its sink waits for a person, however long that takes.
func (tx *tx) expire() {
	var late []*delivery
	for _, d := range tx.under {
		switch {
		case d.where != atSink || !d.open():
		case d.since == unset:
			d.since = tx.awake
		case !d.Typed && tx.awake-d.since >= d.lasts:
			late = append(late, d)
		}
	}
	if len(late) == 0 {
		return
	}
	inOrder(late)
	var chats []*chat
	for _, d := range late {
		tx.receipt(d, message.Expired, d.reason)
		tx.undelivered(d, " after "+message.ShowDuration(d.lasts))
		if c := tx.chat(d.Chat); c != nil && !slices.Contains(chats, c) {
			chats = append(chats, c)
		}
	}
	tx.cancel(late, expired)
	for _, c := range chats {
		tx.settle(c)
	}
}

// leftAlone pauses the chats that go on only while somebody may be looking, if nobody has been
// there for too long.
func (tx *tx) leftAlone() {
	for _, c := range tx.chats {
		if c.State != message.ChatOn || c.Limits.Away <= 0 || tx.awake-tx.attended <= c.Limits.Away {
			continue
		}
		why := fmt.Sprintf("nobody has been at a terminal for %s", c.Limits.Away)
		tx.brake(c, why)
		tx.noticePause(c, ": "+why)
	}
}
