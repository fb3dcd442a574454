package relay

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// StartChat starts a chat of two or more peers, numbered from 1 in the given order. With
// IncludeLast, the last words of the first peer go to all others; then Say does, a word of the
// person or agent that asks. With Turns, the chat ends by itself once that many turns were relayed.
// With OneWay, these turns are the answers of the others to the first peer, whose own turns go
// nowhere. An agent may only start a chat of itself and one other, and may say something there only
// as the first of the two. Errors: those of Find; *InChatError; ErrNothingSaid. Answer: Chats, one.
type StartChat struct {
	By     By
	Peers  []string
	Name   string // valid as a peer's name and free among open chats, or none
	Say    string
	Limits message.Limits
	Turns  int
	OneWay bool

	// Question allows one or both of the two to be in other chats meanwhile, which hear nothing of
	// it. It needs OneWay and Turns. While the same question waits for its answer, it is not asked
	// again.
	Question bool

	// IncludeLast passes on the later of two turns: Last, from the first peer's own account, and
	// the last turn heard of it here. Of Last, Words, All, Truncated and Ended count; a turn
	// without words counts as none.
	IncludeLast bool
	Last        message.Turn

	Roles   []string   // of Peers, in their order; missing ones are none
	Muted   []bool     // likewise; true: it may not speak
	Approve []bool     // likewise; true: its words wait for a person's yes. Limits.Approve may name more
	Again   message.ID // the ended chat that this one takes up; only recorded
	Backlog []Backlog  // what the predecessors of its agents did not get

	Since time.Time // just before the baselines of its peers were taken; zero: now
}

func (r StartChat) by() By { return r.By }

func (r StartChat) do(tx *tx, _ *Requested) (Answer, error) {
	members, err := tx.members(r)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	if err := tx.checkStart(r, members); err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	c := &chat{
		Chat: message.Chat{
			ID: tx.ids.next(tx.now), Name: r.Name, State: message.ChatOn, Started: tx.now,
			Limits: route.WithDefaults(r.Limits, tx.chatLimits), Turns: r.Turns, OneWay: r.OneWay, Again: r.Again,
			Aside: tx.aside(r, members),
		},
		opener: r.By.Peer, before: tx.seq,
	}
	ask, err := tx.approvals(c.Limits.Approve, members)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	for i, s := range members {
		p := message.Participant{Peer: s.ID, Name: s.Name, Number: i + 1, MaySpeak: i >= len(r.Muted) || !r.Muted[i]}
		if i < len(r.Roles) {
			p.Role = r.Roles[i]
		}
		p.Approve = ask[i] || i < len(r.Approve) && r.Approve[i]
		c.Participants = append(c.Participants, p)
	}
	c.listApprove()
	opening, err := tx.opening(r, c, members)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	kept, err := tx.checkBacklog(r.Backlog, members)
	if err != nil {
		return Answer{}, fmt.Errorf("start chat: %w", err)
	}
	tx.begun(c)
	tx.altered(c)
	for _, s := range members {
		if c.Aside {
			break // the other chats of the members go on as they are
		}
		s.joined = tx.since(r.Since)
		if r.By.Person() {
			tx.placed(s)
		}
	}
	tx.transfer(kept, c)
	for _, t := range opening {
		tx.receive(t)
	}
	return Answer{Chats: []message.Chat{c.copy()}}, nil
}

// since returns the time from which the words of a peer count as said into the chat. What a
// baseline does not contain, and was said before the relay learned of the chat, must not be lost.
func (tx *tx) since(baseline time.Time) time.Time {
	if baseline.IsZero() {
		return tx.now
	}
	return baseline
}

// members returns the peers of a new chat.
func (tx *tx) members(r StartChat) ([]*peer, error) {
	var out []*peer
	for _, ref := range r.Peers {
		s, err := tx.find(ref)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, s) {
			return nil, notPossible("session %q is named twice", s.Name)
		}
		out = append(out, s)
	}
	if len(out) < 2 {
		return nil, notPossible("it takes at least two sessions")
	}
	return out, nil
}

