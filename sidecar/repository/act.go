package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// The limits of a command that answers, and of an answer.
const (
	commandTime  = 10 * time.Minute
	commandBytes = 512 << 10
	maxAnswer    = 512 << 10
)

// ran is the outcome of a command.
type ran struct {
	job  *job
	said string
	err  error
}

// work gives the agent the next message once it has answered the current one. An agent is asked one thing at a
// time, so that its words are the answer to it.
func (b *box) work(ctx context.Context) {
	for _, j := range slices.Clone(b.aside) {
		b.overdue(ctx, j)
	}
	if b.current != nil {
		b.overdue(ctx, b.current)
		return
	}
	for b.claim != nil && b.current == nil && len(b.lane) > 0 && ctx.Err() == nil {
		j := b.lane[0]
		if b.stopped() && !j.approved {
			return // keep puts it down
		}
		b.lane, j.inLane = b.lane[1:], false
		if !j.over && b.dir.marked(j.file) { // marked since it was taken in
			b.ignore(ctx, j.file)
			_ = b.report(ctx, j.delivery, message.Submitted, "")
			b.forget(j)
			continue
		}
		b.current = j
		b.act(ctx, j)
		if b.current == j && j.waits {
			b.putBack(j)
			return
		}
	}
}

// overdue acts on a job that makes no progress: it sends an unsent answer again, retries an agent whose queue
// was full, or gives up on an agent that has not answered within answerDelay. The time does not run while the
// relay holds the message.
func (b *box) overdue(ctx context.Context, j *job) {
	switch {
	case j.unsent != "":
		b.reply(ctx, j, j.unsent, j.unsentAs)
	case j.asked == "" && !j.again.IsZero() && !b.peers.Now().Before(j.again):
		j.again = time.Time{}
		if b.act(ctx, j); b.current == j && j.waits {
			b.putBack(j)
		}
	case j.asked != "" && !j.held && b.peers.Now().Sub(j.since) > answerDelay:
		b.unanswered(ctx, j, "no answer within "+answerDelay.String())
	}
}

// putBack puts the current job back at the head of the lane, because the relay takes nothing for now.
func (b *box) putBack(j *job) {
	b.current, j.inLane, j.waits = nil, true, false
	b.lane = append([]*job{j}, b.lane...)
}

// act handles a message that was let through: an agent that works here gets it. If none does and the author
// wants an answer, a command that a person configured gives it; without a command, the author is told that
// there is no agent.
func (b *box) act(ctx context.Context, j *job) {
	if b.claim == nil { // the claim was lost meanwhile: another sidecar goes on
		b.current = nil
		b.shelveOne(j)
		return
	}
	wants := j.message.RequiresResponse()
	_, back := b.peers.sender(b.way(j.message), b.dir.Path)
	if !back && !j.approved {
		b.notify(ctx, "%s: %s from %s was not passed on, because no answer can reach them: %s", b.dir.Path, j.message.Type, j.message.From.ID, j.message.Subject)
		b.settle(ctx, j, "no way back to "+j.message.From.ID+": user notified", "")
		return
	}
	for _, agent := range b.peers.Agents(b.dir.Path) {
		if slices.Contains(j.tried, agent.ID) {
			continue
		}
		if b.ask(ctx, j, agent) {
			return
		}
		j.tried = append(j.tried, agent.ID)
	}
	if len(j.tried) == 0 && b.peers.early(b.claimed) {
		j.waits = true
		return
	}
	argv := []string(nil)
	if b.peers.Command != nil {
		argv = b.peers.Command()
	}
	switch {
	case wants && len(argv) > 0:
		b.record(ctx, j.line(acting))
		j.since = b.peers.Now()
		c := process.Command{Argv: argv, Dir: b.dir.Path, Input: b.text(j), Limit: commandBytes}
		go func() {
			ctx, cancel := context.WithTimeout(ctx, commandTime)
			defer cancel()
			said, err := process.Run(ctx, c)
			b.tell(note{command: &ran{j, said, err}})
		}()
	case wants:
		b.unanswered(ctx, j, "no agent: none works in "+b.dir.Path+" now")
	default:
		b.notify(ctx, "%s: %s from %s: %s (no agent works there now)", b.dir.Path, j.message.Type, j.message.From.ID, j.message.Subject)
		b.leaveIt(ctx, j)
	}
}

