package link

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Refusals of what other computers send are logged, so that a person can see why something did not arrive. But
// what one of them does a thousand times a second must not push everything else out of the log. So the first
// refusals are logged one by one; after that, one line per interval says how many there were, and from whom.
// The other side chooses names as it likes, so all computers share one limit.
const (
	refusalsBurst = 20
	refusalsEvery = 30 * time.Second
	refusersNamed = 5
	maxError      = 1000 // bytes of another computer's text that are logged for one refusal
)

// unlogged counts the refusals that are not logged yet.
type unlogged struct {
	mu     sync.Mutex
	tell   *rate.Limiter
	unsaid int
	by     map[string]int // how many of them, of the first few computers
}

// one counts a refusal, and reports whether it gets a line of its own.
func (r *unlogged) one(token string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tell == nil {
		r.tell, r.by = rate.NewLimiter(rate.Every(refusalsEvery), refusalsBurst), map[string]int{}
	}
	if r.unsaid == 0 && r.tell.AllowN(now, 1) {
		return true
	}
	r.unsaid++
	if r.by[token] > 0 || len(r.by) < refusersNamed {
		r.by[token]++
	}
	return false
}

// rest returns, once per interval, how many refusals were not logged, and by whom they were caused.
func (r *unlogged) rest(now time.Time) (n int, by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unsaid == 0 || !r.tell.AllowN(now, 1) {
		return 0, ""
	}
	n, by = r.unsaid, strings.Join(slices.Sorted(maps.Keys(r.by)), " ")
	r.unsaid = 0
	clear(r.by)
	return n, by
}

// refusal logs that something of another computer was refused, or counts it.
func (l *Link) refusal(token, what string, err error, more ...any) {
	if l.refusals.one(token, l.Now()) {
		l.Log.Warn("refused from another computer", append([]any{"computer", token, "what", what, "err", short(err.Error(), maxError)}, more...)...)
	}
	l.toldRefusals()
}

// toldRefusals logs the number of counted refusals if it is time.
func (l *Link) toldRefusals() {
	if n, by := l.refusals.rest(l.Now()); n > 0 {
		l.Log.Warn("refused from other computers: many more", "times", n, "computers", by)
	}
}
