package delta

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// Whatever the interleaving, the joined words of all turns are what the program printed: every
// line once, in order, and nothing of what was typed into it. The history is longer than the
// output between two looks.
func TestW6_WordsAreWhatWasPrintedAndNoEcho(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		vocabulary, old := rapid.SampledFrom([]int{1, 3, 1_000}).Draw(t, "vocabulary"), 0
		if vocabulary < 1_000 {
			old = 2 // where hardly a line differs from another, something must mark the top
		}
		p := newPlay(t, rapid.IntRange(15, 60).Draw(t, "width"), rapid.IntRange(10, 24).Draw(t, "height"), 5_000, old)
		p.vocabulary = vocabulary
		t.Repeat(map[string]func(*rapid.T){
			"ask":     p.ask,
			"unasked": p.unasked,
			"person":  p.person,
			"clear":   p.clear,
			"resize":  p.resize,
			"look":    p.look,
			"turn":    p.turn,
		})
		p.turn(t)
		if got, want := strings.Join(p.words, "\n"), strings.Join(p.printed, "\n"); got != want {
			t.Fatalf("words:\n%s\n\nprinted:\n%s", got, want)
		}
		if p.asked != p.echoes {
			t.Fatalf("%d texts typed, %d echoes seen", p.asked, p.echoes)
		}
		if p.persons != p.seen {
			t.Fatalf("a person typed in %d turns, seen in %d", p.persons, p.seen)
		}
		if p.tracker.Pending() != 0 {
			t.Fatalf("%d texts pending", p.tracker.Pending())
		}
	})
}

// With a short history and floods that outrun it, and with everything cleared at times: no line
// comes twice or out of order, none of ours comes, and a marker stands where lines are missing.
func TestR23_EachLineOnceOrAMarker(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t, rapid.IntRange(30, 60).Draw(t, "width"), rapid.IntRange(10, 24).Draw(t, "height"), rapid.SampledFrom([]int{60, 100, 300}).Draw(t, "limit"), 0)
		p.vocabulary, p.unique = 1, true
		p.burst = rapid.SampledFrom([]int{10, 150, 400}).Draw(t, "burst")
		t.Repeat(map[string]func(*rapid.T){
			"ask":     p.ask,
			"unasked": p.unasked,
			"clear":   p.clear,
			"reset":   p.reset,
			"look":    p.look,
			"turn":    p.turn,
		})
		p.turn(t)
		p.checkLossy(t)
	})
}

// The history limit at work while output is looked at often enough: nothing is missing.
func TestR23_HistoryDriftsAndNothingIsLost(t *testing.T) {
	for _, limit := range []int{100, 2_000} {
		t.Run(strconv.Itoa(limit), func(t *testing.T) {
			term := newTerminal(80, 24, limit)
			r := newREPL(term, "> ")
			tr := New(prompt)
			tr.Baseline(term.capture(2_000))
			tr.Expect("count")
			r.key("count")
			look(tr, term, 60)
			r.enter()
			var want []string
			for i := range 5_000 {
				text := fmt.Sprintf("line %d", i)
				want = append(want, text)
				r.say(text)
				if i%40 == 0 {
					look(tr, term, 60)
				}
			}
			r.done()
			look(tr, term, 60)
			turn, ok := tr.Turn(true)
			assert.True(t, ok)
			assert.False(t, turn.Skipped)
			assert.Equal(t, 1, turn.Echoes)
			assert.Equal(t, strings.Join(want, "\n"), turn.Words)
		})
	}
}

