// Package filepeertest is the smallest peer that lives in no pane: a directory. What is
// delivered to it is appended to the file "out", a line of JSON each, and what is appended to
// its file "in" it says. With it the tests show what every such adapter needs of the relay, and
// what it owes it. Nothing that is linked into intercom imports it.
//
// A goroutine for each directory, that of Serve, owns its files.
package filepeertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// Relay is what a directory needs of the relay.
type Relay interface {
	Join(ctx context.Context, peer message.Peer) (message.Peer, error)
	Receive(ctx context.Context, m message.Envelope) (fresh bool, err error)
	Report(ctx context.Context, r message.Receipt) error
}

// Kind is that of the directories. Whoever writes there is not proven.
const Kind = message.PeerRepository

const (
	every = 20 * time.Millisecond // between looks
	most  = 64 << 20              // bytes of a file that are read
)

// Dirs are all directories: the sink of their kind.
type Dirs struct {
	Relay Relay

	mu    sync.Mutex
	waits map[message.ID][]message.Delivery // by session, what is to be written
}

// Deliver keeps deliveries for their directories, in their order.
func (d *Dirs) Deliver(all ...message.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waits == nil {
		d.waits = make(map[message.ID][]message.Delivery)
	}
	for _, one := range all {
		same := func(have message.Delivery) bool { return have.ID == one.ID }
		d.waits[one.Target] = append(slices.DeleteFunc(d.waits[one.Target], same), one)
	}
}

// Cancel forgets deliveries that are not written.
func (d *Dirs) Cancel(ids []message.ID, _ message.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for session, waits := range d.waits {
		d.waits[session] = slices.DeleteFunc(waits, func(one message.Delivery) bool { return slices.Contains(ids, one.ID) })
	}
}

// Forget forgets all that waits for a session.
func (d *Dirs) Forget(session message.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waits, session)
}

func (d *Dirs) next(session message.ID) (one message.Delivery, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	waits := d.waits[session]
	if len(waits) == 0 {
		return one, false
	}
	d.waits[session] = waits[1:]
	return waits[0], true
}

// Serve has a directory be a peer until ctx ends.
func (d *Dirs) Serve(ctx context.Context, path string) error {
	session, err := d.Relay.Join(ctx, message.Peer{Kind: Kind, Key: path, Name: filepath.Base(path)})
	if err != nil {
		return fmt.Errorf("serve %q: %w", path, err)
	}
	p := peer{relay: d.Relay, path: path, session: session.ID, asked: make(map[message.ID]message.ID)}
	lines, err := Out(path)
	if err != nil {
		return fmt.Errorf("serve %q: %w", path, err)
	}
	for _, l := range lines {
		p.asked[l.Message.ID] = l.Delivery
	}
	for {
		one, ok := d.next(session.ID)
		if ok {
			err = p.give(ctx, one)
		} else if err = p.hear(ctx); err == nil {
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("serve %q: %w", path, err)
		}
	}
}

// peer is one directory.
type peer struct {
	relay   Relay
	path    string
	session message.ID
	read    int                       // bytes of what it says that were taken in
	asked   map[message.ID]message.ID // the delivery of each message that it was given, and has not answered
}

// Line is one line of the file "out".
type Line struct {
	Delivery message.ID       `json:"delivery"`
	Message  message.Envelope `json:"message"`
}

// give writes a delivery down, once, whatever ended an earlier run.
func (p *peer) give(ctx context.Context, d message.Delivery) error {
	there := false
	if d.Typed {
		lines, err := Out(p.path)
		if err != nil {
			return err
		}
		there = slices.ContainsFunc(lines, func(l Line) bool { return l.Delivery == d.ID })
		if !there {
			_ = p.tell(ctx, d, message.Held, message.TmuxRefused) // nothing of it was written
		}
	}
	if !there {
		if !p.leave(ctx, d) {
			return nil // it is handed over again, if it may go on
		}
		if err := p.write(Line{d.ID, d.Message}); err != nil {
			return err
		}
	}
	p.asked[d.Message.ID] = d.ID
	_ = p.tell(ctx, d, message.Submitted, "") // else the next run finds it written
	return nil
}

// leave asks whether a delivery may be written now, until that is known.
func (p *peer) leave(ctx context.Context, d message.Delivery) bool {
	for {
		err := p.tell(ctx, d, message.Typed, "")
		if !unwritable(err) {
			return err == nil
		}
		for unwritable(err) { // it may count as written by then
			select {
			case <-ctx.Done():
				return false
			case <-time.After(every):
			}
			err = p.tell(ctx, d, message.Held, message.Unwritable)
		}
	}
}

func (p *peer) tell(ctx context.Context, d message.Delivery, state message.ReceiptState, why message.Reason) error {
	return p.relay.Report(ctx, message.Receipt{Delivery: d.ID, State: state, Reason: why})
}

func unwritable(err error) bool {
	_, is := errors.AsType[*message.UnwritableError](err)
	return is
}

// write appends a line, and returns once it is on disk. What an earlier run had written of one
// is no line, and goes.
func (p *peer) write(l Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := own.OpenFile(filepath.Join(p.path, "out"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	have, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return err
	}
	whole := int64(bytes.LastIndexByte(have, '\n') + 1)
	if err := f.Truncate(whole); err != nil {
		return err
	}
	if _, err := f.WriteAt(append(text, '\n'), whole); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	dir, err := foreign.OpenDir(p.path) // which has the file
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Out are the whole lines that were written into a directory.
func Out(path string) (lines []Line, err error) {
	text, err := own.Read(filepath.Join(path, "out"), most)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(text) {
		var l Line
		if bytes.HasSuffix(line, []byte("\n")) && json.Unmarshal(line, &l) == nil {
			lines = append(lines, l)
		}
	}
	return lines, err
}

// hear takes in what was appended to "in": a message a line, in its JSON form. What the relay
// cannot take now is read again, and what it refuses is not. A line without an id has that of
// its place, so that it is the same in the next run.
func (p *peer) hear(ctx context.Context) error {
	text, err := own.Read(filepath.Join(p.path, "in"), most)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for {
		end := bytes.IndexByte(text[p.read:], '\n')
		if end < 0 {
			return nil
		}
		var m message.Envelope
		if json.Unmarshal(text[p.read:p.read+end], &m) == nil {
			if m.ID == "" {
				m.ID = message.DerivedID(time.Unix(0, 0), p.path, strconv.Itoa(p.read))
			}
			m.From = message.Address{Peer: p.session}
			_, err := p.relay.Receive(ctx, m)
			if unwritable(err) || ctx.Err() != nil {
				return nil
			}
			if d, ok := p.asked[m.InReplyTo]; ok && err == nil {
				delete(p.asked, m.InReplyTo)
				_ = p.relay.Report(ctx, message.Receipt{Delivery: d, State: message.Answered, Words: m.Body})
			}
		}
		p.read += end + 1
	}
}
