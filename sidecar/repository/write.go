package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// write carries out deliveries until ctx ends. A message that came as a file goes to its repository's box; all
// others become files.
func (p *Peers) write(ctx context.Context) {
	for {
		for _, d := range p.next() {
			if d.Message.Meta[metaFile] != "" {
				if b := p.box(d.Target); b != nil { // else it was just ended
					b.tell(note{delivery: &d})
				}
				continue
			}
			if ctx.Err() != nil {
				p.later(d) // see writeOut
				continue
			}
			if err := p.put(ctx, d); err != nil && ctx.Err() == nil {
				p.Log.Warn("message", "id", d.Message.ID, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
	}
}

// outWithin is how long an orderly end waits for answers that are not written yet: nobody may ever come back to
// write them.
const outWithin = 2 * time.Second

// writeOut writes the answers that the relay had handed over before the end.
func (p *Peers) writeOut(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outWithin)
	defer cancel()
	for _, d := range p.next() {
		if ctx.Err() != nil {
			return
		}
		if d.Message.Meta[metaFile] != "" {
			continue
		}
		if err := p.put(ctx, d); err != nil {
			p.Log.Warn("message", "id", d.Message.ID, "err", err)
		}
	}
}

func (p *Peers) box(id message.ID) *box {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byPeer[id]
}

// next returns the deliveries whose repositories are known by now, except those that could not be written a
// moment ago.
func (p *Peers) next() (ready []message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.met {
		return nil
	}
	var rest []message.Delivery
	now := p.Now()
	for _, d := range p.outgoing {
		if (p.byPeer[d.Target] != nil || d.Target == p.strange) && !now.Before(p.failing[d.ID]) {
			ready = append(ready, d)
		} else {
			rest = append(rest, d)
		}
	}
	p.outgoing = rest
	return ready
}

// put writes a delivery as a message into its repository, once.
func (p *Peers) put(ctx context.Context, d message.Delivery) error {
	refuse := func(why message.Reason) error {
		return p.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Failed, Reason: why})
	}
	b := p.box(d.Target)
	if b == nil {
		return refuse("their repository is not enabled here")
	}
	m, from, err := p.message(ctx, d, b.dir)
	switch {
	case errors.Is(err, errNoAnswer):
		return errors.Join(err, refuse("only answers are written there; intercom aea send writes messages"))
	case errors.Is(err, errForgotten):
		return errors.Join(err, refuse("the message that it answers is not in the journal any more"))
	case err != nil: // the journal cannot be read now, which says nothing about the delivery
		p.later(d)
		return err
	}
	to := p.home(b.dir, m.ReplyTo)
	m.To = to.Own()
	if secret := m.Secret(); secret != "" {
		_ = p.Relay.Notify(ctx, b.peer.ID, fmt.Sprintf("an answer of %s was not written: it has %s", m.From.ID, secret))
		return refuse("it has a secret")
	}
	told := p.failed(d.ID)
	begun := d.Typed || told    // an earlier run or attempt may have written it
	var report *message.Receipt // nil: the outcome is not known yet
	became := func(state message.ReceiptState, why message.Reason) {
		report = &message.Receipt{Delivery: d.ID, State: state, Reason: why}
	}
	err = p.answers.locked(func(f *os.File) error {
		if p.answers.others(d.Message.InReplyTo, p.By, func(id string) bool { return to.find(id) != "" }) {
			became(message.Failed, message.DecidedElsewhere)
			return nil
		}
		if err := to.there(); err != nil {
			became(message.Held, message.FileUnwritten)
			return err
		}
		written := ""
		if begun {
			written = to.find(m.ID)
		}
		one := answer{To: d.Message.InReplyTo, By: p.By, ID: m.ID}
		if written == "" && p.answers.of[one.To] != one { // otherwise an earlier attempt has noted it
			if err := p.answers.note(f, one); err != nil {
				return err
			}
		}
		if err := p.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Typed}); unwritable(err) {
			return err
		} else if err != nil {
			return errPaused
		}
		if written == "" {
			// Log it before the file exists: whoever sees the file relies on this line.
			if !begun || !to.Answered(m.ReplyTo) {
				if err := to.Log(p.Now(), "Answered", m.ReplyTo, fmt.Sprintf("by %s (%s)", m.From.ID, m.From.Path)); err != nil {
					p.Log.Warn("repository", "path", to.Path, "err", err)
				}
			}
			if written, err = to.Put(m, ""); err != nil {
				if _, never := errors.AsType[*aea.InvalidError](err); never {
					became(message.Failed, message.FileUnwritten)
				} else {
					became(message.Held, message.FileUnwritten)
				}
				return err
			}
		}
		became(message.Submitted, "")
		if err := from.Log(p.Now(), "Sent", m.ID, fmt.Sprintf("%s (%s) %s", m.To.ID, m.To.Path, written)); err != nil {
			p.Log.Warn("repository", "path", from.Path, "err", err)
		}
		if err := p.Enabled.NoteSent(from.Path, m.ID); err != nil {
			p.Log.Warn("repository", "path", from.Path, "err", err)
		}
		one.Written = true
		return p.answers.note(f, one)
	})
	switch {
	case errors.Is(err, errPaused) && ctx.Err() == nil:
		return nil // the relay hands it over again
	case unwritable(err): // the relay does not hand it over again, and has told a person
		p.later(d)
		return nil
	case report == nil:
		p.later(d)
		return err
	}
	if report.State != message.Held {
		p.wrote(d.ID)
		return errors.Join(err, p.Relay.Report(ctx, *report))
	}
	// A disk is full, for example, or a repository is away. Nobody else has the answer, so it is written as
	// soon as it can be.
	p.again(d)
	if !told {
		notice := word(fmt.Sprintf("an answer of %s is not in %s yet, and is written once it can be: %v", m.From.ID, to.Path, reason(err)))
		err = errors.Join(err, p.Relay.Report(ctx, *report), p.Relay.Notify(ctx, b.peer.ID, notice))
	}
	return err
}

