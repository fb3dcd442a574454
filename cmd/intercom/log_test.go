package main

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestLog_limit(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	for i := range int64(2*logPage + 7) {
		b.log = append(b.log, message.Event{Seq: i + 1, Kind: "notice", Notice: fmt.Sprintf("step %d.", i+1)})
	}
	last := fmt.Sprintf("step %d.", len(b.log))
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("log")
	assert.Equal(t, usualLimit, strings.Count(r.out, "step "))
	assert.Contains(t, r.out, last)
	assert.Equal(t, "intercom: note: only the latest 1000 steps shown: --limit N shows more, --limit 0 all\n", r.err)

	r = w.run("log", "--limit", "1")
	assert.Contains(t, r.out, last)
	assert.Contains(t, r.err, "only the latest 1 step shown")

	r = w.run("log", "--limit", "0")
	assert.Equal(t, len(b.log), strings.Count(r.out, "step "))
	assert.Empty(t, r.err)
	r = w.run("log", "--limit", "0", "--json")
	var events []message.Event
	oneValue(t, r.out, &events)
	assert.Equal(t, b.log, events, "each once, in order")

	r = w.run("log", "--limit", fmt.Sprint(len(b.log)))
	assert.Empty(t, r.err, "just enough")
}

// --limit counts only the steps that the short form shows.
func TestLog_limitCountsWhatIsShown(t *testing.T) {
	t.Parallel()
	b := &fakeBackend{}
	for i := range int64(3 * logPage) {
		e := message.Event{Seq: i + 1, Kind: "receipt", Receipt: &message.Receipt{Delivery: "d", Message: "m", State: message.Queued}}
		if i%(logPage/2) == 0 {
			e = message.Event{Seq: i + 1, Kind: "notice", Notice: fmt.Sprintf("step %d.", i+1)}
		}
		b.log = append(b.log, e)
	}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("log", "--limit", "4")
	assert.Equal(t, 4, strings.Count(r.out, "step "), r.out)
	assert.Contains(t, r.out, fmt.Sprintf("step %d.", 5*logPage/2+1))
	assert.Contains(t, r.err, "only the latest 4 steps shown")
	assert.Equal(t, 5, strings.Count(w.run("log", "--limit", "5").out, "step "))
	r = w.run("log", "--limit", "6")
	assert.Equal(t, 6, strings.Count(r.out, "step "))
	assert.Empty(t, r.err, "all that there is")
	var events []message.Event
	oneValue(t, w.run("log", "--limit", "4", "--json").out, &events)
	assert.Equal(t, b.log[len(b.log)-4:], events, "for programs all of them count")
}

func TestLog_longBodiesAreCut(t *testing.T) {
	id := message.NewID()
	b := &fakeBackend{log: []message.Event{
		{Kind: "message", Message: &message.Envelope{ID: id, From: message.Address{Name: "Ada"}, Body: strings.Repeat("é", longBody) + "the end"}},
	}}
	w := newWorld(t)
	w.serve(t, b)
	brief := w.run("log").out
	assert.Contains(t, brief, "é… (7 more; intercom log "+id.Short()+" shows all)\n")
	assert.NotContains(t, brief, "the end")
	assert.Contains(t, w.run("log", id.Short()).out, "éthe end\n")
	assert.Contains(t, w.run("log", "-v").out, "éthe end\n")

	b.log[0].Message.Body = strings.Repeat("é", longBody)
	assert.NotContains(t, w.run("log").out, "more")
}

func TestLog_anotherTextThanWasSaid(t *testing.T) {
	id := message.NewID()
	d := message.Delivery{ID: message.NewID(), Message: message.Envelope{ID: id, Body: "ls -l"}}
	typed := message.Event{Kind: "receipt", Delivery: &d, Receipt: &message.Receipt{Delivery: d.ID, Message: id, Target: "Ben", State: message.Typed}}
	b := &fakeBackend{log: []message.Event{
		{Kind: "message", Message: &message.Envelope{ID: id, From: message.Address{Name: "Ada"}, Body: "rm -rf"}}, typed, typed,
	}}
	w := newWorld(t)
	w.serve(t, b)
	out := w.run("log", id.Short()).out
	assert.Contains(t, out, "\n    rm -rf\n")
	assert.Contains(t, out, "to Ben: typed, with another text than was said:\n    ls -l\n")
	assert.Equal(t, 1, strings.Count(out, "ls -l"), "leave is given twice, and the text is told once")
	assert.NotContains(t, w.run("log").out, "ls -l")
}

