// Package soaktest judges a long run of the sidecar under faults. The senders write down what was
// accepted, the takers what arrived, and Judge compares both with the sidecar's own journal. The
// package knows nothing of how the sidecar works. The run itself is this package's test.
package soaktest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Answer is what a sender was told about one word.
type Answer string

// The answers. Said is for a program in a pane and for a bare connection, which nobody answers.
const (
	Unknown  Answer = "unknown" // asked repeatedly, and never told
	Accepted Answer = "accepted"
	Refused  Answer = "refused"
	Said     Answer = "said"
)

// Mark identifies a word by a sign in its text, and in no other text.
type Mark struct {
	Stream string // one sender's words to one taker, whose order counts
	Seq    int
}

// String returns the mark as it stands in a text. No client and no filter changes it.
func (m Mark) String() string { return fmt.Sprintf("(%s.%06d)", m.Stream, m.Seq) }

var marks = regexp.MustCompile(`\(([a-z][a-z0-9-]*)\.([0-9]{6})\)`)

// Marks returns the marks in a text, in its order.
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
	To     string // the taker
	Answer Answer
	Why    string // why it was refused
	Tries  int
	Begun  time.Time
	Told   time.Time
}

// Ledger is the record of the senders, before and after each answer. It is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex
	words []*Word
}

// Begin records a word that is about to be sent.
func (l *Ledger) Begin(way, from, to string, m Mark) *Word {
	w := &Word{Mark: m, Way: way, From: from, To: to, Answer: Unknown, Begun: time.Now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words = append(l.words, w)
	return w
}

// Told records the answer to the sender of a word.
func (l *Ledger) Told(w *Word, a Answer, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Answer, w.Why, w.Told = a, why, time.Now()
}

// Words returns the words so far.
func (l *Ledger) Words() (all []Word) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.words {
		all = append(all, *w)
	}
	return all
}

// Taken is what one taker has received: the marks in the order in which they came, and how often
// the bytes of each came to its terminal, whatever happened to them there.
type Taken struct {
	Marks []Mark
	Bytes map[Mark]int // nil: it has no terminal
}

// State is the final state of a delivery in the journal.
type State string

// The final states, and what Judge makes of them. Kept waits for the successor of an agent that has
// gone, or for a person: it is neither lost nor on its way.
const (
	Taking    State = "submitted"
	Failed    State = "failed"
	Uncertain State = "uncertain"
	Kept      State = "kept"
	Repeated  State = "repeated" // its id was taken for that of another message
	Replaced  State = "replaced" // replaced by another delivery: a filter had failed on it, and succeeded later
	Open      State = "open"
)

// Kind is a kind of fault. excuse.go says what each kind excuses.
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

// Span is a time in which something was wrong.
type Span struct {
	Kind     Kind
	On       string // the computer; "" is all of them
	From, To time.Time
	What     string
}

// ClockSet is a time in which the clocks of the sidecars were to be ahead by so much.
type ClockSet struct {
	From, To time.Time // the zero To is the end of the run
	Ahead    time.Duration
	Seen     map[string]int // by computer: receipts in its journal with such a time
}

// Plan is what a run planned to send.
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
	Proofs   map[string]string           // ways without a receipt in a journal: the proof of their acceptance
	Made     []Span                      // the faults
	Deaf     []Span                      // times in which a program's output may go unheard
	Clocks   []ClockSet
	Plan     Plan     // its zero value asks for nothing
	Quiet    Span     // without faults, at the end: growth is judged strictly there
	Answer   []string // those who answer each word that is for them alone
	Vitals   []Vital
}

// Journal is the journal's record of a word: its deliveries.
type Journal []Delivery

// Delivery is the final state of a delivery. Its times are by the machine's clock, as the journal's
// own are.
type Delivery struct {
	State    State
	Why      string
	Typed    time.Time // when permission to type it was recorded; zero: never
	Ended    time.Time // of the last receipt
	Answered bool
}

// only reports whether all deliveries have that state.
func (j Journal) only(state State) bool {
	return !slices.ContainsFunc(j, func(d Delivery) bool { return d.State != state })
}

// whys returns the reasons of its deliveries.
func (j Journal) whys() (all []string) {
	for _, d := range j {
		all = append(all, d.Why)
	}
	return all
}
