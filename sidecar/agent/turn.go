package agent

import (
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	// idleGrace is how long a status file must have said idle, and a transcript nothing, before
	// a turn without an end counts as ended: transcripts are written a little behind.
	idleGrace = 3 * time.Second
	// restGrace is the same for the word of another witness, when words have been written down
	// and the witness has seen it at work: Gemini CLI shows that it waits after it has written.
	restGrace = 400 * time.Millisecond
	// doubtGrace is the same where no words have been written down since the prompt or the last call
	// of a tool: what looked like a prompt began no turn, or Gemini CLI, which notes that it was
	// interrupted, is slow to draw or queues the prompt while it starts.
	doubtGrace = 10 * time.Second
	// abandonedGrace is how long an agent that does write down how a turn ends must have waited
	// for its user before one without an end counts as abandoned. While opencode works it draws
	// ten times a second.
	abandonedGrace = 15 * time.Second
	// maxTurn is how much text of one turn is kept, in bytes; the oldest is let go.
	maxTurn = 4 << 20
	// maxExpected is how many texts are remembered that were typed and not yet taken.
	maxExpected = 64
)

// Prompt is one thing that an agent was told.
type Prompt struct {
	Text  string
	By    Source
	At    time.Time
	ID    string // what its sender calls it, where it came through a door: another program's, never a person's
	Past  bool   // it was taken before the Follower began
	Ours  bool   // it is, or holds, a text that was expected
	Mixed bool   // with Ours: there is more in it than that text, so a person typed as well
}

// ByHand reports whether a person typed it, or a part of it.
func (p Prompt) ByHand() bool { return p.By != BySystem && (!p.Ours || p.Mixed) }

// Turn is one stretch of work of an agent: from a prompt until it has nothing more to say.
type Turn struct {
	ID      string // the agent's own, "" if it gives none; a turn that goes on after an error keeps it
	Thread  string
	Prompts []Prompt // those that it answers: several if they were queued or came in its middle; none if it began by itself
	Words   string   // what it said after its last call of a tool
	Texts   []string // all that it said, block by block
	Began   time.Time
	Ended   time.Time // of the last record; zero while it is open

	Open        bool
	OpenTools   []Tool // called, and without a result: at work, or waiting for a person's leave
	Acted       bool   // it called a tool
	Interrupted bool   // a person stopped it: what it said is not whole
	Failed      bool   // the service of the model gave up: it may have said nothing
	Why         string // of Interrupted and Failed, as the agent puts it
	Unmarked    bool   // its end was not written down: the next prompt or the status file told
	Abandoned   bool   // with Interrupted: nobody knows who stopped it; its end was not written down, or names another reason than a person
	Past        bool   // it began before the Follower did
	Truncated   bool   // older texts were let go

	Tokens *message.Tokens // that it used; nil where nothing of it was written down
}

// All is everything that was said in the turn, the texts between calls of tools included.
func (t Turn) All() string { return strings.Join(t.Texts, "\n\n") }

// ByHand reports whether a person's own prompt is among those that the turn answers.
func (t Turn) ByHand() bool { return slices.ContainsFunc(t.Prompts, Prompt.ByHand) }

// Whole reports whether the words may be passed on as what the agent said.
func (t Turn) Whole() bool { return !t.Open && !t.Interrupted && !t.Failed && t.Words != "" }

// Outcome is what an event has led to.
type Outcome struct {
	Prompt *Prompt // one was taken
	Ended  []Turn  // at most two: one that the next event proves over, and its own; never turns of the past
	Old    []Turn  // the same of the past
}

// Machine makes turns of the events of one agent. The zero value is ready. It is pure: time
// comes with the events or is passed in. It belongs to one goroutine.
type Machine struct {
	open     *Turn
	marked   bool      // the open turn was begun by TurnBegan, so that only its own end ends it
	heard    time.Time // time of the last event of the open turn
	size     int       // bytes of its texts
	since    int       // index of the first text after its last call of a tool
	last     Turn      // the last that ended, past ones included
	whole    Turn      // the last of them whose words may be passed on
	worked   bool      // it said something or called a tool
	live     bool      // something of it was told that is not of the past
	command  *Prompt   // a person's command, if nothing has come since
	expected []string
	status   Status
	rests    time.Time                 // since when another witness saw it wait for its user; zero: it does not
	spent    map[string]message.Tokens // by call of the model, of the open turn
	writes   bool                      // it writes down how a turn ends, so one that it rests in was abandoned
}

// Expect says that a text is about to be typed: a prompt equal to it is ours. It must be
// called before the first byte is typed.
func (m *Machine) Expect(text string) {
	m.expected = append(m.expected, text)
	if len(m.expected) > maxExpected {
		m.expected = m.expected[1:]
	}
}

// Unexpect takes back what Expect said: the text was not typed after all.
func (m *Machine) Unexpect(text string) {
	if i := slices.Index(m.expected, text); i >= 0 {
		m.expected = slices.Delete(m.expected, i, i+1)
	}
}

// Turn is the open turn, as it stands. An agent with an open turn is never idle.
func (m *Machine) Turn() (Turn, bool) {
	if m.open == nil {
		return Turn{}, false
	}
	return m.snapshot(), true
}

