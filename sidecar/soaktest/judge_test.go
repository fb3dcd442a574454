package soaktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// noon is when the runs of these tests begin. Nothing is wrong before one minute past.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is a moment of the run.
func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func span(kind soaktest.Kind, on string, from, to float64) soaktest.Span {
	return soaktest.Span{Kind: kind, On: on, From: at(from), To: at(to)}
}

// in returns a journal's record of one message: the states of its deliveries, each since half a
// second.
func in(states ...soaktest.State) (j soaktest.Journal) {
	for _, s := range states {
		j = append(j, soaktest.Delivery{State: s, Why: string(s) + ": agent gone", Ended: at(0.5)})
	}
	return j
}

// judged returns the invariants that a history breaks.
func judged(h soaktest.History) map[string]bool {
	broken := map[string]bool{}
	for _, f := range soaktest.Judge(h) {
		broken[f.Invariant] = true
	}
	return broken
}

// The judge finds each kind of breach, and none in a correct run. A tmux server ends during it.
func TestJudge(t *testing.T) {
	t.Parallel()
	one, two := soaktest.Mark{Stream: "a", Seq: 1}, soaktest.Mark{Stream: "a", Seq: 2}
	unknown := soaktest.Journal{} // to the journal
	for name, c := range map[string]struct {
		way     string
		answers [2]soaktest.Answer
		tries   int
		later   bool // after all faults
		taken   []soaktest.Mark
		typed   map[soaktest.Mark]int
		journal [2]soaktest.Journal
		want    string
	}{
		"right":                     {taken: []soaktest.Mark{one, two}, typed: map[soaktest.Mark]int{one: 1, two: 1}},
		"lost by the journal":       {taken: []soaktest.Mark{one}, journal: [2]soaktest.Journal{nil, unknown}, want: soaktest.NothingLost},
		"never taken":               {taken: []soaktest.Mark{one}, want: soaktest.ReceiptsTrue},
		"taken twice":               {taken: []soaktest.Mark{one, one, two}, want: soaktest.NothingTwice},
		"typed twice, taken once":   {taken: []soaktest.Mark{one, two}, typed: map[soaktest.Mark]int{one: 2, two: 1}, want: soaktest.NothingTwice},
		"two deliveries":            {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{in(soaktest.Taking, soaktest.Uncertain), nil}, want: soaktest.NothingTwice},
		"asked about again":         {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{in(soaktest.Taking, soaktest.Repeated), nil}, want: soaktest.NothingTwice},
		"asked, and never told":     {answers: [2]soaktest.Answer{soaktest.Unknown, ""}, tries: 2, taken: []soaktest.Mark{one, two}, want: soaktest.ToldInTheEnd},
		"out of order":              {taken: []soaktest.Mark{two, one}, want: soaktest.InOrder},
		"failed, and taken":         {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{in(soaktest.Failed), nil}, want: soaktest.ReceiptsTrue},
		"kept, and taken":           {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{in(soaktest.Kept), nil}, want: soaktest.ReceiptsTrue},
		"still on its way":          {taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{in(soaktest.Open), nil}, want: soaktest.EndsAtRest},
		"refused, and taken":        {answers: [2]soaktest.Answer{soaktest.Refused, ""}, taken: []soaktest.Mark{one, two}, want: soaktest.RefusedStays},
		"nobody sent it":            {taken: []soaktest.Mark{one, two, {Stream: "b", Seq: 1}}, want: soaktest.KnownSource},
		"said, and unheard":         {answers: [2]soaktest.Answer{soaktest.Said, ""}, taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{unknown, nil}, want: soaktest.NothingLost},
		"acknowledged, and lost":    {way: "talk", taken: []soaktest.Mark{two}, want: soaktest.NothingLost},
		"refused by talk, taken":    {way: "talk", answers: [2]soaktest.Answer{soaktest.Refused, ""}, taken: []soaktest.Mark{one, two}, want: soaktest.RefusedStays},
		"a frame in a fault":        {way: "talk", answers: [2]soaktest.Answer{soaktest.Said, ""}, taken: []soaktest.Mark{two}},
		"a frame without a fault":   {way: "talk", answers: [2]soaktest.Answer{soaktest.Said, ""}, later: true, taken: []soaktest.Mark{two}, want: soaktest.NothingLost},
		"refused without a fault":   {answers: [2]soaktest.Answer{soaktest.Refused, ""}, later: true, taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{unknown, nil}, want: soaktest.RefusedInFault},
		"no answer, no fault":       {answers: [2]soaktest.Answer{soaktest.Unknown, ""}, later: true, taken: []soaktest.Mark{one, two}, want: soaktest.RefusedInFault},
		"talk refuses all":          {way: "talk", answers: [2]soaktest.Answer{soaktest.Refused, soaktest.Refused}, later: true, want: soaktest.RefusedInFault},
		"failed, and told so":       {answers: [2]soaktest.Answer{soaktest.Refused, ""}, taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{in(soaktest.Failed), nil}},
		"uncertain, taken":          {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{in(soaktest.Uncertain), nil}},
		"uncertain, not taken":      {taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{in(soaktest.Uncertain), nil}},
		"tried anew, after another": {taken: []soaktest.Mark{two, one}, journal: [2]soaktest.Journal{in(soaktest.Failed, soaktest.Taking), nil}},
		"decided anew":              {taken: []soaktest.Mark{two, one}, journal: [2]soaktest.Journal{in(soaktest.Replaced, soaktest.Taking), nil}},
		"replaced by nothing":       {taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{in(soaktest.Replaced), nil}, want: soaktest.NothingLost},
	} {
		t.Run(name, func(t *testing.T) {
			h := soaktest.History{
				Made:     []soaktest.Span{span(soaktest.Tmux, "here", 0, 1)},
				Proofs:   map[string]string{"talk": "it says so"},
				Taken:    map[string]soaktest.Taken{"Ann": {Marks: c.taken, Bytes: c.typed}},
				Journals: map[string]map[soaktest.Mark]soaktest.Journal{"here": {}},
			}
			for i, m := range []soaktest.Mark{one, two} {
				w := soaktest.Word{Mark: m, Way: "api", From: "here", To: "Ann", Answer: soaktest.Accepted, Tries: max(c.tries, 1), Begun: at(0.1), Told: at(0.2)}
				if c.later {
					w.Begun, w.Told = at(60), at(60)
				}
				if c.way != "" {
					w.Way = c.way
				}
				if c.answers[i] != "" {
					w.Answer = c.answers[i]
				}
				h.Words = append(h.Words, w)
				switch entry := c.journal[i]; {
				case entry == nil:
					h.Journals["here"][m] = in(soaktest.Taking)
				case len(entry) > 0:
					h.Journals["here"][m] = entry
				}
			}
			broken := judged(h)
			assert.Equal(t, c.want != "", broken[c.want], "%v", soaktest.Judge(h))
			if c.want == "" {
				assert.Empty(t, broken)
			}
		})
	}
}

