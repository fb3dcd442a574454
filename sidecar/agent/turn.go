package agent

import (
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	// idleGrace is how long a status file must have said idle, and the transcript nothing, before a turn without an
	// end counts as ended. Transcripts are written with a small delay.
	idleGrace = 3 * time.Second
	// againGrace is how much later a turn that a status file ends is looked at once more. Where the whole computer
	// stood still, idleGrace went by in which neither the agent wrote nor anybody read. By then at least one look
	// at the transcript has begun since.
	againGrace = 2 * rescan
	// SureAfter is how long after its agent's status says idle a turn without an end counts as ended, unless the
	// computer stands still.
	SureAfter = idleGrace + againGrace
	// restGrace is the same for another witness, if words have been written down and the witness has seen the agent
	// at work. Gemini CLI shows that it waits only after it has written.
	restGrace = 400 * time.Millisecond
	// doubtGrace is the same for another witness if no words have been written down since the prompt or the last
	// call of a tool. Either the supposed prompt began no turn, or Gemini CLI is slow to draw, or it queues the
	// prompt while it starts. An interruption is ruled out, since Gemini CLI would have noted it.
	doubtGrace = 10 * time.Second
	// abandonedGrace is how long an agent that does write down the end of a turn must have waited for its user
	// before a turn without an end counts as abandoned. While opencode works it draws ten times a second.
	abandonedGrace = 15 * time.Second
	// maxTurn is how many bytes of a turn's text are kept; the oldest texts are dropped.
	maxTurn = 4 << 20
	// maxExpected is how many typed texts that are not yet taken are remembered.
	maxExpected = 64
)

// Prompt is one prompt of an agent.
type Prompt struct {
	Text  string
	By    Source
	At    time.Time
	ID    string // the sender's id of it, if it came through a door: from another program, never from a person
	Past  bool   // it was taken before the Follower began
	Ours  bool   // it is, or contains, an expected text
	Mixed bool   // with Ours: it contains more than that text, so a person typed as well
}

// ByHand reports whether a person typed the prompt or a part of it.
func (p Prompt) ByHand() bool { return p.By != BySystem && (!p.Ours || p.Mixed) }

// Turn is one stretch of work of an agent: from a prompt until the agent has nothing more to say.
type Turn struct {
	ID      string // the agent's own id, "" if it gives none; a turn that continues after an error keeps it
	Thread  string
	Prompts []Prompt // the prompts that it answers: several if they were queued or came during the turn; none if it began by itself
	Words   string   // what it said after its last call of a tool
	Texts   []string // everything that it said, block by block
	Began   time.Time
	Ended   time.Time // time of the last record; zero while the turn is open

	Open        bool
	OpenTools   []Tool // calls without a result: running, or waiting for a person's permission
	Acted       bool   // it called a tool
	Interrupted bool   // a person stopped it: its words are incomplete
	Failed      bool   // the model's service gave up: there may be no words
	Why         string // reason of Interrupted or Failed, in the agent's words
	Unmarked    bool   // its end was not written down: the next prompt, the status file or the screen revealed it
	Abandoned   bool   // with Interrupted: it is not known who stopped it; its end was not written down, or names another reason than a person
	Past        bool   // it began before the Follower did
	Truncated   bool   // older texts were dropped

	Tokens *message.Tokens // tokens that it used; nil if none were written down
}

// All returns everything that was said in the turn, including the texts between calls of tools.
func (t Turn) All() string { return strings.Join(t.Texts, "\n\n") }

// ByHand reports whether the turn answers a person's own prompt.
func (t Turn) ByHand() bool { return slices.ContainsFunc(t.Prompts, Prompt.ByHand) }

// Whole reports whether the words may be passed on as the agent's answer.
func (t Turn) Whole() bool { return !t.Open && !t.Interrupted && !t.Failed && t.Words != "" }

// Outcome is the result of an event.
type Outcome struct {
	Prompt *Prompt // a prompt was taken
	Ended  []Turn  // at most two: one that the event proves to be over, and the event's own; never turns of the past
	Old    []Turn  // the same for turns of the past
}

// Machine makes turns from the events of one agent. The zero value is ready for use. It is pure: times come with
// the events or as arguments. It belongs to one goroutine.
type Machine struct {
	open     *Turn
	marked   bool      // TurnBegan began the open turn, so that only its own end ends it
	heard    time.Time // time of the last event of the open turn
	size     int       // bytes of its texts, in total
	since    int       // index of the first text after the last call of a tool
	last     Turn      // the last turn that ended, including past ones
	whole    Turn      // the last of these whose words may be passed on
	worked   bool      // the open turn has said something or called a tool
	live     bool      // one of its events is not of the past
	command  *Prompt   // a person's command, if nothing has followed it
	expected []string
	status   Status
	rests    time.Time                 // since when another witness saw the agent wait for its user; zero: it does not wait
	spent    map[string]message.Tokens // by call of the model, for the open turn
	doubted  time.Time                 // when Tick found that the status ends the open turn; zero: it has not, or news came since
	writes   bool                      // the agent writes down how a turn ends, so a turn without an end in which it rests was abandoned
}

// Expect says that a text is about to be typed: an equal prompt is ours. Call it before the first byte is typed.
func (m *Machine) Expect(text string) {
	m.expected = append(m.expected, text)
	if len(m.expected) > maxExpected {
		m.expected = m.expected[1:]
	}
}

// Unexpect cancels an Expect whose text was not typed after all.
func (m *Machine) Unexpect(text string) {
	if i := slices.Index(m.expected, text); i >= 0 {
		m.expected = slices.Delete(m.expected, i, i+1)
	}
}

