package delta

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

const (
	commonMax  = 48      // a line that stands in the log more often tells little about a place
	candidates = 24      // places looked at closely
	workMax    = 1 << 20 // lines compared at most to find a place, if no line is rare
	smallMax   = 50      // a capture this short has not outrun any history
	weakInk    = 4       // text shorter than this stands in two places by chance
)

// fit is where a capture agrees with the log: its lines from `at` on follow the log's
// lines before `from`.
type fit struct {
	at, from int
	found    bool
	sure     bool // no other place agrees nearly as well
}

// place is one way to lay a capture over the live part of the log: line i of the log is
// line i-shift of the capture. Both are windows on the same paper, so they overlap from the
// first line of one of them. Lines of the log above a capture went with the history or were
// not captured; lines of the log below it were erased.
type place struct {
	shift       int
	once        int // lines with text that agree and stand nowhere else in either
	same, other int // lines with text that agree; lines that do not, or were erased
	oldSame     int // the same, for old lines alone
	oldOther    int
	ink, oldInk int // bytes of text in what agrees, without lines that begin like the prompt
	lastOld     int // the last old line that agrees, or -1
	oldEndsSame bool
}

// align finds the place of a capture, whose lines are c and stand at on.
func (t *Tracker) align(c []string, on stand, shown Capture) fit {
	lo := t.live()
	if n := len(t.log) - max(anchorMax, len(c)+64); n > lo {
		lo = n
	}
	a := newAligner()
	defer a.free()
	a.t, a.c, a.lo, a.old, a.on, a.cut = t, c, lo, max(t.start-lo, 0), on, shown.Cut
	a.intern()
	if shown.Complete && t.top && lo == t.live() && a.fromTop() {
		return a.fit(a.look(0), true)
	}
	good := a.good(a.shifts())
	counted, moved := a.counts(), false // moved: each place would move what was seen
	if counted {
		kept := slices.DeleteFunc(slices.Concat(good, a.good(a.kept())), func(p place) bool { return !a.keeps(p) })
		switch {
		case len(kept) > 0:
			good = kept
		case a.beyond():
			return fit{}
		default:
			moved = true
		}
	}
	if len(good) == 0 {
		return fit{}
	}
	// The best place agrees most; of equals, the one that leaves least as new.
	slices.SortFunc(good, func(p, q place) int {
		return cmp.Or(cmp.Compare(q.same-q.other, p.same-p.other), cmp.Compare(p.shift, q.shift))
	})
	best := good[0]
	sure := !moved && (best.once >= 3 || counted && a.exactly(best))
	for _, p := range good {
		if p.shift != best.shift && 2*p.same >= best.same {
			sure = false
		}
	}
	return a.fit(best, sure)
}

// good returns those of the places that may be believed.
func (a *aligner) good(shifts []int) (all []place) {
	for _, shift := range shifts {
		if p := a.look(shift); a.agrees(p) {
			all = append(all, p)
		}
	}
	return all
}

// aligner compares one capture with the live part of one log.
type aligner struct {
	t    *Tracker
	c    []string
	on   stand // where the capture stands
	cut  int   // rows that go at once from the top of the history, and may have, several times; 0: none went
	lo   int   // index at which the compared part of the log begins
	old  int   // number of old lines in it
	logs []int
	caps []int // equal numbers mean equal lines; those up to noText prove nothing
	kind []kind

	logRows, capRows tally

	ids   map[string]int
	where [][]int // by number: where in the log a line of the capture stands, unless in too many places
	votes []int   // by shift, from -len(caps) on
}

// aligners holds the aligners that are not in use. Each look at a pane that says something needs one with room for
// thousands of lines: to allocate them anew would be most of what a busy sidecar allocates.
var aligners = sync.Pool{New: func() any { return &aligner{ids: map[string]int{}} }}

func newAligner() *aligner { return aligners.Get().(*aligner) } //nolint:forcetypeassert // nothing else is put there

// free gives the aligner back, unless it grew for a capture of an uncommon size. No text is kept.
func (a *aligner) free() {
	if len(a.logs)+len(a.caps) > 3*anchorMax {
		return
	}
	clear(a.ids)
	*a = aligner{ids: a.ids, logs: a.logs, caps: a.caps, kind: a.kind, where: a.where, votes: a.votes}
	aligners.Put(a)
}

