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

// inPipe is how many messages a worker may have at once, including the one that it evaluates. With several, neither
// side waits for the other between messages. The worker leaves messages undecided if they come after a slow one, or
// after one whose effects must be remembered first.
const inPipe = 16

// slow is the time for one message, including the preparation for the next one. After a message that took longer,
// messages are asked about one by one: then the sender, like everyone else, waits for at most one such message.
const slow = 20 * time.Millisecond

// mostAlone is how many messages at most are asked about one by one before the next attempt to ask ahead. Where scripts
// remember something of each message, such as a count, all answers that were asked ahead are thrown away; where scripts
// are slow, asking ahead gains nothing.
const mostAlone = 255

// EvaluateAhead asks about n messages, each before the verdict on the previous one has arrived. This takes a fraction
// of the time of as many calls of Evaluate. It returns the verdicts on the first of these messages, the same that
// Evaluate would return. There may be fewer than n, or none: it stops once more than within has passed, after a slow
// message, after one from which scripts want to remember something, since the next message must be asked with it, and
// after any failure. Call Evaluate for the rest. It never discards a verdict because ctx has ended.
//
// It calls in for the messages in their order, from another goroutine, until it returns.
func (e *Engine) EvaluateAhead(ctx context.Context, n int, in func(int) policy.Input, within time.Duration) []policy.Verdict {
	e.mu.Lock()
	set := e.set
	e.mu.Unlock()
	if set == nil || n < 2 {
		return nil
	}
	return set.ahead(ctx, n, in, within, e.remembered)
}

// ahead is evaluate for several messages: see Engine.EvaluateAhead.
func (s *Set) ahead(ctx context.Context, n int, in func(int) policy.Input, within time.Duration, remembered func(since map[string]int) (policy.Memories, map[string]int)) (all []policy.Verdict) {
	begun := s.now()
	if s.ready(ctx, begun.Add(messageTime-firstTime)) != nil {
		return nil // Evaluate says why
	}
	defer s.done()
	switch {
	case len(s.deaths) > 0: // the worker must announce each script, so that the one to blame is found
		return nil
	case s.alone > 0:
		s.alone--
		return nil
	}
	ins := make([]policy.Input, n)
	memories, versions := remembered(s.known.sent)
	last := begun
	var longest atomic.Int64 // the longest time for a first try among the messages sent
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

// oneByOne has the next messages asked about alone: about twice as many each time it is called in a row.
func (s *Set) oneByOne() {
	if s.alone == 0 {
		s.pause = min(2*s.pause+1, mostAlone)
		s.alone = s.pause
	}
}

// next says what to do after a reply.
type next int

const (
	askMore  next = iota
	takeSent      // take the replies to the requests sent by now, then stop
	dropSent      // read the replies to the requests sent by now and discard them, then stop
)

// askAhead sends n requests, up to inPipe of them before their replies have arrived, and passes each reply to take
// until take wants no more. It calls until anew for each reply. After a failure the worker is gone.
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
			case <-stop: // select may have picked room although stop was closed
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
		if errors.Is(err, wire.ErrUnsent) { // Evaluate reports it
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
		_ = p.in.SetWriteDeadline(until()) // a long request is read only once this one is done
		answered++
		if wanted != askMore {
			enough()
		}
		<-room
	}
	return nil
}
