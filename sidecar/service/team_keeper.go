package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// How often the inboxes of members with sessions here are read, and how long a teammate that has agreed to end
// may take to finish its turn.
const (
	inboxEvery = time.Second
	lastTurn   = 10 * time.Second
	endAgain   = 10 * time.Second // before a failed end is tried again
	unseenTurn = 5 * time.Second  // a turn shows within this time
	maxVouched = 4096             // lines whose author is remembered: a broadcast goes to many

	typedWithin = 2 * time.Second // for a typed text to be seen to be submitted
)

// keeper is the state of Run's goroutine. Only once, nudge, ended and asked are used by others.
type keeper struct {
	once   sync.Once
	nudge  chan struct{}
	said   map[string]team.Status // the status in the files, by seat
	stamps map[string]string      // of inboxes in which nothing is left to be done, by seat
	wrong  map[string]int         // number of lines in an inbox that are no message, by seat
	ending map[string]bool        // handshakes whose session is being ended, by id
	ended  chan string            // handshakes for which that is over
	joined map[string]message.ID  // the peers that stand for authors of lines, by team and name
	warned map[string]string      // the reason for each current failure
	times  map[message.ID]int     // how often a line that its time does not identify was removed, as far as that was looked up
	tries  map[message.ID]int     // how often a line expired and was handed over again, by its first id
	typing map[string]bool        // inboxes with a line that is typed and not yet submitted, by seat

	programs map[string][]team.Program // the recorded programs, by team
	forged   map[string]bool           // teams whose record somebody changed, which a person was told
	asked    chan typingQuery
}

// typingQuery asks whether a line of an inbox is typed and not yet submitted, after submitted lines have been
// removed.
type typingQuery struct {
	seat  string
	reply chan<- bool // buffered
}

func (k *keeper) init() {
	k.once.Do(func() {
		k.nudge = make(chan struct{}, 1)
		k.said, k.stamps, k.wrong = make(map[string]team.Status), make(map[string]string), make(map[string]int)
		k.ending, k.ended, k.joined = make(map[string]bool), make(chan string, 16), make(map[string]message.ID)
		k.warned, k.times, k.tries = make(map[string]string), make(map[message.ID]int), make(map[message.ID]int)
		k.typing, k.asked = make(map[string]bool), make(chan typingQuery)
		k.programs, k.forged = make(map[string][]team.Program), make(map[string]bool)
	})
}

// wake makes the keeper look at once.
func (k *keeper) wake() {
	k.init()
	select {
	case k.nudge <- struct{}{}:
	default:
	}
}

// Run keeps the files of teams until ctx ends: it writes the statuses of members and the lines that handshakes
// owe, and has new lines typed. It begins with what an earlier run owed.
func (s *Teams) Run(ctx context.Context) error {
	k := &s.keeper
	k.init()
	defer s.release(relay.Protocols{}) // the next user of the claims in this process needs them
	var ends sync.WaitGroup
	defer ends.Wait()
	tick := time.NewTicker(inboxEvery)
	defer tick.Stop()
	for asks := (typingQuery{}); ; {
		rung := s.Bell.Wait()
		s.look(ctx, s.Relay.Protocols(), &ends)
		if asks.reply != nil {
			asks.reply <- k.typing[asks.seat]
			asks = typingQuery{}
		}
		select {
		case <-ctx.Done():
			return nil
		case asks = <-k.asked:
		case <-rung:
		case <-k.nudge:
		case id := <-k.ended:
			delete(k.ending, id)
		case <-tick.C:
		}
	}
}

