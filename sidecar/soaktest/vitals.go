package soaktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Vital is the state of one process at one moment.
type Vital struct {
	At       time.Time
	Who      string // the role of the process: a sidecar, a guard, a tmux server
	PID      int
	Memory   int64 // resident bytes
	Files    int
	Children int // processes
	Routines int // 0: not known
	Clients  int // tmux clients that are attached or talk to it; -1: it is no tmux server
}

// quantity is a quantity that may not grow.
type quantity struct {
	invariant string
	unit      string
	of        func(Vital) float64
	slack     float64       // within a life between two kills, or from life to life
	strict    float64       // in the quiet stretch
	each      float64       // per message, there
	least     time.Duration // least length of that stretch after its warm-up: a young process takes memory for minutes
}

// The slack is generous: a life of a minute is mostly warm-up. Leaks that grow with the messages
// are found in the quiet stretch, in which growth may be only as much as chance gives a median.
var quantities = []quantity{
	{MemoryFlat, "MiB", func(v Vital) float64 { return float64(v.Memory) / (1 << 20) }, 12, 4, 256.0 / (1 << 20), 3 * time.Minute},
	{FilesFlat, "descriptors", func(v Vital) float64 { return float64(v.Files) }, 20, 4, 0, time.Minute},
	{RoutinesFlat, "goroutines", func(v Vital) float64 { return float64(v.Routines) }, 25, 6, 0, time.Minute},
	{ClientsFlat, "clients", func(v Vital) float64 { return float64(v.Clients) }, 3, 1, 0, time.Minute},
	{ChildrenFlat, "processes", func(v Vital) float64 { return float64(v.Children) }, 5, 1, 0, time.Minute},
}

// How much a quantity may grow after the warm-up: a share of it, and an amount, for small
// quantities. A sidecar is killed every minute and begins anew, so growth is looked for within each
// life and, at the same moment of each life, over all lives; and once more, strictly, where no
// sidecar is killed for a while.
const (
	warmUp      = 10 * time.Second
	growthShare = 0.25
	oldEnough   = 20 * time.Second
)

// flat finds the quantities that have grown.
func flat(h History) (found []Finding) {
	for _, who := range roles(h.Vitals) {
		if strings.HasSuffix(who, "sidecar") && !slices.ContainsFunc(h.Vitals, func(v Vital) bool { return v.Who == who && v.Routines > 0 }) {
			found = append(found, Finding{RoutinesFlat, who + ": never counted"})
		}
	}
	for _, q := range quantities {
		for _, who := range roles(h.Vitals) {
			if q.passesOver(who) {
				continue
			}
			for _, g := range growths(h.Vitals, who, q.of) {
				if g.by > g.base*growthShare && g.by > q.slack {
					found = append(found, Finding{q.invariant, fmt.Sprintf("%s: %s: from %.0f to %.0f %s", who, g.over, g.base, g.base+g.by, q.unit)})
				}
			}
		}
	}
	for _, s := range Stretches(h) {
		if s.By > s.May {
			found = append(found, Finding{s.invariant, s.String()})
		}
	}
	return found
}

// passesOver reports whether a quantity of a role is not ours: the memory of a tmux server is
// tmux's. The report shows it, and the run looks for what we have left in the server.
func (q quantity) passesOver(who string) bool {
	return q.invariant == MemoryFlat && strings.HasSuffix(who, "tmux server")
}

// Stretch is the change of a quantity of a role in the quiet stretch: from the median of its first
// third to that of its last third.
type Stretch struct {
	invariant, Who, Unit string
	Messages             int
	Took                 time.Duration
	From, By, May        float64
}

// String returns a line for people.
func (s Stretch) String() string {
	return fmt.Sprintf("%s: from %.1f to %.1f %s in %v with %d messages; it may grow by %.1f", s.Who, s.From, s.From+s.By, s.Unit, s.Took.Round(time.Second), s.Messages, s.May)
}

// Stretches returns the stretches of all roles, or none if the quiet stretch is too short to mean
// anything.
func Stretches(h History) (all []Stretch) {
	length := h.Quiet.To.Sub(h.Quiet.From)
	warm := h.Quiet.From.Add(min(length/4, 2*time.Minute))
	third := h.Quiet.To.Sub(warm) / 3
	within := func(from, to time.Time) func(Vital) bool {
		return func(v Vital) bool { return v.At.Before(from) || !v.At.Before(to) }
	}
	messages := 0
	for _, w := range h.Words {
		if !w.Begun.Before(warm) && w.Begun.Before(h.Quiet.To) {
			messages++
		}
	}
	for _, who := range roles(h.Vitals) {
		mine := slices.DeleteFunc(slices.Clone(h.Vitals), func(v Vital) bool { return v.Who != who })
		first, last := slices.DeleteFunc(slices.Clone(mine), within(warm, warm.Add(third))), slices.DeleteFunc(mine, within(h.Quiet.To.Add(-third), h.Quiet.To))
		if len(first) < 8 || len(last) < 8 || first[0].PID != last[len(last)-1].PID {
			continue // no such process, or not the same one
		}
		for _, q := range quantities {
			if q.passesOver(who) || 3*third < q.least {
				continue
			}
			from := median(first, q.of)
			all = append(all, Stretch{q.invariant, who, q.unit, messages, 3 * third, from, median(last, q.of) - from, q.strict + q.each*float64(messages)})
		}
	}
	return all
}

func roles(all []Vital) []string {
	set := map[string]bool{}
	for _, v := range all {
		set[v.Who] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// growth is how much a quantity grew from its base.
type growth struct {
	over     string
	base, by float64
}

// growths returns the growths within the lives of a role, and over them.
func growths(all []Vital, who string, of func(Vital) float64) (found []growth) {
	lives := map[int][]Vital{}
	var order []int
	for _, v := range all {
		if v.Who != who {
			continue
		}
		if lives[v.PID] == nil {
			order = append(order, v.PID)
		}
		lives[v.PID] = append(lives[v.PID], v)
	}
	var plateaus []float64
	for _, pid := range order {
		life := lives[pid]
		warm := slices.DeleteFunc(slices.Clone(life), func(v Vital) bool { return v.At.Sub(life[0].At) < warmUp })
		if len(warm) < 8 || warm[len(warm)-1].At.Sub(warm[0].At) < oldEnough {
			continue
		}
		// Compare the medians of the first and the last quarter: a garbage collection or a burst is
		// no growth.
		q := len(warm) / 4
		first, last := median(warm[:q+1], of), median(warm[len(warm)-q-1:], of)
		plateaus = append(plateaus, first)
		found = append(found, growth{fmt.Sprintf("process %d, %v", pid, warm[len(warm)-1].At.Sub(life[0].At).Round(time.Second)), first, last - first})
	}
	if n := len(plateaus); n >= 4 {
		found = append(found, growth{fmt.Sprintf("over %d lives", n), middle(plateaus[:n/2]), middle(plateaus[n/2:]) - middle(plateaus[:n/2])})
	}
	return found
}

func median(all []Vital, of func(Vital) float64) float64 {
	var values []float64
	for _, v := range all {
		values = append(values, of(v))
	}
	return middle(values)
}

func middle(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}
