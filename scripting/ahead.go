package scripting

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
)

// inPipe is how many messages a worker may have, with the one at which it is. It is then not waited for, and does not wait. It
// leaves them undecided, behind one that is slow or is to be remembered.
const inPipe = 16

// slow is how long a message takes, with what is got ready for the next, behind which those are asked about one by one: their
// sender, and all others, wait for no more than one of these.
const slow = 20 * time.Millisecond

// mostAlone is how many messages are asked about one by one, at most, before the next are asked about ahead again: where
// scripts remember something of each, as a count, all that is asked ahead is thrown away; and where they are slow, nothing is
// gained.
const mostAlone = 255

// EvaluateAhead asks about n messages, each before the verdict on the one before it is here: a fraction of the
// time of as many calls of Evaluate. It returns the verdicts on the first of them, those that Evaluate would have come to:
// fewer than n, or none, once that took longer than within, behind a slow one, where scripts want to remember something, which
// the next message has to be asked with, and after whatever does not go as it should. The rest is to be asked with Evaluate. No
// verdict is given up for the end of ctx.
//
// In is asked for the messages in their order, from another goroutine, until EvaluateAhead returns.
func (e *Engine) EvaluateAhead(ctx context.Context, n int, in func(int) policy.Input, within time.Duration) []policy.Verdict {
	e.mu.Lock()
	set := e.set
	e.mu.Unlock()
	if set == nil || n < 2 {
		return nil
	}
	return set.ahead(ctx, n, in, within, e.remembered)
}

// ahead is evaluate of several messages: see Engine.EvaluateAhead.
func (s *Set) ahead(ctx context.Context, n int, in func(int) policy.Input, within time.Duration, remembered func(since map[string]int) (policy.Memories, map[string]int)) (all []policy.Verdict) {
	begun := s.now()
	if s.ready(ctx, begun.Add(messageTime-firstTime)) != nil {
		return nil // Evaluate says why
	}
	defer s.done()
	switch {
	case len(s.deaths) > 0: // it says what it is about to run, so that the one to blame is found
		return nil
	case s.alone > 0:
		s.alone--
		return nil
	}
	ins := make([]policy.Input, n)
	memories, versions := remembered(s.known.sent)
	last := begun
	var longest atomic.Int64 // that a first try may take, of those that were sent
	longest.Store(int64(firstTime))
	until := func() time.Time { return s.now().Add(time.Duration(longest.Load())) }
	failure := s.worker.askAhead(n, func(i int) error {
		ins[i] = in(i)
		request := s.request(ins[i], memories, false)
		if i > 0 {
			request.Evaluate.Behind = s.slow
		}
		if _, first := timeFor(ins[i]); int64(first) > longest.Load() {
			longest.Store(int64(first))
			_ = s.worker.in.SetWriteDeadline(until())
		}
		if err := wire.Write(s.worker.in, &request, [][]byte{[]byte(ins[i].Message.Body)}); err != nil {
			return err
		}
		s.asked(ins[i], versions)
		memories = nil
		return nil
	}, func(i int, reply wire.Reply, texts [][]byte) (next, error) {
		if reply.Left && i > 0 {
			s.oneByOne()
			return dropSent, nil
		}
		v, err := s.believe(ins[i], reply, texts)
		if err != nil {
			return dropSent, err
		}
		now := s.now()
		v.Took, last = now.Sub(last), now
		all = append(all, v)
		switch {
		case len(v.Effects) > 0:
			s.oneByOne()
			return dropSent, nil
		case now.Sub(begun) >= within || ctx.Err() != nil:
			return takeSent, nil
		}
		return askMore, nil
	}, until)
	if failure != nil {
		s.died(*failure)
	}
	if s.alone == 0 {
		s.pause = 0
	}
	return all
}

// oneByOne has the next messages asked about alone, each time that this is said again twice as many.
func (s *Set) oneByOne() {
	if s.alone == 0 {
		s.pause = min(2*s.pause+1, mostAlone)
		s.alone = s.pause
	}
}

// next is what is wanted after a reply.
type next int

const (
	askMore  next = iota
	takeSent      // replies to what was sent by now
	dropSent      // what was sent is answered, and thrown away
)

// askAhead has n requests sent, a few of them before their replies are here, and hands each reply to take, as long as that
// wants some. Until is asked anew for each reply. After a failure the worker is gone.
func (p *process) askAhead(n int, send func(int) error, take func(int, wire.Reply, [][]byte) (next, error), until func() time.Time) *policy.Failure {
	var sending sync.WaitGroup
	room, sent, stop := make(chan struct{}, inPipe), make(chan error, n), make(chan struct{})
	p.asked = time.Now()
	_ = p.in.SetWriteDeadline(until())
	sending.Go(func() {
		defer close(sent)
		for i := range n {
			select {
			case room <- struct{}{}:
			case <-stop:
				return
			}
			select {
			case <-stop: // there was room too
				return
			default:
			}
			err := send(i)
			if sent <- err; err != nil {
				return
			}
		}
	})
	defer sending.Wait()
	enough := sync.OnceFunc(func() { close(stop) })
	defer enough()
	var wanted next
	answered := 0
	for err := range sent {
		if errors.Is(err, wire.ErrUnsent) { // Evaluate says that
			break
		}
		deadline := until()
		_ = p.in.SetWriteDeadline(deadline)
		_ = p.out.SetReadDeadline(deadline)
		var reply wire.Reply
		var texts [][]byte
		if err == nil {
			reply, texts, err = wire.ReadReply(p.lines)
		}
		if err == nil && reply.Error != "" {
			err = errors.New(reply.Error)
		}
		if err == nil && wanted != dropSent {
			wanted, err = take(answered, reply, texts)
		}
		if err != nil {
			return p.gone(err)
		}
		p.asked, p.used = time.Now(), reply.Used
		_ = p.in.SetWriteDeadline(until()) // a long one is read once this is done
		answered++
		if wanted != askMore {
			enough()
		}
		<-room
	}
	return nil
}