func (s *Teams) look(ctx context.Context, p relay.Protocols, ends *sync.WaitGroup) {
	s.programs(ctx, p)
	for _, seat := range p.Seats {
		if seat.Name != team.Lead && !seat.Gone { // an earlier life may have begun the team
			s.warn(s.hold(seat.Dir), "claim to a team", "team", seat.Dir)
		}
		if seat.Name != team.Lead {
			s.warn(s.tell(ctx, seat, p), "status of a teammate", "team", seat.Dir, "name", seat.Name)
		}
		if seat.Holder.Peer != "" && !seat.Gone {
			s.warn(s.deliver(ctx, seat), "inbox of a teammate", "team", seat.Dir, "name", seat.Name)
		}
	}
	for _, one := range p.Affairs {
		for _, what := range one.Owed {
			if what == relay.OwedEnd {
				continue
			}
			s.warn(s.write(ctx, one, what, true), "write what a handshake owes", "request", one.Handshake.ID)
		}
		if slices.Contains(one.Owed, relay.OwedEnd) && !slices.Contains(one.Owed, relay.OwedAnswer) && !s.keeper.ending[one.Handshake.ID] {
			s.keeper.ending[one.Handshake.ID] = true
			ends.Go(func() { s.end(ctx, one) })
		}
	}
	s.part(ctx, p)
	if s.spawning.TryLock() { // a running spawn holds its claim, and has no seat yet
		s.release(s.Relay.Protocols())
		s.spawning.Unlock()
	}
}

// warn logs a failure, once for as long as it fails in the same way: each second the operation is tried again,
// and must not fill the log. For an error of the system only that error counts, since names of temporary files
// differ each time.
func (s *Teams) warn(err error, what string, of ...any) {
	key := what + fmt.Sprintf("%q", of)
	if err == nil {
		delete(s.keeper.warned, key)
		return
	}
	why := err.Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		why = errno.Error()
	}
	if s.keeper.warned[key] != why {
		s.keeper.warned[key] = why
		s.Log.Warn(what, append(of, "err", err)...)
	}
}

// part ends the peers that stand for authors of lines in a team of which nobody is left here to write to: they
// would otherwise stay peers for ever, and keep their names.
func (s *Teams) part(ctx context.Context, p relay.Protocols) {
	for one := range s.Relay.Snapshot().Present() {
		if one.Kind != message.PeerMember || slices.ContainsFunc(p.Seats, func(seat relay.Seat) bool {
			return seat.Name != team.Lead && strings.HasPrefix(one.Key, memberKey(seat.Dir, ""))
		}) {
			continue
		}
		s.warn(s.Relay.Gone(ctx, one.ID, "nobody of its team has a session here"), "end a member", "peer", one.ID)
	}
}

// tell writes a teammate's status to the team's file if the file has another one. For a teammate that has
// ended, it does so for the last time.
func (s *Teams) tell(ctx context.Context, seat relay.Seat, p relay.Protocols) error {
	d, key := team.Dir{Path: seat.Dir}, seatKey(seat.Dir, seat.Name)
	status := team.Idle
	switch {
	case seat.Gone && seat.End == relay.EndKilled:
		status = team.Killed
	case seat.Gone && seat.End == relay.EndApproved:
		if slices.ContainsFunc(p.Affairs, func(a relay.Affair) bool {
			return a.Handshake.Answerer.Peer == seat.Holder.Peer && slices.Contains(a.Owed, relay.OwedEnd)
		}) {
			return nil // not all of its processes are known to be gone yet
		}
		status = team.Ended
	case atWork(seat):
		status = team.Working
	}
	if s.keeper.said[key] != status {
		if !s.spawning.TryLock() {
			return nil // a spawn writes its own status first; the next round writes this one
		}
		err := d.SetStatus(seat.Name, status)
		if _, unknown := errors.AsType[*team.UnknownError](err); unknown && !seat.Gone {
			err = d.Enlist(seat.Name, seat.Role) // it was started, and the sidecar ended before that was written
			status = team.Working
		} else if unknown || seat.Gone && errors.Is(err, fs.ErrNotExist) {
			err = nil // there is no entry to update: the file is another one, or the whole team was removed
		}
		s.spawning.Unlock()
		if err != nil {
			return err
		}
		s.keeper.said[key] = status
		if status == team.Ended {
			s.gap("", "end written")
		}
	}
	if !seat.Gone {
		return nil
	}
	delete(s.keeper.said, key)
	delete(s.keeper.stamps, key)
	return s.Relay.SeatLeft(ctx, seat.Dir, seat.Name, seat.Holder.Peer)
}

