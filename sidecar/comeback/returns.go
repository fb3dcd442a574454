// Package comeback reports agents that are back.
//
// When an agent ends, so does its session. Another agent of its kind that is started in the same pane is a new one:
// it is not automatically read or typed into. Its presence is reported once, and only a person's word lets it in.
// Returns.Run is the only goroutine; it owns the record of what it has reported.
package comeback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

const (
	// MenuKeyOption names the keys of the plugin's menu, if a person has set it. KeysOption names the plugin's keys
	// that are bound.
	MenuKeyOption = "@intercom-menu-key"
	KeysOption    = "@intercom-keys"

	// backOption is set while an agent is back. Then the menu has an entry that resumes its chat, except for the
	// panes that the option names, which are in a chat.
	backOption = "@intercom-back"
	// offeredOption of a pane names the session that ended there and whose successor was reported.
	offeredOption = "@intercom-offered"

	returnWithin = 12 * time.Hour   // how long after the end of an agent its pane is looked at
	returnFresh  = 10 * time.Minute // how long it is looked at every returnSoon
	returnSoon   = time.Second
	returnLate   = 5 * time.Second // the interval after returnFresh
	settle       = 50 * time.Millisecond
	manyEnded    = 64 // how many chats of earlier lives are remembered
)

// Absence is the set of ended agents without which a chat cannot continue, or is incomplete.
type Absence struct {
	Chat  message.Chat
	Gone  []Lost
	Since time.Time // when the last of them ended

	// Before lists the agents that ended earlier, while a chat that has ended since continued without them. The
	// chat can be resumed without them, and those that are back by then join it.
	Before []Lost
}

// Lost is an agent that ended while it was in a chat.
type Lost struct {
	As  message.Participant
	Was message.Peer
}

// Returns reports agents that are back. Call Recollect first.
type Returns struct {
	Relay interface {
		Snapshot() registry.Snapshot
		NotifyOf(ctx context.Context, chat message.ID, text string) error
	}
	Panes interface {
		Agents(ctx context.Context, panes []string) (map[string]pane.Listed, error)
	}
	Journal interface {
		EndedChats(ctx context.Context, most int) ([]message.Chat, error)
		Session(ctx context.Context, id message.ID) (message.Peer, error)
	}
	Tmux interface {
		PaneOptions(ctx context.Context, pane string, names ...string) (map[string]string, error)
		SetPaneOptions(ctx context.Context, pane string, options map[string]string) error
		SetServerOption(ctx context.Context, name, value string) error
		TakeBack(ctx context.Context, option string)
	}
	Bell interface {
		Wait() <-chan struct{} // closed when something is written down
	}
	Server  message.Process // the tmux server
	Options tmux.Options    // for asking the server
	Log     *slog.Logger

	earlier earlier
}

// key identifies an absence.
func (a Absence) key() string {
	key := string(a.Chat.ID)
	for _, one := range a.Gone {
		key += " " + string(one.Was.ID)
	}
	return key
}

// earlier is what earlier lives of the sidecar recorded about agents that ended.
type earlier struct {
	chats    []message.Chat // ended ones
	sessions map[message.ID]message.Peer
}

// Recollect reads which agents ended recently in chats; going are the chats that continue.
func (s *Returns) Recollect(ctx context.Context, going []message.Chat) error {
	e := earlier{sessions: map[message.ID]message.Peer{}}
	ended, err := s.Journal.EndedChats(ctx, manyEnded)
	if err != nil {
		return err
	}
	slices.Reverse(ended)
	e.chats = slices.DeleteFunc(ended, func(c message.Chat) bool { return c.Ended == nil || time.Since(*c.Ended) > returnWithin })
	for _, chat := range slices.Concat(e.chats, going) {
		for _, p := range chat.Participants {
			session, err := s.Journal.Session(ctx, p.Peer)
			switch {
			case errors.Is(err, journal.ErrNotFound):
			case err != nil:
				return err
			case session.Ended != nil:
				e.sessions[session.ID] = session
			}
		}
	}
	s.earlier = e
	return nil
}

