package pane

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// limits are those of the simulation: low, so that they are met.
var limits = message.Limits{Depth: 5, Rate: 30, Expire: 10 * time.Minute, Door: message.DoorAuto, Stall: "off"}

// errFull is what the journal says when its disk is full.
var errFull = &message.UnwritableError{Path: "/journal", Why: "disk full", Err: errors.New("13")}

// hub is the relay's goroutine: its State, and what it is doing (relay.Run). It records what happens, a few
// steps at a time, before anything follows from that; while it cannot record, everything waits.
type hub struct {
	state   *relay.State
	queue   []queued
	effects []relay.Effect // those that are on disk, and to be carried out
	group   *written       // the group that is to be recorded next
	stuck   *stuckAt
	tokens  relay.Token
	waiting map[relay.Token]func(relay.Answer, error)
	asked   []message.ID // policies are asked about
}

// queued is an event, with whoever waits for its result.
type queued struct {
	event relay.Event
	back  func(relay.Answer, error)
}

// written is a group of steps, with what they ask for.
type written struct {
	events  []relay.Event
	effects []relay.Effect
}

// stuckAt is a group that cannot be recorded, and what waits behind it.
type stuckAt struct {
	group   *written // nil: the group must never have been
	first   []queued
	backlog []queued
	awake   time.Duration
}

func newHub(life byte) *hub {
	return &hub{state: relay.NewState([32]byte{9, life}, limits), waiting: map[relay.Token]func(relay.Answer, error){}}
}

// post puts an event into the queue. An event that stops something overtakes those that wait.
func (h *hub) post(e relay.Event, back func(relay.Answer, error)) {
	if stops(e) {
		at := 0
		for at < len(h.queue) && begins(h.queue[at].event) {
			at++
		}
		h.queue = slices.Insert(h.queue, at, queued{e, back})
		return
	}
	h.queue = append(h.queue, queued{e, back})
}

// begins reports whether an event is the first of a life.
func begins(e relay.Event) bool {
	_, ok := e.(relay.Restored)
	return ok
}

// stops reports whether an event is a request that takes permission away.
func stops(e relay.Event) bool {
	asked, ok := e.(relay.Requested)
	if !ok {
		return false
	}
	switch asked.Request.(type) {
	case relay.StopChat, relay.PauseChat:
		return true
	}
	return false
}

// permission reports whether an event asks for permission, or tells why it is not asked for.
func permission(e relay.Event) bool {
	told, ok := e.(relay.Reported)
	return ok && (told.Receipt.State == message.Typed || told.Receipt.State == message.Held)
}

// work makes the relay do one thing.
func (s *simulation) work() {
	h := s.hub
	switch {
	case len(h.effects) > 0:
		s.carryOut()
	case h.group != nil:
		s.commit()
	case h.stuck != nil && !s.full && s.chance(1, 3):
		s.unstick()
	case h.stuck != nil && len(h.queue) > 0:
		next := h.queue[0]
		h.queue = h.queue[1:]
		h.stuck.put(next)
	case h.stuck == nil && len(h.queue) > 0:
		s.group()
	}
}

// group makes the next events happen, each with all that follows from it.
func (s *simulation) group() {
	h := s.hub
	h.group = &written{}
	for range min(len(h.queue), 1+s.IntN(4)) {
		next := h.queue[0]
		h.queue = h.queue[1:]
		e := s.prepared(next)
		if begins(e) && len(h.group.events) > 0 {
			h.queue = slices.Insert(h.queue, 0, next)
			return
		}
		effects := h.state.Step(s.now, e)
		s.say("relay: %T %s", e, brief(e))
		h.group.events = append(h.group.events, e)
		h.group.effects = append(h.group.effects, effects...)
		for _, effect := range effects {
			switch effect := effect.(type) {
			case relay.Allow:
				if s.bugs.early {
					s.answer(effect.Token, relay.Answer{}, effect.Err)
				}
			case relay.Reply:
				if s.bugs.replyLost {
					s.answer(effect.Token, effect.Answer, effect.Err)
				}
			}
		}
		if begins(e) {
			return // by itself
		}
	}
}

// prepared returns an event with what Step cannot ask the journal itself.
func (s *simulation) prepared(q queued) relay.Event {
	h := s.hub
	h.tokens++
	token := h.tokens
	if q.back != nil {
		h.waiting[token] = q.back
	} else {
		token = 0
	}
	seen := func(id message.ID) bool { return id != "" && s.known[id] && !s.bugs.seenForgotten }
	switch e := q.event.(type) {
	case relay.Requested:
		e.Token = token
		if send, ok := e.Request.(relay.Send); ok {
			e.Seen = seen(send.Message.ID)
		}
		return e
	case relay.Reported:
		e.Token = token
		return e
	case relay.Adopted:
		e.Token = token
		return e
	case relay.Joined:
		e.Token = token
		return e
	case relay.Received:
		e.Token, e.Seen = token, seen(e.Message.ID)
		return e
	case relay.Spoke:
		e.Seen = seen(e.Turn.ID)
		return e
	}
	return q.event
}

// commit records the group, or gets stuck at it.
func (s *simulation) commit() {
	h := s.hub
	g := h.group
	h.group = nil
	if s.full && slices.ContainsFunc(g.effects, func(e relay.Effect) bool { _, ok := e.(relay.Commit); return ok }) {
		s.getStuck(g)
		return
	}
	for _, e := range g.effects {
		if commit, ok := e.(relay.Commit); ok {
			s.write(commit.Step)
		}
	}
	h.effects = g.effects
}

