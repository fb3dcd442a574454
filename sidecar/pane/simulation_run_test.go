package pane

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// bugs are faults that the simulation puts between the parts, to show that it finds them
// (simulation_teeth_test.go).
type bugs struct {
	cancelLost         bool // the panes never hear that something is taken back
	disordered         bool // what is delivered together comes the other way round
	noSync             bool // the disk loses its last step with the sidecar
	seenForgotten      bool // an id that the journal knows counts as new
	undecidedForgotten bool // another life is not told what was not decided
	notCompared        bool // tmux types into whatever is there
	early              bool // what a step asks for is done before it is on disk
	depthsForgotten    bool // another life begins at no depth
	verdictLost        bool // what a policy says never comes, now and then
	replyLost          bool // a request counts as done before it is on disk
}

const (
	stormySteps = 4000
	calmSteps   = 60000
)

// run is one simulation: a storm, and then days on which everything has the time to end.
func (s *simulation) run() {
	weather := weathers[s.IntN(len(weathers))]
	for range stormySteps {
		s.step(weather)
	}
	s.settle()
}

// settle lets everything go its way, and checks that nothing is lost by then.
func (s *simulation) settle() {
	s.say("all is calm")
	s.calm, s.full, s.bugs.noSync = true, false, false
	s.now = s.newest.Add(time.Second) // the core measures with a clock that never goes back
	left := ""
	for n := range calmSteps {
		s.step(calmDays)
		if n%50 == 0 {
			s.heal()
		}
		if n%400 == 399 {
			s.resumeAll()
			for range 20 {
				s.decideHeld()
			}
		}
		if n%400 == 200 {
			if left = s.left(); left == "" {
				break
			}
			s.tick(20 * time.Second)
		}
	}
	if left != "" {
		s.fail("it never comes to rest: %s", left)
	}
	for _, id := range s.disk.Received {
		if _, ok := s.disk.Decided[id.ID]; !ok {
			s.fail("message %s was never decided", id.ID)
		}
	}
	for id, by := range s.accepted {
		if !s.known[id] {
			s.fail("message %s (%s) was accepted, and is not on disk", id, by)
		}
	}
}

// heal ends all that is in the way of a program, as a person does next.
func (s *simulation) heal() {
	for _, r := range s.rooms {
		if r.mode || r.dialog {
			r.mode, r.dialog = false, false
			r.draw()
		}
		r.deaf = false
		b := (*batch)(nil)
		if r.desk != nil {
			b = r.desk.batch()
		}
		typing := r.desk != nil && (r.desk.order != nil || b != nil && (r.composer == b.text || s.chance(9, 10)))
		if !typing && r.composer != "" && len(r.unread) == 0 {
			s.key(r, "\x15")
		}
		if r.desk != nil && r.desk.core.lost.text != "" && len(r.unread) == 0 && s.chance(1, 20) {
			s.leave(r) // nobody knows what stands there: it is closed until somebody looks
		}
		if r.session == "" && r.desk == nil && r.adopts == "" {
			s.adopt(r)
		}
	}
}

// left returns what has not come to its end, "" if nothing.
func (s *simulation) left() string {
	if len(s.hub.queue)+len(s.hub.effects)+len(s.hub.asked) > 0 || s.hub.group != nil || s.hub.stuck != nil {
		return fmt.Sprintf("the relay is at work: %d %d %d", len(s.hub.queue), len(s.hub.effects), len(s.hub.asked))
	}
	for _, id := range s.order {
		f := s.facts[id]
		last := s.disk.Last[id]
		switch {
		case f.state.Final(), f.state == message.Submitted:
		case f.state == message.Held && last.Reason == message.AgentGone:
		case s.at(f.d.Target) == nil && s.isPort(f.d.Target):
		default:
			return fmt.Sprintf("delivery %s to %s is %s (%s, held by %q)", id, f.d.Target, f.state, last.Reason, last.Hold)
		}
	}
	return ""
}

func (s *simulation) isPort(id message.ID) bool {
	for _, port := range s.ports {
		if port == id {
			return true
		}
	}
	return false
}

