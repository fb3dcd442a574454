package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// StatusOption is the option of the tmux server in which a few words say how the sidecar
// is, for whoever has #{@intercom-status} in a status line. Nothing depends on it.
const StatusOption = "@intercom-status"

const (
	// settle is how long after one look the next one is taken at the earliest: each write of
	// the option redraws every client.
	settle = 50 * time.Millisecond
	// noticeFor is how long a notice stays at a terminal, unless a key is pressed there.
	noticeFor = 8 * time.Second
	// maxNotices are those that wait to be shown. What is beyond is in the log alone.
	maxNotices = 32
)

// hear takes the notices out of what happened. It never blocks.
func (s *sidecar) hear(ctx context.Context, events []message.Event) {
	for _, e := range events {
		if e.Change != nil {
			go s.looks.note(*e.Change, s.captures(ctx)) // the panes may wait for whoever calls this
		}
		if e.Notice == "" || s.theirOwn(e.Notice) {
			continue
		}
		select {
		case s.notices <- message.Notice{Chat: e.Chat, Text: e.Notice, Resumes: e.Resumes}:
		default:
			s.log.Warn("a notice is not shown: too many at once", "notice", e.Notice)
		}
	}
}

// theirOwn reports whether a notice only repeats what the person has just asked for, which
// was answered where they asked.
func (s *sidecar) theirOwn(notice string) bool {
	return strings.HasSuffix(notice, " by "+s.cfg.Person) || strings.HasPrefix(notice, "everything is stopped")
}

// face keeps StatusOption as things are, and shows each notice once where its chat is in
// sight. It owns what was written last.
func (s *sidecar) face(ctx context.Context) error {
	shown := "?" // what a sidecar that died has left, or whoever brought this one back
	defer s.unset(ctx, StatusOption)
	for {
		changed, began := s.bell.wait(), time.Now()
		if text, err := s.statusText(ctx); err == nil && text != shown {
			if err = s.client.SetServerOption(ctx, StatusOption, text); err == nil {
				shown = text
			} else if ctx.Err() == nil {
				s.log.Warn("write the status", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case n := <-s.notices:
			s.showNotice(ctx, n)
		case <-changed:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(settle - time.Since(began)):
			}
		}
	}
}

// unset takes an option of the server back at our end, if the server is there still.
func (s *sidecar) unset(ctx context.Context, name string) {
	select {
	case <-s.client.Gone():
		return
	default:
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := s.client.SetServerOption(ending, name, ""); err != nil {
		s.log.Debug("take an option back", "name", name, "err", err)
	}
}

// statusText is what the option says: nothing where nothing goes on. It has numbers, words of
// ours and names of sessions only, so that nothing in it means anything to tmux. What waits for
// an agent is not counted: nobody has to do anything about it.
func (s *sidecar) statusText(ctx context.Context) (string, error) {
	needs, err := s.needs(ctx)
	if err != nil {
		return "", err
	}
	on, paused := 0, 0
	for _, chat := range open(s.relay.Snapshot()) {
		if chat.State == message.ChatPaused {
			paused++
		} else {
			on++
		}
	}
	var words []string
	if full, ok := errors.AsType[*message.UnwritableError](s.relay.Trouble()); ok {
		words = append(words, full.Why)
	}
	if s.relay.Stopped() {
		words = append(words, "all paused")
	}
	if on == 1 {
		words = append(words, "1 chat")
	} else if on > 1 {
		words = append(words, fmt.Sprintf("%d chats", on))
	}
	if paused > 0 {
		words = append(words, fmt.Sprintf("%d paused", paused))
	}
	words = append(words, needWords(needs)...)
	if s.policies != nil && s.policies.Problem() != "" {
		words = append(words, "policy error")
	}
	return strings.Join(words, ", "), nil
}

// showNotice shows a notice at the terminals that are attached to where its chat is, or at
// all of them if it is about none or nobody is there.
func (s *sidecar) showNotice(ctx context.Context, n message.Notice) {
	text := "intercom: " + s.noticeText(ctx, n)
	for _, client := range s.watchers(ctx, n.Chat) {
		if err := tmux.Show(ctx, tmux.Options{Socket: s.cfg.Paths.Server, Bin: s.cfg.Tmux}, client, text, noticeFor); err != nil && ctx.Err() == nil {
			s.log.Warn("show a notice", "client", client, "err", err)
		}
	}
}

// noticeWidth is the columns of a notice that says what to press: it is seen at once, and whole,
// at any terminal of 80 columns.
const noticeWidth = 76

// noticeText is a notice, with what to press where a person can do something about it.
func (s *sidecar) noticeText(ctx context.Context, n message.Notice) string {
	if !n.Resumes {
		return n.Text
	}
	next := ": intercom chat resume " + n.Chat.Short()
	if key := MenuKey(ctx, tmux.Options{Socket: s.cfg.Paths.Server, Bin: s.cfg.Tmux}); key != "" {
		next = ": " + key + ", r"
	}
	text, room := []rune(n.Text), noticeWidth-len("intercom: ")-utf8.RuneCountInString(next)
	if len(text) > room {
		text = append(text[:room-1], '…') // each of them takes one column: names are ASCII
	}
	return string(text) + next
}

// watchers are the terminals at which what happens in a chat is shown.
func (s *sidecar) watchers(ctx context.Context, chat message.ID) (near []string) {
	clients, err := s.client.Clients(ctx)
	if err != nil {
		s.log.Warn("list clients", "err", err)
		return nil
	}
	rooms := s.rooms(ctx, chat)
	var all []string
	for _, c := range clients {
		if c.Control || c.Suspended {
			continue
		}
		all = append(all, c.Name)
		if slices.Contains(rooms, c.SessionID) {
			near = append(near, c.Name)
		}
	}
	if len(near) == 0 {
		return all
	}
	return near
}

// rooms are the tmux sessions in which panes of a chat are.
func (s *sidecar) rooms(ctx context.Context, chat message.ID) (rooms []string) {
	if chat == "" {
		return nil
	}
	snap := s.relay.Snapshot()
	members := map[string]bool{}
	for _, c := range snap.Chats() {
		if c.ID != chat {
			continue
		}
		for _, p := range c.Participants {
			if session, ok := snap.Session(p.Session); ok {
				members[session.Pane] = true
			}
		}
	}
	panes, err := s.client.Panes(ctx)
	if err != nil {
		s.log.Warn("list panes", "err", err)
	}
	for _, p := range panes {
		if members[p.ID] {
			rooms = append(rooms, p.SessionID)
		}
	}
	return rooms
}
