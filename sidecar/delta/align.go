package delta

import (
	"cmp"
	"slices"
	"strings"
)

const (
	commonMax  = 48 // a line that stands in the log more often tells little of a place
	candidates = 24 // places looked at closely
	placesMax  = 4_000
	workMax    = 8 << 20 // lines compared to find a place, at most, where no line is rare
	smallMax   = 50      // a capture this short has not outrun any history
	weakInk    = 8       // text this short stands in two places by chance
)

// fit is where a capture agrees with the log: its lines from `at` on follow the log's
// lines before `from`.
type fit struct {
	at, from int
	found    bool
	sure     bool // no other place agrees nearly as well
}

// place is one way to lay a capture over the live part of the log: line i of the log is
// line i-shift of the capture. Both are windows on the same paper, so that they overlap
// from the first line of one of them; lines of the log above a capture went with the
// history or were not captured, lines of the log below it were erased.
type place struct {
	shift          int
	same, other    int // lines with text that agree; lines that do not, or were erased
	oldSame        int // the same of old lines alone
	oldOther       int
	oldInk         int // bytes of text in the old lines that agree
	lastOld        int // the last old line that agrees, or -1
	oldEndsSame    bool
	overlapsOldOne bool
}

// align finds the place of a capture.
func (t *Tracker) align(c []string, complete bool) fit {
	lo := t.live()
	if n := len(t.log) - max(anchorMax, len(c)+64); n > lo {
		lo = n
	}
	a := aligner{t: t, c: c, lo: lo, old: max(t.start-lo, 0)}
	a.intern()
	if complete && t.top && lo == t.live() && a.fromTop() {
		return a.fit(a.look(0), true)
	}
	var good []place
	for _, shift := range a.shifts() {
		if p := a.look(shift); a.agrees(p) {
			good = append(good, p)
		}
	}
	if len(good) == 0 {
		return fit{}
	}
	// The best place agrees most; of equals, the one that leaves least as new.
	slices.SortFunc(good, func(p, q place) int {
		return cmp.Or(cmp.Compare(q.same-q.other, p.same-p.other), cmp.Compare(p.shift, q.shift))
	})
	best, sure := good[0], true
	for _, p := range good {
		if p.shift != best.shift && 2*p.same >= best.same {
			sure = false
		}
	}
	return a.fit(best, sure)
}

// aligner compares one capture with the live part of one log.
type aligner struct {
	t    *Tracker
	c    []string
	lo   int // of the part of the log that is compared
	old  int // number of old lines in it
	logs []int
	caps []int // equal numbers mean equal lines; 0 is a blank one
}

func (a *aligner) intern() {
	ids := map[string]int{"": 0}
	id := func(s string) int {
		n, ok := ids[s]
		if !ok {
			n = len(ids)
			ids[s] = n
		}
		return n
	}
	live := a.t.log[a.lo:]
	a.logs, a.caps = make([]int, len(live)), make([]int, len(a.c))
	for i, l := range live {
		a.logs[i] = id(l.text)
	}
	for i, s := range a.c {
		a.caps[i] = id(s)
	}
}

// equal compares line i of the log with line j of the capture. The first line of either
// may be the rest of a line that was cut where it wraps.
func (a *aligner) equal(i, j int) bool {
	if a.logs[i] == a.caps[j] {
		return true
	}
	if i > 0 && j > 0 || a.logs[i] == 0 || a.caps[j] == 0 {
		return false
	}
	log, c := a.t.log[a.lo+i].text, a.c[j]
	return j == 0 && strings.HasSuffix(log, c) || i == 0 && strings.HasSuffix(c, log)
}

// fromTop reports whether log and capture both begin at the top of the same history, so
// that their lines agree from the first one on.
func (a *aligner) fromTop() bool {
	if len(a.c) < a.old {
		return false
	}
	text := 0
	for i := range a.old {
		if !a.equal(i, i) {
			return false
		}
		if a.logs[i] != 0 {
			text++
		}
	}
	switch {
	case text > 0 || len(a.c) == a.old:
		return true
	case a.t.start < a.lo: // behind a gap nothing is old
		return len(a.logs) > 0 && a.caps[0] != 0 && a.equal(0, 0)
	}
	// The open line is the first there is. If it is gone, it was erased, or all was.
	return a.prompted(a.old) || len(a.c) <= smallMax
}

