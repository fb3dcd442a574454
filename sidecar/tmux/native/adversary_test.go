package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A connection is cut at every byte, in either direction; every byte of the server arrives changed;
// each byte comes by itself; the server falls silent at any byte. We still write only what a server
// that trusts its client accepts. The server lives on and keeps nothing. A text that was not wholly
// sent is never typed, a text with a reply is typed once, and any other at most once.
func TestS23_C47_AWireThatFailsAnywhere(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, _ native.Server) {
		r := s.NewRecorder(false)
		b := tmuxtest.NewBetween(t, s)
		n := native.Server{Socket: b.Socket, PID: os.Getpid()}
		before, tried := descriptors(t, s.PID), 0
		var proven, never, unknown []string
		try := func(w tmuxtest.Wire, within time.Duration) {
			t.Helper()
			tried++
			text := fmt.Sprintf("text %d of many.", tried)
			b.Next(w)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			reply, err := n.Run(ctx, []string{
				"load-buffer", "-b", "x", "-", ";", "if-shell", "-F", "-t", r.Pane, "#{==:#{pane_dead},0}",
				"paste-buffer -r -d -b x -t " + r.Pane + " ; display-message -p TYPED", "delete-buffer -b x",
			}, []byte(text))
			ours, theirs := b.Said()
			require.NoError(t, native.Strict(changed(theirs, w), ours), "%+v", w)
			switch {
			case err == nil && string(reply.Stdout) == "TYPED\n":
				proven = append(proven, text)
			case !reply.Sent:
				never = append(never, text)
			default:
				unknown = append(unknown, text)
			}
			if w == (tmuxtest.Wire{}) {
				require.NoError(t, err)
			}
		}
		try(tmuxtest.Wire{}, tmuxtest.Patience)
		ours, theirs := b.Said()
		up, down := len(ours), len(theirs)
		step := 7 // different places, over the versions and in time
		if os.Getenv("INTERCOM_LONG") != "" {
			step = 1
		}
		for at := 1 + rand.IntN(step); at <= up; at += step {
			try(tmuxtest.Wire{CutUp: at}, tmuxtest.Patience)
		}
		for at := 1 + rand.IntN(step); at <= down; at += step {
			try(tmuxtest.Wire{CutDown: at}, tmuxtest.Patience)
			for _, bits := range []byte{0x01, 0x80, 0xff} {
				try(tmuxtest.Wire{Flip: at, Bits: bits}, 100*time.Millisecond) // it may wait for bytes that never come
			}
		}
		for at := 1 + rand.IntN(5*step); at <= up; at += 5 * step {
			try(tmuxtest.Wire{HangUp: at}, 50*time.Millisecond)
		}
		for at := 1 + rand.IntN(5*step); at <= down; at += 5 * step {
			try(tmuxtest.Wire{HangDown: at}, 50*time.Millisecond)
		}
		try(tmuxtest.Wire{Single: true}, tmuxtest.Patience)
		try(tmuxtest.Wire{}, tmuxtest.Patience)

		last := proven[len(proven)-1]
		tmuxtest.WaitFor(t, "the last text", func() bool { return bytes.Contains(r.Bytes(), []byte(last)) })
		typed := string(r.Bytes())
		for _, one := range proven {
			assert.Equal(t, 1, strings.Count(typed, one), one)
		}
		for _, one := range never {
			assert.Zero(t, strings.Count(typed, one), one)
		}
		for _, one := range unknown {
			assert.LessOrEqual(t, strings.Count(typed, one), 1, one)
		}
		t.Logf("%d bytes of ours, %d of the server: %d proven, %d never, %d unknown", up, down, len(proven), len(never), len(unknown))
		assert.NotEmpty(t, never)
		assert.NotEmpty(t, unknown)
		nothingLeft(t, s, before)
	})
}

// changed returns the bytes of a server as its client read them.
func changed(said []byte, w tmuxtest.Wire) []byte {
	if w.Flip > 0 && w.Flip <= len(said) {
		said[w.Flip-1] ^= w.Bits
	}
	return said
}