// Open tells since when a turn is open and which calls of tools have no result yet, without
// what was said in it.
func (m *Machine) Open() (began time.Time, calls []Tool, open bool) {
	if m.open == nil {
		return time.Time{}, nil, false
	}
	return m.open.Began, slices.Clone(m.open.OpenTools), true
}

// Last is the turn that ended last, also one of the past.
func (m *Machine) Last() (Turn, bool) {
	return m.last, !m.last.Ended.IsZero() || m.last.ID != "" || len(m.last.Texts) > 0
}

// LastWhole is the last turn that ended by itself and said something, also one of the past.
func (m *Machine) LastWhole() (Turn, bool) { return m.whole, m.whole.Whole() }

// Feed takes the next event.
func (m *Machine) Feed(e Event) Outcome {
	var out Outcome
	switch e.Kind {
	case Prompted:
		p := m.claim(e)
		if m.open != nil && m.superseded(e) {
			m.unmarked(&out, e.Past || !m.live)
		}
		m.begin(e)
		if m.marked && len(m.open.Prompts) > 0 && p.By == ByKeys {
			p.By = BySteer
		}
		m.open.Prompts = append(m.open.Prompts, p)
		if !e.Past {
			out.Prompt = &p
		}
	case Commanded:
		m.command = &Prompt{Text: e.Text, By: ByCommand, At: e.At}
	case TurnBegan:
		if m.open != nil {
			m.unmarked(&out, e.Past || !m.live)
		}
		m.begin(e)
		m.marked = true
	case Spoke:
		m.begin(e)
		m.say(e.Text)
	case ToolBegan:
		m.begin(e)
		m.since, m.worked = len(m.open.Texts), true
		m.ended(e.Tool) // told once more, behind words that stand before it
		m.open.OpenTools, m.open.Acted = append(m.open.OpenTools, e.Tool), true
	case ToolEnded:
		if m.open != nil {
			m.heard, m.live = later(m.heard, e.At), m.live || !e.Past
			m.ended(e.Tool)
		}
	case TurnEnded:
		if m.open != nil {
			if len(m.open.Texts) == 0 {
				m.say(e.Text) // an agent that repeats its last words: better those than none
			}
			m.end(&out, e)
		}
	case Interrupted, Stopped:
		if m.open != nil {
			m.open.Interrupted, m.open.Abandoned, m.open.Why = true, e.Kind == Stopped, e.Text
			m.end(&out, e)
		}
	case Left:
		if m.open != nil {
			m.open.Interrupted, m.open.Why, m.open.Unmarked = true, "the conversation was left", true
			m.end(&out, Event{At: e.At, Past: !m.live})
		}
	case Spent:
		if m.open != nil {
			if m.spent == nil {
				m.spent = map[string]message.Tokens{}
			}
			m.spent[e.Call] = e.Tokens
		}
	case Unanswered:
		if m.open != nil && len(m.open.Prompts) > 0 {
			m.open.Failed, m.open.Why = true, e.Text
			m.end(&out, e)
		}
	case Failed:
		m.begin(e)
		m.open.Failed, m.open.Why = true, e.Text
		m.end(&out, e)
	case Fresh:
		m.open, m.command = nil, nil
	}
	return out
}

// ended takes a call out of those without a result.
func (m *Machine) ended(call Tool) {
	m.open.OpenTools = slices.DeleteFunc(m.open.OpenTools, func(t Tool) bool { return t.ID == call.ID })
}

// claim compares a prompt with what was expected.
func (m *Machine) claim(e Event) Prompt {
	p := Prompt{Text: e.Text, By: e.By, At: e.At, ID: e.ID, Past: e.Past}
	if e.Past || e.By == BySystem {
		return p
	}
	if i := slices.IndexFunc(m.expected, func(text string) bool { return Same(text, e.Text) }); i >= 0 {
		p.Ours = true
		m.expected = slices.Delete(m.expected, i, i+1)
		return p
	}
	// Prompts that are queued may be taken as one. The longest comes first: a shorter one may stand in it.
	rest := canonical(e.Text)
	for {
		longest, left := -1, rest
		for i, text := range m.expected {
			if without, ok := without(rest, text); ok && (longest < 0 || len(text) > len(m.expected[longest])) {
				longest, left = i, without
			}
		}
		if longest < 0 {
			p.Mixed = p.Ours && strings.TrimSpace(rest) != ""
			return p
		}
		p.Ours, rest = true, left
		m.expected = slices.Delete(m.expected, longest, longest+1)
	}
}

// superseded reports whether a prompt proves that the open turn is over although no end of it
// was written down.
func (m *Machine) superseded(e Event) bool {
	switch {
	case m.marked || e.By == BySteer || e.Midst:
		return false
	case e.By == ByKeys:
		return true // while it works, an agent queues what is typed
	}
	return m.worked
}