// write puts a line of a handshake into its reader's inbox, and notes that it is there. again says that it may
// be there already.
func (s *Teams) write(ctx context.Context, one relay.Affair, what relay.Owed, again bool) error {
	key := one.Handshake.ID + string(what)
	s.lines.Lock()
	defer s.lines.Unlock()
	if s.wrote[key] { // it is still owed because its writer was cut off before that was noted
		return s.Relay.Settled(context.WithoutCancel(ctx), one.Handshake.ID, what)
	}
	to, m := line(one.Handshake, what)
	d, there := team.Dir{Path: one.Team}, false
	var err error
	if again {
		there, err = d.Has(to, m)
	}
	if err == nil && !there {
		err = d.Send(to, m)
	}
	if _, unknown := errors.AsType[*team.UnknownError](err); unknown && again && s.forsaken(one) {
		err = nil
	}
	if err != nil {
		return teamWire(fmt.Errorf("request %s is %s, but: %w", one.Handshake.ID, one.Handshake.State, err))
	}
	if s.wrote == nil {
		s.wrote = make(map[string]bool)
	}
	s.wrote[key] = true
	s.gap(one.Handshake.ID, string(what)+" written")
	err = s.Relay.Settled(context.WithoutCancel(ctx), one.Handshake.ID, what)
	s.keeper.wake()
	return err
}

// forsaken reports whether a line of a handshake has no reader any more: its team was removed, or its teammate
// has ended.
func (s *Teams) forsaken(one relay.Affair) bool {
	if _, err := team.Open(one.Team); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	mate := one.Handshake.Asker
	if one.Handshake.Kind == handshake.Shutdown {
		mate = one.Handshake.Answerer
	}
	p, ok := s.Relay.Snapshot().Peer(mate.Peer)
	return !ok || p.Ended != nil
}

// deliver has the lines of an inbox typed into its reader's pane, and removes those that were submitted.
func (s *Teams) deliver(ctx context.Context, seat relay.Seat) error {
	d, key := team.Dir{Path: seat.Dir}, seatKey(seat.Dir, seat.Name)
	delete(s.keeper.typing, key)
	stamp := d.Stamp(seat.Name)
	if stamp == "" || stamp == s.keeper.stamps[key] {
		return nil
	}
	all, wrong, err := d.Peek(seat.Name)
	if err != nil {
		return err
	}
	if wrong > s.keeper.wrong[key] {
		_ = s.Relay.NotifyOf(ctx, "", fmt.Sprintf("inbox of %s has %d lines that are no message, or too long: intercom team inbox %[1]s --dir %[3]s puts them aside", seat.Name, wrong, seat.Dir))
	}
	s.keeper.wrong[key] = wrong
	done, seen, under := map[string]int{}, map[string]int{}, false // how many of each line are done, and how many were seen
	var failed []error
	for _, m := range all {
		line, nth := string(m.Line), 0
		if momentless(m) { // equal lines are different messages
			nth = seen[line]
			seen[line]++
		}
		state := message.Submitted
		former, err := s.forFormer(ctx, seat, m)
		if former {
			s.Log.Info("a line of a handshake goes untold: it is for the session that had the seat before", "team", seat.Dir, "name", seat.Name, "request", m.RequestID)
		} else if err == nil {
			state, err = s.handOver(ctx, seat, m, nth)
		}
		if err != nil { // the lines behind it have other authors, and go on
			failed, under = append(failed, err), true
			continue
		}
		if (state == message.Submitted || state == message.Answered) && (!momentless(m) || done[line] == nth) {
			done[line]++ // remove the first ones, so that those behind keep their numbers
		}
		under = under || !state.Final() && state != message.Submitted
		if state == message.Typed {
			s.keeper.typing[key] = true
		}
	}
	if len(done) == 0 {
		if !under {
			s.keeper.stamps[key] = stamp // nothing is left to be done with these lines
		}
		return errors.Join(failed...)
	}
	var taken []team.Message
	err = d.Remove(seat.Name, func(m team.Message) bool {
		line := string(m.Line)
		if done[line] == 0 { // a line that came in the meantime is another one
			return false
		}
		done[line]--
		taken = append(taken, m)
		return true
	})
	if err == nil {
		err = s.taken(ctx, seat, taken)
	}
	return errors.Join(append(failed, err)...)
}

