package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A message to another computer does not count as typed before that computer says so.
func TestWords_onItsWayToAnotherComputer(t *testing.T) {
	r := message.Receipt{State: message.Typed, Door: message.DoorLink}
	assert.Equal(t, "on its way", outcome(r))
	assert.Equal(t, "on its way", waitsFor(api.Held{Waiting: api.Waiting{State: r.State, Door: r.Door}}))
	r.Door = ""
	assert.Equal(t, "typed", outcome(r))
}

// The state in which all typing is stopped has one name, here as in receipts and errors. Until it is over no
// chat can be resumed alone, and no key for that is offered.
func TestWords_everythingIsStopped(t *testing.T) {
	m := world().size(100, 30)
	paused := m.keys("2 down")
	require.Contains(t, sees(paused), "r resume")
	require.Contains(t, sees(m.keys("3 down")), "r resume")
	m.known.status.Stopped = true
	for _, at := range []string{"2 down", "3 down", "1 end"} {
		frame := sees(m.keys(at))
		assert.Contains(t, frame, string(message.Stopped), at)
		assert.Contains(t, frame, "P resume everything", at)
		assert.NotContains(t, frame, "r resume", at)
	}
	assert.NotContains(t, sees(m.keys("2 down enter")), "r resume")
}

// A reason that contains the word of the state stands alone, wherever a chat or a pane is described.
func TestWords_aReasonIsSaidOnce(t *testing.T) {
	m := world().size(132, 40)
	m.known.peers[0].State, m.known.peers[0].Why = message.Draft, "draft in the composer"
	m.known.chats[1].Why = "paused by root"
	change := m.known.events[7]
	require.NotNil(t, change.Change)
	change.Change.Why = "paused by root"
	for _, at := range []string{"2", "2 down enter", "4"} {
		frame := sees(m.keys(at))
		assert.Contains(t, frame, "paused by root", at)
		assert.NotContains(t, frame, "paused: paused", at)
	}
	assert.Contains(t, sees(m.keys("4")), "chat paused by root")
	assert.Contains(t, sees(m.keys("2")), "  draft in the composer")
	assert.Equal(t, "paused", message.ChatPaused.For(""))
	assert.Equal(t, "paused: depth limit reached", message.ChatPaused.For("depth limit reached"))
}

// The log tab describes a delivery with the same words as intercom log.
func TestLog_submittedIsTheWord(t *testing.T) {
	_, what, _, ok := world().narrate(message.Event{Receipt: &message.Receipt{State: message.Submitted}})
	assert.True(t, ok)
	assert.Equal(t, "submitted", what)
}

// The keys are those of the tabs that exist.
func TestKeys_countTheTabs(t *testing.T) {
	m := world().size(80, 40)
	assert.Contains(t, sees(m.keys("?")), " 1 to 5, Tab ")
	m.known.computers = m.known.computers[:1]
	assert.Contains(t, sees(m.keys("?")), " 1 to 4, Tab ")
}

// A question counts its lines if there are more than fit.
func TestQuestion_countsWhatDoesNotFit(t *testing.T) {
	for lines, counted := range map[int]bool{1: false, 50: true} {
		m, _ := world().size(80, 24).update(noon, opened{question{text: strings.Repeat("a line\n", lines), ask: "Approve it?", yes: none}})
		m, _ = m.update(noon, armed{m.serial})
		assert.Equal(t, counted, strings.Contains(sees(m), " lines"), lines)
	}
}

// A watched chat that ends after the next answer says so.
func TestWatch_saysThatItEnds(t *testing.T) {
	m := world().size(132, 40)
	require.NotContains(t, sees(m.keys("2 enter")), "ends after")
	m.known.chats[0].Closes = "stopped after the last answer by root"
	assert.Contains(t, sees(m.keys("2 enter")), " on · ben waits for ada · ends after the next answer · ")
}

