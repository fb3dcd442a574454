package repository

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// Keys in the meta of a message that came as a file.
const (
	metaFile   = "aea_file"
	metaID     = "aea_id"
	metaThread = "aea_conversation"
	metaAgent  = "aea_agent" // the author's agent, as the message claims
	metaFrom   = "aea_from"  // the author's repository, as the message claims
	metaTime   = "aea_time"  // when it was written, as it claims: seconds since 1970
)

// MetaPrompt is the key under which policies write what the agent is told to do with a message. The message's
// text, which anybody may have written, is quoted beside it.
const MetaPrompt = "aea_prompt"

// Came returns the file as which a message came, and the repository from which it came according to its author.
// ok is false if it came another way.
func Came(e message.Envelope) (file, from string, ok bool) {
	if e.Meta[metaFile] == "" {
		return "", "", false
	}
	return folder + "/" + e.Meta[metaFile], e.Meta[metaFrom], true
}

// About reports whether a message came as a file, hands one on to an agent, or answers one.
func About(e message.Envelope) bool { return e.Meta[metaID] != "" }

// Limits for a file that cannot be read yet.
const (
	maxTries = 3
	tryEvery = time.Second
)

// feed takes messages in, oldest first, up to the number that may be with the relay.
func (b *box) feed(ctx context.Context) {
	var owner Owner
	b.ways = map[aea.Agent]string{}
	defer func() { b.ways, b.read = nil, nil }()
	if len(b.backlog) > 0 {
		b.config, _ = b.config.Again(b.dir.Path)
		owner = Owner{b.dir.by(b.config)}
	}
	for len(b.backlog) > 0 && b.flying < window && len(b.unlogged) == 0 && ctx.Err() == nil {
		b.readAhead()
		e := b.backlog[0]
		b.backlog = b.backlog[1:]
		if !b.take(ctx, e, owner) {
			b.pause()
			break
		}
	}
	b.received(ctx)
}

// atOnce is how many messages are read at once.
const atOnce = 32

// readAhead reads the first message of the backlog together with the next ones that may be taken in now.
func (b *box) readAhead() {
	if _, known := b.read[b.backlog[0].Name]; known {
		return
	}
	var names []string
	for _, e := range b.backlog[:min(len(b.backlog), atOnce, window-b.flying)] {
		names = append(names, e.Name)
	}
	b.read = map[string]Message{}
	b.dir.readSome(names, func(i int, m Message) { b.read[names[i]] = m })
}

// pause leaves the backlog for later: nothing can be taken in for now.
func (b *box) pause() {
	b.backlog, b.listed, b.rest = nil, time.Time{}, b.peers.Now().Add(tickEvery)
}

// take takes one file in. It reports false if nothing can be taken in for now.
func (b *box) take(ctx context.Context, e Entry, owner Owner) bool {
	one := b.ledger.known[e.Name]
	if one.Stage == done && one.Hash != "" && !b.unchanged(one, e) { // another message under a name that was used before
		b.ledger.back(one, false)
		one = line{}
	}
	switch {
	case one.Stage == done:
		if err := b.dir.Mark(e.Name); err != nil {
			b.complain(ctx, err)
			return true
		}
		b.log(ctx, "Marked again", e.Name, one.Became)
		return true
	case e.Processed && (one.Stage == "" || one.Stage == acting && one.Held != "" && one.By != b.peers.By):
		b.ignore(ctx, e.Name)
		return true
	case one.Stage == acting && one.By != b.peers.By:
		b.interrupted(ctx, one)
		return true
	}
	m, text, err := b.read[e.Name].Message, b.read[e.Name].text, b.read[e.Name].Err
	if errors.Is(err, fs.ErrNotExist) {
		delete(b.tries, e.Name)
		return true
	}
	if err != nil {
		if _, invalid := errors.AsType[*aea.InvalidError](err); !invalid {
			b.complain(ctx, err)
			return false
		}
		b.unread(ctx, e, text, err)
		return true
	}
	delete(b.tries, e.Name)
	switch {
	case owner.Mine(m):
		b.refuse(ctx, e, "")
		return true
	case owner.Others(m):
		b.refuse(ctx, e, fmt.Sprintf("addressed to %s in %s, not to this repository", oneLine(m.To.ID), oneLine(m.To.Path)))
		return true
	}
	if b.peers.awaited(b.quickWay(m)) {
		return false
	}
	j := b.job(e.Name, m, text)
	if first, had := b.ledger.ids[j.message.ID]; had && first.File != e.Name && j.message.ID != "" {
		b.twice(ctx, e, j, first)
		return true
	}
	if m.Type == "update" && !b.peers.Enabled.Sent(b.dir, m.ReplyTo) && b.dir.Answered(m.ReplyTo) {
		// The message that it answers was written by hand, or by somebody who claimed that it came from here.
		// No agent is told.
		one := j.line(left)
		one.Became = "answers a message that, by the log, was not sent from here: left for aea check"
		b.record(ctx, one)
		b.log(ctx, "Left", e.Name, one.Became)
		return true
	}
	b.submit(ctx, j)
	return true
}