// A subject stands above the text in the log, as in the pane, and does not count as another text.
func TestLog_subject(t *testing.T) {
	m := message.Envelope{ID: message.NewID(), From: message.Address{Name: "Ada"}, Subject: "the plan", Body: "now"}
	d := message.Delivery{ID: message.NewID(), Message: message.Envelope{ID: m.ID, Subject: "the plan"}}
	typed := message.Event{Kind: "receipt", Delivery: &d, Receipt: &message.Receipt{Delivery: d.ID, Message: m.ID, Target: "Ben", State: message.Typed}}
	b := &fakeBackend{log: []message.Event{{Kind: "message", Message: &m}, typed}}
	w := newWorld(t)
	w.serve(t, b)
	out := w.run("log", m.ID.Short()).out
	assert.Contains(t, out, "\n    Subject: the plan\n")
	assert.NotContains(t, out, "another text")
	d.Message.Subject, d.Message.Body = "the ***", "now"
	assert.Contains(t, w.run("log", m.ID.Short()).out, "with another text than was said:\n    Subject: the ***\n")
}

func TestLog_namesOfThoseWhoHaveLeft(t *testing.T) {
	gone, now := message.NewID(), time.Now()
	chat := message.Chat{ID: message.NewID(), Name: "plans", State: message.ChatOn, Participants: []message.Participant{{Peer: gone, Name: "Cyd", Number: 1, MaySpeak: true}}}
	receipt := message.Event{Seq: 1, Kind: "receipt", Receipt: &message.Receipt{Message: message.NewID(), Target: gone, State: message.Submitted}}
	w := newWorld(t)
	b := &fakeBackend{}
	w.serve(t, b)
	for name, tells := range map[string]message.Event{
		"session": {Seq: 2, Kind: "session", Peer: &message.Peer{ID: gone, Name: "Cyd", Ended: &now}},
		"chat":    {Seq: 2, Kind: "chat", Change: &chat},
	} {
		b.log = []message.Event{receipt, tells}
		assert.Contains(t, w.run("log").out, "to Cyd: submitted", name)
	}
	b.log = []message.Event{receipt}
	assert.Contains(t, w.run("log").out, "to "+gone.Short()+": submitted")

	// A message names its targets, and so does the delivery beside each receipt, however long ago they ended.
	to := message.Envelope{ID: message.NewID(), From: message.Address{Name: "Ada"}, To: []message.Address{{Peer: gone, Name: "Cyd"}}, Body: "hi"}
	b.log = []message.Event{{Seq: 1, Kind: "message", Message: &to}, receipt}
	assert.Contains(t, w.run("log").out, "to Cyd: submitted")
	receipt.Delivery = &message.Delivery{Message: to}
	b.log = []message.Event{receipt}
	assert.Contains(t, w.run("log").out, "to Cyd: submitted")

	// A message in a chat is for all in it, so the chat names its former participants.
	receipt.Delivery, receipt.Chat = nil, chat.ID
	b.log, b.detail = []message.Event{receipt}, api.ChatDetail{Chat: chat}
	assert.Contains(t, w.run("log").out, "to Cyd: submitted")
}

func TestLog_aRenameIsNoNewsOfTheChat(t *testing.T) {
	ada, ben := message.NewID(), message.NewID()
	chat := func(seq int64, state message.ChatState, name string, muted bool) message.Event {
		return message.Event{Seq: seq, Kind: "chat", Change: &message.Chat{ID: "c", Name: "plans", State: state, Why: "depth limit reached", Participants: []message.Participant{
			{Peer: ada, Name: name, Number: 1, MaySpeak: true}, {Peer: ben, Name: "Ben", Number: 2, MaySpeak: !muted},
		}}}
	}
	b := &fakeBackend{log: []message.Event{
		chat(1, message.ChatPaused, "Ada", false),
		chat(2, message.ChatPaused, "Eve", false),
		chat(3, message.ChatPaused, "Eve", true),
	}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("log")
	assert.Equal(t, 2, strings.Count(r.out, "paused: depth limit reached"), r.out)
	assert.Equal(t, 2, strings.Count(r.out, "→ intercom chat resume plans\n"), r.out)
	assert.Equal(t, 1, strings.Count(r.out, "chat    Ada is called Eve now\n"), r.out)
	assert.Equal(t, 3, strings.Count(w.run("log", "-v").out, "paused"), "every step")
}

func TestFollow_saysWhyItEnds(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{log: []message.Event{{Seq: 1, Kind: "notice", Notice: "look"}}})
	for _, line := range []string{"log -f", "log -f --json"} {
		r := w.run(strings.Fields(line)...)
		assert.Zero(t, r.code)
		assert.Equal(t, "intercom: note: the sidecar has ended; intercom up starts one\n", r.err)
	}
}