// A rejection stands below the message that it is about, whatever was said before the person decided.
func TestTranscript_aRejectionStandsWithItsMessage(t *testing.T) {
	m := world().size(100, 40)
	chat, ben := m.known.chats[0].ID, m.known.status.Sessions[1]
	said := func(seq int64, id message.ID, body string) message.Event {
		return message.Event{Seq: seq, At: noon, Kind: "message", Chat: chat, Message: &message.Envelope{ID: id, Body: body, From: message.Address{Name: "ada", Number: 1}}}
	}
	rejected := message.Receipt{Message: "silly", Target: ben.ID, State: message.Failed, Reason: message.Rejected}
	m.known.events = []message.Event{
		said(20, "silly", "something silly"), said(21, "mine", "not before the tests pass"), {Seq: 22, At: noon, Kind: "receipt", Chat: chat, Receipt: &rejected},
	}
	var rows []string
	for _, row := range m.transcript(m.known.of(chat), 80) {
		if row = strings.TrimSpace(ansi.Strip(row)); row != "" && !strings.HasPrefix(row, "ada") {
			rows = append(rows, row)
		}
	}
	assert.Equal(t, []string{"something silly", "→ ben failed: rejected", "not before the tests pass"}, rows)
	m.known.events = m.known.events[1:] // a rejection is shown even without its message
	assert.Contains(t, sees(m.keys("2 enter")), "→ ben failed: rejected")
}

// A reply is offered if somebody would get it, and a person is told which rule asks for their decision.
func TestInbox_offersWhatCanBeDone(t *testing.T) {
	m := world().size(100, 30).keys("3")
	require.Contains(t, sees(m), "r reply")
	d := api.Decided{Waiting: m.known.held[:1]}
	assert.Contains(t, Decision(api.DecideRequest{}, d), "\nYou are asked: it deletes files, by guard.lua\n")
	m.known.held[0].Unanswerable = true
	assert.NotContains(t, sees(m), "r reply")
	m = m.keys("r")
	assert.NotContains(t, sees(m), "answer ben yourself", "nobody would get it")
	m.known.held[0].Asked.Decision = message.Decision{By: message.BuiltIn, Reason: "the chat is set to approve=yes"}
	assert.Contains(t, sees(m), "you are asked: the chat is set to approve=yes")
	m.known.held[0].Message = m.known.held[0].Delivery // a start that an agent asks for
	assert.NotContains(t, sees(m), "e edit")
}

// A question is not called a chat.
func TestLog_aQuestionIsOne(t *testing.T) {
	c := message.Chat{State: message.ChatOver, Why: "ben answered", OneWay: true, Turns: 1, Participants: []message.Participant{{Name: "ada"}, {Name: "ben"}}}
	_, what, _, _ := world().narrate(message.Event{Change: &c})
	assert.Equal(t, "question ended: ben answered", what)
}

// A session is adopted once, whatever is recorded about it afterwards, such as a draft in its pane.
func TestLog_anAdoptionIsOne(t *testing.T) {
	m := world()
	dan := message.Peer{ID: "00000000-0000-7000-8000-0000000000d4", Name: "dan", State: message.Idle, Adopted: noon}
	m.known.found = nil
	m.known.events = nil
	for i, after := range []time.Duration{0, time.Millisecond, time.Minute, time.Hour} {
		m.known.events = append(m.known.events, message.Event{Seq: int64(i + 1), At: noon.Add(after), Kind: "session", Peer: &dan})
	}
	gone := dan
	gone.Ended, gone.EndReason = &noon, "agent gone"
	m.known.events = append(m.known.events, message.Event{Seq: 9, At: noon.Add(2 * time.Hour), Kind: "session", Peer: &gone})
	var said []string
	for _, one := range (logShelf{}).items(m) {
		said = append(said, one.cells[2])
	}
	assert.Equal(t, []string{"ended: agent gone", "adopted"}, said)
}

// A search shows each message that was found, wherever the words stand in it; and only the latest search counts.
func TestLog_whatASearchFinds(t *testing.T) {
	answer := func(sought, first string) found {
		return found{sought, []message.Event{{Seq: 100, At: noon, Kind: "message", Message: &message.Envelope{
			ID: "found", From: message.Address{Name: "zoe"}, Body: first + "\nthe words",
		}}}}
	}
	m := world().size(80, 24).keys("4 / w o r d s enter")
	m, _ = m.update(noon, answer("words", "the older"))
	assert.Contains(t, sees(m), "zoe  the older")
	assert.NotContains(t, sees(m), "The plan has three steps.")
	m, _ = m.update(noon, loaded{m.known})
	assert.Contains(t, sees(m), "zoe  the older", "a load changes nothing")

	m = m.keys("/ space t h e enter")
	assert.NotContains(t, sees(m), "the older")
	m, _ = m.update(noon, answer("words the", "the newer"))
	m, _ = m.update(noon, answer("words", "the older"))
	assert.Contains(t, sees(m), "zoe  the newer")
	assert.NotContains(t, sees(m), "the older")

	m = m.keys("esc")
	m, _ = m.update(noon, answer("words the", "the newer"))
	assert.Contains(t, sees(m), "The plan has three steps.", "the search was given up")
	assert.NotContains(t, sees(m), "the newer")
}

