package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// An agent that ends takes its session along. Another one of its kind that is started in the
// same pane is somebody else: it is neither read nor typed into by itself. That it is there is
// told of once, and a person's word takes it in.

const (
	// MenuKeyOption names the keys of the plugin's menu, where a person has set it, and
	// KeysOption those of the plugin's keys that are bound.
	MenuKeyOption = "@intercom-menu-key"
	KeysOption    = "@intercom-keys"

	// backOption is set while an agent is back: then the menu has an entry that takes its chat
	// up again, but for the panes that the option names, which are in a chat.
	backOption = "@intercom-back"
	// offeredOption of a pane is the session that ended there and whose successor was told of.
	offeredOption = "@intercom-offered"

	returnWithin = 12 * time.Hour   // after the end of an agent its pane is looked at
	returnFresh  = 10 * time.Minute // every so often for so long
	returnSoon   = time.Second
	returnLate   = 5 * time.Second // and then so often
	manyEnded    = 64              // chats of earlier lives that are remembered
)

// absence is what keeps a chat from going on, or from being whole: agents that have ended.
type absence struct {
	chat  message.Chat
	gone  []lost
	since time.Time // when the last of them ended
}

// lost is an agent that ended in a chat.
type lost struct {
	as  message.Participant
	was message.Session
}

// key names an absence.
func (a absence) key() string {
	key := string(a.chat.ID)
	for _, one := range a.gone {
		key += " " + string(one.was.ID)
	}
	return key
}

// earlier is what earlier lives of the sidecar left of agents that ended.
type earlier struct {
	chats    []message.Chat // that have ended
	sessions map[message.ID]message.Session
}

// recollect reads which agents ended lately in chats.
func (s *sidecar) recollect(ctx context.Context) (earlier, error) {
	e := earlier{sessions: map[message.ID]message.Session{}}
	if s.client == nil {
		return e, nil
	}
	ended, err := s.journal.EndedChats(ctx, manyEnded)
	if err != nil {
		return e, err
	}
	slices.Reverse(ended)
	e.chats = slices.DeleteFunc(ended, func(c message.Chat) bool { return c.Ended == nil || time.Since(*c.Ended) > returnWithin })
	chats := slices.Clone(e.chats)
	for _, going := range s.relay.Restored.Chats {
		chats = append(chats, going.Chat)
	}
	for _, chat := range chats {
		for _, p := range chat.Participants {
			session, err := s.journal.Session(ctx, p.Session)
			switch {
			case errors.Is(err, journal.ErrNotFound):
			case err != nil:
				return e, err
			case session.Ended != nil:
				e.sessions[session.ID] = session
			}
		}
	}
	return e, nil
}

// sessionOf finds a session that is present or ended not long ago.
func (s *sidecar) sessionOf(snap registry.Snapshot, id message.ID) (message.Session, bool) {
	session, ok := snap.Session(id)
	if old, known := s.earlier.sessions[id]; known && session.Pane == "" { // more than its name is known
		return old, true
	}
	return session, ok
}

// mayReturn reports whether a session has ended with its agent, in a pane of this server that
// may be there still.
func (s *sidecar) mayReturn(was message.Session) bool {
	switch message.Reason(was.EndReason) {
	case message.AgentGone, message.PaneDead, message.PaneReplaced:
	default:
		return false
	}
	_, agent := profile.AgentByName(was.Profile)
	return agent && was.Ended != nil && was.Server == s.server()
}