// ignore notes that somebody else marked a message.
func (b *box) ignore(ctx context.Context, file string) {
	one := b.ledger.known[file]
	one.File, one.Stage, one.Became = file, marked, ""
	b.record(ctx, one)
	b.log(ctx, "Ignored", file, "marked by someone else")
}

// interrupted flags a message on which another sidecar acted when it ended. Nobody here can know whether the
// agent there has answered.
func (b *box) interrupted(ctx context.Context, one line) {
	one.Stage = flagged
	b.record(ctx, one)
	b.log(ctx, "Interrupted", one.File, "another sidecar ended while it processed this message; handle it yourself")
	b.notify(ctx, "%s: message %s was being processed when its sidecar ended, and is not processed again", b.dir.Path, one.File)
}

// unread handles a file that is not a message. A file that is still being written may become one, so it is
// tried again.
func (b *box) unread(ctx context.Context, e Entry, text []byte, err error) {
	now := b.peers.Now()
	_, linked := errors.AsType[*foreign.NotOursError](err)
	if t := b.tries[e.Name]; (linked || aea.Incomplete(text)) && t.n < maxTries && len(text) <= aea.MaxMessage && (text != nil || linked) {
		b.tries[e.Name] = try{t.n + 1, now.Add(tryEvery)}
		return
	}
	delete(b.tries, e.Name)
	b.refuse(ctx, e, err.Error())
}

// refuse notes that a file is not processed as long as it stays as it is. The file stays where it is, and its
// author, who may be anybody, is told nothing.
func (b *box) refuse(ctx context.Context, e Entry, why string) {
	b.record(ctx, line{File: e.Name, Stage: refused, Hash: e.version(), Became: why})
	if why == "" { // a copy of our own message to another repository
		return
	}
	b.log(ctx, "Refused", e.Name, why)
	b.notify(ctx, "%s: message %s is refused: %s", b.dir.Path, e.Name, why)
}

// twice handles a message whose id another file had before.
func (b *box) twice(ctx context.Context, e Entry, j *job, first line) {
	if first.Hash == j.hash {
		one := j.line(done)
		one.Our, one.Became = "", "the same as "+first.File
		b.record(ctx, one)
		if err := b.dir.Mark(e.Name); err != nil {
			b.complain(ctx, err)
		}
		b.log(ctx, "Processed", e.Name, one.Became)
		return
	}
	b.refuse(ctx, e, fmt.Sprintf("it has the message_id of %s but different content: SHA-256 %s and %s", first.File, j.hash, first.Hash))
}

// job returns the job for a message.
func (b *box) job(name string, m aea.Message, text []byte) *job {
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	if m.ID == "" {
		m.ID = StableID(b.dir.Path, name)
	}
	return &job{file: name, message: m, hash: hash, our: message.DerivedID(m.Time, b.dir.Path, name, hash)}
}

// StableID returns a UUID of the protocol's form that is always the same for the same parts.
func StableID(parts ...string) string {
	id := []byte(message.DerivedID(time.Unix(0, 0), parts...)) // version 7, whose time is 0
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	copy(id, hex.EncodeToString(sum[:4]))
	copy(id[9:], hex.EncodeToString(sum[4:6]))
	id[14] = '4'
	return string(id)
}

// handed is a message that the relay was given; wait waits until the relay has it.
type handed struct {
	*job
	wait func() (fresh bool, err error)
}

