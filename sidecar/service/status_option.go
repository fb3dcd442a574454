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

// StatusOption is the option of the tmux server in which a few words say how the sidecar
// is, for whoever has #{@intercom-status} in a status line. Nothing depends on it.
const StatusOption = "@intercom-status"

const (
	// settle is how long after one look the next one is taken at the earliest: each write of
	// the option redraws every client.
	settle = 50 * time.Millisecond
	// noticeFor is how long a notice stays at a terminal at most, unless a key is pressed there.
	noticeFor = 8 * time.Second
	// maxNotices are those that wait to be shown. What is beyond is in the log alone.
	maxNotices = 32
)

// Face keeps StatusOption as things are, and shows notices at terminals.
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
	// Unpublished leaves the panes without the options that say what they are.
	Unpublished bool
	Bell        *Bell
	Log         *slog.Logger

	notices chan message.Notice // to be shown
	running chan struct{}       // commands that tell a person: there is room for so many
	unheard *atomic.Bool        // the command did not run, and that was told
}

// NewFace is f, ready to hear.
func NewFace(f Face) *Face {
	f.notices, f.running, f.unheard = make(chan message.Notice, maxNotices), make(chan struct{}, maxCommands), new(atomic.Bool)
	return &f
}

// Hear takes the notices out of what happened. It never blocks.
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

// Run keeps StatusOption as things are, and shows each notice once where its chat is in
// sight. It owns what was written last, and what is left of notices to be shown.
func (s *Face) Run(ctx context.Context) error {
	shown := "?" // what a sidecar that died has left, or whoever brought this one back
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

// statusText is what the option says: nothing where nothing goes on. It has numbers, words of
// ours and names of sessions only, so that nothing in it means anything to tmux. What waits for
// an agent is not counted: nobody has to do anything about it.
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

// showNotice shows a notice at the terminals that are attached to where its chat is, or at
// all of them if it is about none or nobody is there: its first row, and the others once left says so.
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

// noticeWidth is the columns of a notice that says what to press: it is seen at once, and whole,
// at any terminal of 80 columns.
const noticeWidth = 76

// noticeText is a notice, with what to press where a person can do something about it.
func (s *Face) noticeText(ctx context.Context, n message.Notice) string {
	if !n.Resumes {
		return s.byKeys(ctx, n.Text)
	}
	next := s.byKeys(ctx, ": "+resumes(n.Chat, s.Relay.Stopped()))
	text, room := []rune(n.Text), noticeWidth-len("intercom: ")-utf8.RuneCountInString(next)
	if len(text) > room {
		text = append(text[:room-1], '…') // each of them takes one column: names are ASCII
	}
	return string(text) + next
}

// byKeys names keys in the place of commands where the plugin has bound them.
func (s *Face) byKeys(ctx context.Context, text string) string {
	if !strings.Contains(text, "intercom ") { // which need not ask tmux
		return text
	}
	return comeback.ByKeys(comeback.MenuKey(ctx, s.Server), text)
}

// watchers are the terminals at which what happens in a chat is shown.
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

// rooms are the tmux sessions in which panes of a chat are.
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

// Troubled tells a person, once each, that nothing can be written down any more and that it can
// again. It does not go by the journal. It never blocks.
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

// troubleOf names what the disk lacks, and where, and not the step at which that was found.
func troubleOf(err error) string {
	if full, ok := errors.AsType[*message.UnwritableError](err); ok {
		return full.Error()
	}
	return err.Error()
}
