package link

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// What a stream keeps of what is sent to one computer while that is away.
const (
	keepFor   = 30 * 24 * time.Hour
	keepMost  = 100_000 // messages
	keepBytes = 1 << 30
	ackWithin = 5 * time.Second // what was on its way when the line was cut comes again so late, and all else behind it
	// dupWithin is how long the stream itself drops what is sent twice. The receiver's journal does for ever.
	dupWithin = 2 * time.Minute
)

// EnsureMailbox makes the stream that keeps what is sent to a computer, and its consumer, if they are not
// there; where they are, they stay as they are. On a cluster the stream is kept by three servers. What is
// beyond the limits is refused, never dropped: its sender is told.
func EnsureMailbox(ctx context.Context, js jetstream.JetStream, token string) (jetstream.Consumer, error) {
	name := StreamOf(token)
	stream, err := js.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = makeStream(ctx, js, token)
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	consumer, err := stream.Consumer(ctx, mail)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		// One at a time: what waits behind a message that cannot be taken yet keeps its place.
		consumer, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: mail, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWithin, MaxAckPending: 1, MaxDeliver: -1, DeliverPolicy: jetstream.DeliverAllPolicy,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("consumer of stream %s: %w", name, err)
	}
	return consumer, nil
}

// jsNoStorage is the server's code for a stream for which its disk has no room.
const jsNoStorage jetstream.ErrorCode = 10047

func makeStream(ctx context.Context, js jetstream.JetStream, token string) (stream jetstream.Stream, err error) {
	config := jetstream.StreamConfig{
		Name: StreamOf(token), Description: "what other computers send to " + token, Subjects: []string{toSubject(token, "*")},
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage,
		MaxAge: keepFor, MaxMsgs: keepMost, MaxBytes: keepBytes, Duplicates: dupWithin,
	}
	for _, config.MaxBytes = range []int64{keepBytes, keepBytes / 8, keepBytes / 64} {
		for _, config.Replicas = range []int{3, 1} {
			stream, err = js.CreateStream(ctx, config)
			if e := jetstream.JetStreamError(nil); !errors.As(err, &e) {
				return stream, err
			}
		}
		// A server sets aside of its disk what a stream may have.
		if !isCode(err, jsNoStorage) {
			break
		}
	}
	return stream, err
}