// checkStart refuses a chat that is not possible, before anything is changed.
func (tx *tx) checkStart(r StartChat, members []*peer) error {
	if err := tx.checkFree(r, members); err != nil {
		return err
	}
	if tx.stopped {
		return ErrStopped
	}
	if err := r.checkAsker(members); err != nil {
		return err
	}
	if err := r.checkForm(len(members)); err != nil {
		return err
	}
	if r.Name == "" {
		return nil
	}
	return tx.checkChatName(r.Name)
}

// checkFree refuses peers that are in a chat, or that have been asked the same question already.
func (tx *tx) checkFree(r StartChat, members []*peer) error {
	ids := idsOf(members)
	slices.Sort(ids)
	for _, s := range members {
		if c := tx.chatOf(s.ID); c != nil && !tx.aside(r, members) {
			have := c.there()
			slices.Sort(have)
			return &InChatError{Name: s.Name, Chat: c.copy(), Same: slices.Equal(ids, have)}
		}
	}
	if c := tx.asking(members); r.Question && c != nil {
		return &InChatError{Name: members[0].Name, Chat: c.copy(), Same: true}
	}
	return nil
}

// checkAsker refuses what only a person may ask for.
func (r StartChat) checkAsker(members []*peer) error {
	if r.By.Person() {
		return nil
	}
	theirs := r.Limits != (message.Limits{}) || len(r.Roles) > 0 || len(r.Muted) > 0 || len(r.Approve) > 0 || r.Again != "" || len(r.Backlog) > 0
	if theirs || len(members) != 2 || !slices.Contains(idsOf(members), r.By.Peer) {
		return fmt.Errorf("%w: an agent may only connect itself to one other, at default limits", ErrPersonOnly)
	}
	if speaks := r.Say != "" || r.IncludeLast || r.OneWay; speaks && members[0].ID != r.By.Peer {
		return fmt.Errorf("%w: an agent may only speak for itself, as the first participant", ErrPersonOnly)
	}
	return nil
}

// checkForm refuses settings that are not valid for a chat of so many members.
func (r StartChat) checkForm(members int) error {
	if r.Turns < 0 {
		return errBelowZero
	}
	if len(r.Roles) > members || len(r.Muted) > members || len(r.Approve) > members {
		return notPossible("more roles, mute or approve settings than sessions")
	}
	for _, role := range r.Roles {
		if err := checkRole(role); err != nil {
			return err
		}
	}
	if err := checkSettings(r.Limits); err != nil {
		return err
	}
	if r.Say == "" {
		return nil
	}
	return checkBody(r.Say)
}

// checkChatName refuses a name that is not valid, or that an open chat has.
func (tx *tx) checkChatName(name string) error {
	if err := registry.CheckName(name); err != nil {
		return err
	}
	for _, c := range tx.open() {
		if strings.EqualFold(c.Name, name) {
			return notPossible("chat %s already has that name", label(c.Chat))
		}
	}
	return nil
}

// idsOf returns the ids of peers, in their order.
func idsOf(members []*peer) []message.ID {
	ids := make([]message.ID, len(members))
	for i, s := range members {
		ids[i] = s.ID
	}
	return ids
}

var errBelowZero = notPossible("a limit is negative")

// checkSettings refuses limits that are not valid for a chat.
func checkSettings(l message.Limits) error {
	if min(l.Depth, l.Rate, l.Bytes, l.Tokens) < 0 || min(l.Expire, l.Away) < 0 {
		return errBelowZero
	}
	if h := l.Header; h != "" && h != render.HeaderAttribution && h != render.HeaderBoth {
		return notPossible("header %q: must be %q or %q", h, render.HeaderAttribution, render.HeaderBoth)
	}
	if words := l.Words; words != "" && words != route.WordsLast && words != route.WordsAll {
		return notPossible("words %q: must be %q or %q", words, route.WordsLast, route.WordsAll)
	}
	if stall := l.Stall; stall != "" && stall != StallAgents && stall != StallOn && stall != StallOff {
		return notPossible("stall %q: must be %q, %q or %q", stall, StallAgents, StallOn, StallOff)
	}
	if strings.ContainsFunc(l.LineBreak, unicode.IsControl) {
		return notPossible("line break %q holds a control character", l.LineBreak)
	}
	return nil
}