// leaveIt ends a job for which there is no agent and whose author waits for nothing, such as an answer or news.
// The message stays unprocessed, so that the repository's agent finds it when it looks by itself.
func (b *box) leaveIt(ctx context.Context, j *job) {
	if j.over { // it was marked before a person approved it
		b.settle(ctx, j, "no agent: user notified", "")
		return
	}
	_ = b.report(ctx, j.delivery, message.Submitted, "")
	one := j.line(left)
	one.Became = "no agent works here: it stays for aea check"
	b.record(ctx, one)
	b.log(ctx, "Left", j.file, one.Became)
	b.forget(j)
	b.current = nil
}

// ask gives the message to an agent. It reports false if that agent cannot have it.
func (b *box) ask(ctx context.Context, j *job, agent message.Peer) bool {
	if b.ledger != nil && !j.over {
		b.record(ctx, j.line(acting))
	}
	parts := []string{string(j.our), string(j.delivery.ID), string(agent.ID)}
	if j.attempts > 0 {
		parts = append(parts, strconv.Itoa(j.attempts))
	}
	id := message.DerivedID(time.Unix(0, 0), parts...)
	if j.asked, j.agent = id, agent; j.attempts == 0 {
		j.since = b.peers.Now()
	}
	b.jobs[id] = j
	b.peers.watch(id, b)
	fresh, err := b.peers.Relay.Receive(ctx, message.Envelope{
		ID: id, From: message.Address{Peer: b.peer.ID}, To: []message.Address{{Peer: agent.ID}}, Body: b.text(j), Depth: j.delivery.Message.Depth,
		Trust: j.delivery.Message.Trust, RequiresResponse: j.message.RequiresResponse(), Meta: map[string]string{metaID: j.message.ID},
	})
	if err != nil {
		delete(b.jobs, id)
		b.peers.unwatch(id)
		j.asked = ""
		b.complain(ctx, err)
		of, ok := errors.AsType[message.OfKind](err)
		j.waits = !ok || of.ErrorKind() == message.KindUnwritable // otherwise that agent cannot have it: it is gone, for example
		return j.waits
	}
	if !fresh {
		b.recall(ctx, id)
	}
	return true
}

// text returns what an agent or a command is given: whose message it is, what to do with it, and the message
// itself. Each line of the message has a mark, so that nothing in it passes for our own words.
func (b *box) text(j *job) string {
	m := j.message
	from := m.From.ID
	if m.From.Path != "" {
		from += " (" + m.From.Path + ")"
	}
	head := fmt.Sprintf("AEA %s from %s, priority %s", m.Type, oneLine(from), m.Priority)
	if subject := oneLine(m.Subject); subject != "" {
		head += ": " + subject
	}
	parts := []string{head}
	if j.delivery.Message.Trust.Unproven() {
		parts = append(parts, "The author is not verified; a person let it through.")
	}
	if prompt := j.delivery.Message.Meta[MetaPrompt]; prompt != "" {
		parts = append(parts, prompt)
	}
	if m.RequiresResponse() {
		parts = append(parts, "Your last words in this turn are sent back as the answer.")
	}
	return strings.Join(append(parts, quoted(j.delivery.Message.Body)), "\n\n")
}