// A filter on another tab leaves the log's search as it is, whether it is answered or not.
func TestLog_aSearchOutlivesAFilterElsewhere(t *testing.T) {
	answer := found{"words", []message.Event{{Seq: 100, At: noon, Kind: "message", Message: &message.Envelope{
		ID: "found", From: message.Address{Name: "zoe"}, Body: "it has\nthe words",
	}}}}
	for _, elsewhere := range []string{"2 / esc 4", "2 / x enter esc 4"} {
		m := world().size(80, 24).keys("4 / w o r d s enter " + elsewhere)
		m, _ = m.update(noon, answer)
		assert.Contains(t, sees(m), "zoe  it has", "%s, before the answer", elsewhere)
		assert.Contains(t, sees(m.keys(elsewhere)), "zoe  it has", "%s, after it", elsewhere)
	}
}

// That a search finds nothing is said of the latest one alone.
func TestLog_aSearchThatFindsNothing(t *testing.T) {
	const nothing = "nothing that was said has these words"
	m := world().size(80, 24).keys("4 / w o r d s enter / space t h e enter")
	m, _ = m.update(noon, found{"words", nil})
	assert.NotContains(t, sees(m), nothing)
	m, _ = m.update(noon, found{"words the", nil})
	assert.Contains(t, sees(m), nothing)
}

// Whoever decides once more as somebody else did is told who that was, and never that they wrote the message.
func TestDecide_tellsWhoDecided(t *testing.T) {
	tom := message.Person{Name: "tom", UID: 1000}
	for want, d := range map[string]api.Decided{
		"already approved by tom (uid 1000)": {Choice: api.ChoiceApprove, By: tom},
		"already rejected by tom (uid 1000)": {Choice: api.ChoiceReject, By: tom},
		"already answered by tom (uid 1000)": {Choice: api.ChoiceReply, By: tom},
		"it has been decided about already":  {Choice: api.ChoiceApprove},
	} {
		assert.Equal(t, told{want}, already(d))
	}
}

// Each participant of a chat can be chosen by its number. A number that another one begins with needs an Enter.
func TestChoose_byNumber(t *testing.T) {
	numbered := func(all ...int) api.ChatDetail {
		var d api.ChatDetail
		for _, n := range all {
			d.Participants = append(d.Participants, message.Participant{Number: n, Name: "p" + itoa(n), Peer: message.ID(itoa(n)), MaySpeak: true})
		}
		return d
	}
	for _, c := range []struct {
		all  []int
		keys string
		want string // "": still asked
	}{
		{[]int{1, 2}, "1", "p1"},
		{[]int{1, 2}, "3", ""},
		{[]int{1, 2, 10, 12, 100}, "2", "p2"},
		{[]int{1, 2, 10, 12, 100}, "1", ""},
		{[]int{1, 2, 10, 12, 100}, "1 enter", "p1"},
		{[]int{1, 2, 10, 12, 100}, "1 2", "p12"},
		{[]int{1, 2, 10, 12, 100}, "1 0", ""},
		{[]int{1, 2, 10, 12, 100}, "1 0 enter", "p10"},
		{[]int{1, 2, 10, 12, 100}, "1 0 0", "p100"},
		{[]int{1, 2, 10, 12, 100}, "1 7", ""},
		{[]int{2, 12}, "1", ""},
		{[]int{2, 12}, "1 2", "p12"},
	} {
		m, _ := world().size(80, 24).choose(numbered(c.all...), "g", "")
		m = m.keys(c.keys)
		if _, asks := m.top().(reading); c.want == "" {
			assert.True(t, asks, "%v: %s", c.all, c.keys)
			continue
		}
		assert.Contains(t, sees(m), c.want+" is in no pane", "%v: %s", c.all, c.keys)
	}
	m, _ := world().size(80, 24).choose(numbered(1, 2, 10), "g", "")
	m = m.keys("1")
	assert.NotContains(t, sees(m), "2  p2")
	assert.Contains(t, sees(m), "Enter chooses 1  a digit continues 1")
	_, done := m.keys("esc").top().(reading)
	assert.False(t, done)
}
