package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestK24_K25_K27_listenOnce(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	a, b, quiet := aFreePort(t), aFreePort(t), aFreePort(t)
	silent := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		got, _ := k.talks("listen-once", "--port", quiet)
		assert.Equal(t, "no message", got["status"])
		silent <- time.Since(began)
	}()
	none := k.ok("listen-once", "--port", a, "--timeout", "0.1")
	assert.Equal(t, map[string]any{"port": toFloat(t, a), "message_count": 0.0, "messages": []any{}, "status": "no message"}, none)

	// Called repeatedly while another sends, each call gets the next message.
	k.ok("listen", "start", "--port", a)
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range 20 {
			_, code := k.says("send", "--to-port", a, "--from-port", b, "--message", fmt.Sprint(i))
			assert.Zero(t, code)
		}
	})
	for i := range 20 {
		got := k.once(a)
		assert.ElementsMatch(t, []string{"port", "message_count", "messages"}, talkKeys(got))
		assert.Equal(t, []string{fmt.Sprint(i)}, bodies(got), "none is lost between two calls")
	}
	sending.Wait()

	// One asks and waits for the answer. Without a message, the wait lasts as long as the timeout says.
	k.ok("listen", "start", "--port", b)
	k.ok("send", "--to-port", b, "--from-port", a, "--message", "question")
	sending.Go(func() {
		assert.Equal(t, []string{"question"}, bodies(k.once(b)))
		_, code := k.says("send", "--to-port", a, "--from-port", b, "--message", "answer")
		assert.Zero(t, code)
	})
	assert.Equal(t, []string{"answer"}, bodies(k.once(a)))
	sending.Wait()
	began := time.Now()
	assert.Equal(t, "no message", k.ok("listen-once", "--port", a, "--timeout", "2")["status"])
	assert.GreaterOrEqual(t, time.Since(began), 2*time.Second)

	// The same holds if no listener runs: this command then listens itself.
	k.ok("listen", "stop", "--port", b)
	sending.Go(func() {
		until(t, func() bool {
			_, code := k.says("send", "--to-port", b, "--from-port", a, "--message", "to nobody")
			return code == 0
		})
	})
	assert.Equal(t, []string{"to nobody"}, bodies(k.once(b)))
	sending.Wait()
	waited := <-silent
	assert.GreaterOrEqual(t, waited, 5*time.Second, "where nobody says otherwise")
	assert.Less(t, waited, 5*time.Second+tmuxtest.Patience)
}

// If another command asks for a listener on the port while listen-once listens itself, the sidecar serves the port once
// listen-once has ended, and gets the next message.
func TestListenOnce_handsOver(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	var once sync.WaitGroup
	once.Go(func() { assert.Equal(t, []string{"one"}, bodies(k.once(port))) })
	defer once.Wait()
	pid := filepath.Join(k.env["HOME"], ".ai-talk", port, "listener.pid")
	until(t, func() bool {
		_, err := os.Stat(pid)
		return err == nil
	})
	k.ok("listen", "start", "--port", port)
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "one")
	once.Wait()
	k.ok("send", "--to-port", port, "--from-port", "9001", "--message", "two")
	assert.Equal(t, []string{"two"}, bodies(k.ok("check", "--port", port)))
}

// once waits for one message with a timeout much longer than the test's patience, so a wait that lasts fails the test.
func (k *talker) once(port string) (got map[string]any) {
	k.t.Helper()
	cmd := k.command(thisProgram(), "talk", "listen-once", "--port", port, "--timeout", "3600")
	late := time.AfterFunc(40*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	out, err := cmd.Output()
	require.NoError(k.t, err, "a message that is there is printed at once")
	require.NoError(k.t, json.Unmarshal(out, &got), "%q", out)
	return got
}
