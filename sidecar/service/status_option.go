package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// StatusOption is the option of the tmux server that describes the state of the sidecar in a few words, for a
// status line with #{@intercom-status}. Nothing depends on it.
const StatusOption = "@intercom-status"

const (
	// settle is the least time between an update and the next one that an event causes: each write of the
	// option redraws every client.
	settle = 50 * time.Millisecond
	// noticeFor is how long a notice stays at a terminal unless a key is pressed there.
	noticeFor = 8 * time.Second
	// maxNotices is how many notices may wait to be shown. Further ones are only in the log.
	maxNotices = 32
)

// Face keeps StatusOption up to date, and shows notices at terminals.
type Face struct {
	Waits    *Waits
	Policies *Policies
	Relay    interface {
		condition
		Notify(ctx context.Context, session message.ID, text string) error
	}
	// Tmux is nil where the sidecar is headless: then Face is not run.
	Tmux interface {
		terminals
		options
		paneOptions
	}
	Server tmux.Options
	// Unpublished says not to publish the state of panes in their options.
	Unpublished bool
	Bell        *Bell
	Log         *slog.Logger

	notices chan message.Notice // to be shown
	running chan struct{}       // limits how many notice commands run at once
	unheard *atomic.Bool        // the notice command failed, and a notice said so
}

// NewFace returns f, ready to hear.
func NewFace(f Face) *Face {
	f.notices, f.running, f.unheard = make(chan message.Notice, maxNotices), make(chan struct{}, maxCommands), new(atomic.Bool)
	return &f
}

// Hear queues the notices among the events. It never blocks.
func (s *Face) Hear(events []message.Event) {
	for _, e := range events {
		if e.Notice == "" || e.Answered {
			continue
		}
		select {
		case s.notices <- message.Notice{Chat: e.Chat, Text: e.Notice, Resumes: e.Resumes}:
		default:
			s.Log.Warn("a notice is not shown: too many at once", "notice", e.Notice)
		}
	}
}

// Run keeps StatusOption up to date, and shows each notice once at the terminals where its chat can be seen. It
// owns what it last wrote, and the rows of notices that remain to be shown.
func (s *Face) Run(ctx context.Context) error {
	shown := "?" // the option may be left from a sidecar that died, or be set by the guard that restarted this one
	defer s.Tmux.TakeBack(ctx, StatusOption)
	panes := labels{Tmux: s.Tmux, Log: s.Log}
	panes.begin(ctx)
	defer panes.takeBack(ctx)
	left := unshown{}
	for {
		changed, began := s.Bell.Wait(), time.Now()
		waits, err := s.Waits.List(ctx)
		if text := s.statusText(waits); err == nil && text != shown {
			if err = s.Tmux.SetServerOption(ctx, StatusOption, text); err == nil {
				shown = text
			} else if ctx.Err() == nil {
				s.Log.Warn("write the status", "err", err)
			}
		}
		if err == nil {
			var published []message.Peer
			if !s.Unpublished {
				published = inPanes(s.Relay.Snapshot())
			}
			panes.write(ctx, published, waits)
			s.tellWaits(ctx)
		}
		var due, turn <-chan time.Time
		if wait, ok := s.Waits.due(); ok {
			due = time.After(wait)
		}
		if at, ok := left.next(); ok {
			turn = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
			return nil
		case n := <-s.notices:
			s.showNotice(ctx, n, left)
		case <-turn:
			for client, row := range left.turn(time.Now()) {
				s.showRow(ctx, client, row)
			}
		case <-due:
		case <-changed:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(settle - time.Since(began)):
			}
		}
	}
}

// statusText returns the value of the option, empty if nothing goes on. It consists of numbers, fixed words and
// names of sessions, so that tmux gives no meaning to any of it. Messages that wait for an agent are not
// counted: nobody has to do anything about them.
func (s *Face) statusText(waits []message.Wait) string {
	on := 0
	for _, chat := range open(s.Relay.Snapshot()) {
		if chat.State != message.ChatPaused && !chat.Aside {
			on++
		}
	}
	var words []string
	if full, ok := errors.AsType[*message.UnwritableError](s.Relay.Trouble()); ok {
		words = append(words, full.Why)
	}
	if on == 1 {
		words = append(words, "1 chat")
	} else if on > 1 {
		words = append(words, fmt.Sprintf("%d chats", on))
	}
	words = append(words, waitWords(waits)...)
	if s.Policies.Set != nil && s.Policies.Set.Problem() != "" {
		words = append(words, "policy error")
	}
	return strings.Join(words, ", ")
}

