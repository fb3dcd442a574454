package relay

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// All, in the place of a chat, means every chat and everything else besides.
const All = "all"

// Request is what may be asked of the relay. Sessions and chats are named as in
// registry.Snapshot.Find and FindChat.
type Request interface{ by() By }

// Answer is what came of a request; each says which fields it sets.
type Answer struct {
	Session  message.Session
	Chats    []message.Chat
	Message  message.ID // of what was said or sent
	Receipts []message.Receipt
	Turn     message.Turn
}

// StartChat starts a chat of two or more sessions, numbered from 1 in the given order. With
// IncludeLast, what the first of them had said last goes to all others, then Say, a person's
// word or that of the agent that asks. With Turns, the chat ends by itself once that many
// turns were relayed. With OneWay, those are the answers of the others to the first, whose
// own turns go nowhere. An agent may start a chat of itself and one other only, and only as
// its first may it say something there. Errors: those of Find; *InChatError; ErrNothingSaid.
// Answer: Chats, one.
type StartChat struct {
	By       By
	Sessions []string
	Name     string // a name as of sessions, free among open chats, or none
	Say      string
	Limits   message.Limits
	Turns    int
	OneWay   bool

	// IncludeLast is for the later of Last, which is what the first session's own account
	// tells, and the last that was heard of it here. Of Last, Words, All, Truncated and Ended
	// count; a turn without words is none.
	IncludeLast bool
	Last        message.Turn

	Roles []string   // of Sessions, in their order; missing ones are none
	Muted []bool     // likewise: those that may not speak
	Asked []bool     // likewise: those whose words wait for a person's yes, beside those that Limits.Approve names
	Again message.ID // the ended chat that this one takes up; only noted
	Kept  []Kept     // what its agents' forerunners did not get any more

	Since time.Time // when its sessions' baselines were about to be taken; zero: now
}

// Kept is a delivery that is held in the journal for an agent that has gone, and that a
// person now gives to the session which takes its place: it fails there as HandedOn, and a
// delivery of the same message, with depth 0, goes to that session, before all that is said
// from then on. Each is handed on once.
type Kept struct {
	Delivery message.Delivery
	To       string
}

// StopChat ends a chat, or All, which an agent may do with one of its own that neither is
// paused nor asks for a person's yes: what was not typed fails. After All nothing more is typed
// at all, single messages included, until a person resumes All. Answer: Chats, those that
// ended.
type StopChat struct {
	By   By
	Chat string
}

// PauseChat holds everything in a chat, or All: then single messages too, and nothing at
// all is typed until a person resumes All. Answer: Chats, those that are paused now.
type PauseChat struct {
	By   By
	Chat string
	Why  string // "" is "paused by …"
}

// ResumeChat is a person's word that a chat, or All, may go on: what was held goes out in
// its order. A Sure one, to which they have said yes, is a word of theirs for every limit: depths
// are 0 again, and rates begin anew. Errors: ErrPersonOnly; ErrStopped for a single chat while
// everything is stopped; a *BrakedError where something is held at a limit, and it is not Sure.
// Answer: Chats, those that are on again.
type ResumeChat struct {
	By   By
	Chat string
	Sure bool
}

// BrakedError says what is held at a limit, which only a person lets go.
type BrakedError struct{ Why []string }

func (e *BrakedError) Error() string { return strings.Join(e.Why, "\n") }

// AddMember brings a session into a chat that is on or paused: it gets the next number, also
// where it had been in that chat before, and hears and says what is said from then on. Only
// a person may. Errors: as of StartChat; an *InChatError is never Same. Answer: Chats, one.
type AddMember struct {
	By      By
	Chat    string
	Session string
	Role    string    // see message.CheckRole, as those of StartChat
	Muted   bool      // it may not speak
	Asked   bool      // what it says waits for a person's yes
	Kept    []Kept    // as that of StartChat, all of it to Session
	Since   time.Time // as that of StartChat
}

// RemoveMember takes a session out of a chat: what was not typed to it in that chat fails,
// and what was gets no leave for Enter any more. What it said before is heard still. A chat
// of fewer than two ends. An agent may remove itself, unless the chat is paused or asks for a person's yes. Answer:
// Chats, one.
type RemoveMember struct {
	By      By
	Chat    string
	Session string
}

