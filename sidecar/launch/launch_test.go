package launch

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// A process that ends while it is examined has ended, whatever it looked like: a group without a member looks
// asleep.
func TestLives_endsWhileItIsLookedAt(t *testing.T) {
	t.Parallel()
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cat.Start())
	start, err := process.Start(cat.Process.Pid)
	require.NoError(t, err)
	ends := func() bool {
		_ = in.Close()
		_ = cat.Wait()
		return true
	}
	err = lives(context.Background(), message.Process{PID: cat.Process.Pid, Start: start}, time.Minute, ends)
	require.ErrorIs(t, err, ErrEnded)
}

// A person who gives up does not wait for the look at the program.
func TestAdopt_givenUp(t *testing.T) {
	t.Parallel()
	l := &Launcher{}
	l.init()
	words, over := l.await("s")
	defer over()
	ctx, giveUp := context.WithCancel(t.Context())
	said := make(chan error, 1)
	go func() { said <- l.Adopt(ctx, "s", pane.Request{}) }()
	<-words // and no answer
	giveUp()
	select {
	case err := <-said:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		t.Fatal("it still waits")
	}
}