// nothingLeft asserts that a server lives, and has no client, buffer or descriptor of ours.
func nothingLeft(t *testing.T, s *tmuxtest.Server, before int) {
	t.Helper()
	assert.True(t, s.Alive())
	assert.Empty(t, s.Run("list-clients"))
	assert.Empty(t, s.Run("list-buffers"))
	tmuxtest.WaitFor(t, "descriptors", func() bool { return descriptors(t, s.PID) <= before })
}

// The listener at the socket is not tmux. Whatever it says, and wherever it stops, a command line
// ends with an error within its time and without a reply, and nothing is written that a tmux could
// not accept.
func TestS23_C47_WhatListensIsNoServer(t *testing.T) {
	t.Parallel()
	for name, speak := range map[string]func(net.Conn){
		"closes":       func(net.Conn) {},
		"hangs":        func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"hangs unread": func(c net.Conn) { time.Sleep(100 * time.Millisecond) },
		"random bytes": func(c net.Conn) {
			junk := make([]byte, 1<<16)
			for i := range junk {
				junk[i] = byte(rand.Int())
			}
			_, _ = c.Write(junk)
		},
		"says what it hears": func(c net.Conn) { _, _ = io.Copy(c, c) },
		"an older protocol":  func(c net.Conn) { _, _ = c.Write(theirs(12, 7)) },
		"a newer protocol":   func(c net.Conn) { _, _ = c.Write(theirs(12, 9)) },
		"asks without end": func(c net.Conn) {
			for i := int32(0); ; i++ {
				if _, err := c.Write(theirs(300, 8, i, 0)); err != nil {
					return
				}
			}
		},
		"asks twice": func(c net.Conn) {
			_, _ = c.Write(append(theirs(300, 8, 3, 0), theirs(300, 8, 3, 0)...))
			_, _ = io.Copy(io.Discard, c)
		},
		"asks, and does not read": func(c net.Conn) {
			_, _ = c.Write(theirs(300, 8, 3, 0))
			time.Sleep(100 * time.Millisecond)
		},
		"half a message": func(c net.Conn) {
			_, _ = c.Write(theirs(300, 8, 3, 0)[:19])
			_, _ = io.Copy(io.Discard, c)
		},
		"a byte now and then": func(c net.Conn) {
			for _, b := range theirs(303, 8, 1, 1, 0) {
				time.Sleep(5 * time.Millisecond)
				_, _ = c.Write([]byte{b})
			}
		},
		"another's end": func(c net.Conn) { _, _ = c.Write(theirs(201, 8)) },
		"its own end":   func(c net.Conn) { _, _ = c.Write(theirs(210, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "ic")
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			require.NoError(t, err)
			var all sync.WaitGroup
			all.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					all.Go(func() { defer c.Close(); speak(c) })
				}
			})
			t.Cleanup(func() { _ = l.Close(); all.Wait() })
			for _, text := range [][]byte{nil, []byte("text"), make([]byte, 4<<20)} {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				reply, err := native.Server{Socket: l.Addr().String(), PID: os.Getpid()}.Run(ctx, []string{"load-buffer", "-"}, text)
				cancel()
				require.Error(t, err)
				var status *native.ExitError
				assert.False(t, errors.As(err, &status), "%v", err)
				assert.Empty(t, reply.Stdout)
			}
		})
	}
}

// theirs returns a message of a server of some version.
func theirs(kind uint32, version byte, numbers ...int32) []byte {
	m := []byte{byte(kind), byte(kind >> 8), 0, 0, byte(16 + 4*len(numbers)), 0, 0, 0, version, 0, 0, 0, 255, 255, 255, 255}
	for _, n := range numbers {
		m = append(m, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return m
}

// Twenty clients send at once while the server is stopped for longer than their deadline. Each
// gives up, and once the server goes on, nothing that stood behind input has run, and nothing is
// left.
func TestS23_C47_TwentyBeforeAStoppedServer(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		r := s.NewRecorder(false)
		before := descriptors(t, s.PID)
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGSTOP))
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				reply, err := n.Run(ctx, typing(r.Pane, fmt.Sprint("b", i)), fmt.Append(nil, "line ", i, "\n"))
				assert.Error(t, err)
				assert.False(t, reply.Sent)
			})
		}
		all.Wait()
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGCONT))
		reply, err := n.Run(t.Context(), typing(r.Pane, "last"), []byte("last\n"))
		require.NoError(t, err)
		assert.Equal(t, "TYPED\n", string(reply.Stdout))
		tmuxtest.WaitFor(t, "the last text", func() bool { return bytes.Contains(r.Bytes(), []byte("last")) })
		assert.Equal(t, "last\n", string(r.Bytes()))
		nothingLeft(t, s, before)
	})
}

