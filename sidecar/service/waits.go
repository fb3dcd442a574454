package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/secret"
	"github.com/tmux-intercom/tmux-intercom/sidecar/waits"
)

// unknownScreen describes the wait at a pane whose screen is no longer recognised.
const unknownScreen = "unknown screen"

// mostNamed is how many waits at panes the status line names; it counts the others.
const mostNamed = 3

// atPane describes a wait for a person at a pane, and what the person does there.
type atPane struct {
	kind        message.WaitKind
	words, next string
}

var (
	openDialog   = atPane{message.WaitDialog, "dialog", "answer it in its pane"}
	openQuestion = atPane{message.WaitQuestion, "question", "answer it in its pane"}
	ownDraft     = atPane{message.WaitDraft, "your draft", "send it or clear it: what comes waits behind it"}
	shutPane     = atPane{message.WaitClosed, "closed", "intercom explain says what ends that"}
)

// personal are the holds that only a person can end. All others pass by themselves.
var personal = map[message.Reason]atPane{
	screen.DialogOpen:       openDialog,
	message.InComposer:      ownDraft,
	message.OursInComposer:  {message.WaitHeld, "our text in its composer", "send it or clear it"},
	message.CopyMode:        {message.WaitHeld, "copy mode", "leave the mode: q"},
	message.NotInFront:      {message.WaitHeld, "another program in front", "end that program, or bring the agent back"},
	message.PasswordPrompt:  {message.WaitHeld, "password prompt", "answer it in its pane"},
	message.UnknownScreen:   {message.WaitHeld, unknownScreen, "look at the pane; intercom explain says what is missing"},
	message.AlternateScreen: {message.WaitHeld, unknownScreen, "leave the full-screen program"},
	message.NotEmpty:        {message.WaitHeld, unknownScreen, "look at the pane; intercom explain says what is missing"},
	message.PaneTooSmall:    {message.WaitHeld, "pane too small", "make the pane larger"},
	message.PaneTooNarrow:   {message.WaitHeld, "pane too narrow", "make the pane wider"},
	message.SizeUntold:      {message.WaitHeld, "another size than its pane", "resize the pane, which tells its program the size"},
	message.WidthDisputed:   {message.WaitHeld, "characters of unsure width", "look at the pane, then intercom inbox release"},
	message.TmuxLost:        {message.WaitHeld, "tmux loses our text", "intercom doctor names the hook that takes it"},
	message.InputOff:        {message.WaitHeld, "input is off", "turn it on: tmux select-pane -e"},
	screen.VimNormal:        {message.WaitHeld, "vim normal mode", "press i there"},
}

// Waits serves the list of what only a person can do.
type Waits struct {
	Callers *Callers
	Relay   condition
	Journal holding
	Starts  interface { // starts that wait for a person; nil if the sidecar is headless
		Waiting() []api.Held
	}

	mu    sync.Mutex // guards board
	board waits.Board
}

// Offer registers the operation with a server.
func (s *Waits) Offer(server *api.Server) {
	api.Handle(server, api.ListWaits, s.ListFor)
}

// ListFor is List for a caller. As in the inbox, only a person sees credentials in what waits to be approved.
func (s *Waits) ListFor(ctx context.Context, from api.Caller, _ api.None) ([]message.Wait, error) {
	if s.Callers.by(ctx, from).Person() {
		return s.List(ctx)
	}
	return s.list(ctx, secret.Mask)
}

// List lists what waits for a person now, the longest wait first.
func (s *Waits) List(ctx context.Context) ([]message.Wait, error) {
	return s.list(ctx, func(body string) string { return body })
}

// list is List, with the bodies of what waits to be approved as mask returns them. The board never has them from
// an earlier look: it lists such a wait only if that is there, as it is.
func (s *Waits) list(ctx context.Context, mask func(string) string) ([]message.Wait, error) {
	all, err := s.all(ctx, mask)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.See(time.Now(), all)
	return s.board.List(), nil
}

