package repository

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Relay is what repositories need from the relay.
type Relay interface {
	Join(ctx context.Context, peer message.Peer) (message.Peer, error)
	Receive(ctx context.Context, m message.Envelope) (fresh bool, err error)
	Hand(ctx context.Context, m message.Envelope, after message.ID) (wait func() (fresh bool, err error))
	Report(ctx context.Context, r message.Receipt) error
	Gone(ctx context.Context, id message.ID, why message.Reason) error
	Notify(ctx context.Context, id message.ID, text string) error
	Elsewhere(ctx context.Context, id message.ID) error
}

// Journal is what Peers asks the sidecar's journal: what became of a message before this run.
type Journal interface {
	Receipts(ctx context.Context, id message.ID) ([]message.Receipt, error)
	Verdicts(ctx context.Context, id message.ID) ([]message.Verdict, error)
	Message(ctx context.Context, id string) (message.Envelope, error)
}

// Peers makes repositories peers of the relay: it is the sink for that kind of peer, and processes their
// messages. Run has a goroutine for each repository, which owns its ledger, its watches and its jobs, and one
// that writes messages into repositories.
type Peers struct {
	Enabled  Enabled
	Registry Registry // finds agents who do not say where their repository is
	By       string   // the sidecar's name in ledgers
	User     string   // named in answers, beside their agent
	Relay    Relay
	Journal  Journal
	// Agents returns the sessions that work in a repository, the one to ask first in front. It must not block.
	Agents func(repository string) []message.Peer
	// Command returns the command that answers if there is no agent; nil for none. Only init.lua names one.
	Command func() []string
	// Left returns the peers that an earlier life of the relay knew, so that repositories that were disabled
	// meanwhile end. nil: none.
	Left func() []message.Peer
	// Runs reports whether another sidecar, given by its name in ledgers, runs.
	Runs func(by string) bool
	Log  *slog.Logger
	Now  func() time.Time
	// Grace is how long after the start of Run, and after a repository was taken over, an agent may still turn
	// up. A sidecar that has only just started knows no panes yet, and a sidecar that was killed, in whose
	// panes an agent works, is back in a moment. Until then nobody is told that there is no agent.
	Grace time.Duration
	ticks time.Duration // for tests; otherwise tickEvery

	answers  answerLog // owned by the goroutine that writes
	mu       sync.Mutex
	boxes    map[string]*box          // by path; guarded by mu, like all that follows
	byPeer   map[message.ID]*box      // by the peer's id
	strange  message.ID               // the peer that stands for all authors whose repositories are not enabled
	about    map[message.ID]*box      // the box that watches a message
	outgoing []message.Delivery       // to be written into a repository, or told to its box
	failing  map[message.ID]time.Time // those that could not be written, and when to try again
	wake     chan struct{}            // there is something outgoing
	since    time.Time                // the start of Run
	met      bool                     // all repositories that there were at the start are known
}

// unknown is the key of the peer that stands for all authors whose repositories are not enabled. It is not a
// path, so no repository has it.
const unknown = "unknown"

// every is how often the persons' wishes are read.
const every = 500 * time.Millisecond

func (p *Peers) init() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes == nil {
		p.boxes, p.byPeer, p.about = map[string]*box{}, map[message.ID]*box{}, map[message.ID]*box{}
		p.failing, p.wake = map[message.ID]time.Time{}, make(chan struct{}, 1)
	}
}

// Run serves the repositories that a person has enabled, unless another sidecar does, until ctx ends.
func (p *Peers) Run(ctx context.Context) error {
	p.init()
	p.mu.Lock()
	p.since = p.Now()
	p.mu.Unlock()
	var all sync.WaitGroup
	defer all.Wait()
	p.answers.path = p.Enabled.answerLog()
	all.Go(func() { p.write(ctx) })
	ends := map[string]context.CancelFunc{}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		wishes, err := p.Enabled.List()
		if err == nil && len(wishes) > 0 {
			err = p.meet(ctx)
		}
		if err != nil && ctx.Err() == nil {
			p.Log.Warn("repositories", "err", err)
		} else if err == nil {
			if !p.ready() {
				p.leave(ctx, wishes)
			}
			p.follow(ctx, wishes, ends, all.Go)
			p.known()
		}
		select {
		case <-ctx.Done():
			all.Wait()
			p.writeOut(ctx)
			return nil
		case <-tick.C:
		}
	}
}

