package daemon_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/naivetest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// BenchmarkQ1_RelayLatency measures the time from the last byte that one line program writes
// to the submission of the text in another (Q1), by the clock of the personas' own logs.
func BenchmarkQ1_RelayLatency(b *testing.B) {
	for _, v := range ends(b) {
		for _, transport := range []string{"auto", "native"} {
			b.Run("tmux="+v.Name+"/"+transport, func(b *testing.B) {
				var ours, naive times
				for b.Loop() {
					ours = append(ours, latencies(pairOf(b, newRigOn(b, v, quietly(b), over(transport)), 150, nil))...)
					naive = append(naive, naivePairs(b, bare(b, v), 8, 8)...)
				}
				compare(b, "last byte → submitted, "+v.Name+", "+transport, ours, naive)
			})
		}
	}
}

// compare reports two sets of latencies and their ratios.
func compare(b *testing.B, title string, ours, naive times) {
	b.Helper()
	p50, p99 := float64(naive.at(0.5))/float64(max(ours.at(0.5), 1)), float64(naive.at(0.99))/float64(max(ours.at(0.99), 1))
	table(b, title,
		[]string{"ms", "p50", "p99", "lines"},
		[]string{"ours", ms(ours.at(0.5)), ms(ours.at(0.99)), fmt.Sprint(len(ours))},
		[]string{"naive", ms(naive.at(0.5)), ms(naive.at(0.99)), fmt.Sprint(len(naive))},
		[]string{"naive / ours", fmt.Sprintf("%.1f", p50), fmt.Sprintf("%.1f", p99), ""},
	)
	report(b, ours.at(0.5), "p50")
	report(b, ours.at(0.99), "p99")
	b.ReportMetric(p50, "p50-naive/ours")
	b.ReportMetric(p99, "p99-naive/ours")
}

// pairOf carries n lines from one persona to another, by the sidecar of a rig.
func pairOf(b *testing.B, r *rig, n int, after func(to *agent, h hop)) []hop {
	b.Helper()
	pair := r.lines(2)
	adoptAll(pair)
	chat := r.chat(pair, unlimited...)
	diaries := followAll(pair)
	return hops(b, diaries[0], diaries[1:], n, 100*time.Millisecond, func(h hop) {
		// The next line must not begin before this hop is over.
		r.waitFor("the receipt", func() bool { return r.submitted(chat) >= h.number })
		if after != nil {
			after(pair[1], h)
		}
	})
}

// naivePairs carries n lines in each of several pairs, with a process of the reference for each. The pairs do not
// slow each other down: a reference sleeps nearly all of its time.
func naivePairs(b *testing.B, r *rig, pairs, n int) times {
	b.Helper()
	agents := r.lines(2 * pairs)
	var mu sync.Mutex
	var all times
	var carrying sync.WaitGroup
	for i := range pairs {
		pair := agents[2*i : 2*i+2]
		launch(b, r.naive("relay", namesOf(pair)...), true)
		diaries := followAll(pair)
		carrying.Go(func() {
			got := latencies(hops(b, diaries[0], diaries[1:], n, time.Second, nil))
			mu.Lock()
			defer mu.Unlock()
			all = append(all, got...)
		})
	}
	carrying.Wait()
	return all
}

func namesOf(agents []*agent) (panes []naivetest.Pane) {
	for _, a := range agents {
		panes = append(panes, naivetest.Pane{ID: a.pane, Name: a.name})
	}
	return panes
}

// latencies are those of hops that have one recipient.
func latencies(all []hop) (t times) {
	for _, h := range all {
		t = append(t, h.latency(0))
	}
	return t
}

// BenchmarkQ2_OwnPart takes the latency apart (Q2): how much is left of it without the profile's quiet time, and how
// that is spent. The parts come from the receipts, from the hook between look and typing, and from the recipient's
// log.
func BenchmarkQ2_OwnPart(b *testing.B) {
	for _, v := range ends(b) {
		for _, transport := range []string{"auto", "native"} {
			b.Run("tmux="+v.Name+"/"+transport, func(b *testing.B) {
				var parts breakdown
				for b.Loop() {
					parts.measure(b, func(opts ...option) *rig { return newRigOn(b, v, append(opts, quietly(b), over(transport))...) })
				}
				parts.report(b, v.Name+", "+transport)
			})
		}
	}
}

// The parts of a hop, in their order.
const (
	partNoticed = iota // last byte → the sidecar knows
	partQuiet          // the quiet time of the profile
	partRead           // the look at the speaker, its words, received in the journal
	partFound          // decided, handed over, the look at the recipient, ready to type
	partLeave          // leave to paste and to press Enter: two commits
	partCheck          // the processes once more, before each
	partPaste          // tmux pastes, the recipient reads it
	partSeen           // a look that shows our text in the composer
	partEnter          // tmux types Enter, the recipient submits
	partOwn            // all of it but the quiet time
	partCount
)

var partNames = [partCount]string{
	"noticed", "quiet time", "look at the speaker", "hand over, look at the recipient", "leave from the journal, twice",
	"processes checked again, twice", "paste read", "seen in the composer", "Enter submitted", "own part",
}

type breakdown [partCount]times

// gapMark is one call of the hook between look and typing.
type gapMark struct {
	at             time.Time
	enter, checked bool
}

