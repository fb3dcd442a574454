package relay

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/brakes"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Why a chat has ended, where no reason of a delivery says it.
const whyTurns = "all its turns were taken"

// chat is a chat with what was counted in it.
type chat struct {
	message.Chat
	taken int          // turns that were relayed
	judge brakes.Judge // of what was said in it, in this run

	vain, doubt bool // see unmet
}

func (c *chat) copy() message.Chat {
	out := c.Chat
	out.Participants, out.Floor = slices.Clone(c.Participants), slices.Clone(c.Floor)
	return out
}

// there are the participants that have not left.
func (c *chat) there() []message.ID {
	var out []message.ID
	for _, p := range c.Participants {
		if !p.Left {
			out = append(out, p.Session)
		}
	}
	return out
}

// closing reports whether the chat waits for its last words to arrive, and takes no more.
func (c *chat) closing() bool { return c.Turns > 0 && c.taken >= c.Turns }

// over reports whether nothing of the chat is typed to that session any more: the chat has
// ended, or the session was taken out of it. A chat that is nil is one that ended long ago.
func (c *chat) over(target message.ID) bool {
	if c == nil || c.State == message.ChatOver {
		return true
	}
	was := false
	for _, p := range c.Participants {
		if p.Session == target {
			if !p.Left {
				return false
			}
			was = true
		}
	}
	return was
}

// bound reports whether only a person takes anybody out of the chat: it is paused, or what is
// said there waits for a person's yes, and would not wait in another one.
func (c *chat) bound() bool { return c.State == message.ChatPaused || c.gates() }