// SessionOf finds a session that is present or ended recently.
func (s *Returns) SessionOf(snap registry.Snapshot, id message.ID) (message.Peer, bool) {
	session, ok := snap.Peer(id)
	if old, known := s.earlier.sessions[id]; known && session.Pane == "" { // the journal knows more than its name
		return old, true
	}
	return session, ok
}

// MayReturn reports whether a session ended with its agent, in a pane of this server that may still exist.
func (s *Returns) MayReturn(was message.Peer) bool {
	switch message.Reason(was.EndReason) {
	case message.AgentGone, message.PaneDead, message.PaneReplaced:
	default:
		return false
	}
	_, agent := profile.AgentByName(was.Profile)
	return agent && was.Ended != nil && was.Server == s.Server
}

// absences returns the chats that lack recently ended agents, oldest first. It skips a chat if another one was
// started in its panes since.
func (s *Returns) absences(now time.Time) (all []Absence) {
	snap := s.Relay.Snapshot()
	if len(snap.Past())+len(s.earlier.sessions) == 0 {
		return nil
	}
	chats := snap.Chats()
	for _, old := range s.earlier.chats {
		if _, known := snap.Chat(old.ID); !known {
			chats = append(chats, old)
		}
	}
	add := func(chat message.Chat, gone ...Lost) {
		a := Absence{Chat: chat, Gone: gone}
		for _, one := range gone {
			if one.Was.Ended.After(a.Since) {
				a.Since = *one.Was.Ended
			}
		}
		if chat.State == message.ChatOver {
			a.Before = s.GoneBefore(snap, chat, s.MayReturn)
		}
		if now.Sub(a.Since) < returnWithin && !s.superseded(snap, chats, a) {
			all = append(all, a)
		}
	}
	for _, chat := range chats {
		if chat.State == message.ChatOver {
			if gone, ok := s.goneAtEnd(snap, chat); ok {
				add(chat, gone...)
			}
			continue
		}
		for _, one := range s.GoneBefore(snap, chat, s.MayReturn) {
			add(chat, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Absence) int { return a.Since.Compare(b.Since) })
	return all
}

// goneAtEnd returns the agents without which an ended chat cannot be resumed. ok is false if there are none, or if
// not all other agents are available. A chat that was a single question is not resumed; the question is asked
// again.
func (s *Returns) goneAtEnd(snap registry.Snapshot, chat message.Chat) (gone []Lost, ok bool) {
	if chat.Why != string(message.AgentGone) || chat.OneWay && chat.Turns > 0 {
		return nil, false
	}
	for _, p := range chat.Participants {
		if p.Left {
			continue
		}
		was, known := s.SessionOf(snap, p.Peer)
		switch {
		case known && was.Ended == nil:
			if _, busy := snap.ChatOf(was.ID); busy {
				return nil, false
			}
		case known && s.MayReturn(was):
			gone = append(gone, Lost{p, was})
		default:
			return nil, false
		}
	}
	return gone, len(gone) > 0
}

// GoneBefore returns the agents whose programs have ended and without which a chat continues, or continued before
// it ended. It returns only those whose sessions are wanted.
func (s *Returns) GoneBefore(snap registry.Snapshot, chat message.Chat, wanted func(message.Peer) bool) (gone []Lost) {
	taken := map[string]bool{} // panes whose latest participant has been seen
	for _, p := range slices.Backward(chat.Participants) {
		was, known := s.SessionOf(snap, p.Peer)
		if !known || taken[was.Pane] {
			continue
		}
		taken[was.Pane] = true
		if p.Gone && wanted(was) {
			gone = append(gone, Lost{p, was})
		}
	}
	return gone
}

// superseded reports whether a later chat replaces one that lacks agents.
func (s *Returns) superseded(snap registry.Snapshot, chats []message.Chat, a Absence) bool {
	from := a.Since
	if a.Chat.Ended != nil {
		from = *a.Chat.Ended // others of its agents may have ended later, in that later chat
	}
	for _, chat := range chats {
		if chat.ID == a.Chat.ID || !chat.Started.After(from) {
			continue
		}
		if chat.Again == a.Chat.ID {
			return true
		}
		for _, p := range chat.Participants {
			session, known := s.SessionOf(snap, p.Peer)
			if known && slices.ContainsFunc(a.Gone, func(one Lost) bool { return one.Was.Pane == session.Pane }) {
				return true
			}
		}
	}
	return false
}

// BackIn returns the panes of ended sessions in which an agent of the same kind runs that is not adopted or is in
// no chat, with its process.
func (s *Returns) BackIn(ctx context.Context, snap registry.Snapshot, ended []message.Peer) (map[string]message.Process, error) {
	back := map[string]message.Process{}
	kinds := map[string]string{}
	for _, was := range ended {
		session, adopted := snap.InPane(was.Pane)
		if !adopted {
			kinds[was.Pane] = was.Profile
		} else if _, busy := snap.ChatOf(session.ID); !busy && session.Profile == was.Profile {
			back[was.Pane] = session.Foreground
		}
	}
	if len(kinds) == 0 {
		return back, nil
	}
	found, err := s.Panes.Agents(ctx, slices.Collect(maps.Keys(kinds)))
	if err != nil {
		return nil, fmt.Errorf("look for agents that are back: %w", err)
	}
	for pane, kind := range kinds {
		if one, ok := found[pane]; ok && one.Agent == kind {
			back[pane] = one.Program
		}
	}
	return back, nil
}

// Comeback is an absence that is over: all of its agents are back. as holds their processes.
type Comeback struct {
	Absence
	as []message.Process
}

// Now returns the absences that a person's word could end now: those of one chat, or of all chats if chat is "".
func (s *Returns) Now(ctx context.Context, chat message.ID) ([]Comeback, error) {
	all := s.absences(now())
	if chat != "" {
		all = slices.DeleteFunc(all, func(a Absence) bool { return a.Chat.ID != chat })
	}
	return s.returned(ctx, all)
}

// returned returns those of the absences that a person's word could end now.
func (s *Returns) returned(ctx context.Context, all []Absence) (over []Comeback, err error) {
	var ended []message.Peer
	for _, a := range all {
		for _, one := range slices.Concat(a.Gone, a.Before) {
			ended = append(ended, one.Was)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	back, err := s.BackIn(ctx, s.Relay.Snapshot(), ended)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		c := Comeback{Absence: a}
		for _, one := range a.Gone {
			if process, ok := back[one.Was.Pane]; ok {
				c.as = append(c.as, process)
			}
		}
		if len(c.as) < len(a.Gone) {
			continue
		}
		for _, one := range a.Before {
			if process, ok := back[one.Was.Pane]; ok {
				c.Gone, c.as = append(slices.Clip(c.Gone), one), append(c.as, process)
			}
		}
		over = append(over, c)
	}
	return over, nil
}

// Run looks at the panes of agents that ended in chats, as long as one may come back. It reports each return once,
// and maintains backOption.
func (s *Returns) Run(ctx context.Context) error {
	w := watch{Returns: s}
	s.Tmux.TakeBack(ctx, backOption) // left by a life that was cut off
	defer s.Tmux.TakeBack(ctx, backOption)
	for {
		changed := s.Bell.Wait()
		all := s.absences(now())
		scene := w.scene(all)
		w.look(ctx, all)
		var due <-chan time.Time
		if len(all) > 0 {
			pause := returnLate
			if now().Sub(all[len(all)-1].Since) < returnFresh {
				pause = returnSoon
			}
			due = time.After(pause)
		}
		if !w.wait(ctx, changed, due, scene) {
			return nil
		}
	}
}

// wait returns true when it is time to look again, or when the missing agents or the members of chats have changed,
// and false at the end.
func (w *watch) wait(ctx context.Context, changed <-chan struct{}, due <-chan time.Time, before string) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(settle):
		}
		changed = w.Bell.Wait()
		if w.scene(w.absences(now())) != before {
			return true
		}
	}
}

