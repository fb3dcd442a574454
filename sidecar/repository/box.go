package repository

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// PIDFile is the file in which the process that processes a repository's messages writes its process id.
const PIDFile = ".monitor.pid"

const (
	tickEvery   = 500 * time.Millisecond // without a watch, a message is found within this time
	rescan      = 5 * time.Second        // the directory is listed this often even if nothing seems to change
	restAfter   = 10                     // after a list, none follows for this many times as long as it took
	window      = 256                    // undecided messages that may be with the relay at a time
	sayAgain    = 3 * time.Second        // PIDFile is written again this long after somebody removed it
	answerDelay = time.Hour              // if an agent has not answered by then, the author is told
)

// note tells a box of something that happened outside.
type note struct {
	receipt   *message.Receipt
	delivery  *message.Delivery
	cancelled []message.ID
	command   *ran
}

// box serves one repository. The goroutine of run owns all fields but the atomic and the guarded ones.
type box struct {
	peers *Peers
	dir   Dir
	peer  message.Peer
	wish  atomic.Pointer[Wish]
	owned atomic.Bool // this sidecar processes its messages
	away  atomic.Bool // its .aea is not there, or a link is in its place

	mu    sync.Mutex
	notes []note // guarded by mu
	bell  chan struct{}

	yields    bool         // another sidecar or none is to process messages: only end what is under way
	claim     *claim.Claim // nil: another sidecar has it, or nobody
	near      *claim.Claim // says that agents of this sidecar work here
	call      *claim.Claim // asks the holder of the claim to hand it over: a person said yes here
	ledger    *ledger
	config    Config // as last read
	watcher   *fsnotify.Watcher
	claimed   time.Time            // when the claim was last taken
	listed    time.Time            // time of the directory's last change, as of the last list
	scanned   time.Time            // when it was last listed
	rest      time.Time            // no list before: the relay takes nothing, or the last list took long
	unlogged  []string             // lines that agent.log still lacks, in order
	gathers   bool                 // lines and markers are collected, to be written together soon
	unmarked  []string             // messages whose markers are due
	unwritten string               // why agent.log could not be written, as a person was told
	unlisted  string               // why the directory could not be listed, as a person was told
	handed    []handed             // messages handed to the relay that it may not have yet
	backlog   []Entry              // new files of the last list, oldest first
	ways      map[aea.Agent]string // repositories of the authors of the messages being taken in
	read      map[string]Message   // some of those messages, by name
	tries     map[string]try
	unsaid    time.Time   // since when PIDFile has been missing; zero: it is there
	was       os.FileInfo // the directory at the last check; nil: there was none

	jobs    map[message.ID]*job // by our message ids, and by the ids of the messages that agents were given
	flying  int                 // jobs that are with the relay and not decided
	waits   []*wait             // deliveries that wait for the claim, or for a marker
	lane    []*job              // jobs that wait for the agent
	current *job                // the job that the agent has
	aside   []*job              // jobs that the agent would have if the relay did not hold them

	awaited  map[message.ID]string // files that wait for a person's yes, by our message ids
	followed time.Time             // time of the ledger's last change when follow read it
	words    os.FileInfo           // the list of persons' words that was last read; nil: none
	others   []string              // files about which another sidecar asked a person
	owed     []string              // files that another sidecar acknowledged, perhaps without telling the author
	paid     answerLog             // which of their authors were told
	replies  map[message.ID]string // files whose answers are not written yet, by the answers' ids
	noes     map[string]string     // persons' rejections that the ledger lacks: reasons by file
}

// try says how often a file could not be read, and when to try again.
type try struct {
	n    int
	next time.Time
}

func newBox(p *Peers, d Dir, peer message.Peer) *box {
	return &box{
		peers: p, dir: d, peer: peer, bell: make(chan struct{}, 1), jobs: map[message.ID]*job{}, tries: map[string]try{},
		awaited: map[message.ID]string{}, replies: map[message.ID]string{}, noes: map[string]string{},
	}
}