// begin opens a turn if none is open.
func (m *Machine) begin(e Event) {
	defer func() { m.command, m.heard, m.live = nil, later(m.heard, e.At), m.live || !e.Past }()
	if m.open != nil {
		if m.open.ID == "" {
			m.open.ID = e.Turn
		}
		return
	}
	m.open = &Turn{ID: e.Turn, Thread: e.Thread, Began: e.At, Open: true, Past: e.Past}
	m.spent = nil
	m.marked, m.worked, m.live, m.heard, m.size, m.since = false, false, false, e.At, 0, 0
	again := m.last.Failed && e.Kind != Prompted && e.Kind != TurnBegan && m.last.Thread == e.Thread
	switch {
	case again: // the agent tried once more by itself
		m.open.ID, m.open.Prompts, m.open.Began = m.last.ID, m.last.Prompts, m.last.Began
	case m.command != nil && e.Kind != Prompted:
		m.open.Prompts = []Prompt{*m.command}
	}
}

func (m *Machine) say(text string) {
	if text == "" {
		return
	}
	t := m.open
	m.worked = true
	t.Texts = append(t.Texts, text)
	for m.size += len(text); m.size > maxTurn && len(t.Texts) > 1; t.Truncated = true {
		m.size -= len(t.Texts[0])
		t.Texts = t.Texts[1:]
		m.since = max(0, m.since-1)
	}
}

// unmarked ends a turn whose end was not written down. One that said something has been
// interrupted as far as we know, if a tool was still at work; one that said nothing was
// taken back by the person who wrote its prompt.
func (m *Machine) unmarked(out *Outcome, past bool) {
	m.open.Unmarked = true
	m.open.Interrupted = m.open.Abandoned || m.marked || len(m.open.OpenTools) > 0 || len(m.open.Texts) == m.since
	m.end(out, Event{At: m.heard, Past: past})
}

// end closes the open turn and tells it, unless nothing was in it or it is of the past.
func (m *Machine) end(out *Outcome, e Event) {
	m.open.Ended = later(m.heard, e.At)
	t := m.snapshot()
	t.Open = false
	m.open = nil
	m.last = t
	if t.Whole() {
		m.whole = t
	}
	empty := len(t.Prompts) == 0 && len(t.Texts) == 0 && !t.Failed
	switch {
	case empty:
	case e.Past:
		out.Old = append(out.Old, t)
	default:
		out.Ended = append(out.Ended, t)
	}
}

// snapshot is a copy of the open turn that will not change.
func (m *Machine) snapshot() Turn {
	t := *m.open
	t.Words = strings.Join(t.Texts[m.since:], "\n\n")
	if m.spent != nil {
		t.Tokens = new(message.Tokens)
		for _, one := range m.spent {
			t.Tokens.Add(one)
		}
	}
	t.Prompts, t.Texts, t.OpenTools = slices.Clone(t.Prompts), slices.Clone(t.Texts), slices.Clone(t.OpenTools)
	return t
}

// Status takes the agent's own word on its state. It only ever ends a turn.
func (m *Machine) Status(s Status, now time.Time) Outcome {
	m.status = s
	return m.Tick(now)
}

// Rests takes the word of another witness on whether the agent waits for its user: since
// when the screen, and the title, have shown that in every look, or zero if they do not. It
// only ever ends a turn, and it is for agents that do not write down how one ends: Gemini
// CLI alone.
func (m *Machine) Rests(since, now time.Time) Outcome {
	m.rests = since
	return m.Tick(now)
}

// Abandons is Rests for an agent that does write down how a turn ends, and did not: opencode,
// stopped between two tries of a service that fails, or ended in the middle of a turn and
// started again. What became of such a turn nobody knows, so it is Abandoned.
func (m *Machine) Abandons(since, now time.Time) Outcome {
	m.rests, m.writes = since, true
	return m.Tick(now)
}

// Witness is how a screen tells the end of a turn that an agent of that kind has not written
// down, Rests or Abandons; nil for one that writes all of them down.
func (m *Machine) Witness(k Kind) func(since, now time.Time) Outcome {
	take := k.format().witness
	if take == nil {
		return nil
	}
	return func(since, now time.Time) Outcome { return take(m, since, now) }
}

// Due is when Tick will have something to do, if nothing else happens before.
func (m *Machine) Due() (time.Time, bool) {
	switch {
	case m.open == nil || m.marked:
		return time.Time{}, false
	case m.status.State == StatusIdle && !m.status.Since.Before(m.open.Began):
		return later(m.status.Since, m.heard).Add(idleGrace), true
	case m.rests.IsZero():
		return time.Time{}, false
	case m.writes:
		return later(m.rests, m.heard).Add(abandonedGrace), true
	case len(m.open.Texts) == m.since:
	case m.rests.After(m.open.Began):
		return later(m.rests, m.heard).Add(restGrace), true
	default: // it was too quick to be seen at work
		return later(m.rests, m.heard).Add(idleGrace), true
	}
	return later(m.rests, m.heard).Add(doubtGrace), true
}

// Tick ends an open turn of which the agent, or another witness, says that it is idle since.
func (m *Machine) Tick(now time.Time) Outcome {
	var out Outcome
	if due, ok := m.Due(); ok && !now.Before(due) {
		m.open.Abandoned = m.writes
		m.unmarked(&out, !m.live)
	}
	return out
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