// submit hands a message to the relay.
func (b *box) submit(ctx context.Context, j *job) {
	if known := b.ledger.known[j.file]; known.Stage != acting {
		b.record(ctx, j.line(taken))
	}
	b.jobs[j.our] = j
	b.peers.watch(j.our, b)
	j.flies = true
	b.flying++
	var before message.ID
	if n := len(b.handed); n > 0 {
		before = b.handed[n-1].our
	}
	b.handed = append(b.handed, handed{j, b.peers.Relay.Hand(ctx, b.envelope(j), before)})
}

// received waits until the relay has what it was given: many messages go to disk together.
func (b *box) received(ctx context.Context) {
	for _, one := range b.handed {
		fresh, err := one.wait()
		switch {
		case err == nil && !fresh:
			b.recall(ctx, one.our)
		case err == nil:
		case refusedByRelay(err):
			b.forget(one.job)
			if info, statErr := os.Lstat(b.dir.at(one.file)); statErr == nil {
				b.refuse(ctx, Entry{Name: one.file, Changed: changed(info)}, err.Error())
			}
		default:
			b.forget(one.job)
			b.pause()
		}
	}
	b.handed = b.handed[:0]
}

// refusedByRelay reports whether the relay will never take a message. Any other error, such as that nothing can
// be written down, passes some time.
func refusedByRelay(err error) bool {
	of, ok := errors.AsType[message.OfKind](err)
	return ok && of.ErrorKind() == message.KindNotPossible
}

// recall handles the last receipt in the journal of a message of an earlier run.
func (b *box) recall(ctx context.Context, id message.ID) {
	receipts, err := b.peers.Journal.Receipts(ctx, id)
	if err != nil {
		b.complain(ctx, err)
		return
	}
	if n := len(receipts); n > 0 {
		b.heed(ctx, note{receipt: &receipts[n-1]})
	}
}

// envelope returns a message in the relay's form.
func (b *box) envelope(j *job) message.Envelope {
	m := j.message
	from, known := b.peers.sender(b.quickWay(m), b.dir.Path)
	e := message.Envelope{
		ID: j.our, From: message.Address{Peer: from}, To: []message.Address{{Peer: b.peer.ID}}, Type: m.Type, Priority: m.Priority,
		Subject: plain.Beginning(m.Subject, message.MaxSubject), Body: m.Text(), RequiresResponse: m.RequiresResponse(), Trust: message.TrustUnverified,
		Meta: map[string]string{metaFile: j.file, metaID: m.ID, metaThread: m.Thread, metaAgent: m.From.ID, metaFrom: m.From.Path, MetaPrompt: "", "topic": m.Topic, "category": m.Category},
	}
	if !m.Time.IsZero() {
		e.Meta[metaTime] = strconv.FormatInt(m.Time.Unix(), 10)
	}
	if known {
		e.Trust = message.TrustRegister
	}
	if strings.TrimSpace(e.Body) == "" {
		e.Body = m.Subject
	}
	for _, tag := range m.Tags {
		if tag = plain.Beginning(tag, message.MaxTag); tag != "" && len(e.Tags) < message.MaxTags {
			e.Tags = append(e.Tags, tag)
		}
	}
	switch asked := b.peers.Enabled.Sent(b.dir, m.ReplyTo); {
	case m.Type == "update" && asked:
		e.Type = "response" // to something that was asked from here
	case m.Type == "response" && !asked: // anybody may call their file a response
		e.Type = "update"
	}
	return e
}

// way returns the repository to which an answer goes: the one that the message names, or else the one that
// AEA's registry has for its agent; "" for none. It may be away for now.
func (b *box) way(m aea.Message) string {
	path := m.From.Path
	if path == "" && b.peers.Registry.Path != "" {
		if one, ok := b.peers.Registry.Find(m.From.ID); ok {
			path = one.Path
		}
	}
	if d, err := Open(path); err == nil {
		return d.Path
	}
	if !plainPath(path) {
		return ""
	}
	return b.peers.home(Dir{filepath.Clean(path)}, m.ID).Path
}

// quickWay is way, remembered per author for the messages that are taken in together.
func (b *box) quickWay(m aea.Message) string {
	path, known := b.ways[m.From]
	if !known {
		if path = b.way(m); b.ways != nil {
			b.ways[m.From] = path
		}
	}
	return path
}