// tell hands a note to the box. It does not block.
func (b *box) tell(n note) {
	b.mu.Lock()
	b.notes = append(b.notes, n)
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

func (b *box) told() []note {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.notes
	b.notes = nil
	return all
}

// run serves the repository until ctx ends.
func (b *box) run(ctx context.Context) {
	defer b.leave()
	b.follow(ctx)
	tick := time.NewTicker(cmp.Or(b.peers.ticks, tickEvery))
	defer tick.Stop()
	for {
		b.keep(ctx)
		b.gathers = true
		for _, n := range b.told() {
			b.heed(ctx, n)
		}
		b.gathers = false
		b.mark(ctx)
		b.keepUp(ctx)
		b.heedWords(ctx)
		b.resume(ctx)
		logged := b.relog(ctx)
		if b.claim != nil && !b.yields && logged {
			b.askAgain(ctx)
			b.acknowledgeAgain(ctx)
			b.look(ctx)
			b.feed(ctx)
		}
		if logged {
			b.work(ctx)
		}
		var changes <-chan fsnotify.Event
		var lost <-chan error
		if b.watcher != nil {
			changes, lost = b.watcher.Events, b.watcher.Errors
		}
		var rested <-chan time.Time
		if rest := b.rest.Sub(b.peers.Now()); rest > 0 && b.listed.IsZero() {
			rested = time.After(rest)
		}
		select {
		case <-ctx.Done():
			return
		case <-b.bell:
		case <-changes:
			b.listed = time.Time{} // a file may have grown, which does not change the directory's time
		case <-lost: // the system lost events; until the error is read, the watch reports nothing
			b.listed = time.Time{}
		case <-rested:
		case <-tick.C:
		}
	}
}

// keep takes the claim on the repository or gives it up: to a sidecar whose agents work here, if this one has
// none, or to one in which a person said yes to a message.
func (b *box) keep(ctx context.Context) {
	same := b.same()
	b.away.Store(!same && b.was == nil)
	if !same {
		b.leave()
		return
	}
	wanted := !b.stopped()
	if !wanted {
		b.putDown(ctx)
	}
	path := b.peers.Enabled.claim(b.dir.Path)
	agents := wanted && len(b.peers.Agents(b.dir.Path)) > 0
	hold(&b.near, agents, path+".agent") // if another sidecar has it, its agents are as good
	if !agents && b.current == nil && !slices.ContainsFunc(b.lane, func(j *job) bool { return j.approved }) && claim.Held(path+".agent") {
		b.shelve() // jobs that still waited for an agent here
	}
	called := b.busy() || len(b.noes) > 0 || slices.ContainsFunc(b.waits, func(w *wait) bool { return w.approved })
	hold(&b.call, called && b.claim == nil, path+".call")
	elsewhere := !agents && claim.Held(path+".agent") || b.call == nil && claim.Held(path+".call")
	b.yields = !wanted || elsewhere
	switch {
	case b.claim != nil && (!b.claim.Intact() || b.yields && !called && b.flying == 0):
		b.leave()
	case b.claim == nil && (called || !b.yields):
		b.own(ctx, path)
	case b.claim != nil:
		b.staysSaid()
	}
}

// staysSaid writes PIDFile again if somebody removed it, as git clean does. It waits until the file has been
// gone for a while, so that a person who removes the whole directory does not find a file in it again.
func (b *box) staysSaid() {
	now := b.peers.Now()
	switch {
	case b.dir.PID() == os.Getpid():
		b.unsaid = time.Time{}
	case b.unsaid.IsZero():
		b.unsaid = now
	case now.Sub(b.unsaid) >= sayAgain:
		b.unsaid = time.Time{}
		_ = b.sayWho()
	}
}

// sayWho writes the id of this process to PIDFile.
func (b *box) sayWho() error {
	return atomicfile.Write(b.dir.at(PIDFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
}

// stopped reports whether a person wants no messages processed. What an agent has been given goes on, and so does
// what a person approved.
func (b *box) stopped() bool { return b.wish.Load().Monitor == MonitorOff }

// busy reports whether a job is waiting or under way.
func (b *box) busy() bool { return len(b.lane) > 0 || b.current != nil }

// hold takes a claim while it is wanted, and gives it back otherwise.
func hold(c **claim.Claim, wanted bool, path string) {
	switch {
	case wanted && *c == nil:
		*c, _ = claim.Take(path)
	case !wanted && *c != nil:
		_ = (*c).Release()
		*c = nil
	}
}

// same reports whether the directory is still the same one, and not a link. Otherwise anybody who works in a
// repository could have the messages of another one processed, and files written elsewhere.
func (b *box) same() bool {
	now, err := os.Lstat(b.dir.at())
	if err != nil || b.dir.there() != nil {
		b.was = nil
		return false
	}
	was := b.was
	b.was = now
	return was == nil || os.SameFile(was, now)
}

// own begins to process messages if no other sidecar does.
func (b *box) own(ctx context.Context, path string) {
	held, err := claim.Take(path)
	if errors.Is(err, claim.ErrHeld) {
		return
	}
	if err != nil {
		b.complain(ctx, err)
		return
	}
	if b.ledger, err = openLedger(b.peers.Enabled.ledger(b.dir.Path), b.dir.has); err != nil {
		_ = held.Release()
		b.complain(ctx, err)
		return
	}
	b.claim, b.claimed, b.listed, b.backlog = held, b.peers.Now(), time.Time{}, nil
	b.follow(ctx)
	b.recordNoes(ctx)
	b.complete(ctx)
	b.inherit()
	if w, err := fsnotify.NewWatcher(); err == nil {
		if err := w.Add(b.dir.at()); err == nil {
			b.watcher = w
		} else {
			_ = w.Close()
		}
	}
	if err := b.sayWho(); err != nil {
		b.complain(ctx, err)
	}
	b.owned.Store(true)
	b.peers.Log.Info("processing messages", "repository", b.dir.Path)
	if why := b.dir.Exposed(); why != "" {
		b.peers.Log.Warn("its .aea is not safe", "repository", b.dir.Path, "why", why)
	}
}

// leave gives up the claim. Jobs that were not begun wait until this sidecar has it again.
func (b *box) leave() {
	hold(&b.near, false, "")
	hold(&b.call, false, "")
	b.shelve()
	if b.claim == nil {
		return
	}
	if b.watcher != nil {
		_ = b.watcher.Close()
		b.watcher = nil
	}
	b.owned.Store(false)
	if b.dir.there() == nil && b.dir.PID() == os.Getpid() { // through a link it would be somebody else's
		_ = os.Remove(b.dir.at(PIDFile))
	}
	b.ledger.close()
	_ = b.claim.Release()
	b.claim, b.ledger = nil, nil
}

// complain logs an error that keeps messages from being processed.
func (b *box) complain(ctx context.Context, err error) {
	if ctx.Err() == nil {
		b.peers.Log.Warn("repository", "path", b.dir.Path, "err", err)
	}
}

// notify tells a person.
func (b *box) notify(ctx context.Context, format string, args ...any) {
	if err := b.peers.Relay.Notify(ctx, b.peer.ID, word(fmt.Sprintf(format, args...))); err != nil {
		b.complain(ctx, err)
	}
}

// log writes to agent.log. A line that cannot be written is written later. Until then a person is told and no
// message is begun, since nothing may be done that the log does not record.
func (b *box) log(ctx context.Context, did, name, became string) {
	b.unlogged = append(b.unlogged, logLine(b.peers.Now(), did, folder+"/"+name, became))
	b.relog(ctx)
}

// logDone is log for a message that the ledger has as done. Lines of many messages may be written together: a
// line lost in a crash is made anew from the ledger.
func (b *box) logDone(ctx context.Context, name, became string) {
	if !b.gathers {
		b.log(ctx, "Processed", name, became)
		return
	}
	b.unlogged = append(b.unlogged, logLine(b.peers.Now(), "Processed", folder+"/"+name, became))
}

// relog writes the lines that are still to be written, and reports whether all of them were.
func (b *box) relog(ctx context.Context) bool {
	if len(b.unlogged) > 0 {
		n, err := b.dir.append(b.unlogged...)
		b.unlogged = b.unlogged[n:]
		if err != nil {
			if ctx.Err() == nil && b.unwritten != err.Error() {
				b.unwritten = err.Error()
				b.complain(ctx, err)
				b.notify(ctx, "%s: agent.log cannot be written, and no message is processed until it can: %v", b.dir.Path, err)
			}
			return false
		}
	}
	b.unwritten = ""
	return true
}

// record writes to the ledger. It does nothing if another sidecar processes the repository.
func (b *box) record(ctx context.Context, one line) {
	if b.ledger == nil {
		return
	}
	one.By = b.peers.By
	if err := b.ledger.set(one); err != nil {
		b.complain(ctx, err)
	}
}

// look lists the directory if it may have changed.
func (b *box) look(ctx context.Context) {
	if len(b.backlog) > 0 || b.peers.Now().Before(b.rest) {
		return
	}
	info, err := os.Stat(b.dir.at())
	if err != nil {
		return
	}
	now := b.peers.Now()
	retry := false
	for _, t := range b.tries {
		retry = retry || !now.Before(t.next)
	}
	marks, _ := os.Stat(b.dir.at(processed))
	changed := info.ModTime()
	if marks != nil && marks.ModTime().After(changed) && b.flying == 0 {
		changed = marks.ModTime() // somebody else made or removed a marker
	}
	// A watch may lose events, and more files may have come within the granularity of the directory's time.
	if !retry && !changed.After(b.listed) && now.Sub(b.scanned) < rescan {
		return
	}
	b.scanned = now
	began := time.Now()
	all, err := b.dir.List()
	// However fast files come into a directory of thousands, most of the time remains for processing them.
	b.rest = now.Add(min(restAfter*time.Since(began), tickEvery))
	if err != nil {
		if b.unlisted != err.Error() { // nothing is processed until listing works again
			b.unlisted = err.Error()
			b.notify(ctx, "%s: messages cannot be listed, and none is processed: %v", b.dir.Path, err)
		}
		return
	}
	b.listed, b.unlisted = changed, ""
	if now.Sub(changed) < 20*time.Millisecond {
		b.listed = changed.Add(-time.Nanosecond)
	}
	b.triedHere(all)
	slices.Reverse(all)
	b.backlog = slices.DeleteFunc(all, func(e Entry) bool { return !b.fresh(e) })
}

// triedHere forgets what was to be tried again and has gone since: it would be looked for at each tick.
func (b *box) triedHere(all []Entry) {
	if len(b.tries) == 0 {
		return
	}
	there := map[string]bool{}
	for _, e := range all {
		there[e.Name] = true
	}
	maps.DeleteFunc(b.tries, func(name string, _ try) bool { return !there[name] })
}

// fresh reports whether there is something to do about a file.
func (b *box) fresh(e Entry) bool {
	one, known := b.ledger.known[e.Name]
	if known && one.away {
		b.ledger.back(one, b.unchanged(one, e))
		one, known = b.ledger.known[e.Name]
	}
	if t, tried := b.tries[e.Name]; tried {
		return !b.peers.Now().Before(t.next)
	}
	switch {
	case !known:
		return true
	case one.Stage == done:
		return !e.Processed // its marker has gone
	case one.Stage == marked:
		return !e.Processed
	case one.Stage == refused:
		return one.Hash != e.version()
	case one.Stage == flagged, one.Stage == left:
		return false
	case one.Stage == acting && one.Held != "" && one.By != b.peers.By:
		return e.Processed // the agent there did not get it: that sidecar still has it
	}
	return b.jobs[one.Our] == nil
}

// unchanged reports whether a file still holds the message that the ledger knows. Writing it anew with other
// whitespace or line ends does not make it another message.
func (b *box) unchanged(one line, e Entry) bool {
	if one.Stage == refused {
		return one.Hash == e.version()
	}
	text, _, err := foreign.ReadOurs(b.dir.at(e.Name), aea.MaxMessage)
	sum := sha256.Sum256(text)
	if m, wrong := aea.Read(e.Name, text); err == nil && wrong == nil && m.ID != "" && m.ID == one.ID {
		return true
	}
	return err != nil || one.Hash == hex.EncodeToString(sum[:]) // a file that cannot be read now is not taken for another message
}