// Turn returns the open turn as it stands. An agent with an open turn is never idle.
func (m *Machine) Turn() (Turn, bool) {
	if m.open == nil {
		return Turn{}, false
	}
	return m.snapshot(), true
}

// Open returns when the open turn began and which calls of tools have no result yet, without the texts of the turn.
func (m *Machine) Open() (began time.Time, calls []Tool, open bool) {
	if m.open == nil {
		return time.Time{}, nil, false
	}
	return m.open.Began, slices.Clone(m.open.OpenTools), true
}

// Last returns the turn that ended last, including one of the past.
func (m *Machine) Last() (Turn, bool) {
	return m.last, !m.last.Ended.IsZero() || m.last.ID != "" || len(m.last.Texts) > 0
}

// LastWhole returns the last turn that ended by itself and said something, including one of the past.
func (m *Machine) LastWhole() (Turn, bool) { return m.whole, m.whole.Whole() }

// Feed processes the next event.
func (m *Machine) Feed(e Event) Outcome {
	var out Outcome
	m.doubted = time.Time{}
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
		m.ended(e.Tool) // the call is repeated after words that precede it
		m.open.OpenTools, m.open.Acted = append(m.open.OpenTools, e.Tool), true
	case ToolEnded:
		if m.open != nil {
			m.heard, m.live = later(m.heard, e.At), m.live || !e.Past
			m.ended(e.Tool)
		}
	case TurnEnded:
		if m.open != nil {
			if len(m.open.Texts) == 0 {
				m.say(e.Text) // the agent repeats its last words at the end: better these than none
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

// ended removes a call from those without a result.
func (m *Machine) ended(call Tool) {
	m.open.OpenTools = slices.DeleteFunc(m.open.OpenTools, func(t Tool) bool { return t.ID == call.ID })
}

// claim compares a prompt with the expected texts.
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
	// Queued prompts may be taken as one. Remove the longest text first, since it may contain a shorter one.
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

// superseded reports whether a prompt proves that the open turn is over although its end was not written down.
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
	case again: // the agent tried again by itself
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

// unmarked ends a turn whose end was not written down. It counts as interrupted if it is abandoned, if TurnBegan
// began it, if a call of a tool is still open, or if nothing was said since the last call. A turn without any words
// was taken back by the person who wrote its prompt.
func (m *Machine) unmarked(out *Outcome, past bool) {
	m.open.Unmarked = true
	m.open.Interrupted = m.open.Abandoned || m.marked || len(m.open.OpenTools) > 0 || len(m.open.Texts) == m.since
	m.end(out, Event{At: m.heard, Past: past})
}

// end closes the open turn and reports it in out, unless it is empty.
func (m *Machine) end(out *Outcome, e Event) {
	m.open.Ended = later(later(m.open.Began, m.heard), e.At)
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

// snapshot returns a copy of the open turn that will not change.
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

// Status processes the agent's own status. It can only end a turn.
func (m *Machine) Status(s Status, now time.Time) Outcome {
	if s != m.status {
		m.status, m.doubted = s, time.Time{}
	}
	return m.Tick(now)
}

// Rests processes what another witness says: since when the screen and the title have shown in every look that the
// agent waits for its user, or zero if they do not. It can only end a turn. It is for agents that do not write down
// how a turn ends, which is only Gemini CLI.
func (m *Machine) Rests(since, now time.Time) Outcome {
	m.rests = since
	return m.Tick(now)
}

// Abandons is Rests for an agent that normally writes down how a turn ends, but did not: an opencode that was
// stopped between two tries of a failing service, or that ended in the middle of a turn and was started again. It
// is not known what became of such a turn, so it is Abandoned.
func (m *Machine) Abandons(since, now time.Time) Outcome {
	m.rests, m.writes = since, true
	return m.Tick(now)
}

// Witness returns the method that lets the screen end a turn whose end an agent of that kind has not written down:
// Rests or Abandons. It returns nil for an agent that writes down all ends.
func (m *Machine) Witness(k Kind) func(since, now time.Time) Outcome {
	take := k.format().witness
	if take == nil {
		return nil
	}
	return func(since, now time.Time) Outcome { return take(m, since, now) }
}

// Due returns when Tick will have something to do if no event comes before.
func (m *Machine) Due() (time.Time, bool) {
	switch {
	case m.open == nil || m.marked:
		return time.Time{}, false
	case m.idle() && !m.doubted.IsZero():
		return m.doubted.Add(againGrace), true
	case m.idle():
		return later(m.status.Since, m.heard).Add(idleGrace), true
	case m.rests.IsZero():
		return time.Time{}, false
	case m.writes:
		return later(m.rests, m.heard).Add(abandonedGrace), true
	case len(m.open.Texts) == m.since:
	case m.rests.After(m.open.Began):
		return later(m.rests, m.heard).Add(restGrace), true
	default: // the turn was too short for the witness to see it
		return later(m.rests, m.heard).Add(idleGrace), true
	}
	return later(m.rests, m.heard).Add(doubtGrace), true
}

// idle reports whether the agent's own status says that the open turn is over.
func (m *Machine) idle() bool {
	return m.status.State == StatusIdle && !m.status.Since.Before(m.open.Began)
}

// Tick ends an open turn once the agent has been idle for long enough, by its status or by another witness.
func (m *Machine) Tick(now time.Time) Outcome {
	var out Outcome
	if m.heard.After(now) { // the clock was set back since
		m.heard = now
	}
	if m.doubted.After(now) {
		m.doubted = now
	}
	due, ok := m.Due()
	switch {
	case !ok || now.Before(due):
	case m.idle() && (m.doubted.IsZero() || now.Sub(due) > rescan): // so late, it has stood still once more
		m.doubted = now
	default:
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