// More clients connect at once than the server's queue holds. A client that finds no room waits
// until there is some, or until its deadline, and none needs another transport.
func TestS23_C47_MoreThanMayWait(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		before := descriptors(t, s.PID)
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGSTOP))
		var waiting []net.Conn
		for {
			c, err := net.Dial("unix", s.Socket)
			if err != nil {
				require.ErrorIs(t, err, syscall.EAGAIN)
				break
			}
			waiting = append(waiting, c)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := n.Run(ctx, []string{"list-panes"}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		errs := make(chan error)
		for range 20 {
			go func() { _, err := n.Run(t.Context(), []string{"list-panes"}, nil); errs <- err }()
		}
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGCONT))
		for range 20 {
			assert.NoError(t, <-errs)
		}
		for _, c := range waiting {
			require.NoError(t, c.Close())
		}
		nothingLeft(t, s, before)
	})
}

// typing returns the commands that type a text by way of a buffer.
func typing(pane, buffer string) []string {
	return []string{"load-buffer", "-b", buffer, "-", ";", "paste-buffer", "-r", "-d", "-b", buffer, "-t", pane, ";", "display-message", "-p", "TYPED"}
}

// Thousands of command lines run, twenty at a time (40,000 in a long run). Each has its own reply,
// the text that they type comes whole and once, and the server keeps nothing of them.
func TestS23_C47_ManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		turns := 20
		if os.Getenv("INTERCOM_LONG") != "" {
			turns = 2000
		}
		r := s.NewRecorder(false)
		before, memory := descriptors(t, s.PID), tmuxtest.Resident(t, s.PID)
		speaks := func(who int) error {
			for turn := range turns {
				buffer := fmt.Sprintf("b%d", who)
				text := fmt.Sprintf("%d of %d|", turn, who)
				argv, want := typing(r.Pane, buffer), "TYPED\n"
				switch turn % 4 {
				case 1:
					argv, want = []string{"load-buffer", "-b", buffer, "-", ";", "show-buffer", "-b", buffer, ";", "delete-buffer", "-b", buffer}, text
				case 2:
					argv, want = []string{"display-message", "-p", "#{pid} " + text}, fmt.Sprintf("%d %s\n", s.PID, text)
				case 3:
					argv, want = []string{"display-message", "-p", text, ";", "capture-pane", "-p", "-t", s.Base, "-E", "0", ";", "display-message", "-p", text}, text+"\n\n"+text+"\n"
				}
				var stdin []byte
				if turn%4 < 2 {
					stdin = []byte(text)
				}
				reply, err := n.Run(context.Background(), argv, stdin)
				if err != nil || string(reply.Stdout) != want || len(reply.Stderr) > 0 {
					return fmt.Errorf("%q: %q, %q, %w", argv, reply.Stdout, reply.Stderr, err)
				}
			}
			return nil
		}
		errs := make(chan error)
		for who := range 20 {
			go func() { errs <- speaks(who) }()
		}
		var failed error
		for range 20 {
			failed = errors.Join(failed, <-errs)
		}
		require.NoError(t, failed)
		typed := 20 * ((turns + 3) / 4)
		tmuxtest.WaitFor(t, "what was typed", func() bool { return bytes.Count(r.Bytes(), []byte("|")) >= typed })
		seen := map[string]bool{}
		for _, one := range strings.SplitAfter(strings.TrimSuffix(string(r.Bytes()), "|"), "|") {
			seen[strings.TrimSuffix(one, "|")] = true
		}
		assert.Equal(t, typed, bytes.Count(r.Bytes(), []byte("|")))
		assert.Len(t, seen, typed, "each once")
		nothingLeft(t, s, before)
		t.Logf("%d command lines; descriptors %d, then %d; memory of the server %d KiB, then %d", 20*turns, before, descriptors(t, s.PID), memory, tmuxtest.Resident(t, s.PID))
		assert.Less(t, tmuxtest.Resident(t, s.PID)-memory, 16<<10, "KiB")
	})
}
