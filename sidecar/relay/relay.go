// Package relay is the main loop of the sidecar: everything that happens enters it as an Event, and
// everything to be done leaves it as an Effect.
//
// Only the goroutine of Relay.Run reads or writes the State: registry, chats, deliveries under way,
// depths, budgets. Other goroutines call the methods of Relay, which put events into a bounded
// queue (pause and stop into a second one that is served first), and read the registry.Snapshot
// that Run publishes after each change. State itself has no goroutine, channel, lock or clock: the
// same seed, times and events give the same effects.
//
//	adopt, chat, say ► Requested ───┐            ┌─► Commit   journal; first, or nothing
//	a turn has ended ► Spoke ───────┤            ├─► Decide   policy ─► Decided, back in
//	another peer ► Joined, Received ┤            ├─► Deliver, Cancel, Forget   the sink of its kind
//	a pane has gone ► Gone ─────────┼─► Step ────┤
//	may I type? ► Reported ─────────┤  (now, e)  ├─► Allow, Reply   the caller that waits
//	closed for now ► PaneLocked ────┤            │
//	a person is there ► UserActive ─┤            │
//	time passes ► Tick ─────────────┘            └─► Publish   the watchers
package relay

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// How much the State remembers of what is over.
const (
	seenMessages = 4096 // ids; the journal knows the older ones
	pastPeers    = 64
	pastChats    = 64
)

// State holds everything that the relay knows. Only Step changes it.
type State struct {
	ids    ids
	limits message.Limits // of single messages

	chatLimits message.Limits // of chats that set none

	sends route.Sends // limits on what agents send of their own accord

	commands Commands

	stopped     bool    // everything is: no permission to type is given
	peers       []*peer // in the order of adoption
	byID        map[message.ID]*peer
	keyed       map[key]*peer // the peers without a pane
	chats       []*chat       // in the order of their start
	chatByID    map[message.ID]*chat
	chatByPeer  map[message.ID]*chat // the chat that each peer entered last; it may have left since
	under       map[message.ID]*delivery
	at          map[place][]*delivery     // the deliveries under way, in their order
	waiting     int                       // how many of them are not submitted yet and have a present target
	seq         uint64                    // of the last delivery made
	flows       map[string][]*pending     // undecided messages by pending.flow, in their order
	undecided   map[message.ID]*pending   // the same by message id
	seen        route.Seen                // messages
	turns       route.Seen                // those that became messages and those that did not
	transferred route.Seen                // kept deliveries that were handed on, made again or thrown away
	book        *handshake.Book           // the handshakes of teams
	affairs     map[string]*affair        // by request_id: the handshakes that are open, or of which something is owed
	seats       map[string]*seat          // of teams
	seated      []string                  // their ids, in the order in which they were taken
	notices     notices                   // what sessions are told about others
	health      time.Duration             // a turn that goes on for longer is asked about; 0: never
	wishes      map[message.ID]wishedLink // left by an earlier run, until their messages are considered
	orders      []message.StartOrder      // the starts that are not over, oldest first; never changed in place
	stranger    *peer                     // all unverified senders, as one, where their messages are counted
	person      string                    // the name of whoever types into a pane by hand
	snapshot    registry.Snapshot
	news        news   // the changes that snapshot lacks
	changes     uint64 // how many changes there were
	counted     uint64 // the value of changes when watched was computed
	watched     bool   // some chat goes on only while somebody may be looking

	// Awake time as of the last Tick, and as of the last Tick before which a person was there.
	awake, attended time.Duration
	here            bool // a person was there since the last Tick
}

// NewState returns an empty State. The seed makes its ids differ from those of any other run. The
// limits hold for single messages, and for chats that set none; a zero field means the built-in
// limit.
func NewState(seed [32]byte, limits message.Limits) *State {
	return &State{
		ids:    ids{random: rand.NewChaCha8(seed)},
		limits: route.WithDefaults(limits, message.Limits{}),

		chatLimits: route.WithDefaults(limits, message.Limits{}),

		sends:      route.Sends{}.WithDefaults(),
		byID:       make(map[message.ID]*peer),
		keyed:      make(map[key]*peer),
		chatByID:   make(map[message.ID]*chat),
		chatByPeer: make(map[message.ID]*chat),
		under:      make(map[message.ID]*delivery),
		at:         make(map[place][]*delivery),
		flows:      make(map[string][]*pending),
		undecided:  make(map[message.ID]*pending),
		notices:    newNotices(),
		health:     DefaultHealth,
		stranger:   newStranger(),
		book:       newBookOf(),
		affairs:    make(map[string]*affair),
		seats:      make(map[string]*seat),
		wishes:     make(map[message.ID]wishedLink),
		here:       true, // somebody started us
	}
}

// Step takes in one event and returns what is to be done, in order. It never fails: an event that
// makes no sense gets an error as its answer, or is ignored if nobody waits for one.
func (s *State) Step(now time.Time, event Event) []Effect {
	tx := &tx{State: s, now: now}
	event.step(tx)
	return tx.effects()
}