// due returns the time after which List changes even if nothing happens; false if it never does.
func (s *Waits) due() (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.board.Due()
	return max(0, time.Until(at)), ok
}

// all returns what waits for a person according to the current evidence: dialogs and questions of agents,
// whether or not a message waits behind them; what keeps a message from a pane until a person does something
// there; what waits for a decision, with its body as mask returns it; and what is paused. It returns at most one
// wait per pane.
func (s *Waits) all(ctx context.Context, mask func(string) string) ([]message.Wait, error) {
	snap := s.Relay.Snapshot()
	found := gathered{snap: snap, at: map[message.ID]bool{}, mask: mask}
	for one := range snap.Present() {
		switch {
		case one.Closed == message.InComposer:
			found.pane(one, ownDraft, message.Wait{})
		case one.Closed == message.OursInComposer && !one.Shut():
			found.pane(one, personal[message.OursInComposer], message.Wait{})
		case one.Closed != "":
			found.pane(one, shutPane, message.Wait{Text: string(one.Closed)})
		case one.Asks != nil:
			found.asks(one)
		}
	}
	waiting, err := underWay(ctx, s.Journal)
	if err != nil {
		return nil, err
	}
	for _, p := range waiting {
		found.held(p)
	}
	if s.Starts != nil {
		for _, one := range s.Starts.Waiting() {
			found.add(message.Wait{
				ID: "approve:" + string(one.Delivery), Kind: message.WaitApprove, Words: "to approve", Delivery: one.Delivery, Since: one.Since,
				Name: one.From, Text: oneLine(mask(one.Envelope.Body)), Next: "intercom inbox approve " + one.Delivery.Short(),
			})
		}
	}
	if s.Relay.Stopped() {
		found.add(message.Wait{ID: "stopped", Kind: message.WaitPaused, Words: "all stopped", Text: string(message.Stopped), Next: resumes("", true)})
	}
	for _, c := range open(snap) {
		if c.State == message.ChatPaused {
			next := resumes(c.ID, s.Relay.Stopped())
			found.add(message.Wait{
				ID: "paused:" + string(c.ID), Kind: message.WaitPaused, Words: "paused", Chat: c.ID, ChatName: chatLabel(c), Text: oneLine(c.Why),
				Next: next,
			})
		}
	}
	return found.waits, nil
}

// resumes returns the command with which a person resumes a paused chat. While everything is stopped, no
// command resumes that chat alone.
func resumes(chat message.ID, stopped bool) string {
	if stopped {
		return "intercom chat resume --all"
	}
	return "intercom chat resume " + chat.Short()
}

// gathered holds the waits that were found so far.
type gathered struct {
	snap  registry.Snapshot
	waits []message.Wait
	at    map[message.ID]bool // peers with a wait at their panes
	mask  func(string) string
	limit bool
}

func (g *gathered) add(w message.Wait) { g.waits = append(g.waits, w) }

// pane adds a wait at a pane, unless there is one already.
func (g *gathered) pane(one message.Peer, what atPane, w message.Wait) {
	if g.at[one.ID] {
		return
	}
	g.at[one.ID] = true
	w.ID, w.Kind, w.Words = "pane:"+string(one.ID), what.kind, what.words
	w.Peer, w.Name, w.Pane, w.Next = one.ID, one.Name, one.Pane, cmp.Or(w.Next, what.next)
	if c, in := g.snap.ChatOf(one.ID); in {
		w.Chat, w.ChatName = c.ID, chatLabel(c)
	}
	g.add(w)
}

// asks adds what an agent asks a person.
func (g *gathered) asks(one message.Peer) {
	what := openDialog
	if one.Asks.Kind == message.WaitQuestion {
		what = openQuestion
	}
	g.pane(one, what, message.Wait{Text: oneLine(one.Asks.Text), Evidence: []message.Evidence{one.Asks.Evidence}})
}