// again puts back a delivery that could not be written, to be tried later.
func (p *Peers) again(d message.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing[d.ID] = p.Now().Add(rescan)
	p.outgoing = append(p.outgoing, d)
}

// failed reports whether a delivery could not be written before; wrote forgets that.
func (p *Peers) failed(id message.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, failed := p.failing[id]
	return failed
}

func (p *Peers) wrote(id message.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failing, id)
}

// errPaused says that the relay takes nothing for now.
var errPaused = errors.New("the relay takes nothing for now")

// Reasons why a delivery never becomes a message.
var (
	errNoAnswer  = errors.New("it answers no message of a repository")
	errForgotten = errors.New("it answers a message that is not known any more")
)

// message returns a delivery in the protocol's form: an answer to a message that came as a file into the
// repository from. The error is errNoAnswer, errForgotten, or that of a journal that cannot be read.
func (p *Peers) message(ctx context.Context, d message.Delivery, to Dir) (m aea.Message, from Dir, err error) {
	if d.Message.InReplyTo == "" {
		return m, from, errNoAnswer
	}
	asked, err := p.Journal.Message(ctx, string(d.Message.InReplyTo))
	if of, ok := errors.AsType[message.OfKind](err); ok && of.ErrorKind() == message.KindUnknown {
		return m, from, errForgotten
	}
	if err != nil {
		return m, from, err
	}
	if len(asked.To) == 0 || p.box(asked.To[0].Peer) == nil {
		return m, from, errNoAnswer
	}
	from = p.box(asked.To[0].Peer).dir
	subject := cmp.Or(d.Message.Subject, "Re: "+strings.TrimPrefix(asked.Subject, "Re: "))
	no := false
	m = aea.Message{
		ID: StableID(string(d.Message.ID), to.Path), Type: "update", Priority: "normal", Time: p.Now(), Wanted: &no, From: from.Own(), To: to.Own(),
		Subject: plain.Beginning(oneLine(subject), aea.MaxSubject), Body: aea.CutBody(plainText(d.Message.Body)), ReplyTo: asked.Meta[metaID], Thread: asked.Meta[metaThread],
	}
	m.From.User = p.User
	if m.Thread == "" {
		m.Thread = m.ReplyTo
	}
	return m, from, nil
}

// oneLine returns a text in one line; plainText keeps its lines. Both drop what acts on a terminal or changes
// how the text is read.
func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case plain.Acts(r):
			return -1
		}
		return r
	}, text))
}

func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		case r != '\n' && r != '\t' && plain.Acts(r):
			return -1
		}
		return r
	}, text)
}

// find returns the name of the file of the message with that id, "" for none.
func (d Dir) find(id string) string {
	for _, sub := range []string{"", archived} {
		entries, err := foreign.List(d.at(sub))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !aea.IsName(e.Name()) {
				continue
			}
			text, _, err := foreign.ReadOurs(d.at(sub, e.Name()), aea.MaxMessage)
			if err != nil || !strings.Contains(string(text), id) {
				continue
			}
			if m, err := aea.Read(e.Name(), text); err == nil && m.ID == id {
				return e.Name()
			}
		}
	}
	return ""
}