// scene returns everything that a look depends on, apart from the panes themselves.
func (w *watch) scene(all []Absence) string {
	if len(all) == 0 {
		return ""
	}
	keys := w.chatting()
	for _, a := range all {
		keys += "\n" + a.key()
	}
	return keys
}

// chatting returns the panes that are in a chat, each between blanks.
func (s *Returns) chatting() string {
	snap := s.Relay.Snapshot()
	text := "- "
	for session := range snap.Present() {
		if _, busy := snap.ChatOf(session.ID); busy {
			text += session.Pane + " "
		}
	}
	return text
}

// watch is the state of Run.
type watch struct {
	*Returns
	seen    map[string]sighting // of the last look, by absence
	offered map[string]bool
	shown   string // the value of backOption
}

// sighting says who is back, and at least since when.
type sighting struct {
	as    []message.Process
	since time.Time
}

// look looks once. It does not report a program that has only been there for a moment.
func (w *watch) look(ctx context.Context, all []Absence) {
	over, err := w.returned(ctx, all)
	if err != nil {
		if ctx.Err() == nil {
			w.Log.Warn("look for agents that are back", "err", err)
		}
		return
	}
	now := time.Now()
	seen, text := map[string]sighting{}, ""
	for _, one := range over {
		key := one.key()
		seen[key] = sighting{one.as, now}
		if before, ok := w.seen[key]; ok && slices.Equal(before.as, one.as) {
			seen[key] = before
		}
		if now.Sub(seen[key].since) < returnSoon {
			continue
		}
		text = w.chatting()
		if !w.offered[key] {
			w.offer(ctx, one)
		}
	}
	w.seen = seen
	if text != w.shown {
		if err := w.Tmux.SetServerOption(ctx, backOption, text); err == nil {
			w.shown = text
		} else if ctx.Err() == nil {
			w.Log.Warn("write who is back", "err", err)
		}
	}
}