// prompted reports whether the line of the capture shows the prompt.
func (a *aligner) prompted(j int) bool {
	if j >= len(a.c) {
		return false
	}
	_, ok := a.t.prompt.Rest(a.c[j])
	return ok
}

// shifts lists the places worth a look: those for which most lines speak.
func (a *aligner) shifts() []int {
	where := make(map[int][]int, len(a.logs))
	for i, id := range a.logs {
		if id != 0 {
			where[id] = append(where[id], i)
		}
	}
	votes := map[int]int{}
	rare := 0
	for j, id := range a.caps {
		if is := where[id]; id != 0 && len(is) <= commonMax {
			for _, i := range is {
				votes[i-j]++
			}
			if len(is) > 0 {
				rare++
			}
		}
	}
	if len(a.logs) > 0 { // a first line that was cut agrees with none as a whole
		votes[0]++
	}
	if rare < 3 {
		// Hardly anything but lines that come again and again: try all places, but in
		// reason, beginning with those that leave least as new.
		least := len(a.logs) - len(a.caps)
		for n := 0; n < placesMax && n*min(len(a.logs), len(a.caps)) < workMax; n++ {
			votes[least+n] += 0
			votes[least-n] += 0
		}
	}
	shifts := make([]int, 0, len(votes))
	for shift := range votes {
		if -len(a.caps) < shift && shift < len(a.logs) {
			shifts = append(shifts, shift)
		}
	}
	slices.SortFunc(shifts, func(x, y int) int { return cmp.Or(cmp.Compare(votes[y], votes[x]), cmp.Compare(x, y)) })
	if rare >= 3 && len(shifts) > candidates {
		shifts = shifts[:candidates]
	}
	return shifts
}

// look counts what agrees at one place.
func (a *aligner) look(shift int) place {
	p := place{shift: shift, lastOld: -1}
	first, end := max(0, shift), min(len(a.logs), len(a.caps)+shift)
	p.overlapsOldOne = first < a.old
	for i := first; i < end; i++ {
		same := a.equal(i, i-shift)
		switch {
		case same && a.logs[i] != 0:
			p.same++
		case !same:
			p.other++
		}
		if i >= a.old {
			continue
		}
		switch {
		case same && a.logs[i] != 0:
			p.oldSame++
			p.oldInk += len(ink(a.c[i-shift]))
			p.lastOld = i
		case !same:
			p.oldOther++
		}
		if i == a.old-1 {
			p.oldEndsSame = same
		}
	}
	erased := max(0, len(a.logs)-max(end, first))
	p.other += erased
	p.oldOther += max(0, a.old-max(end, first))
	return p
}

// agrees reports whether a place may be believed.
func (a *aligner) agrees(p place) bool {
	switch {
	case !p.overlapsOldOne:
		return p.same >= 3 && p.same > p.other || p.same > 0 && p.other == 0
	case p.oldOther == 0:
		return p.oldSame >= 3 || p.oldSame > 0 && (a.prompted(a.old-p.shift) || p.oldInk >= weakInk)
	}
	return p.oldSame >= 3 && p.oldSame > p.oldOther
}

// fit translates a place into what splice needs.
func (a *aligner) fit(p place, sure bool) fit {
	from := max(a.old, p.shift) // what the capture has from here on is taken from it
	if p.oldOther > 0 && !p.oldEndsSame {
		// Lines changed among the old ones, or went, or came. Unless the open line is
		// where it was, it is the one behind what was the last old line.
		for j := p.lastOld + 1 - p.shift; j < len(a.c) && !a.prompted(from-p.shift); j++ {
			if a.caps[j] == a.logs[a.old-1] && a.prompted(j+1) {
				return fit{at: j + 1, from: a.lo + a.old, found: true, sure: sure}
			}
		}
		if !a.prompted(from - p.shift) {
			from = p.lastOld + 1
		}
	}
	if from == p.shift && from < len(a.logs) && a.logs[from] != a.caps[0] && a.equal(from, 0) {
		from++ // the capture begins with the rest of a line, and the log has all of it
	}
	return fit{at: min(max(from-p.shift, 0), len(a.c)), from: a.lo + from, found: true, sure: sure}
}