// Only what a fault makes unavoidable is excused.
func TestJudge_excuses(t *testing.T) {
	t.Parallel()
	m := soaktest.Mark{Stream: "a", Seq: 1}
	delivery := func(s soaktest.State, why string, typed, ended float64) soaktest.Journal {
		d := soaktest.Delivery{State: s, Why: why, Ended: at(ended)}
		if typed > 0 {
			d.Typed = at(typed)
		}
		return soaktest.Journal{d}
	}
	for name, c := range map[string]struct {
		made    soaktest.Span
		way     string
		refused bool
		journal soaktest.Journal
		want    string
	}{
		"a kill, and failed":                    {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Failed, "failed: agent gone", 59, 61), want: soaktest.DoubtInFault},
		"a kill, and kept":                      {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Kept, "held: agent gone", 0, 61), want: soaktest.DoubtInFault},
		"a kill as it was typed":                {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Uncertain, "uncertain: not taken", 59, 64)},
		"a kill before it was typed":            {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Uncertain, "uncertain: not taken", 63, 64), want: soaktest.DoubtInFault},
		"a kill, and it never was":              {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Uncertain, "uncertain: not taken", 0, 64), want: soaktest.DoubtInFault},
		"a kill when it was over":               {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Uncertain, "uncertain: not taken", 56, 57), want: soaktest.DoubtInFault},
		"a kill long after it was typed":        {made: span(soaktest.Kill, "here", 60, 62), journal: delivery(soaktest.Uncertain, "uncertain: not taken", 20, 64), want: soaktest.DoubtInFault},
		"tmux gone, and failed":                 {made: span(soaktest.Tmux, "here", 60, 70), journal: delivery(soaktest.Failed, "failed: agent gone", 0, 65)},
		"tmux gone, and no agent in the place":  {made: span(soaktest.Tmux, "here", 60, 70), journal: delivery(soaktest.Failed, "answered: no agent", 0, 71)},
		"tmux gone, and failed for another why": {made: span(soaktest.Tmux, "here", 60, 70), journal: delivery(soaktest.Failed, "expired", 0, 65), want: soaktest.DoubtInFault},
		"tmux gone, and held for a limit":       {made: span(soaktest.Tmux, "here", 60, 70), journal: delivery(soaktest.Kept, "held: depth", 0, 65), want: soaktest.DoubtInFault},
		"tmux gone, and failed before":          {made: span(soaktest.Tmux, "here", 60, 70), journal: delivery(soaktest.Failed, "failed: agent gone", 0, 58), want: soaktest.DoubtInFault},
		"the clock, and uncertain":              {made: span(soaktest.Clock, "", 60, 61), journal: delivery(soaktest.Uncertain, "uncertain: not taken", 60, 61), want: soaktest.DoubtInFault},
		"the link, and failed":                  {made: span(soaktest.Link, "", 60, 70), way: "link", journal: delivery(soaktest.Failed, "failed: agent gone", 0, 65), want: soaktest.DoubtInFault},
		"a pause, and kept":                     {made: span(soaktest.Pause, "here", 60, 70), journal: delivery(soaktest.Kept, "held: agent gone", 0, 65), want: soaktest.DoubtInFault},
		"refused in a kill":                     {made: span(soaktest.Kill, "here", 60, 62), refused: true},
		"refused in a kill of the other":        {made: span(soaktest.Kill, "there", 60, 62), refused: true, want: soaktest.RefusedInFault},
		"refused in a cut":                      {made: span(soaktest.Link, "", 60, 62), refused: true, want: soaktest.RefusedInFault},
		"refused by the link in a cut":          {made: span(soaktest.Link, "", 60, 62), way: "link", refused: true},
		"refused in a clock":                    {made: span(soaktest.Clock, "", 60, 62), refused: true, want: soaktest.RefusedInFault},
	} {
		t.Run(name, func(t *testing.T) {
			w := soaktest.Word{Mark: m, Way: "api", From: "here", To: "Ann", Answer: soaktest.Accepted, Begun: at(60.5), Told: at(61)}
			if c.way != "" {
				w.Way = c.way
			}
			if c.refused {
				w.Answer = soaktest.Refused
			}
			h := soaktest.History{Words: []soaktest.Word{w}, Made: []soaktest.Span{c.made}}
			if c.journal != nil {
				h.Journals = map[string]map[soaktest.Mark]soaktest.Journal{"here": {m: c.journal}}
			}
			broken := judged(h)
			assert.Equal(t, c.want != "", broken[c.want], "%v", soaktest.Judge(h))
			if c.want == "" {
				assert.Empty(t, broken)
			}
		})
	}
}

// A run that did next to nothing has shown nothing, even if it broke nothing.
func TestJudge_course(t *testing.T) {
	t.Parallel()
	run := func() soaktest.History { // a hundred seconds, one word in each
		h := soaktest.History{
			Plan: soaktest.Plan{Rate: 1, Length: 100 * time.Second, Shares: map[string]float64{"api": 1}}, Answer: []string{"Ann"},
			Journals: map[string]map[soaktest.Mark]soaktest.Journal{"here": {}},
			Clocks:   []soaktest.ClockSet{{From: at(10), To: at(20), Ahead: time.Hour, Seen: map[string]int{"here": 3}}},
		}
		var taken []soaktest.Mark
		for n := range 100 {
			m := soaktest.Mark{Stream: "a", Seq: n + 1}
			h.Words = append(h.Words, soaktest.Word{Mark: m, Way: "api", From: "here", To: "Ann", Answer: soaktest.Accepted, Begun: at(float64(n)), Told: at(float64(n))})
			h.Journals["here"][m] = soaktest.Journal{{State: soaktest.Taking, Answered: true, Ended: at(float64(n))}}
			taken = append(taken, m)
		}
		h.Taken = map[string]soaktest.Taken{"Ann": {Marks: taken}}
		return h
	}
	assert.Empty(t, soaktest.Judge(run()))

	few := run()
	few.Words, few.Taken["Ann"] = few.Words[:49], soaktest.Taken{Marks: few.Taken["Ann"].Marks[:49]}
	assert.True(t, judged(few)[soaktest.RateHeld], "half of what was planned was not sent")

	mute := run()
	mute.Plan.Shares["talk"] = 0.5
	assert.True(t, judged(mute)[soaktest.RateHeld], "one way sent nothing")

	refused := run()
	refused.Made, refused.Taken = []soaktest.Span{span(soaktest.Kill, "here", 0, 100)}, nil
	for i := range refused.Words {
		refused.Words[i].Answer = soaktest.Refused
	}
	clear(refused.Journals["here"])
	assert.True(t, judged(refused)[soaktest.RateHeld], "all is excused, and nothing arrived")

	silent := run()
	for m, j := range silent.Journals["here"] {
		j[0].Answered = j[0].Answered && m.Seq > 20
	}
	assert.True(t, judged(silent)[soaktest.AnswersKnown], "a fifth of the answers is not known")

	still := run()
	still.Clocks[0].Seen = nil
	assert.True(t, judged(still)[soaktest.FaultsMade], "the clock never moved")
}

