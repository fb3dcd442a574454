package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilSignal returns a context that ends at SIGINT or SIGTERM. The first one asks for an end in order; after it the second
// one ends at once. A SIGINT is none of ours while a person's editor has the terminal.
func untilSignal() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		first := <-signals
		for first == os.Interrupt && editing.Load() {
			first = <-signals
		}
		end(signalError{first})
		signal.Stop(signals)
	}()
	return ctx
}

// signalError is the cause of an end that a signal asked for, in the words of signal.NotifyContext.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() + " signal received" }

// Is reports whether target is what a context that was cancelled returns.
func (e signalError) Is(target error) bool { return target == context.Canceled }
