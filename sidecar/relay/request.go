package relay

import (
	"errors"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// All, instead of a chat, means every chat and everything else.
const All = "all"

// Request is a request to the relay. Sessions and chats are named as in registry.Snapshot.Find and
// FindChat.
type Request interface {
	by() By
	// do carries it out. If it is answered later, do takes the token out of Requested.
	do(*tx, *Requested) (Answer, error)
}

// Optional methods of requests. A request without any of them may not be made by an unverified
// caller, waits for its turn, and is refused while nothing can be written.
type (
	// unproven may be made by an unverified caller, one not proven to be a person or a peer.
	unproven interface{ unproven() }
	// stopping takes permission away: it overtakes what waits, and takes effect whatever becomes of
	// its answer.
	stopping interface{ stopping() }
	// carrying carries a message under an id that the journal may know; "": it has no id yet.
	carrying interface{ carries() message.ID }
)

// Answer is the outcome of a request; each request says which fields it sets.
type Answer struct {
	Peer     message.Peer
	Chats    []message.Chat
	Message  message.ID // of what was said or sent
	Receipts []message.Receipt
	Turn     message.Turn
	Taken    []message.Delivery
	Orders   []message.StartOrder

	Handshake handshake.Handshake
	Team      string     // the directory of the team
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

// later takes the token over: another step answers the caller, once the message is decided.
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
	if e.hurries() { // it takes effect even so: a person has said no to what is on its way
		s.first = append(s.first, e)
	}
	return false
}

// Reasons why permission is refused: with each of them nothing may be typed.
var (
	ErrPaused     = message.ErrPaused
	ErrEnded      = message.ErrEnded
	ErrStopped    = message.ErrStopped
	ErrNotOurs    = message.ErrNotOurs
	ErrImpossible = errors.New("receipt out of order")
)

// Reasons why a request is refused.
var (
	ErrInChat     = message.NewError(message.KindInChat, "in a chat") // wrapped by *InChatError
	ErrActive     = errors.New("already active")                      // wrapped by *InChatError: that very chat
	ErrPersonOnly = message.NewError(message.KindPersonOnly, "only a person may do that")
	ErrNobody     = errors.New("the request names no caller")
	ErrAdopted    = message.NewError(message.KindAdopted, "already adopted")
	ErrGone       = errors.New("it has ended")
	// ErrUsed is for a repeatable message whose id was used before, by itself or by another
	// message.
	ErrUsed = errors.New("the id was used before")
	// ErrDecided is for a decision about a message of which no delivery waits for one, or waits any
	// more.
	ErrDecided = errors.New("it does not await a decision")
	// ErrUnfiltered is for a yes to a message that no filter has seen: nobody knows what one would
	// have removed.
	ErrUnfiltered = message.NewError(message.KindUnfiltered, "a filter failed on it, so it cannot be sent as it is")
	ErrFull       = message.NewError(message.KindAtLimit, "too much waits there already") // it may be tried again
	ErrRequest    = message.NewError(message.KindNotPossible, "not possible")             // a request that makes no sense: see notPossible
	// ErrNothingSaid is for a chat that is to begin with a peer's last words when none are known.
	ErrNothingSaid = message.NewError(message.KindNothingSaid, "no answer of it is known")
)

// notPossible returns an ErrRequest whose text says why.
func notPossible(why string, args ...any) error { return &requestError{fmt.Errorf(why, args...)} }

type requestError struct{ why error }

func (e *requestError) Error() string                { return e.why.Error() }
func (e *requestError) Unwrap() error                { return e.why }
func (e *requestError) Is(target error) bool         { return target == ErrRequest }
func (e *requestError) ErrorKind() message.ErrorKind { return message.KindNotPossible }

// ErrDown says that the relay does not run, or ended before it could answer.
var ErrDown = message.ErrDown

// InChatError says that a chat cannot start because a peer is in one. It is ErrInChat, and also
// ErrActive if that one is a chat of the same peers.
type InChatError struct {
	Name string // the peer's name
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

// Is reports whether target is one of the sentinels that an InChatError stands for.
func (e *InChatError) Is(target error) bool {
	return target == ErrInChat || e.Same && target == ErrActive
}

// ErrorKind returns KindInChat.
func (e *InChatError) ErrorKind() message.ErrorKind { return message.KindInChat }
