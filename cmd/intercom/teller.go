package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// longBody is how many characters of a body the short form shows.
const longBody = 2000

// detail is how much of what happened people are shown.
type detail int

const (
	outcomes   detail = iota // words, and what became of them in the end
	steps                    // and each step there, with its evidence
	everything               // and the states of the panes
)

// teller prints events for people, in the order in which they happened.
type teller struct {
	*app
	detail detail
	names  map[message.ID]string // of sessions
	held   map[message.ID]bool   // deliveries that were said to be held
	typed  map[message.ID]bool   // deliveries whose own text was shown
	seen   changes

	stopped func() bool // whether everything is stopped; nil: nobody asks
}

// printer prints what happened, event by event. take gets an event that is not printed, and reports whether it would
// have been.
type printer struct {
	take func(message.Event) bool
	show func(message.Event) error
	*teller
}

// printer returns a printer for the form that is asked for.
func (a *app) printer(markdown bool, detail detail) printer {
	t := &teller{app: a, detail: detail, names: map[message.ID]string{}, held: map[message.ID]bool{}, typed: map[message.ID]bool{}}
	switch {
	case a.json:
		return printer{func(message.Event) bool { return true }, func(e message.Event) error { return a.printJSON(e) }, t}
	case markdown:
		return printer{func(e message.Event) bool { return e.Message != nil }, func(e message.Event) error {
			if e.Message != nil {
				a.say("**%s** · %s\n\n%s\n", plainLine(author(*e.Message)), day(e.At), indent(plain(render.Words(message.Form{}, *e.Message)), "> "))
			}
			return nil
		}, t}
	}
	return printer{t.take, t.show, t}
}

// naming tells a printer the names of sessions. The events in before are known already; they name sessions that have
// ended.
func (a *app) naming(ctx context.Context, c *api.Client, p printer, before []message.Event) (printer, error) {
	sessions, err := api.Call(ctx, c, api.Sessions, api.None{})
	for _, e := range before {
		p.learn(e)
	}
	for _, s := range sessions {
		p.names[s.ID] = s.Name
	}
	for _, chat := range p.nameless(before) {
		if d, err := api.Call(ctx, c, api.ShowChat, api.ChatQuery{Chat: string(chat)}); err == nil {
			for _, in := range d.Participants {
				p.names[in.Peer] = cmp.Or(p.names[in.Peer], in.Name)
			}
		}
	}
	return p, err
}

// nameless returns the chats with a recipient whose name is not known, at most mostNamed.
func (t *teller) nameless(events []message.Event) (chats []message.ID) {
	for _, e := range events {
		if e.Receipt != nil && t.names[e.Receipt.Target] == "" && e.Chat != "" && !slices.Contains(chats, e.Chat) && len(chats) < mostNamed {
			chats = append(chats, e.Chat)
		}
	}
	return chats
}

// learn takes the names of sessions from an event. A message tells what its author and its recipients were called when
// it was made; that counts only if nothing else names them, since the events of their sessions may be long ago.
func (t *teller) learn(e message.Event) {
	switch {
	case e.Peer != nil:
		t.names[e.Peer.ID] = e.Peer.Name
	case e.Change != nil:
		for _, p := range e.Change.Participants {
			t.names[p.Peer] = p.Name
		}
	case e.Message != nil:
		t.addressed(*e.Message)
	case e.Delivery != nil:
		t.addressed(e.Delivery.Message)
	}
}

func (t *teller) addressed(m message.Envelope) {
	for _, a := range append([]message.Address{m.From}, m.To...) {
		if _, known := t.names[a.Peer]; !known && a.Peer != "" && a.Name != "" {
			t.names[a.Peer] = a.Name
		}
	}
}

// take takes in an event that is not printed, and reports whether it would have been.
func (t *teller) take(e message.Event) bool {
	t.learn(e)
	shown, renamed := t.shows(e)
	return shown || len(renamed) > 0
}

