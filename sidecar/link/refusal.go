package link

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What is refused from other computers is logged, so that a person can see why something did not arrive; but what one of them
// does a thousand times a second must not push everything else out of the log. So the first are told one by one, and of the
// others one line an interval says how many there were, and from whom. Names are the other side's to choose, so all share
// one limit.
const (
	refusalsBurst = 20
	refusalsEvery = 30 * time.Second
	refusersNamed = 5
	maxError      = 1000 // bytes of the words of another computer that are told of one
)

// unlogged are those that the log has not been told of.
type unlogged struct {
	mu     sync.Mutex
	tell   *rate.Limiter
	unsaid int
	by     map[string]int // how many of them, of the first few computers
}

// one counts a refusal, and reports whether it is told by itself.
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

// rest is how many were not told of, and of whom, once an interval.
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

// toldRefusals logs how many were counted, if it is time to.
func (l *Link) toldRefusals() {
	if n, by := l.refusals.rest(l.Now()); n > 0 {
		l.Log.Warn("refused from other computers: many more", "times", n, "computers", by)
	}
}
