package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// startWindow is how long after its process's start a conversation may begin, for an agent that begins one as it
// starts. On a busy machine it takes that long.
const startWindow = time.Minute

// conversation is a candidate for an agent's conversation: it was written in the agent's directory.
type conversation struct {
	Transcript
	began time.Time
	wrote time.Time // when it was last written to
}

// neighbours are the other processes of an agent's kind that work in its directory.
type neighbours struct {
	known  bool        // the system can list processes
	starts []time.Time // when each started
}

// atStart returns the conversation that the agent began as it started, in a directory where its neighbours did the
// same: the latest one that began within startWindow of the agent's start and of no neighbour's. If there is no
// such one, a conversation that also fits neighbours' starts counts, provided that each of these neighbours has a
// conversation that fits it alone. There is no result if a later conversation fits no start at all, because it may
// be the agent's as well.
func atStart(start time.Time, near neighbours, all []conversation) (conversation, bool) {
	starts := append([]time.Time{start}, near.starts...)
	owners := make([][]int, len(all)) // indexes into starts
	settled := map[int]bool{}         // the starts that have a conversation of their own
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

// choose returns the agent's current conversation, out of all that were written in its directory. since is the time
// from which the agent has been alone there, at the earliest its start.
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

// beside finds the conversations of one agent and caches what it learns. It belongs to one goroutine.
type beside struct {
	agent   Agent
	archive archive
	heads   *heads
	near    neighbours
	asked   time.Time // when near was read
	since   time.Time // from when on no neighbour was seen; zero: from the agent's start
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

// find returns the agent's current conversation, as far as processes reveal it. bound is the path of the
// conversation it was in before, "" if none is known.
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
	if err == nil && t.Path != bound { // it may belong to a neighbour that started after the last ask
		b.ask(now)
		t, err = b.agent.choose(start, later(start, b.since), b.near, all)
	}
	return t, err
}

// ask finds out which other agents of the kind work in the directory.
func (b *beside) ask(now time.Time) {
	b.near, b.asked = neighboursOf(b.agent, now), now
	if len(b.near.starts) > 0 {
		b.since = now.Add(rescan + clockSlack) // a neighbour may write until the next look
	}
}