// MuteMember keeps a session's turns in a chat from being relayed, or with Off lets them
// pass again; it goes on hearing the others. Its turns are no messages meanwhile, and take
// none of the chat's Turns. Only a person may. Answer: Chats, one.
type MuteMember struct {
	By      By
	Chat    string
	Session string
	Off     bool
}

// Say is a person's word into a chat, to all its participants or to some. It always
// passes the brakes; in a paused chat it is held. Answer, once it is decided: Message,
// Receipts.
type Say struct {
	By   By
	Chat string
	To   []string // none: all
	Body string
}

// Send is one message to one session. Of the envelope, id (made here if empty), type,
// priority, subject, body, in_reply_to, requires_response, tags, thread and meta count; who it is
// from, how that is known, how deep it lies and when it was made are ours to say. Answer,
// once it is decided: Message, Receipts (failed "duplicate id" if the id was used before).
type Send struct {
	By      By
	To      string
	Message message.Envelope
}

// Recall asks what was heard of a session last, in this run. It changes nothing. Answer:
// Turn, of which Words, All, Truncated and Ended are set; without words, nothing was heard.
type Recall struct {
	By      By
	Session string
}

// Rename gives a session another name. Answer: Session.
type Rename struct {
	By      By
	Session string
	Name    string
}

// Release takes a session's pane back from us: its session ends. Answer: Session.
type Release struct {
	By      By
	Session string
}

func (r StartChat) by() By    { return r.By }
func (r StopChat) by() By     { return r.By }
func (r PauseChat) by() By    { return r.By }
func (r ResumeChat) by() By   { return r.By }
func (r Say) by() By          { return r.By }
func (r Send) by() By         { return r.By }
func (r Recall) by() By       { return r.By }
func (r Rename) by() By       { return r.By }
func (r Release) by() By      { return r.By }
func (r AddMember) by() By    { return r.By }
func (r RemoveMember) by() By { return r.By }
func (r MuteMember) by() By   { return r.By }

// Why a leave is refused: with each of them nothing may be typed.
var (
	ErrPaused     = message.ErrPaused
	ErrEnded      = message.ErrEnded
	ErrStopped    = message.ErrStopped
	ErrNotOurs    = message.ErrNotOurs
	ErrImpossible = errors.New("receipt out of order")
)

// Why a request is refused.
var (
	ErrInChat     = errors.New("in a chat")      // wrapped by *InChatError
	ErrActive     = errors.New("already active") // wrapped by *InChatError: that very chat
	ErrPersonOnly = errors.New("only a person may do that")
	ErrNobody     = errors.New("the request does not say who makes it")
	ErrAdopted    = errors.New("already adopted")
	// ErrDecided is for a decision about a message of which nothing waits for one (any more).
	ErrDecided = errors.New("it does not wait for a decision")
	// ErrUnfiltered is for a yes to a message that no filter has seen: nobody knows what one
	// would have taken out.
	ErrUnfiltered = errors.New("a filter failed at it, so that it goes to nobody as it is")
	ErrRequest    = errors.New("not possible") // a request that makes no sense; the text says why
	// ErrNothingSaid is for a chat that is to begin with words of which nothing is known.
	ErrNothingSaid = errors.New("nothing is known that it has said")
)

// ErrDown says that the relay does not run, or ended before it could answer.
var ErrDown = errors.New("the relay does not run")

// InChatError says that a chat cannot start since a session is in one. It is ErrInChat,
// and ErrActive too if that one is a chat of the very same sessions.
type InChatError struct {
	Session string // its name
	Chat    message.Chat
	Same    bool
}

func (e *InChatError) Error() string {
	if e.Same {
		return fmt.Sprintf("chat %s of these sessions is already active", label(e.Chat))
	}
	return fmt.Sprintf("session %q is in chat %s", e.Session, label(e.Chat))
}

// Is makes an InChatError the sentinels that it stands for.
func (e *InChatError) Is(target error) bool {
	return target == ErrInChat || e.Same && target == ErrActive
}

// label is how a chat is called in a sentence.
func label(c message.Chat) string {
	if c.Name != "" {
		return fmt.Sprintf("%q (%s)", c.Name, between(c))
	}
	return between(c)
}

// between names a chat by its participants, those who left too where nobody is there any more.
func between(c message.Chat) string {
	var there, all []string
	for _, p := range c.Participants {
		all = append(all, p.Name)
		if !p.Left {
			there = append(there, p.Name)
		}
	}
	if len(there) > 1 {
		all = there
	}
	return strings.Join(all, " ↔ ")
}
