// Package soaktest judges a long run of the sidecar under faults: what was accepted is written down by
// whoever sent it, what arrived by whoever took it, and Judge compares the two with what the sidecar's own
// journal says. It knows nothing of how the sidecar works. The run itself is this package's test.
package soaktest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Answer is what a sender was told of one word.
type Answer string

// The answers. Said is of a program in a pane and of a bare connection: nobody answers them.
const (
	Unknown  Answer = "unknown" // asked again and again, and never told
	Accepted Answer = "accepted"
	Refused  Answer = "refused"
	Said     Answer = "said"
)

// Mark stands in the text of a word, and in no other.
type Mark struct {
	Stream string // one sender's words to one taker: their order counts
	Seq    int
}

// String is the mark as it stands in a text. No client and no filter makes anything else of it.
func (m Mark) String() string { return fmt.Sprintf("(%s.%06d)", m.Stream, m.Seq) }

var marks = regexp.MustCompile(`\(([a-z][a-z0-9-]*)\.([0-9]{6})\)`)

// Marks are the marks in a text, in its order.
func Marks(text string) (all []Mark) {
	for _, m := range marks.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[2]) // six digits
		all = append(all, Mark{m[1], n})
	}
	return all
}

// Word is one thing that somebody sent.
type Word struct {
	Mark
	Way    string // the protocol
	From   string // the computer whose journal accepts it
	To     string // who takes it
	Answer Answer
	Why    string // it was refused
	Tries  int
	Begun  time.Time
	Told   time.Time
}

// Ledger is what the senders wrote down, before and after each answer. It is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	words []*Word
}

// Begin writes down a word that is about to be sent.
func (l *Ledger) Begin(way, from, to string, m Mark) *Word {
	w := &Word{Mark: m, Way: way, From: from, To: to, Answer: Unknown, Begun: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words = append(l.words, w)
	return w
}

// Told writes down what its sender was told.
func (l *Ledger) Told(w *Word, a Answer, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Answer, w.Why, w.Told = a, why, time.Now()
}

// Words are the words so far.
func (l *Ledger) Words() (all []Word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.words {
		all = append(all, *w)
	}
	return all
}

// Taken is what one taker has got: the marks in the order in which they came, and how often the bytes of
// each came to its terminal, whatever became of them there.
type Taken struct {
	Marks []Mark
	Bytes map[Mark]int // nil: it has no terminal
}

// State is how a delivery stands in the journal in the end.
type State string

// The states in which nothing more is to come, and what Judge makes of them. Kept waits for whoever takes
// the place of an agent that has gone, and for a person: it is neither lost nor on its way.
const (
	Taking    State = "submitted"
	Failed    State = "failed"
	Uncertain State = "uncertain"
	Kept      State = "kept"
	Repeated  State = "repeated" // its id was taken for that of another message
	Replaced  State = "replaced" // by another delivery: a filter had failed at it, and succeeded later
	Open      State = "open"
)

// Kind is a kind of fault. What one excuses stands in judge.go.
type Kind string

// The kinds of faults.
const (
	Kill  Kind = "kill" // of a sidecar
	Tmux  Kind = "tmux" // the end of a server, with all programs in it
	Link  Kind = "link"
	Hub   Kind = "hub"
	Clock Kind = "clock"
	Disk  Kind = "disk"
	Pause Kind = "pause" // of a chat
)

// Span is a time in which something was not as it should be.
type Span struct {
	Kind     Kind
	On       string // the computer; "" is all of them
	From, To time.Time
	What     string
}

// ClockSet is a time in which the clocks of the sidecars were to be wrong by so much.
type ClockSet struct {
	From, To time.Time // the zero To is the end of the run
	Ahead    time.Duration
	Seen     map[string]int // by computer: receipts in its journal that bear such a time
}

// Plan is what a run set out to send.
type Plan struct {
	Rate   float64 // words a second
	Length time.Duration
	Shares map[string]float64 // of the rate, by way
}

// History is a whole run.
type History struct {
	Words    []Word
	Taken    map[string]Taken            // by taker
	Journals map[string]map[Mark]Journal // by computer
	Proofs   map[string]string           // ways without a receipt in a journal: what their acceptance rests on
	Made     []Span                      // the faults
	Deaf     []Span                      // in which what a program prints may go unheard
	Clocks   []ClockSet
	Plan     Plan     // its zero value wants nothing
	Quiet    Span     // without a fault, at the end: what grows is judged strictly there
	Answer   []string // who answers each word that is for them alone
	Vitals   []Vital
}

// Journal is what the journal knows of a word: its deliveries.
type Journal []Delivery

// Delivery is how one stands in the end. Its times are by the machine's clock, as the journal's own are.
type Delivery struct {
	State    State
	Why      string
	Typed    time.Time // it was written down that it may be typed; zero: never
	Ended    time.Time // of the last receipt
	Answered bool
}

// only reports whether all its deliveries stand like that.
func (j Journal) only(state State) bool {
	return !slices.ContainsFunc(j, func(d Delivery) bool { return d.State != state })
}

// whys are what its deliveries say.
func (j Journal) whys() (all []string) {
	for _, d := range j {
		all = append(all, d.Why)
	}
	return all
}