// simulate runs a seed, and returns the simulation, and what went wrong in it.
func simulate(seed uint64, edges map[string]bool, b bugs, loud bool) (s *simulation, wrong error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case violation:
			wrong = r
		default:
			wrong = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	s = newSimulation(seed, edges, b)
	s.loud = loud
	s.run()
	return s, nil
}

// explained returns what happened before something went wrong.
func explained(seed uint64, edges map[string]bool, b bugs) string {
	s, wrong := simulate(seed, edges, b, true)
	return fmt.Sprintf("seed %d: %v\n%s", seed, wrong, strings.Join(s.trace[max(0, len(s.trace)-120):], "\n"))
}

// Steps that a simulation is good for: a million a minute, on a machine that does much else.
const leastSteps = 1e6

// These are met by any twenty seeds. If one were missing, the simulation would say nothing about it.
var commonplaces = []string{
	"typed into line", "typed into line-paste", "typed into tui", "handed over", "answered in a chat", "answered to a question", "answered singly",
	"a life ends", "the server ends", "the disk is full", "the clock jumps", "all is stopped", "a member is removed", "a policy holds",
}

// Whatever happens, in whatever order: nothing that was accepted is lost; nothing is typed twice, out of a
// sender's order, behind anything else, or after a person was told that all is stopped; Enter comes to our
// text alone; no receipt says more than is true; no depth is lowered; and no limit is passed without a
// person. `make test` runs the same twenty seeds each time, so that its verdict belongs to the commit and not
// to the day. `make long` and INTERCOM_SIMULATE=D look for others, and say from which seed on. INTERCOM_SEED=N
// runs one seed and tells what happens.
func TestSimulation_whateverHappens(t *testing.T) {
	t.Parallel()
	edges := tableOfEdges(t)
	if one := os.Getenv("INTERCOM_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		require.NoError(t, err)
		s, wrong := simulate(seed, edges, bugs{}, true)
		t.Logf("%s\n%v", strings.Join(s.trace, "\n"), wrong)
		return
	}
	for seed, found := range keptSeeds(t) {
		_, wrong := simulate(seed, edges, bugs{}, false)
		if wrong != nil {
			t.Fatalf("it once found: %s\n%s", found, explained(seed, edges, bugs{}))
		}
	}
	const few = 20
	search, first := time.Duration(0), uint64(1)
	long := os.Getenv("INTERCOM_LONG") != ""
	if long {
		search = 2 * time.Minute
	}
	if s := os.Getenv("INTERCOM_SIMULATE"); s != "" {
		d, err := time.ParseDuration(s)
		require.NoError(t, err)
		search = d
	}
	if search > 0 {
		first = uint64(time.Now().UnixNano()) >> 20
	}
	began, all, seeds, met := time.Now(), 0, uint64(0), map[string]int{}
	for ; seeds < few || time.Since(began) < search; seeds++ {
		s, wrong := simulate(first+seeds, edges, bugs{}, false)
		if wrong != nil {
			t.Fatal(explained(first+seeds, edges, bugs{}))
		}
		all += s.steps
		for what, n := range s.met {
			met[what] += n
		}
	}
	for _, what := range commonplaces {
		assert.Positive(t, met[what], "%s: never, in %d seeds", what, seeds)
	}
	rate := float64(all) / time.Since(began).Minutes()
	t.Logf("%d seeds from %d on, %d steps, %.0f steps a minute; met: %v", seeds, first, all, rate, met)
	if long {
		assert.Greater(t, rate, leastSteps, "steps a minute")
	}
}

// keptSeeds are those of testdata/simulation.txt, each with what it found.
func keptSeeds(t *testing.T) map[uint64]string {
	file, err := os.Open(filepath.Join("testdata", "simulation.txt"))
	require.NoError(t, err)
	defer file.Close()
	kept := map[uint64]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		number, found, _ := strings.Cut(text, " ")
		seed, err := strconv.ParseUint(number, 10, 64)
		require.NoError(t, err)
		kept[seed] = strings.TrimSpace(found)
	}
	return kept
}