// absences are the chats that lack agents which ended lately, oldest first. A chat in whose
// panes another one was started since is left alone.
func (s *sidecar) absences(now time.Time) (all []absence) {
	snap := s.relay.Snapshot()
	if len(snap.Past())+len(s.earlier.sessions) == 0 {
		return nil
	}
	chats := snap.Chats()
	for _, old := range s.earlier.chats {
		if _, known := snap.Chat(old.ID); !known {
			chats = append(chats, old)
		}
	}
	add := func(chat message.Chat, gone ...lost) {
		a := absence{chat: chat, gone: gone}
		for _, one := range gone {
			if one.was.Ended.After(a.since) {
				a.since = *one.was.Ended
			}
		}
		if now.Sub(a.since) < returnWithin && !s.superseded(snap, chats, a) {
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
		for _, one := range s.goneBefore(snap, chat) {
			add(chat, one)
		}
	}
	slices.SortStableFunc(all, func(a, b absence) int { return a.since.Compare(b.since) })
	return all
}

// goneAtEnd are the agents without which an ended chat cannot be taken up again, if there are
// any, and all others are here. What was one question is asked anew, and not taken up.
func (s *sidecar) goneAtEnd(snap registry.Snapshot, chat message.Chat) (gone []lost, ok bool) {
	if chat.Why != string(message.AgentGone) || chat.OneWay && chat.Turns > 0 {
		return nil, false
	}
	for _, p := range chat.Participants {
		if p.Left {
			continue
		}
		was, known := s.sessionOf(snap, p.Session)
		switch {
		case known && was.Ended == nil:
			if _, busy := snap.ChatOf(was.ID); busy {
				return nil, false
			}
		case known && s.mayReturn(was):
			gone = append(gone, lost{p, was})
		default:
			return nil, false
		}
	}
	return gone, len(gone) > 0
}

// goneBefore are the agents without which a chat goes on.
func (s *sidecar) goneBefore(snap registry.Snapshot, chat message.Chat) (gone []lost) {
	taken := map[string]bool{} // panes, by who is there or was the last one there
	for _, p := range slices.Backward(chat.Participants) {
		was, known := s.sessionOf(snap, p.Session)
		if !known || taken[was.Pane] {
			continue
		}
		taken[was.Pane] = true
		if p.Gone && s.mayReturn(was) {
			gone = append(gone, lost{p, was})
		}
	}
	return gone
}

// superseded reports whether a later chat takes the place of one that lacks agents.
func (s *sidecar) superseded(snap registry.Snapshot, chats []message.Chat, a absence) bool {
	from := a.since
	if a.chat.Ended != nil {
		from = *a.chat.Ended // others of it may have ended later, in that later chat
	}
	for _, chat := range chats {
		if chat.ID == a.chat.ID || !chat.Started.After(from) {
			continue
		}
		if chat.Again == a.chat.ID {
			return true
		}
		for _, p := range chat.Participants {
			session, known := s.sessionOf(snap, p.Session)
			if known && slices.ContainsFunc(a.gone, func(one lost) bool { return one.was.Pane == session.Pane }) {
				return true
			}
		}
	}
	return false
}

// backIn tells in which panes of sessions that have ended an agent of the same kind is, which
// nobody has adopted or which is in no chat, and which process it is.
func (s *sidecar) backIn(ctx context.Context, snap registry.Snapshot, ended []message.Session) (map[string]message.Process, error) {
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
	found, err := s.panes.Agents(ctx, slices.Collect(maps.Keys(kinds)))
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

// comeback is an absence that is over: all of its agents are back, as these processes.
type comeback struct {
	absence
	as []message.Process
}

// returned are those absences that a person's word could end now.
func (s *sidecar) returned(ctx context.Context, all []absence) (over []comeback, err error) {
	var ended []message.Session
	for _, a := range all {
		for _, one := range a.gone {
			ended = append(ended, one.was)
		}
	}
	if len(ended) == 0 {
		return nil, nil
	}
	back, err := s.backIn(ctx, s.relay.Snapshot(), ended)
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		c := comeback{absence: a}
		for _, one := range a.gone {
			if process, ok := back[one.was.Pane]; ok {
				c.as = append(c.as, process)
			}
		}
		if len(c.as) == len(a.gone) {
			over = append(over, c)
		}
	}
	return over, nil
}

// returnedNow is what is told of them.
func (s *sidecar) returnedNow(ctx context.Context) (told []api.Returned, err error) {
	all, err := s.returned(ctx, s.absences(s.now()))
	snap := s.relay.Snapshot()
	for _, one := range all {
		r := api.Returned{Chat: one.chat.ID, Name: one.chat.Name, State: one.chat.State, Since: one.since}
		for _, lost := range one.gone {
			r.Agents = append(r.Agents, api.ReturnedAgent{Name: lost.as.Name, Agent: lost.was.Profile, Pane: lost.was.Pane})
			r.Panes = append(r.Panes, lost.was.Pane)
		}
		for _, p := range one.chat.Participants {
			if session, ok := s.sessionOf(snap, p.Session); ok && !p.Left && !slices.Contains(r.Panes, session.Pane) {
				r.Panes = append(r.Panes, session.Pane)
			}
		}
		told = append(told, r)
	}
	return told, err
}

// awaitReturns looks at the panes of agents that ended in chats, as long as one may come back,
// tells of each that does, once, and keeps backOption.
func (s *sidecar) awaitReturns(ctx context.Context) error {
	w := returns{sidecar: s}
	s.unset(ctx, backOption) // that of a life which was cut off
	defer s.unset(ctx, backOption)
	for {
		changed := s.bell.wait()
		all := s.absences(s.now())
		scene := w.scene(all)
		w.look(ctx, all)
		var due <-chan time.Time
		if len(all) > 0 {
			pause := returnLate
			if s.now().Sub(all[len(all)-1].since) < returnFresh {
				pause = returnSoon
			}
			due = time.After(pause)
		}
		if !w.wait(ctx, changed, due, scene) {
			return nil
		}
	}
}

// wait returns when it is time to look again, or when who is missing, or who is in a chat, is
// not as it was; false at the end.
func (w *returns) wait(ctx context.Context, changed <-chan struct{}, due <-chan time.Time, before string) bool {
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
		changed = w.bell.wait()
		if w.scene(w.absences(w.now())) != before {
			return true
		}
	}
}