// awaitTyped waits until the typed lines of an inbox have been removed from it: their reader may read them in
// its pane, and then ask for its inbox before the sidecar has seen that they were submitted. A line that is not
// seen to be submitted within typedWithin stays; typing reports that there is one.
func (s *Teams) awaitTyped(ctx context.Context, dir, name string) (typing bool) {
	ctx, cancel := context.WithTimeout(ctx, typedWithin)
	defer cancel()
	for s.keeper.init(); ; {
		rung, reply := s.Bell.Wait(), make(chan bool, 1)
		select {
		case s.keeper.asked <- typingQuery{seatKey(dir, name), reply}:
		case <-ctx.Done():
			return typing
		}
		select {
		case typing = <-reply:
		case <-ctx.Done():
			return typing
		}
		if !typing {
			return false
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return true
		}
	}
}

// taken records that lines were removed, if their time does not tell them from others of the same text: so the
// next one of these is typed too. It runs after the removal, so that a crash in between types none twice.
func (s *Teams) taken(ctx context.Context, seat relay.Seat, all []team.Message) error {
	more := map[message.ID]bool{}
	for _, m := range all {
		if momentless(m) {
			first := typedID(seat, m, 0, 0)
			s.keeper.times[first]++
			more[first] = true
		}
	}
	for first := range more {
		if err := s.Relay.LineTaken(ctx, first, s.keeper.times[first]); err != nil {
			return err
		}
	}
	return nil
}

// momentless reports whether another line of the same text may have come at another time.
func momentless(m team.Message) bool { return m.At.IsZero() || m.At.Nanosecond() == 0 }

// typedID returns the id of a line as a message. It is the same in each life, so that the line is typed once.
// It differs for a line of the same text that comes after others were removed (times), and for each new try of
// one that expired (try).
func typedID(seat relay.Seat, m team.Message, times, try int) message.ID {
	parts := []string{"team", seat.Dir, seat.Name, string(seat.Holder.Peer), string(m.Line)}
	if times > 0 || try > 0 {
		parts = append(parts, strconv.Itoa(times), strconv.Itoa(try))
	}
	return message.DerivedID(m.At, parts...)
}

// knownLines is for how many lines keeper remembers how often they were removed.
const knownLines = 10_000

// before returns how often the same line was removed before.
func (s *Teams) before(ctx context.Context, seat relay.Seat, m team.Message) (times int, err error) {
	if !momentless(m) {
		return 0, nil
	}
	first := typedID(seat, m, 0, 0)
	if times, known := s.keeper.times[first]; known {
		return times, nil
	}
	if len(s.keeper.times) >= knownLines {
		clear(s.keeper.times) // they can be read from the journal again
	}
	kind, key := relay.LineRecord(first)
	r, err := s.Journal.Record(ctx, kind, key)
	if err == nil {
		times, err = relay.ReadLine(r)
	}
	if err == nil || errors.Is(err, journal.ErrNotFound) {
		s.keeper.times[first] = times
		return times, nil
	}
	return 0, err
}

// handOver gives a line to the relay, once, and returns the state of its delivery. An expired line is given
// again for as long as its handshake waits for it: its reader's turn lasts longer than a message may wait.
// Among equal lines of the inbox, the line is the nth.
func (s *Teams) handOver(ctx context.Context, seat relay.Seat, m team.Message, nth int) (message.ReceiptState, error) {
	times, err := s.before(ctx, seat, m)
	if err != nil {
		return "", err
	}
	times += nth
	for first := typedID(seat, m, times, 0); ; s.keeper.tries[first]++ {
		state, err := s.handOnce(ctx, typedID(seat, m, times, s.keeper.tries[first]), seat, m)
		if err != nil || state != message.Expired {
			return state, err
		}
		one, step, err := s.step(ctx, m, seat)
		if err != nil || step == "" || step == relay.OwedRequest && !one.Handshake.Open() {
			return state, err
		}
	}
}