// chat returns the chat of that id, open or not, or nil.
func (s *State) chat(id message.ID) *chat {
	if id == "" {
		return nil
	}
	for _, c := range s.chats {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// chatOf returns the open chat in which the session is, or nil.
func (s *State) chatOf(session message.ID) *chat {
	for _, c := range s.chats {
		if c.State != message.ChatOver && slices.Contains(c.there(), session) {
			return c
		}
	}
	return nil
}

// open are the chats that have not ended.
func (s *State) open() []*chat {
	var out []*chat
	for _, c := range s.chats {
		if c.State != message.ChatOver {
			out = append(out, c)
		}
	}
	return out
}

// findChat is registry.Snapshot.FindChat for an open chat itself.
func (s *State) findChat(ref string) (*chat, error) {
	found, err := s.Snapshot().FindChat(ref)
	if err != nil {
		return nil, err
	}
	c := s.chat(found.ID)
	if c.State == message.ChatOver {
		return nil, fmt.Errorf("chat %s: %w: %s", label(c.Chat), ErrEnded, c.Why)
	}
	return c, nil
}

func (w *work) startChat(r StartChat) (Answer, error) {
	members, err := w.members(r)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	if err := w.checkStart(r, members); err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	c := &chat{
		Chat: message.Chat{
			ID: w.ids.next(w.now), Name: r.Name, State: message.ChatOn, Started: w.now,
			Limits: route.WithDefaults(r.Limits, w.chatLimits), Turns: r.Turns, OneWay: r.OneWay, Again: r.Again,
		},
	}
	ask, err := w.asked(c.Limits.Approve, members)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	for i, s := range members {
		p := message.Participant{Session: s.ID, Name: s.Name, Number: i + 1, MaySpeak: i >= len(r.Muted) || !r.Muted[i]}
		if i < len(r.Roles) {
			p.Role = r.Roles[i]
		}
		p.Approve = ask[i] || i < len(r.Asked) && r.Asked[i]
		c.Participants = append(c.Participants, p)
	}
	c.listApprove()
	opening, err := w.opening(r, c, members)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	kept, err := w.keptFor(r.Kept, members)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	w.chats = append(w.chats, c)
	w.altered(c)
	for _, s := range members {
		s.joined = w.since(r.Since)
		if r.By.Person() {
			w.freed(s)
		}
	}
	w.handOn(kept, c)
	for _, t := range opening {
		w.receive(t)
	}
	return Answer{Chats: []message.Chat{c.copy()}}, nil
}

// since is from when on what is said is said into a chat: what a baseline does not hold, and
// was said before the relay heard of the chat, must not be lost.
func (w *work) since(baseline time.Time) time.Time {
	if baseline.IsZero() {
		return w.now
	}
	return baseline
}

// members are the sessions that are to be in a chat.
func (w *work) members(r StartChat) ([]*session, error) {
	var out []*session
	for _, ref := range r.Sessions {
		s, err := w.find(ref)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, s) {
			return nil, fmt.Errorf("%w: session %q is named twice", ErrRequest, s.Name)
		}
		out = append(out, s)
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("%w: it takes at least two sessions", ErrRequest)
	}
	return out, nil
}

// checkStart refuses what cannot be a chat, before anything is changed.
func (w *work) checkStart(r StartChat, members []*session) error {
	ids := make([]message.ID, len(members))
	for i, s := range members {
		ids[i] = s.ID
	}
	slices.Sort(ids)
	for _, s := range members {
		if c := w.chatOf(s.ID); c != nil {
			have := c.there()
			slices.Sort(have)
			return &InChatError{Session: s.Name, Chat: c.copy(), Same: slices.Equal(ids, have)}
		}
	}
	if w.stopped {
		return ErrStopped
	}
	theirs := r.Limits != (message.Limits{}) || len(r.Roles) > 0 || len(r.Muted) > 0 || len(r.Asked) > 0 || r.Again != "" || len(r.Kept) > 0
	if !r.By.Person() && (theirs || len(members) != 2 || !slices.Contains(ids, r.By.Session)) {
		return fmt.Errorf("%w: an agent may connect itself with one other, at the usual limits", ErrPersonOnly)
	}
	if speaks := r.Say != "" || r.IncludeLast || r.OneWay; !r.By.Person() && speaks && members[0].ID != r.By.Session {
		return fmt.Errorf("%w: an agent may ask and say something for itself alone: it comes first", ErrPersonOnly)
	}
	if r.Turns < 0 || r.Limits.Depth < 0 || r.Limits.Rate < 0 || r.Limits.Bytes < 0 || r.Limits.Expire < 0 || r.Limits.Away < 0 {
		return fmt.Errorf("%w: a limit below zero", ErrRequest)
	}
	if len(r.Roles) > len(members) || len(r.Muted) > len(members) || len(r.Asked) > len(members) {
		return fmt.Errorf("%w: more roles, or words on who may speak, than sessions", ErrRequest)
	}
	for _, role := range r.Roles {
		if err := checkRole(role); err != nil {
			return err
		}
	}
	if h := r.Limits.Header; h != "" && h != route.HeaderAttribution && h != route.HeaderBoth {
		return fmt.Errorf("%w: header %q: it is %q or %q", ErrRequest, h, route.HeaderAttribution, route.HeaderBoth)
	}
	if words := r.Limits.Words; words != "" && words != route.WordsLast && words != route.WordsAll {
		return fmt.Errorf("%w: words %q: it is %q or %q", ErrRequest, words, route.WordsLast, route.WordsAll)
	}
	if empty := r.Limits.Empty; empty != "" && empty != EmptyAgents && empty != EmptyOn && empty != EmptyOff {
		return fmt.Errorf("%w: empty %q: it is %q, %q or %q", ErrRequest, empty, EmptyAgents, EmptyOn, EmptyOff)
	}
	if strings.ContainsFunc(r.Limits.LineBreak, unicode.IsControl) {
		return fmt.Errorf("%w: line break %q holds a control character", ErrRequest, r.Limits.LineBreak)
	}
	if err := checkBody(r.Say); r.Say != "" && err != nil {
		return err
	}
	if r.Name == "" {
		return nil
	}
	if err := registry.CheckName(r.Name); err != nil {
		return err
	}
	for _, c := range w.open() {
		if strings.EqualFold(c.Name, r.Name) {
			return fmt.Errorf("%w: chat %s bears that name", ErrRequest, label(c.Chat))
		}
	}
	return nil
}

// chosen are the open chats that a request means.
func (w *work) chosen(ref string) ([]*chat, error) {
	if strings.EqualFold(ref, All) {
		return w.open(), nil
	}
	c, err := w.findChat(ref)
	if err != nil {
		return nil, err
	}
	return []*chat{c}, nil
}

// mayTouch refuses an agent what is done to others: a chat in which it is not, and All.
func (w *work) mayTouch(by By, ref string, chats []*chat) error {
	if by.Person() {
		return nil
	}
	if by.Kind == Unverified { // which may pause, as admit has it: to hold too much harms nobody
		return nil
	}
	if strings.EqualFold(ref, All) || !slices.Contains(chats[0].there(), by.Session) {
		return ErrPersonOnly
	}
	return nil
}

func (w *work) stopChat(r StopChat) (Answer, error) {
	chats, err := w.chosen(r.Chat)
	if err == nil {
		err = w.mayTouch(r.By, r.Chat, chats)
	}
	if err == nil && !r.By.Person() && chats[0].bound() {
		err = ErrPersonOnly // to stop it and start it anew would be to resume it
	}
	if err != nil {
		return Answer{}, fmt.Errorf("stop chat: %w", err)
	}
	for _, c := range chats {
		w.end(c, "stopped by "+w.who(r.By))
	}
	if strings.EqualFold(r.Chat, All) {
		w.stopAll()
	}
	return w.answer(chats), nil
}

func (w *work) pauseChat(r PauseChat) (Answer, error) {
	chats, err := w.chosen(r.Chat)
	if err == nil {
		err = w.mayTouch(r.By, r.Chat, chats)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("pause chat: %w", err)
	}
	why := r.Why
	if why == "" {
		why = "paused by " + w.who(r.By)
	}
	for _, c := range chats {
		if c.State == message.ChatOn {
			w.pause(c, why)
		}
	}
	if strings.EqualFold(r.Chat, All) {
		w.stopAll()
	}
	return w.answer(chats), nil
}

func (w *work) resumeChat(r ResumeChat) (Answer, error) {
	if !r.By.Person() {
		return Answer{}, fmt.Errorf("resume chat: %w", ErrPersonOnly)
	}
	chats, err := w.chosen(r.Chat)
	if err != nil {
		return Answer{}, fmt.Errorf("resume chat: %w", err)
	}
	all := strings.EqualFold(r.Chat, All)
	if w.stopped && !all {
		return Answer{}, fmt.Errorf("resume chat: %w", ErrStopped)
	}
	chats = slices.DeleteFunc(chats, func(c *chat) bool { return c.State != message.ChatPaused })
	if why := w.brakedOf(chats, all); len(why) > 0 && !r.Sure && gate("resume") {
		return Answer{}, &BrakedError{why}
	}
	for _, c := range chats {
		c.State, c.Why, c.Braked = message.ChatOn, "", false
		w.altered(c)
	}
	if all {
		w.latch(false)
	}
	if r.Sure {
		w.trustAll(chats, all)
	}
	w.unhold(w.underway(func(d *delivery) bool {
		return all && d.Chat == "" || slices.ContainsFunc(chats, func(c *chat) bool { return w.with(c, d) })
	}), r.Sure)
	for _, c := range chats {
		w.settle(c)
	}
	return w.answer(chats), nil
}

// with reports whether a delivery goes on, or ends, with a chat: it is part of it, or was sent on out
// of it and is held since that was.
func (w *work) with(c *chat, d *delivery) bool {
	sentOn := d.Chat == "" && !d.Typed && (d.hold == holdPause || d.hold == holdBrake)
	return d.Chat == c.ID || sentOn && w.thread(d.Message) == c
}

// brakedOf says what is held at a limit of that which is to go on.
func (w *work) brakedOf(chats []*chat, all bool) (why []string) {
	for _, c := range chats {
		if c.Braked {
			why = append(why, fmt.Sprintf("chat %s is paused: %s", label(c.Chat), c.Why))
		}
	}
	if n := len(w.underway(func(d *delivery) bool { return all && d.Chat == "" && d.hold == holdBrake })); n > 0 {
		why = append(why, fmt.Sprintf("messages held at a limit, outside of chats: %d", n))
	}
	return why
}

// trustAll begins the brakes of all anew who take part in chats, or of everybody.
func (w *work) trustAll(chats []*chat, all bool) {
	for _, c := range chats {
		for _, id := range c.there() {
			w.trust(w.present(id))
		}
	}
	for _, s := range w.sessions {
		if all && s.Ended == nil {
			w.trust(s)
		}
	}
	if all {
		w.stranger = newStranger()
	}
}

// trust begins a session's brakes anew: a person said that it may go on.
func (w *work) trust(s *session) {
	w.freed(s)
	s.budget.Reset()
	clear(s.sends)
}

// pause holds everything in a chat that is not submitted yet.
func (w *work) pause(c *chat, why string) {
	c.State, c.Why = message.ChatPaused, why
	w.altered(c)
	w.withhold(w.underway(func(d *delivery) bool { return d.Chat == c.ID }), holdPause, message.Paused)
}

// stopAll gives no leave to anything any more, single messages included.
func (w *work) stopAll() {
	w.latch(true)
	w.withhold(w.underway(func(d *delivery) bool { return d.Chat == "" }), holdPause, message.Stopped)
	w.notice("", "everything is stopped: nothing is typed until a person resumes all")
}

// latch notes whether everything is stopped, for the next run too.
func (w *work) latch(stopped bool) {
	if w.stopped != stopped {
		w.stopped, w.step.Stopped = stopped, &stopped
	}
}

// end ends a chat: what was not typed into a pane never will be, and of what was, the
// panes report what became of it.
func (w *work) end(c *chat, why string) {
	at := w.now
	c.State, c.Why, c.Ended, c.judge = message.ChatOver, why, &at, brakes.Judge{}
	w.altered(c)
	w.revoke(w.underway(func(d *delivery) bool { return w.with(c, d) && d.open() }))
	w.notice(c.ID, fmt.Sprintf("chat %s has ended: %s", label(c.Chat), why))
	w.forgetPast()
}

// settle ends a chat whose turns were all taken, once the last words have arrived, and one
// that was a question which nobody can answer any more.
func (w *work) settle(c *chat) {
	if c.State != message.ChatOn || len(w.flows[string(c.ID)]) > 0 {
		return
	}
	if !c.closing() {
		if w.askedInVain(c) {
			w.end(c, whyUnanswered)
		}
		return
	}
	for _, d := range w.under {
		if d.Chat == c.ID && d.open() {
			return
		}
	}
	w.end(c, c.whyDone())
}

// whyDone is why a chat has ended all of whose turns were taken. In a question these are the
// answers of the others.
func (c *chat) whyDone() string {
	if !c.OneWay || len(c.Participants) < 2 {
		return whyTurns
	}
	var names []string
	for _, p := range c.Participants[1:] {
		names = append(names, p.Name)
	}
	return strings.Join(names, " and ") + " answered"
}

// answer is an Answer that names chats as they are now.
func (w *work) answer(chats []*chat) Answer {
	var a Answer
	for _, c := range chats {
		a.Chats = append(a.Chats, c.copy())
	}
	return a
}

// who names the one who asked, for a reason that a person reads.
func (w *work) who(by By) string {
	if by.Kind == Unverified {
		return "an unverified process"
	}
	if s := w.present(by.Session); s != nil {
		return s.Name
	}
	if name := registry.NameFrom(by.Name); name != "" {
		return name
	}
	return route.Person
}