func TestFollow_goesOnWithTheNextSidecar(t *testing.T) {
	d := detailed()
	over := d.Chat
	over.State = message.ChatOver
	said := func(text string) message.Event {
		return message.Event{Seq: 1, Chat: d.ID, Message: &message.Envelope{ID: message.NewID(), Body: text}}
	}
	w := newWorld(t)
	b := &fakeBackend{detail: d, log: []message.Event{said("to the first")}}
	b.streamed = func() { // as if another sidecar had replaced it
		b.status.PID, b.log = 2, []message.Event{said("to the second"), {Seq: 2, Chat: d.ID, Change: &over}}
	}
	w.serve(t, b)
	w.succession = 20 * time.Second // never waited for that long
	r := w.run("chat", "show", "plans", "-f", "--json")
	assert.Zero(t, r.code)
	assert.Empty(t, r.err)
	var seqs []int64
	for line := range strings.Lines(r.out) {
		var e message.Event
		oneValue(t, line, &e)
		seqs = append(seqs, e.Seq)
	}
	assert.Equal(t, []int64{1, 2, 3, 4}, seqs, "what was, what came, and from the last event on") // the fake counts on from there
	assert.Contains(t, r.out, "to the second")
}

// lines is a listener that can hang up on all its clients.
type lines struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
}

func (l *lines) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open = append(l.open, c)
	}
	return c, err
}

func (l *lines) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

// A reader that stands still, such as a pager, is cut off by a running sidecar; it resumes after the last event that it got.
func TestFollow_goesOnAfterItWasCutOff(t *testing.T) {
	var at lines
	b := &fakeBackend{log: []message.Event{{Seq: 1, Kind: "notice", Notice: "look"}}, streamed: at.hangUp}
	w := newWorld(t)
	w.serveOn(t, b, func(ln net.Listener) net.Listener { at.Listener = ln; return &at })
	r := w.run("log", "-f", "--json")
	assert.Zero(t, r.code, r.err)
	assert.Equal(t, "intercom: note: the sidecar has ended; intercom up starts one\n", r.err, "the second stream ends whole")
	var seqs []int64
	for line := range strings.Lines(r.out) {
		var e message.Event
		oneValue(t, line, &e)
		seqs = append(seqs, e.Seq)
	}
	assert.Equal(t, []int64{1, 2, 3}, seqs, "each once, in order")
}

func TestExpiry_isToldWhereItCameLast(t *testing.T) {
	d := detailed()
	id := message.NewID()
	said := message.Event{Seq: 1, Chat: d.ID, Message: &message.Envelope{ID: id}}
	expired := message.Event{Seq: 2, Chat: d.ID, Receipt: &message.Receipt{Message: id, State: message.Expired, Reason: message.InComposer}}
	told := message.Event{Seq: 3, Chat: d.ID, Notice: "message expired"}
	want := "message " + id.Short() + " expired before it could be typed: draft in the composer; intercom log " + id.Short() + "\n"
	b := &fakeBackend{detail: d, chats: []message.Chat{d.Chat}}
	w := newWorld(t)
	w.serve(t, b)
	for _, line := range []string{"chat show plans", "chat list"} {
		b.log = []message.Event{said, expired, told}
		r := w.run(strings.Fields(line)...)
		require.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, want, line)
		b.log = []message.Event{said, expired, told, {Seq: 4, Chat: d.ID, Receipt: &message.Receipt{State: message.Submitted}}}
		assert.NotContains(t, w.run(strings.Fields(line)...).out, want, line)
	}
}
