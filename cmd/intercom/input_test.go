package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// never is an input that never comes.
type never struct{ asked chan struct{} }

func (n never) Read([]byte) (int, error) {
	close(n.asked)
	select {}
}

// A command that waits for its input ends when its context is cancelled. The first signal has been caught by then, so nothing
// else would end it.
func TestS24_InputThatNeverComes(t *testing.T) {
	for _, args := range [][]string{{"send", "ada", "--file", "-"}, {"brakes", "try", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		input := never{make(chan struct{})}
		ended := make(chan int, 1)
		var out, complaints bytes.Buffer
		w := newWorld(t)
		go func() {
			ended <- run(ctx, env{Args: args, Stdin: input, Stdout: &out, Stderr: &complaints, Getenv: w.getenv, Environ: func() []string { return nil }})
		}()
		<-input.asked
		cancel()
		select {
		case code := <-ended:
			assert.NotZero(t, code, args)
			assert.Contains(t, complaints.String(), "intercom: error: ", args)
		case <-time.After(20 * time.Second):
			t.Fatalf("%v does not end", args)
		}
	}
}