// handOnce gives a line to the relay under an id, unless the journal has that id already.
func (s *Teams) handOnce(ctx context.Context, id message.ID, seat relay.Seat, m team.Message) (message.ReceiptState, error) {
	_, err := s.Journal.Message(ctx, string(id))
	if errors.Is(err, journal.ErrNotFound) {
		err = s.send(ctx, id, seat, m)
	}
	if err != nil {
		return "", err
	}
	all, err := s.Journal.Receipts(ctx, id)
	if err != nil || len(all) == 0 {
		return message.Queued, err
	}
	return all[len(all)-1].State, nil
}

// send gives a line to the relay, as a message from its proven author: for a step of a handshake, that is
// known. For other lines the author is the one that the file names, and anybody can write to the file.
func (s *Teams) send(ctx context.Context, id message.ID, seat relay.Seat, m team.Message) error {
	by, step, err := s.author(ctx, m, seat)
	if err != nil {
		return err
	}
	e := message.Envelope{ID: id, Type: m.Type, Body: spoken(m, step), Meta: map[string]string{"team": seat.Dir, "from": m.From}}
	if strings.TrimSpace(e.Body) == "" {
		e.Body = fmt.Sprintf("(%s of '%s' without a word)", m.Type, m.From)
	}
	if m.RequestID != "" {
		e.Meta["request_id"] = m.RequestID
	}
	if by.Kind != 0 {
		_, err := s.Relay.Do(ctx, relay.Send{By: by, To: string(seat.Holder.Peer), Message: e})
		return err
	}
	from, err := s.writer(ctx, seat.Dir, m.From)
	if err != nil {
		return err
	}
	e.From, e.To = message.Address{Peer: from}, []message.Address{{Peer: seat.Holder.Peer}}
	_, err = s.Relay.Receive(ctx, e)
	return err
}

// author returns the proven author of a line: a caller that the sidecar has seen write it, or for a step of a
// handshake, as the journal knows it, the member that took that step. It also returns the step. For any other
// line it returns no author.
func (s *Teams) author(ctx context.Context, m team.Message, seat relay.Seat) (by relay.By, step relay.Owed, err error) {
	s.lines.Lock()
	by, proven := s.vouched[lineID(seat.Dir, seat.Name, string(m.Line))]
	if !proven {
		by, proven = s.vouched[lineID(seat.Dir, "", string(m.Line))]
	}
	s.lines.Unlock()
	if proven {
		return s.sayable(by, seat), "", nil
	}
	one, step, err := s.step(ctx, m, seat)
	if err != nil || step == "" {
		return by, "", err
	}
	who := one.Handshake.Asker
	if step == relay.OwedAnswer {
		who = one.Handshake.Answerer
	}
	if who.Person {
		return relay.By{Kind: relay.Person, Name: s.Callers.Person}, step, nil
	}
	return s.sayable(relay.By{Kind: relay.Agent, Peer: who.Peer}, seat), step, nil
}

// step returns the handshake that a line belongs to, as the journal knows it, and which step it is; "" for any
// other line.
func (s *Teams) step(ctx context.Context, m team.Message, seat relay.Seat) (one relay.Affair, step relay.Owed, err error) {
	if !handshake.ValidID(m.RequestID) {
		return one, "", nil
	}
	one, found, err := s.recorded(ctx, m.RequestID)
	if err != nil || !found || one.Team != seat.Dir {
		return one, "", err
	}
	for _, what := range []relay.Owed{relay.OwedRequest, relay.OwedAnswer} {
		if to, known := line(one.Handshake, what); to == seat.Name && known.Same(m) {
			return one, what, nil
		}
	}
	return one, "", nil
}