// meet makes the peer join that stands for all authors whose repositories are not enabled.
func (p *Peers) meet(ctx context.Context) error {
	p.mu.Lock()
	joined := p.strange != ""
	p.mu.Unlock()
	if joined {
		return nil
	}
	one, err := p.Relay.Join(ctx, message.Peer{Kind: message.PeerRepository, Key: unknown, Name: "unknown-repository"})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.strange = one.ID
	return nil
}

// known notes that all repositories are known, so that what an earlier run was to write may go.
func (p *Peers) known() {
	p.mu.Lock()
	p.met = true
	p.mu.Unlock()
	p.stir()
}

// leave ends the repositories of an earlier run that are no longer enabled. Otherwise messages for them would
// wait until they expire, and their names would stay taken.
func (p *Peers) leave(ctx context.Context, wishes []Wish) {
	if p.Left == nil {
		return
	}
	wishes = once(wishes)
	for _, one := range p.Left() {
		if one.Kind != message.PeerRepository || one.Key == unknown && len(wishes) > 0 ||
			slices.ContainsFunc(wishes, func(w Wish) bool { return w.Path == one.Key }) {
			continue
		}
		p.gone(ctx, one.ID, one.Key)
	}
}

// gone ends a repository that is no longer enabled.
func (p *Peers) gone(ctx context.Context, id message.ID, path string) {
	if err := p.Relay.Gone(ctx, id, "repository is no longer enabled"); err != nil && ctx.Err() == nil {
		p.Log.Warn("repository", "path", path, "err", err)
	}
}

// follow begins to serve the repositories that are wished for, and ends those that no longer are.
func (p *Peers) follow(ctx context.Context, wishes []Wish, ends map[string]context.CancelFunc, run func(func())) {
	wishes = once(wishes)
	for _, w := range wishes {
		p.mu.Lock()
		b := p.boxes[w.Path]
		p.mu.Unlock()
		if b != nil {
			b.wish.Store(&w)
			continue
		}
		d := Dir{w.Path} // it may be away: messages for it wait until it is back
		peer, err := p.Relay.Join(ctx, message.Peer{Kind: message.PeerRepository, Key: d.Path, Name: w.Agent})
		if err != nil {
			if ctx.Err() == nil {
				p.Log.Warn("repository", "path", d.Path, "err", err)
			}
			continue
		}
		b = newBox(p, d, peer)
		b.wish.Store(&w)
		p.mu.Lock()
		p.boxes[d.Path], p.byPeer[peer.ID] = b, b
		p.mu.Unlock()
		inner, end := context.WithCancel(ctx)
		ends[d.Path] = end
		run(func() { b.run(inner) })
	}
	for path, end := range ends {
		if slices.ContainsFunc(wishes, func(w Wish) bool { return w.Path == path }) {
			continue
		}
		end()
		delete(ends, path)
		p.mu.Lock()
		b := p.boxes[path]
		delete(p.boxes, path)
		delete(p.byPeer, b.peer.ID)
		p.mu.Unlock()
		p.gone(ctx, b.peer.ID, path)
	}
}

// once drops the wishes for a directory that another wish names by another name, as after a move that left a
// link: it would be processed twice. The wish with the directory's own name is kept. An .aea that is itself a
// link, which anybody who works there can make, is no double of another repository.
func once(wishes []Wish) []Wish {
	linked := func(w Wish) bool {
		own, err := filepath.EvalSymlinks(w.Path)
		return err == nil && own != w.Path
	}
	var seen []os.FileInfo
	twice := func(w Wish) bool {
		d := Dir{w.Path}
		info, err := os.Lstat(d.at())
		if err != nil || d.there() != nil {
			return false
		}
		known := slices.ContainsFunc(seen, func(one os.FileInfo) bool { return os.SameFile(one, info) })
		seen = append(seen, info)
		return known
	}
	own, links := slices.DeleteFunc(slices.Clone(wishes), linked), slices.DeleteFunc(slices.Clone(wishes), func(w Wish) bool { return !linked(w) })
	return slices.DeleteFunc(append(own, links...), twice)
}

