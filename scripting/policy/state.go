package policy

import (
	"fmt"
	"slices"
	"time"
)

// The limits of what a script remembers.
const (
	MaxMemory = 64 << 10       // bytes of keys and values of ctx.set
	MaxKey    = 256            // bytes of a key
	MaxCounts = 4096           // events that ctx.count keeps, over all keys
	MaxWindow = 24 * time.Hour // of ctx.count
)

// Memory is what one script remembers from one message to the next.
type Memory struct {
	Values map[string]any    `json:"values,omitempty"` // string, float64 or bool
	Counts map[string]Window `json:"counts,omitempty"`
}

// Window has the events of one key that are recent enough to be counted.
type Window struct {
	Wide time.Duration `json:"wide_ns"` // the widest window asked for
	At   []time.Time   `json:"at"`
}

// Memories are those of all scripts, by the names of their files. Only Apply changes them.
type Memories map[string]Memory

// Apply commits effects.
func (m Memories) Apply(effects []Effect) {
	for _, e := range effects {
		s := m[e.Script]
		if s.Values == nil {
			s.Values = map[string]any{}
		}
		if s.Counts == nil {
			s.Counts = map[string]Window{}
		}
		switch {
		case e.Count:
			s.count(e)
		case e.Value == nil:
			delete(s.Values, e.Key)
		default:
			s.Values[e.Key] = e.Value
		}
		m[e.Script] = s
	}
}

// early is how far in the future an event may be before it no longer counts: the clock was set back since. Otherwise
// such an event would count until the clock has caught up.
const early = time.Minute

// within reports whether a window that ends now covers an event.
func within(at, now time.Time, window time.Duration) bool {
	age := now.Sub(at)
	return age < window && age > -early
}

// count adds an event and forgets those that no window covers any more.
func (s Memory) count(e Effect) {
	w := s.Counts[e.Key]
	w.Wide = max(w.Wide, e.Window)
	w.At = append(w.At, e.At)
	s.Counts[e.Key] = w
	for key, w := range s.Counts {
		w.At = slices.DeleteFunc(w.At, func(at time.Time) bool { return !within(at, e.At, w.Wide) })
		if s.Counts[key] = w; len(w.At) == 0 {
			delete(s.Counts, key)
		}
	}
}

// Counted returns how many events of a key are younger than window.
func (s Memory) Counted(key string, now time.Time, window time.Duration) int {
	n := 0
	for _, at := range s.Counts[key].At {
		if within(at, now, window) {
			n++
		}
	}
	return n
}

// Check returns an error if an effect would make the memory exceed its limits. waiting are the effects that are not
// committed yet.
func (s Memory) Check(e Effect, waiting []Effect) error {
	if len(e.Key) > MaxKey {
		return fmt.Errorf("a key of %d bytes, the most is %d", len(e.Key), MaxKey)
	}
	if e.Count {
		events := 0
		for _, w := range s.Counts {
			for _, at := range w.At {
				if within(at, e.At, w.Wide) {
					events++
				}
			}
		}
		for _, w := range waiting {
			if w.Script == e.Script && w.Count {
				events++
			}
		}
		if events >= MaxCounts {
			return fmt.Errorf("more than %d events in the windows of ctx.count", MaxCounts)
		}
		return nil
	}
	size := func(key string, value any) int {
		text, _ := value.(string)
		return len(key) + len(text) + 16
	}
	values := map[string]int{}
	for key, value := range s.Values {
		values[key] = size(key, value)
	}
	for _, w := range append(slices.Clip(waiting), e) {
		if w.Script == e.Script && !w.Count {
			delete(values, w.Key)
			if w.Value != nil {
				values[w.Key] = size(w.Key, w.Value)
			}
		}
	}
	total := 0
	for _, n := range values {
		total += n
	}
	if total > MaxMemory {
		return fmt.Errorf("ctx.set would keep %d bytes, the most is %d", total, MaxMemory)
	}
	return nil
}
