// Command intercom-hub is the server between the computers of one person, for people who have no NATS server:
// nats-server with JetStream, with keys and certificates that it makes itself. It knows nothing of messages except who
// may send to whom.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/inherited"
)

func main() {
	inherited.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an end in order; after it the second one ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, env{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}))
}