// showNotice shows a notice at the terminals attached to a tmux session with a pane of its chat. If it is about
// no chat, or there is no such terminal, it shows the notice at all terminals. It shows the first row; left
// says when the others follow.
func (s *Face) showNotice(ctx context.Context, n message.Notice, left unshown) {
	text := "intercom: " + s.noticeText(ctx, n)
	near := s.watchers(ctx, n.Chat)
	for _, client := range near {
		s.showRow(ctx, client.Name, left.begin(client.Name, text, client.Width, time.Now()))
	}
	s.alert(ctx, near, text)
}

func (s *Face) showRow(ctx context.Context, client, row string) {
	if err := tmux.Show(ctx, s.Server, client, row, noticeFor); err != nil && ctx.Err() == nil {
		s.Log.Warn("show a notice", "client", client, "err", err)
	}
}

// noticeWidth is the width, in columns, of a notice that says what to press: at a terminal of 80 columns it
// shows at once as a whole.
const noticeWidth = 76

// noticeText returns a notice, with what to press if a person can do something about it.
func (s *Face) noticeText(ctx context.Context, n message.Notice) string {
	if !n.Resumes {
		return s.byKeys(ctx, n.Text)
	}
	next := s.byKeys(ctx, ": "+resumes(n.Chat, s.Relay.Stopped()))
	text, room := []rune(n.Text), noticeWidth-len("intercom: ")-utf8.RuneCountInString(next)
	if len(text) > room {
		text = append(text[:room-1], '…') // each character takes one column: names are ASCII
	}
	return string(text) + next
}

// byKeys replaces commands with keys if the plugin has bound them.
func (s *Face) byKeys(ctx context.Context, text string) string {
	if !strings.Contains(text, "intercom ") { // saves asking tmux
		return text
	}
	return comeback.ByKeys(comeback.MenuKey(ctx, s.Server), text)
}

// watchers returns the terminals at which to show what happens in a chat.
func (s *Face) watchers(ctx context.Context, chat message.ID) (near []tmux.Attached) {
	clients, err := s.Tmux.Clients(ctx)
	if err != nil {
		s.Log.Warn("list clients", "err", err)
		return nil
	}
	rooms := s.rooms(ctx, chat)
	var all []tmux.Attached
	for _, c := range clients {
		if c.Control || c.Suspended {
			continue
		}
		all = append(all, c)
		if slices.Contains(rooms, c.SessionID) {
			near = append(near, c)
		}
	}
	if len(near) == 0 {
		return all
	}
	return near
}

// rooms returns the tmux sessions that contain panes of a chat.
func (s *Face) rooms(ctx context.Context, chat message.ID) (rooms []string) {
	if chat == "" {
		return nil
	}
	snap := s.Relay.Snapshot()
	members := map[string]bool{}
	for _, c := range snap.Chats() {
		if c.ID != chat {
			continue
		}
		for _, p := range c.Participants {
			if session, ok := snap.Peer(p.Peer); ok {
				members[session.Pane] = true
			}
		}
	}
	panes, err := s.Tmux.Panes(ctx)
	if err != nil {
		s.Log.Warn("list panes", "err", err)
	}
	for _, p := range panes {
		if members[p.ID] {
			rooms = append(append(rooms, p.SessionID), p.Elsewhere...)
		}
	}
	return rooms
}

// Troubled tells a person, once each, that the journal can no longer be written, and that it can again. It does
// not use the journal. It never blocks.
func (s *Face) Troubled(err error) {
	text := "the disk can be written again: held messages resume"
	if err != nil {
		text = troubleOf(err) + ": everything is held until it can be written; nothing is lost"
	}
	select {
	case s.notices <- message.Notice{Text: text}:
	default:
	}
	s.Bell.Ring()
}

// troubleOf says what the disk lacks, and where, but not which step failed.
func troubleOf(err error) string {
	if full, ok := errors.AsType[*message.UnwritableError](err); ok {
		return full.Error()
	}
	return err.Error()
}