// Served returns the repositories whose messages this sidecar processes, and whether a person wants it to stay
// for one of them.
func (p *Peers) Served() (paths []string, stays bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, b := range p.boxes {
		if b.owned.Load() {
			paths = append(paths, path)
			stays = stays || b.wish.Load().Monitor == MonitorOn
		}
	}
	slices.Sort(paths)
	return paths, stays
}

// Away reports whether the directory of a repository is missing. Messages for it wait until it is back.
func (p *Peers) Away(id message.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.byPeer[id]
	return b != nil && b.away.Load()
}

// sender returns the peer that stands for an author. If a person has enabled the repository at path, and it is
// not the one at not, that is its peer; otherwise known is false and the peer is the one for all unknown
// authors.
func (p *Peers) sender(path, not string) (id message.ID, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.boxes[path]; b != nil && path != not {
		return b.peer.ID, true
	}
	return p.strange, false
}

// home returns where the repository that sent a message is. If it is away, that is the place to which it was
// moved, if a person has enabled that place as well: a log there says that the message was sent from there.
func (p *Peers) home(of Dir, sent string) Dir {
	if of.there() == nil {
		return of
	}
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.boxes))
	p.mu.Unlock()
	i := slices.IndexFunc(all, func(b *box) bool { return b.dir != of && b.dir.there() == nil && p.Enabled.Sent(b.dir, sent) })
	if i < 0 {
		return of
	}
	return all[i].dir
}

// awaited reports whether a repository was enabled only just now and is not a peer yet. Its author must not be
// taken for one to whom no answer can go.
func (p *Peers) awaited(path string) bool {
	if path == "" {
		return false
	}
	p.mu.Lock()
	known := p.boxes[path] != nil
	p.mu.Unlock()
	if known {
		return false
	}
	if _, enabled := p.Enabled.Find(path); !enabled {
		return false
	}
	wishes, err := p.Enabled.List()
	return err == nil && slices.ContainsFunc(once(wishes), func(w Wish) bool { return w.Path == path }) // a second name of a repository never becomes a peer
}

// ready reports whether all repositories that there were at the start are served.
func (p *Peers) ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

// early reports whether an agent may still turn up in a repository whose claim was taken at that time.
func (p *Peers) early(claimed time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Now()
	return now.Sub(p.since) < p.Grace || now.Sub(claimed) < p.Grace
}

// watch tells a box what becomes of a message; unwatch ends that.
func (p *Peers) watch(id message.ID, b *box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.about[id] = b
}

func (p *Peers) unwatch(id message.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.about, id)
}

// Hear passes receipts on to the boxes that watch their messages. It does not block.
func (p *Peers) Hear(events []message.Event) {
	p.init()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range events {
		if e.Kind != "receipt" || e.Receipt == nil {
			continue
		}
		if b := p.about[e.Receipt.Message]; b != nil {
			b.tell(note{receipt: e.Receipt})
		}
	}
}

// Deliver takes deliveries. A message that came as a file into that very repository is acted upon; anything
// else is written there.
func (p *Peers) Deliver(ds ...message.Delivery) {
	p.init()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outgoing = append(p.outgoing, ds...)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// later puts a delivery back, to be looked at again in a while.
func (p *Peers) later(d message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outgoing = append(p.outgoing, d)
}

// Cancel takes back deliveries about which nothing was done.
func (p *Peers) Cancel(ids []message.ID, _ message.Reason) {
	p.init()
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := func(d message.Delivery) bool { return slices.Contains(ids, d.ID) }
	p.outgoing = slices.DeleteFunc(p.outgoing, gone)
	for _, id := range ids {
		delete(p.failing, id)
	}
	for _, b := range p.boxes {
		b.tell(note{cancelled: ids})
	}
}

// Forget does nothing: when a peer has ended, so has its box.
func (p *Peers) Forget(message.ID) {}

// stir wakes the goroutine that writes, since a repository may be known by now.
func (p *Peers) stir() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