// held adds what a delivery waits for, if only a person can end that wait.
func (g *gathered) held(p journal.Pending) {
	what, theirs := personal[p.Last.Reason]
	to, _ := g.snap.Peer(p.Delivery.Target)
	switch {
	case p.Last.Awaits():
		g.add(message.Wait{
			ID: "approve:" + string(p.Delivery.ID), Kind: message.WaitApprove, Words: "to approve", Delivery: p.Delivery.ID, Chat: p.Delivery.Chat,
			Name: p.Delivery.Message.From.Name, Text: oneLine(g.mask(p.Delivery.Message.Body)), Since: p.Last.At, Evidence: p.Last.Evidence,
			Next: "intercom inbox approve " + p.Delivery.Message.ID.Short(),
		})
	case p.Last.State == message.Held && p.Last.Hold == message.HoldLimit && p.Delivery.Chat == "" && !g.limit:
		g.limit = true
		g.add(message.Wait{
			ID: "limit", Kind: message.WaitHeld, Words: "at a limit", Delivery: p.Delivery.ID, Name: p.Delivery.Message.From.Name,
			Text: string(p.Last.Reason), Since: p.Last.At, Next: "intercom chat resume --all",
		})
	case p.Last.State == message.Held && p.Last.Hold == "" && theirs && to.ID != "" && to.Ended == nil:
		vouch, text := "", "a message from "+p.Delivery.Message.From.Name+" waits: "+string(p.Last.Reason)
		said := p.Last.Reason == message.UnknownScreen || p.Last.Reason == message.PaneTooNarrow || p.Last.Reason == message.NotEmpty
		if said && len(p.Last.Evidence) > 0 {
			text += ": " + oneLine(p.Last.Evidence[0].Says)
		}
		if p.Last.Reason == message.UnknownScreen && !p.Last.PastesOff() {
			vouch = "look at the pane; intercom inbox release " + p.Delivery.ID.Short() + " types it all the same"
		}
		g.pane(to, what, message.Wait{
			Delivery: p.Delivery.ID, Text: text,
			Since: p.Last.At, Evidence: p.Last.Evidence, Next: vouch,
		})
	}
}

// chatLabel returns the name of a chat, or else who is in it.
func chatLabel(c message.Chat) string {
	var who []string
	for _, p := range c.Participants {
		if !p.Left {
			who = append(who, p.Name)
		}
	}
	return cmp.Or(c.Name, c.Between(who), c.ID.Short())
}

// oneLine returns the first line of a text that is not empty, shortened, and without characters that act on a
// terminal or change how it reads.
func oneLine(text string) string {
	const most = 160
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			switch {
			case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
				return ' '
			case plain.Acts(r):
				return -1
			}
			return r
		}, line))
		if line == "" {
			continue
		}
		if cut := []rune(line); len(cut) > most {
			return string(cut[:most-1]) + "…"
		}
		return line
	}
	return ""
}

// needs returns waits in the form that the status has had since its first version: those at panes, and how many
// messages wait for approval.
func needs(all []message.Wait) (told []api.Need) {
	approvals := 0
	for _, w := range all {
		switch {
		case w.Kind == message.WaitApprove:
			approvals++
		case w.Pane != "":
			told = append(told, api.Need{For: w.Words, Name: w.Name, Pane: w.Pane})
		}
	}
	if approvals > 0 {
		told = append(told, api.Need{For: api.NeedApproval, N: approvals})
	}
	return told
}

// waitWords says what a person must do in a few words: "all stopped", "1 paused", "claude: dialog",
// "1 to approve".
func waitWords(all []message.Wait) (words []string) {
	named, more := 0, 0
	for _, w := range waits.Counted(all) {
		switch {
		case w.Pane == "":
			words = append(words, w.Words)
		case named < mostNamed:
			named++
			words = append(words, w.Name+": "+w.Words)
		default:
			more++
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return slices.Clip(words)
}
