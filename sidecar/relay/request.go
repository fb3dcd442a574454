package relay

import (
	"errors"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// All, in the place of a chat, means every chat and everything else besides.
const All = "all"

// Request is what may be asked of the relay. Sessions and chats are named as in
// registry.Snapshot.Find and FindChat.
type Request interface {
	by() By
	// do carries it out. Where that is answered later, the token is taken out of Asked.
	do(*tx, *Requested) (Answer, error)
}

// What a request may be beside that. One that is none of these may not be made by an unverified
// caller, waits for its turn, and is refused while nothing can be written down.
type (
	// unproven may be asked for by a caller of whom neither a person nor a peer is proven.
	unproven interface{ unproven() }
	// stopping takes permission away: it overtakes what waits, and counts whatever comes of its answer.
	stopping interface{ stopping() }
	// carrying carries a message, under an id that the journal may know; "": it has none yet.
	carrying interface{ carries() message.ID }
)

// Answer is what came of a request; each says which fields it sets.
type Answer struct {
	Peer     message.Peer
	Chats    []message.Chat
	Message  message.ID // of what was said or sent
	Receipts []message.Receipt
	Turn     message.Turn
	Taken    []message.Delivery
	Orders   []message.StartOrder

	Handshake handshake.Handshake
	Team      string     // its directory
	Caller    message.ID // of StopNotices
}

// Requested is a request of a person, an agent or a program. Answer: as the request says.
type Requested struct {
	Token   Token
	Request Request
	Seen    bool // the journal has a message of the id that the request carries
}

func (e Requested) step(tx *tx) {
	var answer Answer
	err := admit(e.Request)
	if err == nil {
		tx.here = tx.here || e.Request.by().Person()
		answer, err = e.Request.do(tx, &e)
	}
	tx.reply(e.Token, answer, err)
}

// later takes the token over: whoever waits is answered by another step, once it is decided.
func (e *Requested) later() Token {
	token := e.Token
	e.Token = 0
	return token
}

func (e Requested) prepare(l *lookup) (_ Event, err error) {
	e.Token = l.token()
	if one, ok := e.Request.(carrying); ok {
		e.Seen, err = l.seen(one.carries())
	}
	return e, err
}

func (e Requested) hurries() bool {
	_, stops := e.Request.(stopping)
	return stops
}

func (e Requested) unwritten(l *loop, err error) (undo bool) {
	l.answer(e.Token, outcome{err: err})
	return !e.hurries()
}

func (e Requested) wait(s *stuck, p *posted) (later bool) {
	p.answer(s.err)
	if e.hurries() { // whatever is on its way then, a person has said no to it
		s.first = append(s.first, e)
	}
	return false
}

// Why a permission is refused: with each of them nothing may be typed.
var (
	ErrPaused     = message.ErrPaused
	ErrEnded      = message.ErrEnded
	ErrStopped    = message.ErrStopped
	ErrNotOurs    = message.ErrNotOurs
	ErrImpossible = errors.New("receipt out of order")
)

// Why a request is refused.
var (
	ErrInChat     = message.NewError(message.KindInChat, "in a chat") // wrapped by *InChatError
	ErrActive     = errors.New("already active")                      // wrapped by *InChatError: that very chat
	ErrPersonOnly = message.NewError(message.KindPersonOnly, "only a person may do that")
	ErrNobody     = errors.New("the request names no caller")
	ErrAdopted    = message.NewError(message.KindAdopted, "already adopted")
	ErrGone       = errors.New("it has ended")
	// ErrUsed is for a message that may be sent again, under an id that was used before: by itself, or by another.
	ErrUsed = errors.New("the id was used before")
	// ErrDecided is for a decision about a message of which nothing waits for one (any more).
	ErrDecided = errors.New("it does not await a decision")
	// ErrUnfiltered is for a yes to a message that no filter has seen: nobody knows what one
	// would have taken out.
	ErrUnfiltered = message.NewError(message.KindUnfiltered, "a filter failed on it, so it cannot be sent as it is")
	ErrFull       = message.NewError(message.KindAtLimit, "too much waits there already") // it may be tried again
	ErrRequest    = message.NewError(message.KindNotPossible, "not possible")             // a request that makes no sense: see notPossible
	// ErrNothingSaid is for a chat that is to begin with words of which nothing is known.
	ErrNothingSaid = message.NewError(message.KindNothingSaid, "no answer of it is known")
)

// notPossible is an ErrRequest whose text says why.
func notPossible(why string, args ...any) error { return &requestError{fmt.Errorf(why, args...)} }

type requestError struct{ why error }

func (e *requestError) Error() string                { return e.why.Error() }
func (e *requestError) Unwrap() error                { return e.why }
func (e *requestError) Is(target error) bool         { return target == ErrRequest }
func (e *requestError) ErrorKind() message.ErrorKind { return message.KindNotPossible }

// ErrDown says that the relay does not run, or ended before it could answer.
var ErrDown = message.ErrDown

// InChatError says that a chat cannot start since a peer is in one. It is ErrInChat,
// and ErrActive too if that one is a chat of the very same peers.
type InChatError struct {
	Name string // its name
	Chat message.Chat
	Same bool
}

func (e *InChatError) Error() string {
	if e.Same && e.Chat.OneWay && e.Chat.Turns > 0 {
		return fmt.Sprintf("a question between these sessions still waits for its answer: %s", label(e.Chat))
	}
	if e.Same {
		return fmt.Sprintf("chat %s of these sessions is already active", label(e.Chat))
	}
	return fmt.Sprintf("session %q is in chat %s", e.Name, label(e.Chat))
}

// EndedError says of a chat that it has ended, and why. It is ErrEnded.
type EndedError struct{ Chat message.Chat }

func (e *EndedError) Error() string { return called(e.Chat) + " has ended: " + e.Chat.Why }

// Unwrap returns ErrEnded.
func (e *EndedError) Unwrap() error { return ErrEnded }

// Is makes an InChatError the sentinels that it stands for.
func (e *InChatError) Is(target error) bool {
	return target == ErrInChat || e.Same && target == ErrActive
}

// ErrorKind is KindInChat.
func (e *InChatError) ErrorKind() message.ErrorKind { return message.KindInChat }