func (t *teller) show(e message.Event) error {
	t.learn(e)
	shown, renamed := t.shows(e)
	head, body := t.line(e)
	if len(renamed) > 0 {
		shown, head = true, strings.Join(renamed, ", ")
	}
	if !shown {
		return nil
	}
	t.say("%s %-7s %s", clock(e.At), plainLine(e.Kind), plainLine(head))
	if body != "" {
		t.say("%s", indent(plain(body), "    "))
	}
	return nil
}

// shows reports whether an event is shown, and which sessions got other names if that is all that it tells.
func (t *teller) shows(e message.Event) (shown bool, renamed []string) {
	switch {
	case e.Change != nil:
		shown, renamed = t.seen.take(*e.Change)
		if t.detail == everything {
			return true, nil
		}
		return shown, renamed
	case e.Peer != nil:
		renamed = t.seen.name(e.Peer.ID, e.Peer.Name)
		if t.detail == everything || e.Peer.Ended != nil {
			return true, nil
		}
		return false, renamed
	case e.Receipt == nil || t.detail >= steps:
		return true, nil
	}
	if e.Receipt.Superseded() { // what becomes of the other delivery is told
		return false, nil
	}
	switch r := e.Receipt; r.State {
	case message.Submitted, message.Failed, message.Expired, message.Uncertain:
		return true, nil
	case message.Answered:
		return e.Chat == "", nil // in a chat the answer is a message of its own
	case message.Held:
		first := !t.held[r.Delivery]
		t.held[r.Delivery] = true
		return first, nil
	}
	return false, nil
}

// line returns an event in one line, and the words that were said in it, if any.
func (t *teller) line(e message.Event) (head, body string) {
	switch {
	case e.Message != nil:
		head = fmt.Sprintf("%s %s", e.Message.ID.Short(), author(*e.Message))
		if t.detail == everything {
			head += fmt.Sprintf(", %s, depth %d", e.Message.Type, e.Message.Depth)
		}
		return head, t.cut(render.Words(message.Form{}, *e.Message), e.Message.ID)
	case e.Verdict != nil:
		return e.Verdict.Message.Short() + " " + t.decided(*e.Verdict), ""
	case e.Receipt != nil:
		r := *e.Receipt
		to := t.names[r.Target]
		if to == "" {
			to = r.Target.Short()
		}
		state := r.State.Words(r.Door)
		if r.Superseded() {
			state = "superseded"
		}
		head = fmt.Sprintf("%s to %s: %s", r.Message.Short(), to, state)
		if r.Reason != "" {
			head += ": " + string(r.Reason)
		}
		if r.Sanitised > 0 {
			head += fmt.Sprintf(", %s removed or changed", several(r.Sanitised, "character"))
		}
		var seen []string
		for _, v := range r.Evidence {
			seen = append(seen, fmt.Sprintf("%s: %s at %s", v.Source, v.Says, clock(v.At)))
		}
		if len(seen) > 0 && t.detail >= steps {
			head += " (" + strings.Join(seen, "; ") + ")"
		}
		words := r.Words
		if d := e.Delivery; d != nil && d.Message.Body != "" && !t.typed[d.ID] {
			t.typed[d.ID] = true
			head, words = head+", with another text than was said:", render.Words(d.Form, d.Message)
		}
		return head, t.cut(words, r.Message)
	case e.Change != nil:
		head = fmt.Sprintf("%s %s, %s", chatName(*e.Change), e.Change.State.For(e.Change.Why), participants(*e.Change))
		stopped := e.Change.State == message.ChatPaused && t.stopped != nil && t.stopped()
		if way := wayOn(*e.Change, stopped); way != "" {
			head += " → " + way
		}
		return head, ""
	case e.Peer != nil:
		head = fmt.Sprintf("%s %s (%s) %s", e.Peer.Pane, e.Peer.Name, e.Peer.Profile, e.Peer.State)
		if e.Peer.Ended != nil {
			head += " ended: " + e.Peer.EndReason
		}
		return head, ""
	}
	return e.Notice, ""
}