// quoted returns a text with a mark before each line.
func quoted(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n").Replace(text)
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// answered handles a receipt of the message that the agent was given.
func (b *box) answered(ctx context.Context, j *job, r message.Receipt) {
	if b.current != j && !slices.Contains(b.aside, j) {
		return
	}
	if j.held && r.Hold == "" {
		j.held, j.since = false, b.peers.Now()
		b.stalled(ctx, j.file, "", "")
	}
	wants := j.message.RequiresResponse()
	switch r.State {
	case message.Held:
		if j.held = r.Hold != ""; r.Hold == message.HoldLimit || r.Awaits() {
			b.setAside(ctx, j, r.Reason)
		}
	case message.Submitted:
		if !wants {
			b.settle(ctx, j, "delivered to "+j.agent.Name, "")
		}
	case message.Answered:
		if !wants {
			b.settle(ctx, j, "delivered to "+j.agent.Name, "")
			return
		}
		words := strings.TrimSpace(r.Words)
		if words == "" {
			b.unanswered(ctx, j, "the agent said nothing")
			return
		}
		b.reply(ctx, j, words, "answered by "+j.agent.Name)
	case message.Failed:
		if r.Reason == message.QueueFull && b.current == j && b.peers.Now().Sub(j.since) < answerDelay {
			delete(b.jobs, j.asked)
			b.peers.unwatch(j.asked)
			j.attempts++
			j.asked, j.again = "", b.peers.Now().Add(rescan)
			return
		}
		if slices.Contains([]message.Reason{message.AgentGone, message.ReleasedPane, message.PaneDead, message.PaneReplaced, message.PaneMissing, message.ServerEnded}, r.Reason) {
			j.tried = append(j.tried, j.agent.ID)
			delete(b.jobs, j.asked)
			b.peers.unwatch(j.asked)
			j.asked = ""
			if b.current == j {
				b.act(ctx, j)
				return
			}
			b.unaside(j)
			j.inLane = true
			b.lane = append([]*job{j}, b.lane...)
			return
		}
		b.unanswered(ctx, j, "the agent did not answer: "+string(r.Reason))
	case message.Expired, message.Uncertain:
		b.unanswered(ctx, j, fmt.Sprintf("the agent did not answer: %s: %s", r.State, r.Reason))
	}
}

// ran handles the outcome of a command.
func (b *box) ran(ctx context.Context, r ran) {
	if b.current != r.job || ctx.Err() != nil {
		return // the next run starts again with a message that is not known to be answered
	}
	said := strings.TrimSpace(strings.ToValidUTF8(r.said, "\uFFFD")) // an answer that is not UTF-8 could not become a message, and nobody would be told
	switch {
	case r.err != nil:
		b.complain(ctx, r.err)
		b.notify(ctx, "%s: the command that answers: %v", b.dir.Path, r.err)
		b.unanswered(ctx, r.job, "no agent: the command that answers did not succeed")
	case said == "":
		b.unanswered(ctx, r.job, "no agent: the command that answers said nothing")
	default:
		b.reply(ctx, r.job, said, "answered by a command")
	}
}

// unanswered ends the job and tells the author that there is no answer. If the author wants none, it tells the
// person.
func (b *box) unanswered(ctx context.Context, j *job, why string) {
	if !j.message.RequiresResponse() {
		b.notify(ctx, "%s: %s from %s: %s: %s", b.dir.Path, j.message.Type, j.message.From.ID, j.message.Subject, why)
		b.settle(ctx, j, why+": user notified", "")
		return
	}
	b.reply(ctx, j, why, why)
}

// reply sends words to the author, and ends the job once they are on disk.
func (b *box) reply(ctx context.Context, j *job, words, became string) {
	to, back := b.peers.sender(b.way(j.message), b.dir.Path)
	if !back {
		b.notify(ctx, "%s: an answer cannot go back to %s: their repository is not enabled here", b.dir.Path, j.message.From.ID)
		b.settle(ctx, j, became+"; no way back to "+j.message.From.ID, "")
		return
	}
	if len(words) > maxAnswer {
		words = plain.Beginning(words, maxAnswer) + "\n[cut]"
	}
	id := message.DerivedID(time.Unix(0, 0), string(j.our), string(j.delivery.ID), "answer")
	b.replies[id] = j.file
	b.peers.watch(id, b)
	subject := "Re: " + strings.TrimPrefix(j.message.Subject, "Re: ")
	fresh, err := b.peers.Relay.Receive(ctx, message.Envelope{
		ID: id, From: message.Address{Peer: b.peer.ID}, To: []message.Address{{Peer: to}},
		Subject: plain.Beginning(subject, message.MaxSubject), Body: words, InReplyTo: j.our, Depth: j.delivery.Message.Depth + 1, Trust: message.TrustRegister,
		Meta: map[string]string{metaID: j.message.ID},
	})
	if err != nil {
		delete(b.replies, id)
		b.peers.unwatch(id)
	}
	switch {
	case err == nil:
		if fresh && words == became { // nobody answered: only this notice tells the person here
			b.notify(ctx, "%s: %s from %s: %s: they are told %q", b.dir.Path, j.message.Type, j.message.From.ID, j.message.Subject, words)
		}
		b.settle(ctx, j, became, words)
		if !fresh {
			b.recall(ctx, id)
		}
	case refusedByRelay(err):
		b.complain(ctx, err)
		b.settle(ctx, j, "the answer could not be sent: "+err.Error(), "")
	default:
		b.complain(ctx, err)
		j.unsent, j.unsentAs = words, became // work tries again
	}
}