// Snapshot returns the peers and chats as they are now.
func (s *State) Snapshot() registry.Snapshot {
	if s.news.empty() {
		return s.snapshot
	}
	var peers []message.Peer
	for _, one := range s.news.peers {
		if one.touched = false; s.byID[one.ID] == one {
			peers = append(peers, one.Peer)
		}
	}
	var chats []message.Chat
	for _, one := range s.news.chats {
		if one.touched = false; s.chatByID[one.ID] == one {
			chats = append(chats, one.Chat)
		}
	}
	for _, id := range s.news.subscribed {
		s.snapshot = s.snapshot.WithSubscribers(id, s.notices.callers(id))
	}
	s.snapshot = s.snapshot.Without(s.news.past, s.news.pastChats).With(peers, chats)
	s.news = news{}
	return s.snapshot
}

// news are the changes that the snapshot lacks. A step changes one of ten thousand peers, and only
// that one is copied.
type news struct {
	peers           []*peer
	chats           []*chat
	past, pastChats []message.ID
	subscribed      []message.ID // sessions whose subscribers changed
}

func (n news) empty() bool {
	return len(n.peers)+len(n.chats)+len(n.past)+len(n.pastChats)+len(n.subscribed) == 0
}

// touch notes that a peer differs from the snapshot.
func (s *State) touch(one *peer) {
	s.changes++
	if !one.touched {
		one.touched = true
		s.news.peers = append(s.news.peers, one)
	}
}

// touchChat is touch for a chat.
func (s *State) touchChat(c *chat) {
	s.changes++
	if !c.touched {
		c.touched = true
		s.news.chats = append(s.news.chats, c)
	}
}

// tx is one Step in progress: the State, the time, and what is to be done so far.
type tx struct {
	*State
	now          time.Time
	step         message.Step
	changedPeers []*peer // to be written down as they are after the step
	changedChats []*chat // likewise
	told         []message.Event
	after        []Effect
}

// effect adds something to be done after the commit.
func (tx *tx) effect(e Effect) { tx.after = append(tx.after, e) }

// reply answers the caller that waits for the token; nobody waits for token 0.
func (tx *tx) reply(token Token, a Answer, err error) {
	if token != 0 {
		tx.effect(Reply{token, a, err})
	}
}

// changed notes that a peer must be written down, and watchers told, as it is after the step.
func (tx *tx) changed(s *peer) {
	tx.touch(s)
	if !slices.Contains(tx.changedPeers, s) {
		tx.changedPeers = append(tx.changedPeers, s)
	}
}

// altered is changed for a chat.
func (tx *tx) altered(c *chat) {
	tx.touchChat(c)
	if !slices.Contains(tx.changedChats, c) {
		tx.changedChats = append(tx.changedChats, c)
	}
}

// notice tells a person.
func (tx *tx) notice(chat message.ID, text string) { tx.raise(message.Event{Chat: chat, Notice: text}) }

// noticeBy is notice for something that by asked for. A person was told where they asked.
func (tx *tx) noticeBy(by By, chat message.ID, text string) {
	tx.raise(message.Event{Chat: chat, Notice: text, Answered: by.Person()})
}

func (tx *tx) raise(e message.Event) {
	e.At, e.Kind = tx.now, "notice"
	tx.step.Notices = append(tx.step.Notices, message.Notice{Chat: e.Chat, Text: e.Notice, Resumes: e.Resumes})
	tx.told = append(tx.told, e)
}

// noticePause tells a person that a chat paused by itself, and how that came about: "after 20
// turns". What is said meanwhile is held until a person resumes the chat.
func (tx *tx) noticePause(c *chat, how string) {
	tx.raise(message.Event{Chat: c.ID, Notice: between(c.Chat) + " paused" + how, Resumes: true})
}

// effects returns the effects of the step: the commit first, what watchers are told last.
func (tx *tx) effects() []Effect {
	var ahead []message.Event // a change of a peer or chat explains what follows
	for _, s := range tx.changedPeers {
		one := s.Peer
		tx.step.Peers = append(tx.step.Peers, one)
		ahead = append(ahead, message.Event{At: tx.now, Kind: "session", Peer: &one})
	}
	for _, c := range tx.changedChats {
		one := c.copy()
		tx.step.Chats = append(tx.step.Chats, one)
		ahead = append(ahead, message.Event{At: tx.now, Kind: "chat", Chat: one.ID, Change: &one})
	}
	var out []Effect
	if !tx.step.Empty() {
		out = append(out, Commit{tx.step})
	}
	out = append(out, tx.after...)
	// That everything goes on again is no event, but a watcher that shows it as stopped must look
	// again. So must a watcher that waits for something that only a record says, like the answer to
	// a handshake.
	if told := append(ahead, tx.told...); len(told) > 0 || tx.step.Stopped != nil || len(tx.step.Records) > 0 {
		out = append(out, Publish{told})
	}
	return out
}