// scene is what a look depends on beside the panes themselves.
func (w *returns) scene(all []absence) string {
	if len(all) == 0 {
		return ""
	}
	keys := w.chatting()
	for _, a := range all {
		keys += "\n" + a.key()
	}
	return keys
}

// chatting names the panes that are in a chat, with a blank around each.
func (s *sidecar) chatting() string {
	snap := s.relay.Snapshot()
	text := "- "
	for _, session := range snap.Sessions() {
		if _, busy := snap.ChatOf(session.ID); busy {
			text += session.Pane + " "
		}
	}
	return text
}

// returns is what awaitReturns owns.
type returns struct {
	*sidecar
	seen    map[string]sighting // at the last look, by absence
	offered map[string]bool
	shown   string // in backOption
}

// sighting is who is back, and since when at least.
type sighting struct {
	as    []message.Process
	since time.Time
}

// look looks once. A program that is there for a moment only is not told of.
func (w *returns) look(ctx context.Context, all []absence) {
	over, err := w.returned(ctx, all)
	if err != nil {
		if ctx.Err() == nil {
			w.log.Warn("look for agents that are back", "err", err)
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
		if err := w.client.SetServerOption(ctx, backOption, text); err == nil {
			w.shown = text
		} else if ctx.Err() == nil {
			w.log.Warn("write who is back", "err", err)
		}
	}
}

// offer tells a person of agents that are back, unless an earlier life did.
func (w *returns) offer(ctx context.Context, one comeback) {
	key, told := one.key(), true
	for _, lost := range one.gone {
		options, err := w.client.PaneOptions(ctx, lost.was.Pane, offeredOption)
		if err != nil {
			return // at the next look
		}
		told = told && options[offeredOption] == string(lost.was.ID)
	}
	if w.offered == nil {
		w.offered = map[string]bool{}
	}
	w.offered[key] = true
	if told {
		return
	}
	for _, lost := range one.gone {
		if err := w.client.SetPaneOptions(ctx, lost.was.Pane, map[string]string{offeredOption: string(lost.was.ID)}); err != nil {
			w.log.Debug("note that it was told of", "pane", lost.was.Pane, "err", err)
		}
	}
	if err := w.relay.NotifyOf(ctx, one.chat.ID, one.text(MenuKey(ctx, tmux.Options{Socket: w.cfg.Paths.Server, Bin: w.cfg.Tmux}))); err != nil && ctx.Err() == nil {
		w.log.Warn("tell that an agent is back", "err", err)
	}
}

// text is the offer; key opens the menu, if one does.
func (c comeback) text(key string) string {
	var who []string
	for _, lost := range c.gone {
		who = append(who, lost.as.Name+" in "+lost.was.Pane)
	}
	are := " is back: "
	if len(who) > 1 {
		are = " are back: "
	}
	does := "takes up chat " + called(c.chat) + " again"
	if c.chat.State != message.ChatOver {
		does = "lets it into chat " + called(c.chat) + " again"
	}
	way := "intercom chat start --again " + called(c.chat)
	if key != "" {
		way = key + ", then g,"
	}
	return strings.Join(who, " and ") + are + way + " " + does
}

// MenuKey is how a person opens the menu of the plugin, "" if no key does.
func MenuKey(ctx context.Context, o tmux.Options) string {
	options, err := tmux.Ask(ctx, o, MenuKeyOption, KeysOption)
	if err != nil {
		return ""
	}
	for _, key := range strings.Fields(cmp.Or(options[MenuKeyOption], "B")) {
		if slices.Contains(strings.Fields(options[KeysOption]), key) {
			return "prefix + " + key
		}
	}
	return ""
}
