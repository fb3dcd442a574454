package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What a stream keeps of the messages to one computer while that computer is away.
const (
	keepFor   = 30 * 24 * time.Hour
	keepMost  = 100_000 // messages
	keepEach  = 20_000  // of one sender, so that others find room
	keepBytes = 1 << 30
	// dupWithin is how long the stream itself drops a message that is sent twice. The receiver's journal does
	// so for ever.
	dupWithin = 2 * time.Minute
)

// Mailbox is the stream that keeps the messages to a computer. It has no consumer, which would hand out the
// mail of all senders in one queue. Instead the oldest message of each sender is read and, once it is in the
// journal, deleted.
type Mailbox struct {
	stream jetstream.Stream
	conn   *nats.Conn
	name   string
}

// Mail is one message in a mailbox.
type Mail struct {
	Subject string
	Header  nats.Header
	Data    []byte
	Seq     uint64
}

// EnsureMailbox creates the mailbox of a computer if it does not exist, and otherwise leaves it as it is. On a
// cluster three servers keep it. What exceeds the limits is refused, never dropped, and the sender learns of
// it.
func EnsureMailbox(ctx context.Context, js jetstream.JetStream, token string) (*Mailbox, error) {
	name := StreamOf(token)
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = makeStream(ctx, js, token)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	return &Mailbox{stream, js.Conn(), name}, nil
}

// RenewMailbox is EnsureMailbox for those who may change streams: it also adds what a stream of an older
// version lacks.
func RenewMailbox(ctx context.Context, js jetstream.JetStream, token string) error {
	box, err := EnsureMailbox(ctx, js, token)
	if err != nil || box.rings() {
		return err
	}
	config, wanted := box.stream.CachedInfo().Config, streamConfig(token)
	config.RePublish, config.MaxMsgsPerSubject, config.DiscardNewPerSubject = wanted.RePublish, wanted.MaxMsgsPerSubject, wanted.DiscardNewPerSubject
	if _, err = js.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("stream %s: %w", box.name, err)
	}
	return nil
}

// jsNoStorage is the server's code for a stream for which its disk has no room.
const jsNoStorage jetstream.ErrorCode = 10047

func streamConfig(token string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamOf(token), Description: "what other computers send to " + token, Subjects: []string{toSubject(token, "*")},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
		MaxAge: keepFor, MaxMsgs: keepMost, MaxMsgsPerSubject: keepEach, DiscardNewPerSubject: true, MaxBytes: keepBytes, Duplicates: dupWithin,
		RePublish: &jetstream.RePublish{Source: toSubject(token, "*"), Destination: bellSubject(token, "{{wildcard(1)}}"), HeadersOnly: true},
	}
}

func makeStream(ctx context.Context, js jetstream.JetStream, token string) (stream jetstream.Stream, err error) {
	config := streamConfig(token)
	for _, config.MaxBytes = range []int64{keepBytes, keepBytes / 8, keepBytes / 64} {
		for _, config.Replicas = range []int{3, 1} {
			stream, err = js.CreateStream(ctx, config)
			if e := jetstream.JetStreamError(nil); !errors.As(err, &e) {
				return stream, err
			}
		}
		// A server reserves the disk space that a stream may use.
		if !isCode(err, jsNoStorage) {
			break
		}
	}
	return stream, err
}

// rings reports whether the server announces new mail.
func (b *Mailbox) rings() bool { return b.stream.CachedInfo().Config.RePublish != nil }

// Waiting returns the subjects that have mail. The filter is ">" because a reply subject can make the server
// put in messages whose subjects do not belong to this mailbox.
func (b *Mailbox) Waiting(ctx context.Context) (subjects []string, err error) {
	info, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", b.name, err)
	}
	for subject := range info.State.Subjects {
		subjects = append(subjects, subject)
	}
	return subjects, nil
}

// First returns the oldest message of a subject, or nil. It uses STREAM.MSG.GET even if the stream allows
// direct reads: these hand out a message with its headers, to whomever they name.
func (b *Mailbox) First(ctx context.Context, subject string) (*Mail, error) {
	ask, err := json.Marshal(struct {
		Subject string `json:"next_by_subj"`
	}{subject})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	got, err := b.conn.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+b.name, ask)
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", b.name, err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err = json.Unmarshal(got.Data, &answer); err == nil && answer.Error != nil {
		if answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return nil, nil //nolint:nilnil // there is none
		}
		err = answer.Error
	}
	m := &Mail{Subject: answer.Message.Subject, Data: answer.Message.Data, Seq: answer.Message.Seq}
	if err == nil && len(answer.Message.Header) > 0 {
		m.Header, err = nats.DecodeHeadersMsg(answer.Message.Header)
	}
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", b.name, err)
	}
	return m, nil
}

// Delete removes a message from the mailbox.
func (b *Mailbox) Delete(ctx context.Context, m *Mail) error {
	ctx, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	if err := b.stream.DeleteMsg(ctx, m.Seq); err != nil {
		return fmt.Errorf("delete message %d of stream %s: %w", m.Seq, b.name, err)
	}
	return nil
}