// offer tells a person about agents that are back, unless an earlier life did.
func (w *watch) offer(ctx context.Context, one Comeback) {
	key, told := one.key(), true
	for _, lost := range one.Gone {
		options, err := w.Tmux.PaneOptions(ctx, lost.Was.Pane, offeredOption)
		if err != nil {
			return // try at the next look
		}
		told = told && options[offeredOption] == string(lost.Was.ID)
	}
	if w.offered == nil {
		w.offered = map[string]bool{}
	}
	w.offered[key] = true
	if told {
		return
	}
	for _, lost := range one.Gone {
		if err := w.Tmux.SetPaneOptions(ctx, lost.Was.Pane, map[string]string{offeredOption: string(lost.Was.ID)}); err != nil {
			w.Log.Debug("note that it was told of", "pane", lost.Was.Pane, "err", err)
		}
	}
	if err := w.Relay.NotifyOf(ctx, one.Chat.ID, one.text(MenuKey(ctx, w.Options))); err != nil && ctx.Err() == nil {
		w.Log.Warn("tell that an agent is back", "err", err)
	}
}

// text returns the offer; key is how a person opens the menu, or "".
func (c Comeback) text(key string) string {
	var who []string
	for _, lost := range c.Gone {
		who = append(who, lost.As.Name+" in "+lost.Was.Pane)
	}
	are := " is back: "
	if len(who) > 1 {
		are = " are back: "
	}
	does := "restores chat " + called(c.Chat)
	if c.Chat.State != message.ChatOver {
		does = "lets it back into chat " + called(c.Chat)
	}
	way := "intercom chat start --again " + c.Chat.ID.Short() // its name may mean another chat
	if key != "" {
		way = key + ", then g,"
	}
	return strings.Join(who, " and ") + are + way + " " + does
}

// called returns how a command names a chat.
func called(c message.Chat) string { return cmp.Or(c.Name, c.ID.Short()) }

// now returns the time with the precision of the journal.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }
