package soaktest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// The judge sees each kind of breach, and none in a run that was right.
func TestJudge(t *testing.T) {
	t.Parallel()
	one, two := soaktest.Mark{Stream: "a", Seq: 1}, soaktest.Mark{Stream: "a", Seq: 2}
	word := func(m soaktest.Mark, a soaktest.Answer) soaktest.Word {
		return soaktest.Word{Mark: m, Way: "api", From: "here", To: "Ann", Answer: a}
	}
	of := func(states ...soaktest.State) soaktest.Journal {
		j := soaktest.Journal{States: states}
		for _, s := range states {
			j.Whys = append(j.Whys, string(s))
		}
		return j
	}
	made := []soaktest.Span{{To: time.Time{}.Add(time.Second)}} // when all is sent
	for name, c := range map[string]struct {
		answers [2]soaktest.Answer
		taken   []soaktest.Mark
		journal [2]soaktest.Journal
		want    string
	}{
		"right":                     {taken: []soaktest.Mark{one, two}},
		"lost by the journal":       {taken: []soaktest.Mark{one}, journal: [2]soaktest.Journal{{}, {States: []soaktest.State{"unknown"}}}, want: soaktest.NothingLost},
		"never taken":               {taken: []soaktest.Mark{one}, want: soaktest.ReceiptsTrue},
		"taken twice":               {taken: []soaktest.Mark{one, one, two}, want: soaktest.NothingTwice},
		"two deliveries":            {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{of(soaktest.Taking, soaktest.Uncertain), {}}, want: soaktest.NothingTwice},
		"asked about again":         {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{of(soaktest.Taking, soaktest.Repeated), {}}, want: soaktest.NothingTwice},
		"out of order":              {taken: []soaktest.Mark{two, one}, want: soaktest.InOrder},
		"failed, and taken":         {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{of(soaktest.Failed), {}}, want: soaktest.ReceiptsTrue},
		"kept, and taken":           {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{of(soaktest.Kept), {}}, want: soaktest.ReceiptsTrue},
		"still on its way":          {taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{of(soaktest.Open), {}}, want: soaktest.EndsAtRest},
		"refused, and taken":        {answers: [2]soaktest.Answer{soaktest.Refused, ""}, taken: []soaktest.Mark{one, two}, want: soaktest.RefusedStays},
		"nobody sent it":            {taken: []soaktest.Mark{one, two, {Stream: "b", Seq: 1}}, want: soaktest.KnownSource},
		"failed, and told so":       {answers: [2]soaktest.Answer{soaktest.Refused, ""}, taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{of(soaktest.Failed), {}}},
		"uncertain, taken":          {taken: []soaktest.Mark{one, two}, journal: [2]soaktest.Journal{of(soaktest.Uncertain), {}}},
		"uncertain, not taken":      {taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{of(soaktest.Uncertain), {}}},
		"tried anew, after another": {taken: []soaktest.Mark{two, one}, journal: [2]soaktest.Journal{of(soaktest.Failed, soaktest.Taking), {}}},
		"decided anew":              {taken: []soaktest.Mark{two, one}, journal: [2]soaktest.Journal{of(soaktest.Replaced, soaktest.Taking), {}}},
		"replaced by nothing":       {taken: []soaktest.Mark{two}, journal: [2]soaktest.Journal{of(soaktest.Replaced), {}}, want: soaktest.NothingLost},
	} {
		t.Run(name, func(t *testing.T) {
			h := soaktest.History{Made: made, Taken: map[string]soaktest.Taken{"Ann": {Marks: c.taken}}, Journals: map[string]map[soaktest.Mark]soaktest.Journal{"here": {}}}
			for i, m := range []soaktest.Mark{one, two} {
				answer, in := c.answers[i], c.journal[i]
				if answer == "" {
					answer = soaktest.Accepted
				}
				h.Words = append(h.Words, word(m, answer))
				if len(in.States) == 0 {
					in = of(soaktest.Taking)
				}
				if in.States[0] != "unknown" {
					h.Journals["here"][m] = in
				}
			}
			broken := map[string]bool{}
			for _, f := range soaktest.Judge(h) {
				broken[f.Invariant] = true
			}
			assert.Equal(t, c.want != "", broken[c.want], "%v", soaktest.Judge(h))
			if c.want == "" {
				assert.Empty(t, broken)
			}
		})
	}
}

// What fails or is uncertain is right only where something was wrong.
func TestJudge_doubtWithoutAReason(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := soaktest.Mark{Stream: "a", Seq: 1}
	for after, want := range map[time.Duration]int{-20 * time.Second: 1, -10 * time.Second: 0, 2 * time.Second: 0, 10 * time.Second: 1} {
		for _, state := range []soaktest.State{soaktest.Failed, soaktest.Uncertain, soaktest.Kept} {
			found := soaktest.Judge(soaktest.History{
				Words:    []soaktest.Word{{Mark: m, Way: "api", From: "here", To: "Ann", Answer: soaktest.Accepted, Begun: at.Add(after)}},
				Journals: map[string]map[soaktest.Mark]soaktest.Journal{"here": {m: {States: []soaktest.State{state}, Whys: []string{string(state)}}}},
				Made:     []soaktest.Span{{From: at, To: at.Add(time.Second)}},
			})
			assert.Len(t, found, want, "%s %v after a fault: %v", state, after, found)
		}
	}
	assert.Empty(t, soaktest.Judge(soaktest.History{
		Words:    []soaktest.Word{{Mark: m, Way: "api", From: "here", To: "Ann", Answer: soaktest.Accepted, Begun: at}},
		Taken:    map[string]soaktest.Taken{"Ann": {Marks: []soaktest.Mark{m}}},
		Journals: map[string]map[soaktest.Mark]soaktest.Journal{"here": {m: {States: []soaktest.State{soaktest.Replaced, soaktest.Taking}}}},
	}), "what was decided anew is no doubt")
}

// What grows in one life of a process is seen, and what grows from life to life.
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
					h.Vitals = append(h.Vitals, soaktest.Vital{At: at, Who: "sidecar", PID: life, Files: c.files(life, second)})
				}
			}
			assert.Equal(t, c.want, len(soaktest.Judge(h)) > 0, "%v", soaktest.Judge(h))
			var page strings.Builder
			soaktest.Report(&page, soaktest.Run{Begun: at, Ended: at.Add(time.Minute)}, h, soaktest.Judge(h))
			assert.Equal(t, c.want, strings.Contains(page.String(), "BROKEN"))
		})
	}
}