// measure carries lines and takes each apart.
func (p *breakdown) measure(b *testing.B, start func(...option) *rig) {
	b.Helper()
	var mu sync.Mutex
	marks := map[string][]gapMark{}
	r := start(func(cfg *daemon.Config) {
		cfg.Gap = func(pane, moment string) {
			if moment == "pasted" || moment == "entered" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			marks[pane] = append(marks[pane], gapMark{
				at: time.Now(), enter: strings.HasPrefix(moment, "enter"), checked: !strings.HasSuffix(moment, "unchecked"),
			})
		}
	})
	odd := 0
	pairOf(b, r, 150, func(to *agent, h hop) {
		mu.Lock()
		gaps := marks[to.pane]
		delete(marks, to.pane)
		mu.Unlock()
		if !p.take(b, r, h, gaps) {
			odd++
		}
	})
	if odd > 0 {
		b.Logf("%d lines were pasted or entered in more than one attempt, and are not counted", odd)
	}
}

// take adds a hop to the breakdown, unless it took detours.
func (p *breakdown) take(b *testing.B, r *rig, h hop, gaps []gapMark) bool {
	b.Helper()
	events, err := r.client.Log(b.Context(), api.LogQuery{Limit: 12})
	require.NoError(b, err)
	var noticed, decided time.Time
	var asked []time.Time
	for _, e := range events {
		switch {
		case e.Message != nil && e.Message.Body == h.text:
			noticed, decided, asked = e.Message.Created, time.Time{}, nil
		case e.Receipt != nil && e.Receipt.State == message.Queued:
			decided = e.Receipt.At
		case e.Receipt != nil && e.Receipt.State == message.Typed:
			asked = append(asked, e.Receipt.At)
		}
	}
	var reads []time.Time
	_, ahead := monotonic(b)
	wall := func(mono int64) time.Time { return time.Unix(0, mono).Add(ahead) }
	for _, rec := range h.before[0] {
		if rec.Event == persona.EventRead {
			reads = append(reads, wall(rec.Time))
		}
	}
	if len(asked) != 2 || len(gaps) != 4 || len(reads) != 2 || noticed.IsZero() {
		return false
	}
	said, taken, quiet := wall(h.said), wall(h.taken[0]), profile.Line().Quiet
	for part, d := range map[int]time.Duration{
		partNoticed: noticed.Sub(said),
		partQuiet:   quiet,
		partRead:    decided.Sub(noticed) - quiet,
		partFound:   asked[0].Sub(decided),
		partLeave:   gaps[0].at.Sub(asked[0]) + gaps[2].at.Sub(asked[1]),
		partCheck:   gaps[1].at.Sub(gaps[0].at) + gaps[3].at.Sub(gaps[2].at),
		partPaste:   reads[0].Sub(gaps[1].at),
		partSeen:    asked[1].Sub(reads[0]),
		partEnter:   taken.Sub(gaps[3].at),
		partOwn:     taken.Sub(said) - quiet,
	} {
		p[part] = append(p[part], d)
	}
	return true
}

// report prints the breakdown.
func (p *breakdown) report(b *testing.B, version string) {
	b.Helper()
	rows := [][]string{{"ms", "p50", "p99"}}
	for part := range p {
		if part != partQuiet && part != partNoticed && part != partOwn {
			rows = append(rows, []string{partNames[part], ms(p[part].at(0.5)), ms(p[part].at(0.99))})
		}
	}
	table(b, fmt.Sprintf("%s, own part of %d lines beyond %v of quiet: p50 %s ms, p99 %s ms, of it %s until noticed",
		version, len(p[partOwn]), profile.Line().Quiet, ms(p[partOwn].at(0.5)), ms(p[partOwn].at(0.99)), ms(p[partNoticed].at(0.5))), rows...)
	report(b, p[partOwn].at(0.5), "own-p50")
	report(b, p[partOwn].at(0.99), "own-p99")
	for part, name := range map[int]string{partRead: "look", partFound: "hand-over", partLeave: "leave", partPaste: "paste", partSeen: "seen", partEnter: "Enter"} {
		report(b, p[part].at(0.5), name)
	}
}

// BenchmarkQ5_FanOut has one persona speak to 1, 7 and 31 others (Q5): how long until the
// first of them has it, and until the last.
func BenchmarkQ5_FanOut(b *testing.B) {
	v := ends(b)[0]
	for _, others := range []int{1, 7, 31} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			var ours, naive spread
			for b.Loop() {
				r := newRigOn(b, v, quietly(b))
				agents := r.lines(others + 1)
				adoptAll(agents)
				chat := r.chat(agents, unlimited...)
				all := followAll(agents)
				ours.add(hops(b, all[0], all[1:], 15, 500*time.Millisecond, func(h hop) {
					r.waitFor("the receipts", func() bool { return r.submitted(chat) >= h.number*others })
				}))

				n := bare(b, v)
				agents = n.lines(others + 1)
				launch(b, n.naive("relay", namesOf(agents)...), true)
				all = followAll(agents)
				naive.add(hops(b, all[0], all[1:], 3, time.Second, nil))
			}
			table(b, fmt.Sprintf("one speaks to %d, p50 in ms", others),
				[]string{"", "first", "last", "last / first"}, ours.row("ours"), naive.row("naive"))
			report(b, ours.first.at(0.5), "first")
			report(b, ours.last.at(0.5), "last")
			b.ReportMetric(ours.ratio(), "last/first")
			b.ReportMetric(float64(naive.last.at(0.5))/float64(max(ours.last.at(0.5), 1)), "last-naive/ours")
		})
	}
}

// spread has the latencies of the first and of the last recipient.
type spread struct{ first, last times }

func (s *spread) add(all []hop) {
	for _, h := range all {
		t := h.sorted()
		s.first, s.last = append(s.first, t[0]), append(s.last, t[len(t)-1])
	}
}

func (s *spread) ratio() float64 {
	return float64(s.last.at(0.5)) / float64(max(s.first.at(0.5), 1))
}

func (s *spread) row(name string) []string {
	return []string{name, ms(s.first.at(0.5)), ms(s.last.at(0.5)), fmt.Sprintf("%.2f", s.ratio())}
}
