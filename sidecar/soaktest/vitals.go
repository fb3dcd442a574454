package soaktest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Vital is how one process is at one moment.
type Vital struct {
	At       time.Time
	Who      string // the role of the process: a sidecar, a guard, a tmux server
	PID      int
	Memory   int64 // resident bytes
	Files    int
	Routines int // 0: not known
	Clients  int // of tmux, that are attached to or speak to it; -1: it is none
}

// What a quantity may grow by after the warm-up: a share of it, and an amount, for those that are small.
// A sidecar is killed every minute and begins anew, so growth is looked for within each life and, by the
// same moment of each life, over all of them.
const (
	warmUp      = 10 * time.Second
	growthShare = 0.25
	oldEnough   = 20 * time.Second
)

// flat finds what has grown.
func flat(all []Vital) (found []Finding) {
	for _, q := range []struct {
		invariant string
		of        func(Vital) float64
		unit      string
		slack     float64
	}{
		{MemoryFlat, func(v Vital) float64 { return float64(v.Memory) / (1 << 20) }, "MiB", 12},
		{FilesFlat, func(v Vital) float64 { return float64(v.Files) }, "descriptors", 20},
		{RoutinesFlat, func(v Vital) float64 { return float64(v.Routines) }, "goroutines", 25},
		{ClientsFlat, func(v Vital) float64 { return float64(v.Clients) }, "clients", 3},
	} {
		for _, who := range roles(all) {
			if q.invariant == MemoryFlat && strings.HasSuffix(who, "tmux server") {
				continue // which is tmux's: the page shows it, and the run looks for what we have left there
			}
			for _, g := range growths(all, who, q.of) {
				if g.by > g.base*growthShare && g.by > q.slack {
					found = append(found, Finding{q.invariant, fmt.Sprintf("%s: %s: from %.0f to %.0f %s", who, g.over, g.base, g.base+g.by, q.unit)})
				}
			}
		}
	}
	return found
}

func roles(all []Vital) []string {
	set := map[string]bool{}
	for _, v := range all {
		set[v.Who] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// growth is what a quantity grew by from its base.
type growth struct {
	over     string
	base, by float64
}

// growths are those within the lives of a role, and over them.
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
		// A quarter at each end, by its median: a garbage collection or a burst is no growth.
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
