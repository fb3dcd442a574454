// Package filepeertest implements the smallest peer that lives in no pane: a directory. Deliveries to it are appended
// to its file "out", as one line of JSON each; lines appended to its file "in" are its messages. With it the tests show
// what such an adapter needs from the relay, and what it owes to it. Nothing that is linked into intercom imports it.
//
// Each directory has one goroutine, which runs Serve and owns its files.
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

// Relay is the part of the relay that a directory needs.
type Relay interface {
	Join(ctx context.Context, peer message.Peer) (message.Peer, error)
	Receive(ctx context.Context, m message.Envelope) (fresh bool, err error)
	Report(ctx context.Context, r message.Receipt) error
}

// Kind is the kind of the directories. It is not proven who writes into one.
const Kind = message.PeerRepository

const (
	every = 20 * time.Millisecond // between two reads of "in"
	most  = 64 << 20              // maximum bytes read of a file
)

// Dirs is the sink for the kind of the directories. It serves all of them.
type Dirs struct {
	Relay Relay

	mu    sync.Mutex
	waits map[message.ID][]message.Delivery // deliveries to be written, by session
}

// Deliver queues deliveries for their directories, in order.
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

// Cancel drops deliveries that are not written yet.
func (d *Dirs) Cancel(ids []message.ID, _ message.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for session, waits := range d.waits {
		d.waits[session] = slices.DeleteFunc(waits, func(one message.Delivery) bool { return slices.Contains(ids, one.ID) })
	}
}

// Forget drops all deliveries that wait for a session.
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

// Serve makes a directory a peer until ctx ends.
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
	read    int                       // bytes of "in" that were processed
	asked   map[message.ID]message.ID // the deliveries of the messages that it was given and has not answered
}

// Line is one line of the file "out".
type Line struct {
	Delivery message.ID       `json:"delivery"`
	Message  message.Envelope `json:"message"`
}

// give writes a delivery exactly once, even if an earlier run was interrupted.
func (p *peer) give(ctx context.Context, d message.Delivery) error {
	there := false
	if d.Typed {
		lines, err := Out(p.path)
		if err != nil {
			return err
		}
		there = slices.ContainsFunc(lines, func(l Line) bool { return l.Delivery == d.ID })
		if !there {
			_ = p.tell(ctx, d, message.Held, message.TmuxRefused) // nothing of the delivery was written
		}
	}
	if !there {
		if !p.leave(ctx, d) {
			return nil // it is delivered again, if it may proceed
		}
		if err := p.write(Line{d.ID, d.Message}); err != nil {
			return err
		}
	}
	p.asked[d.Message.ID] = d.ID
	_ = p.tell(ctx, d, message.Submitted, "") // if that fails, the next run finds it written
	return nil
}

// leave asks whether a delivery may be written now, and repeats that until there is an answer.
func (p *peer) leave(ctx context.Context, d message.Delivery) bool {
	for {
		err := p.tell(ctx, d, message.Typed, "")
		if !unwritable(err) {
			return err == nil
		}
		for unwritable(err) { // the relay may have recorded it as typed by then
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

// write appends a line, and returns once it is on disk. It first removes an incomplete line of an earlier run.
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
	dir, err := foreign.OpenDir(p.path) // the directory has the entry of the file
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Out returns the complete lines in the file "out" of a directory.
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

// hear processes what was appended to "in": one message per line, in its JSON form. A message that the relay cannot
// write down now is read again later; a message that it refuses is skipped. A line without an id gets one derived from
// its position, so that it is the same in the next run.
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