// A spinner that is redrawn on one line and erased before the answer.
func TestTracker_spinnerLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPlay(t, 40, 10, 200, 0)
		p.vocabulary = 1_000
		p.say(t, 1, 30)
		p.done()
		p.tracker.Baseline(p.capture(100))
		p.printed, p.words = nil, nil
		p.tracker.Expect("wait")
		p.key("wait")
		p.look(t)
		p.enter()
		for i := range rapid.IntRange(1, 60).Draw(t, "spins") {
			p.print(fmt.Sprintf("\r%c working (%ds)", `|/-\`[i%4], i))
			p.look(t)
			if _, ok := p.tracker.Turn(true); ok {
				t.Fatal("a turn while it spins")
			}
		}
		p.wipe()
		p.say(t, 1, 20)
		p.done()
		p.turn(t)
		if got, want := strings.Join(p.words, "\n"), strings.Join(p.printed, "\n"); got != want {
			t.Fatalf("words:\n%s\n\nprinted:\n%s", got, want)
		}
	})
}

// play drives a line program in a terminal, and a tracker beside it.
type play struct {
	*repl
	tracker    *Tracker
	vocabulary int  // of lines; few make for repetition
	unique     bool // lines are numbered, and shorter than the screen is wide
	burst      int
	serial     int

	words                        []string
	asked, echoes, persons, seen int
	clears                       map[int]bool // number of lines printed when all was cleared
	typed                        []string
}

func newPlay(t *rapid.T, width, height, limit, old int) *play {
	term := newTerminal(width, height, limit)
	for i := range rapid.IntRange(old, 2*height).Draw(t, "old") {
		term.print(fmt.Sprintf("old line %d\n", i))
	}
	p := &play{repl: newREPL(term, "> "), tracker: New(prompt), burst: 12, clears: map[int]bool{}}
	p.tracker.Baseline(term.capture(100_000))
	return p
}

// say prints some lines, the first and last of which are words.
func (p *play) say(t *rapid.T, least, most int) {
	n := rapid.IntRange(least, most).Draw(t, "lines")
	for i := range n {
		p.serial++
		if p.unique {
			p.repl.say(fmt.Sprintf("line %d", p.serial))
			continue
		}
		text := fmt.Sprintf("word %d", rapid.IntRange(1, p.vocabulary).Draw(t, "word"))
		if i > 0 && i < n-1 {
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				text = ""
			case 1:
				text = "> quoted " + text
			case 2:
				text = "    " + text
			case 3:
				text = strings.Repeat(text+" ", 9) + "end"
			}
		}
		p.repl.say(text)
		if rapid.IntRange(0, 30).Draw(t, "peek") == 0 {
			p.look(t)
		}
	}
}

// ask types a text of ours, with looks and unasked output between, and makes the program answer it.
func (p *play) ask(t *rapid.T) {
	text := fmt.Sprintf("[Bob] (1): %s %d", rapid.SampledFrom([]string{"go on", "why so", strings.Repeat("a longer one ", 7)}).Draw(t, "text"), rapid.IntRange(1, 3).Draw(t, "n"))
	p.asked++
	p.typed = append(p.typed, text)
	p.tracker.Expect(text)
	cut := rapid.IntRange(1, len(text)-1).Draw(t, "cut")
	p.key(text[:cut])
	if rapid.Bool().Draw(t, "between") {
		p.look(t)
		p.unasked(t)
	}
	p.key(text[cut:])
	p.look(t) // it is seen before Enter
	if rapid.Bool().Draw(t, "before enter") {
		p.unasked(t)
	}
	p.enter()
	p.say(t, 0, p.burst)
	p.done()
}

func (p *play) unasked(t *rapid.T) {
	p.eraseLine()
	p.say(t, 1, p.burst)
	p.print(p.prompt + p.pending)
}

// person types something by hand on a settled screen, as it is without a race.
func (p *play) person(t *rapid.T) {
	p.turn(t)
	p.key("by ha")
	if rapid.Bool().Draw(t, "draft") {
		p.unasked(t)
		p.look(t)
		p.end()
	}
	p.key("nd")
	p.enter()
	p.say(t, 0, 5)
	p.done()
	p.persons++
	p.turn(t)
}

// clear is what Ctrl-L does: the screen goes into the history, the composer is drawn anew.
func (p *play) clear(*rapid.T) {
	p.terminal.clear()
	p.print(p.prompt + p.pending)
}

// reset clears screen and history.
func (p *play) reset(*rapid.T) {
	p.terminal.clear()
	p.clearHistory()
	p.print(p.prompt + p.pending)
	p.clears[len(p.printed)] = true
}

func (p *play) resize(t *rapid.T) {
	p.terminal.resize(rapid.IntRange(15, 60).Draw(t, "width"), rapid.IntRange(10, 24).Draw(t, "height"))
}

func (p *play) look(t *rapid.T) {
	look(p.tracker, p.terminal, rapid.SampledFrom([]int{0, 10, 60, 2_000}).Draw(t, "depth"))
}

func (p *play) turn(t *rapid.T) {
	p.look(t)
	p.end()
}

func (p *play) end() {
	turn, ok := p.tracker.Turn(true)
	if !ok {
		return
	}
	p.echoes += turn.Echoes
	if turn.Person {
		p.seen++
	}
	if turn.Words != "" {
		p.words = append(p.words, strings.Split(turn.Words, "\n")...)
	} else if turn.Skipped {
		p.words = append(p.words, marker(unknown))
	}
}

var (
	lineNumber = regexp.MustCompile(`^line (\d+)$`)
	gapMarker  = regexp.MustCompile(`^\[… (unknown number of|\d+) lines skipped\]$`)
)

func (p *play) checkLossy(t *rapid.T) {
	last, gap := 0, false
	for _, w := range p.words {
		if gapMarker.MatchString(w) {
			gap = true
			continue
		}
		m := lineNumber.FindStringSubmatch(w)
		if m == nil {
			t.Fatalf("%q was never printed; words:\n%s", w, strings.Join(p.words, "\n"))
		}
		n, _ := strconv.Atoi(m[1])
		switch {
		case n <= last:
			t.Fatalf("line %d came after line %d; words:\n%s", n, last, strings.Join(p.words, "\n"))
		case n > last+1 && !gap && !p.cleared(last, n-1):
			t.Fatalf("lines between %d and %d are missing without a marker; words:\n%s", last, n, strings.Join(p.words, "\n"))
		}
		last, gap = n, false
	}
	if last < p.serial && !gap && !p.cleared(last, p.serial) {
		t.Fatalf("the last line is %d, printed were %d", last, p.serial)
	}
}

// cleared reports whether all was cleared after one of those lines: lines that had not been seen
// by then left no trace.
func (p *play) cleared(from, to int) bool {
	for n := from + 1; n <= to; n++ {
		if p.clears[n] {
			return true
		}
	}
	return false
}