// zeroes returns n zero values, in the room of s if there is enough.
func zeroes[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// kind is what is known of all lines with the same number.
type kind struct {
	prompted   bool // the lines begin with the prompt
	ink        int  // bytes of text, unless they begin with the prompt
	logN, capN int  // how often they stand in log and capture
}

// The numbers of lines that may stand anywhere: blank ones and empty composers.
const (
	blankLine = iota
	bareLine
	noText = bareLine
)

func (a *aligner) intern() {
	live := a.t.log[a.lo:]
	a.logs, a.caps = zeroes(a.logs, len(live)), zeroes(a.caps, len(a.c))
	a.ids[""] = blankLine
	a.kind = zeroes(a.kind, noText+1)
	a.kind[bareLine].prompted = true
	id := func(s string) int {
		if n, ok := a.ids[s]; ok {
			return n
		}
		n := len(a.kind)
		switch rest, prompted := a.t.prompt.Rest(s); {
		case prompted && rest == "":
			n = bareLine
		case prompted:
			a.kind = append(a.kind, kind{prompted: true})
		default:
			a.kind = append(a.kind, kind{ink: inkLen(s)})
		}
		a.ids[s] = n
		return n
	}
	for i, l := range live {
		n := id(l.text)
		a.logs[i] = n
		a.kind[n].logN++
	}
	for i, s := range a.c {
		n := id(s)
		a.caps[i] = n
		a.kind[n].capN++
	}
}

// equal compares line i of the log with line j of the capture. The first line of either may be the
// rest of a line that was cut where it wraps. An empty composer does not count as such a rest: a
// text typed into a composer may end as the prompt does.
func (a *aligner) equal(i, j int) bool {
	switch {
	case a.logs[i] == a.caps[j]:
		return true
	case i > 0 && j > 0, a.logs[i] == blankLine, a.logs[i] == bareLine, a.caps[j] == bareLine:
		return false
	}
	log, c := a.t.log[a.lo+i].text, a.c[j]
	if a.caps[j] == blankLine { // the blanks that were cut from a line may have taken a row of their own
		rows := span{}
		if j == 0 && a.on.width > 1 {
			rows = rowsOf(log, a.on.width)
		}
		return rows.least < rows.most
	}
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
		if a.logs[i] > noText {
			text++
		}
	}
	switch {
	case text > 0 || len(a.c) == a.old:
		return true
	case a.t.start < a.lo: // behind a gap nothing is old
		return len(a.logs) > 0 && a.caps[0] > noText && a.equal(0, 0)
	}
	// The open line is the first there is. It is still there; or it was erased to print
	// something unasked, and drawn again further down; or all was cleared.
	if len(a.logs) <= 1 || a.logs[0] == a.caps[0] {
		return true
	}
	p := a.look(0)
	return p.same > p.other || slices.Contains(a.c, a.t.log[a.lo].text)
}

// composer reports whether the log ends with a composer.
func (a *aligner) composer() bool {
	return len(a.logs) > 0 && a.kind[a.logs[len(a.logs)-1]].prompted
}

// prompted reports whether the line of the capture shows the prompt.
func (a *aligner) prompted(j int) bool { return j < len(a.caps) && a.kind[a.caps[j]].prompted }

// shifts returns the shifts of the places worth a look: those for which most lines speak.
func (a *aligner) shifts() []int {
	where := slices.Grow(a.where[:0], len(a.kind))[:len(a.kind)]
	for id := range where {
		where[id] = where[id][:0]
	}
	for i, id := range a.logs {
		if k := a.kind[id]; id > noText && k.capN > 0 && k.logN <= commonMax {
			where[id] = append(where[id], i)
		}
	}
	votes := zeroes(a.votes, len(a.logs)+len(a.caps))
	a.where, a.votes = where, votes
	var shifts []int
	vote := func(shift, n int) {
		i := shift + len(a.caps)
		if i <= 0 || i >= len(votes) {
			return
		}
		if votes[i] == 0 {
			shifts = append(shifts, shift)
		}
		votes[i] += n
	}
	rare := 0
	for j, id := range a.caps {
		for _, i := range where[id] {
			vote(i-j, 2)
		}
		rare += min(1, len(where[id]))
	}
	vote(0, 1) // a first line that was cut agrees with no whole line
	if rare < 3 {
		// There is hardly anything but lines that come again and again: try all places,
		// within reason, beginning with those that leave least as new.
		least, most := len(a.logs)-len(a.caps), workMax/(1+min(len(a.logs), len(a.caps)))
		for n := range min(most, len(votes)) {
			vote(least+n, 1)
			vote(least-n, 1)
		}
		return shifts
	}
	slices.SortFunc(shifts, func(x, y int) int {
		return cmp.Or(cmp.Compare(votes[y+len(a.caps)], votes[x+len(a.caps)]), cmp.Compare(x, y))
	})
	return shifts[:min(candidates, len(shifts))]
}

// look counts the lines that agree at one place.
func (a *aligner) look(shift int) place {
	p := place{shift: shift, lastOld: -1}
	first, end := max(0, shift), min(len(a.logs), len(a.caps)+shift)
	for i := first; i < end; i++ {
		same := a.equal(i, i-shift)
		if i == len(a.logs)-1 && i >= a.old && a.composer() {
			continue // it goes up and down with what is printed above it
		}
		text := a.logs[i] > noText && a.logs[i] == a.caps[i-shift] // the rest of a line proves little
		switch {
		case same && text:
			p.same++
			k := &a.kind[a.logs[i]]
			p.ink += k.ink
			if k.logN == 1 && k.capN == 1 {
				p.once++
			}
		case !same:
			p.other++
		}
		if i >= a.old {
			continue
		}
		switch {
		case same && text:
			p.oldSame++
			p.oldInk += a.kind[a.logs[i]].ink
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

// agrees reports whether a place may be believed: either much agrees, or little does, but that is all
// that could, or it is all old lines down to what may well be the open line.
func (a *aligner) agrees(p place) bool {
	switch {
	case p.ink > 0 && p.other == 0:
		return true
	case p.oldOther > 0:
		return p.oldSame >= 3 && p.oldSame > p.oldOther
	case p.same >= 3 && p.same > p.other, p.oldSame >= 3, p.oldInk >= weakInk:
		return true
	}
	return p.oldInk > 0 && a.prompted(a.old-p.shift)
}

// fit translates a place into what splice needs.
func (a *aligner) fit(p place, sure bool) fit {
	from := max(a.old, p.shift) // from here on, the lines of the capture are taken
	if p.oldOther > 0 && !p.oldEndsSame {
		// Some of the old lines have changed or gone, or others have come. Unless the open
		// line is where it was, it is the one behind the former last old line.
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