func (s *simulation) getStuck(g *written) {
	s.met["the disk is full"]++
	s.say("the disk is full, and the relay stuck at %d events", len(g.events))
	h := s.hub
	h.stuck = &stuckAt{group: g}
	undo := false
	for _, e := range g.events {
		switch e := e.(type) {
		case relay.Reported:
			err := error(nil)
			if permission(e) {
				err = errFull
			}
			s.answer(e.Token, relay.Answer{}, err)
		case relay.Requested:
			s.answer(e.Token, relay.Answer{}, errFull)
			undo = undo || !stops(e)
		case relay.Adopted:
			s.answer(e.Token, relay.Answer{}, errFull)
			undo = true
		case relay.Joined:
			s.answer(e.Token, relay.Answer{}, errFull)
			undo = true
		case relay.Received:
			s.answer(e.Token, relay.Answer{}, errFull)
			undo = true
		}
	}
	if undo {
		h.stuck.group = nil
		for _, e := range g.events {
			h.stuck.put(queued{event: e})
		}
	}
}

// put keeps an event for later, or refuses it.
func (k *stuckAt) put(q queued) {
	refuse := func(err error) {
		if q.back != nil {
			q.back(relay.Answer{}, err)
		}
	}
	switch e := q.event.(type) {
	case relay.Tick:
		k.awake += e.Awake
	case relay.Reported:
		if permission(e) {
			refuse(errFull)
			return
		}
		refuse(nil)
		k.backlog = append(k.backlog, queued{event: e})
	case relay.Requested:
		refuse(errFull)
		if stops(e) {
			k.first = append(k.first, queued{event: e})
		}
	case relay.Adopted, relay.Joined, relay.Received:
		refuse(errFull)
	default:
		k.backlog = append(k.backlog, q)
	}
}

// unstick records what the relay was stuck at.
func (s *simulation) unstick() {
	h, k := s.hub, s.hub.stuck
	h.stuck = nil
	var events []queued
	if k.group != nil {
		h.group = k.group
		s.commit()
	} else {
		s.say("all begins again from the disk")
		s.life++
		h.state, h.asked = relay.NewState([32]byte{9, s.life}, limits), nil
		events = append(events, queued{event: s.restored()})
	}
	events = append(events, k.first...)
	events = append(events, k.backlog...)
	events = append(events, queued{event: relay.Tick{Awake: k.awake}})
	h.queue = append(events, h.queue...)
}

// carryOut does the next thing that is asked for, together with what is delivered with it.
func (s *simulation) carryOut() {
	h := s.hub
	next := h.effects[0]
	h.effects = h.effects[1:]
	switch e := next.(type) {
	case relay.Decide:
		h.asked = append(h.asked, e.Message.ID)
	case relay.Deliver:
		all := map[message.ID][]message.Delivery{e.Delivery.Target: {e.Delivery}}
		targets := []message.ID{e.Delivery.Target}
		for len(h.effects) > 0 {
			more, ok := h.effects[0].(relay.Deliver)
			if !ok {
				break
			}
			target := more.Delivery.Target
			if all[target] == nil {
				targets = append(targets, target)
			}
			all[target] = append(all[target], more.Delivery)
			h.effects = h.effects[1:]
		}
		for _, target := range targets {
			if s.bugs.disordered {
				slices.Reverse(all[target])
			}
			for _, d := range all[target] {
				delete(s.back, d.ID)
			}
			s.send(target, toDeliver(all[target]))
		}
	case relay.Cancel:
		for _, id := range e.IDs {
			f := s.facts[id]
			r := s.at(f.d.Target)
			s.back[id] = r != nil && r.desk != nil && !r.desk.isAt(id) && !f.typed
		}
		if s.bugs.cancelLost {
			return
		}
		for _, r := range s.rooms {
			s.sendTo(r, toCancel(e.IDs))
		}
	case relay.Forget:
		s.send(e.Peer, forgotten{})
	case relay.Allow:
		s.answer(e.Token, relay.Answer{}, e.Err)
	case relay.Reply:
		s.answer(e.Token, e.Answer, e.Err)
	}
}

func (s *simulation) send(session message.ID, l letter) {
	if r := s.at(session); r != nil {
		s.sendTo(r, l)
	} else if _, ok := l.(toDeliver); ok {
		s.say("nobody is there for %s", session)
	}
}

func (s *simulation) sendTo(r *room, l letter) {
	if r.desk != nil {
		r.desk.mail = append(r.desk.mail, l)
		return
	}
	switch l := l.(type) {
	case toDeliver:
		r.early = append(r.early, l)
	case toCancel:
		for i := range r.early {
			r.early[i] = r.early[i].without(l)
		}
	case forgotten:
		r.early, r.session = nil, ""
	}
}

// isAt reports whether a pane is at work on a delivery. The relay then refuses what the pane asks for, and the delivery
// comes back.
func (d *desk) isAt(id message.ID) bool {
	b := d.batch()
	return b != nil && slices.ContainsFunc(b.parts, func(one part) bool { return one.d.ID == id })
}

// answer tells whoever waits.
func (s *simulation) answer(token relay.Token, a relay.Answer, err error) {
	if back := s.hub.waiting[token]; back != nil {
		delete(s.hub.waiting, token)
		back(a, err)
	}
}

// brief returns what an event says, for people.
func brief(e relay.Event) string {
	switch e := e.(type) {
	case relay.Requested:
		return fmt.Sprintf("%T", e.Request)
	case relay.Reported:
		return fmt.Sprintf("%s %s", e.Receipt.State, e.Receipt.Delivery)
	case relay.Spoke:
		return fmt.Sprintf("%s of %s answers %v %s", e.Turn.ID, e.Turn.Peer, e.Turn.Answers, e.Turn.Cut)
	case relay.Decided:
		return fmt.Sprintf("%s %s", e.Verdict.Verb, e.Verdict.Message)
	}
	return ""
}
