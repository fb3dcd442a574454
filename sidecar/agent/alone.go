package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// startWindow is how long after its process a conversation may begin that an agent begins as
// it starts: on a busy machine it takes that long.
const startWindow = time.Minute

// conversation is one that may be an agent's: it was written in the agent's directory.
type conversation struct {
	Transcript
	began time.Time
	wrote time.Time // when it was written to last
}

// neighbours are the other processes of an agent's kind that work in its directory.
type neighbours struct {
	known  bool        // the system tells of processes
	starts []time.Time // when each started
}

// atStart is the conversation that an agent began as it started, where neighbours did the
// same: the latest that began within the window after its start and after no neighbour's, or
// after those alone that have one for themselves. It is none if a later one may be the
// agent's as well, because no start explains it.
func atStart(start time.Time, near neighbours, all []conversation) (conversation, bool) {
	starts := append([]time.Time{start}, near.starts...)
	owners := make([][]int, len(all)) // by their place in starts
	settled := map[int]bool{}         // those that have a conversation for themselves
	for i, c := range all {
		for p, s := range starts {
			if !c.began.Before(s.Add(-clockSlack)) && c.began.Before(s.Add(startWindow)) {
				owners[i] = append(owners[i], p)
			}
		}
		if len(owners[i]) == 1 {
			settled[owners[i][0]] = true
		}
	}
	var mine conversation
	var last time.Time
	for i, c := range all {
		others := slices.DeleteFunc(slices.Clone(owners[i]), func(p int) bool { return p == 0 })
		ours := len(others) < len(owners[i])
		unsettled := slices.ContainsFunc(others, func(p int) bool { return !settled[p] })
		switch {
		case !ours && len(others) == 0:
			last = later(last, c.began)
		case ours && (len(others) == 0 || !settled[0] && !unsettled):
			if c.began.After(mine.began) {
				mine = c
			}
		case ours && !settled[0]:
			return conversation{}, false
		}
	}
	return mine, mine.Path != "" && !last.After(mine.began)
}

// choose is the conversation that an agent is in, of all that were written in its directory
// since it has been alone there; since is that time, or that of its start.
func (a Agent) choose(start, since time.Time, near neighbours, all []conversation) (Transcript, error) {
	if len(near.starts) == 0 && near.known {
		var newest conversation
		for _, c := range all {
			if !c.wrote.Before(since.Add(-clockSlack)) && c.wrote.After(newest.wrote) {
				newest = c
			}
		}
		if newest.Path == "" {
			return Transcript{}, fmt.Errorf("%s has written nothing in %q yet: %w", a.Kind, a.Dir, ErrNoTranscript)
		}
		newest.How = ByBeingAlone
		return newest.Transcript, nil
	}
	if a.Kind.format().begins && near.known {
		if c, ok := atStart(start, near, all); ok {
			c.How = ByStartTime
			return c.Transcript, nil
		}
	}
	if len(all) == 0 {
		return Transcript{}, fmt.Errorf("%s has written nothing in %q yet: %w", a.Kind, a.Dir, ErrNoTranscript)
	}
	return Transcript{}, fmt.Errorf("other agents of the kind %s may work in %q: %w", a.Kind, a.Dir, ErrAmbiguous)
}

// beside finds conversations of one agent and keeps what it learns on the way. It belongs to
// one goroutine.
type beside struct {
	agent   Agent
	archive archive
	heads   *heads
	near    neighbours
	asked   time.Time // when near was
	since   time.Time // since when no neighbour was seen: zero for the agent's start
}

func newBeside(a Agent) *beside {
	f := a.Kind.format()
	b := &beside{agent: a, heads: &heads{read: f.head, known: map[string]head{}}}
	if f.archive != nil {
		b.archive = f.archive(a)
	} else {
		b.archive = files{agent: a, heads: b.heads}
	}
	return b
}

func (b *beside) close() { b.archive.close() }

// find is the conversation that the agent is in, as far as processes tell; bound is the path of
// the one that it was in, "" if none is known.
func (b *beside) find(now time.Time, bound string) (Transcript, error) {
	if b.agent.Dir == "" {
		return Transcript{}, fmt.Errorf("%s works in an unknown directory: %w", b.agent.Kind, ErrNoTranscript)
	}
	if now.Sub(b.asked) >= rescan {
		b.ask(now)
	}
	start := process.Began(b.agent.Process.Start, now)
	all, err := b.archive.since(start.Add(-clockSlack))
	if err != nil {
		return Transcript{}, err
	}
	t, err := b.agent.choose(start, later(start, b.since), b.near, all)
	if err == nil && t.Path != bound { // perhaps that of a neighbour who came after the question
		b.ask(now)
		t, err = b.agent.choose(start, later(start, b.since), b.near, all)
	}
	return t, err
}

// ask asks who else works there.
func (b *beside) ask(now time.Time) {
	b.near, b.asked = neighboursOf(b.agent, now), now
	if len(b.near.starts) > 0 {
		b.since = now.Add(rescan + clockSlack) // it may write until the next look
	}
}