// decided says what was decided about a message, for whom, and by which line.
func (t *teller) decided(v message.Verdict) string {
	says := func(d message.Decision) string {
		text := string(d.Verb)
		if d.Reason != "" {
			text += ": " + d.Reason
		}
		if d.By != "" {
			text += ", by " + d.By
		}
		return text
	}
	if len(v.Outcomes) == 0 {
		return says(v.Decision)
	}
	var all []string
	for _, o := range v.Outcomes {
		name := t.names[o.Target]
		if name == "" {
			name = o.Target.Short()
		}
		all = append(all, "to "+name+": "+says(o.Decision))
	}
	return strings.Join(all, "; ")
}

// cut returns what the short form shows of a body.
func (t *teller) cut(body string, id message.ID) string {
	if t.detail != outcomes {
		return body
	}
	return cutBody(body, id)
}

func cutBody(body string, id message.ID) string {
	more := utf8.RuneCountInString(body) - longBody
	if more <= 0 {
		return body
	}
	end := 0
	for range longBody {
		_, size := utf8.DecodeRuneInString(body[end:])
		end += size
	}
	return fmt.Sprintf("%s… (%d more; intercom log %s shows all)", body[:end], more, id.Short())
}

// changes remembers what was last told of the state of chats, and the names of sessions.
type changes struct {
	stood map[message.ID]string
	named map[message.ID]string
}

// take notes the present state of a chat. It reports whether that is worth a line: whether its state, the reason, or
// who takes part and is heard has changed. If only names have changed, it returns those.
func (c *changes) take(chat message.Chat) (news bool, renamed []string) {
	if c.stood == nil {
		c.stood = map[message.ID]string{}
	}
	stands := string(chat.State) + "\n" + chat.Why
	for _, p := range chat.Participants {
		stands += fmt.Sprintf("\n%s %d %s %t %t", p.Peer, p.Number, p.Role, p.MaySpeak, p.Left)
		renamed = append(renamed, c.name(p.Peer, p.Name)...)
	}
	news = c.stood[chat.ID] != stands
	c.stood[chat.ID] = stands
	if news {
		return true, nil
	}
	return false, renamed
}

// name notes what a session is called, and says so if that has changed.
func (c *changes) name(session message.ID, name string) (renamed []string) {
	if c.named == nil {
		c.named = map[message.ID]string{}
	}
	if was := c.named[session]; was != "" && was != name {
		renamed = []string{was + " is called " + name + " now"}
	}
	c.named[session] = name
	return renamed
}

// author returns who said a message. What the sidecar itself tells has no author: its recipients say more.
func author(m message.Envelope) string {
	name := m.From.Name
	if m.Origin == message.OriginSystem {
		names := make([]string, len(m.To))
		for i, to := range m.To {
			names[i] = to.Name
		}
		return m.Type + " to " + strings.Join(names, ", ")
	}
	if name == "" {
		name = string(m.Origin)
	}
	if m.From.Number > 0 {
		return fmt.Sprintf("%s (%d)", name, m.From.Number)
	}
	return name
}

// lastExpiry tells of a message that expired, if nothing else has happened to a message of the chat since.
func lastExpiry(events []message.Event) string {
	for i := len(events) - 1; i >= 0; i-- {
		switch e := events[i]; {
		case e.Message != nil:
			return ""
		case e.Receipt != nil && e.Receipt.State != message.Expired:
			return ""
		case e.Receipt != nil:
			text := "message " + e.Receipt.Message.Short() + " expired before it could be typed"
			if e.Receipt.Reason != "" {
				text += ": " + string(e.Receipt.Reason)
			}
			return text + "; intercom log " + e.Receipt.Message.Short()
		}
	}
	return ""
}