// forFormer reports whether a line is a step of a handshake with an earlier session in this teammate's seat: it
// means nothing to the successor. A lead may change too, but the new one is told about its team.
func (s *Teams) forFormer(ctx context.Context, seat relay.Seat, m team.Message) (bool, error) {
	if seat.Name == team.Lead {
		return false, nil
	}
	one, step, err := s.step(ctx, m, seat)
	reader := one.Handshake.Asker
	if step == relay.OwedRequest {
		reader = one.Handshake.Answerer
	}
	return err == nil && step != "" && !reader.Is(seat.Holder), err
}

// sayable returns the author of a line, or nobody if the relay would refuse that author: an agent that has
// ended, or one that would write to itself. Such a line goes under the name in the file.
func (s *Teams) sayable(by relay.By, seat relay.Seat) relay.By {
	if by.Kind != relay.Agent {
		return by
	}
	if p, ok := s.Relay.Snapshot().Peer(by.Peer); !ok || p.Ended != nil || by.Peer == seat.Holder.Peer {
		return relay.By{}
	}
	return by
}

// writer returns the peer that stands for an author whom a file names.
func (s *Teams) writer(ctx context.Context, dir, name string) (message.ID, error) {
	key := seatKey(dir, name)
	if id := s.keeper.joined[key]; id != "" {
		if one, ok := s.Relay.Snapshot().Peer(id); ok && one.Ended == nil {
			return id, nil
		}
	}
	p, err := s.Relay.Join(ctx, message.Peer{Kind: message.PeerMember, Key: memberKey(dir, name), Name: name, Title: name})
	s.keeper.joined[key] = p.ID
	return p.ID, err
}

// seatKey returns the key of a seat in keeper's maps.
func seatKey(dir, name string) string { return dir + "\x1f" + name }

func memberKey(dir, name string) string { return dir + "/" + team.Folder + "/" + name }

// end ends a session that has agreed to end, once its turn is over. If the session is still there after that,
// end is called again until it is gone: the agent is told to quit once, and the lead is told once that it still
// runs.
func (s *Teams) end(ctx context.Context, one relay.Affair) {
	h := one.Handshake
	defer func() {
		select {
		case s.keeper.ended <- h.ID:
		case <-ctx.Done():
		}
	}()
	session := h.Answerer.Peer
	wait, cancel := context.WithTimeout(ctx, lastTurn)
	defer cancel()
	for s.busy(session) && wait.Err() == nil {
		rung := s.Bell.Wait()
		if !s.busy(session) {
			break
		}
		select {
		case <-rung:
		case <-wait.Done():
		}
	}
	if ctx.Err() != nil {
		return
	}
	var err error
	if s.Sessions != nil { // even if it has ended by itself: it may have left processes behind
		s.gap(h.ID, "ending")
		err = s.Sessions.Quit(ctx, session, one.Stuck)
		s.gap(h.ID, "ended")
	} else if p, ok := s.Relay.Snapshot().Peer(session); ok && p.Ended == nil {
		return
	}
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("end a teammate", "name", h.Answerer.Name, "err", err)
			_ = s.Relay.EndFailed(ctx, h.ID, err.Error())
		}
		select {
		case <-ctx.Done():
		case <-time.After(endAgain):
		}
		return
	}
	if err := s.Relay.Settled(ctx, h.ID, relay.OwedEnd); err != nil && ctx.Err() == nil {
		s.Log.Warn("end a teammate", "name", h.Answerer.Name, "err", err)
	}
}

func (s *Teams) busy(session message.ID) bool {
	return slices.ContainsFunc(s.Relay.Protocols().Seats, func(seat relay.Seat) bool { return seat.Holder.Peer == session && atWork(seat) && !seat.Gone })
}

// atWork reports whether a teammate has something to do. If it took a message and shows no turn within
// unseenTurn, the turn is over: it went unseen, or happened while no sidecar ran.
func atWork(seat relay.Seat) bool {
	return seat.Busy && (seat.Taken.IsZero() || time.Since(seat.Taken) < unseenTurn)
}