// Growth within one life of a process is found, and growth from life to life.
func TestJudge_growth(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		files func(life, second int) int
		want  bool
	}{
		"flat":              {func(life, second int) int { return 40 + second%7 }, false},
		"one a second":      {func(life, second int) int { return 40 + second }, true},
		"from life to life": {func(life, second int) int { return 40 + 10*life }, true},
		"after a start":     {func(life, second int) int { return 40 + 4*min(second, 8) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var h soaktest.History
			for life := range 6 {
				for second := range 55 {
					at = at.Add(time.Second)
					h.Vitals = append(h.Vitals, soaktest.Vital{At: at, Who: "sidecar", PID: life, Files: c.files(life, second), Routines: 20})
				}
			}
			assert.Equal(t, c.want, len(soaktest.Judge(h)) > 0, "%v", soaktest.Judge(h))
			var page strings.Builder
			soaktest.Report(&page, soaktest.Run{Begun: at, Ended: at.Add(time.Minute)}, h, soaktest.Judge(h))
			assert.Equal(t, c.want, strings.Contains(page.String(), "BROKEN"))
		})
	}
}

// If no sidecar is killed for a while, a leak shows for which no life of a minute is long enough.
func TestJudge_quietStretch(t *testing.T) {
	t.Parallel()
	base := soaktest.Vital{Who: "here: sidecar", PID: 7, Memory: 50 << 20, Files: 40, Routines: 60, Clients: -1, Children: 2}
	for name, c := range map[string]struct {
		grow func(v *soaktest.Vital, second int)
		want string
	}{
		"flat": {func(v *soaktest.Vital, second int) {
			v.Memory += int64(second%30) << 18
			v.Files, v.Children = v.Files+second%3, v.Children+second%7/6
		}, ""},
		"100 MiB an hour":     {func(v *soaktest.Vital, second int) { v.Memory += int64(second) * (100 << 20) / 3600 }, soaktest.MemoryFlat},
		"a file in a minute":  {func(v *soaktest.Vital, second int) { v.Files += second / 60 }, soaktest.FilesFlat},
		"a goroutine in 40 s": {func(v *soaktest.Vital, second int) { v.Routines += second / 40 }, soaktest.RoutinesFlat},
		"children":            {func(v *soaktest.Vital, second int) { v.Children += second / 120 }, soaktest.ChildrenFlat},
		"nobody counts":       {func(v *soaktest.Vital, second int) { v.Routines = 0 }, soaktest.RoutinesFlat},
	} {
		t.Run(name, func(t *testing.T) {
			h := soaktest.History{Quiet: soaktest.Span{From: at(0), To: at(600)}}
			for second := range 600 {
				v := base
				v.At = at(float64(second))
				c.grow(&v, second)
				h.Vitals = append(h.Vitals, v)
			}
			broken := judged(h)
			assert.Equal(t, c.want != "", broken[c.want], "%v", soaktest.Stretches(h))
			if c.want == "" {
				assert.Empty(t, broken)
			}
		})
	}
}
