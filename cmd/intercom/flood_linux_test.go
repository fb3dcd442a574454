package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// most is the peak of a process's resident memory since the last call, in MB.
func most(t *testing.T, pid int) (mb int) {
	t.Helper()
	mb = memoryOf(t, pid, "VmHWM:")
	require.NoError(t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0))
	return mb
}

// memoryOf is one field of a process's /proc status, in MB.
func memoryOf(t *testing.T, pid int, which string) (mb int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), which)
	require.True(t, ok)
	_, err = fmt.Sscan(rest, &mb)
	require.NoError(t, err)
	return mb >> 10
}

// flooding is the size of a flood: long if INTERCOM_LONG is set, otherwise short. Tests send a tenth of it first, to measure the
// memory which that takes.
func flooding(short, long int) int {
	if os.Getenv("INTERCOM_LONG") != "" {
		return long
	}
	return short
}

// bounded asserts that memory does not grow with the flood: the whole may take at most room MB more than the first tenth.
func bounded(t *testing.T, what string, tenth, whole, room int) {
	t.Helper()
	t.Logf("%s: %d MB at a tenth, %d MB at all of it", what, tenth, whole)
	assert.LessOrEqual(t, whole, tenth+room, "%s: memory grows with the flood", what)
}

// A port withstands 2000 connections that each send one message, begin another of a megabyte and then neither write nor read.
// Memory stays bounded, the first message of each connection that was not refused arrives once, and the port still serves.
func TestD5_ConnectionsThatStall(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	pid := int(k.ok("listen", "start", "--port", port)["pid"].(float64))
	got := map[string]int{}
	read := func() (n int) {
		for _, text := range bodies(k.ok("check", "--port", port, "--clear")) {
			got[text]++
			n++
		}
		return n
	}
	word := func(i int) string { return fmt.Sprintf("connection %d", i) }
	stands := func(c net.Conn) bool {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := c.Read(make([]byte, 1))
		return errors.Is(err, os.ErrDeadlineExceeded)
	}
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	flood := func(n int) {
		for range n {
			c, err := net.Dial("tcp4", "127.0.0.1:"+port)
			if errors.Is(err, syscall.ECONNRESET) {
				continue // refused before the connection was made
			}
			require.NoError(t, err)
			text := word(len(all))
			all = append(all, c)
			_, _ = fmt.Fprintf(c, "%d:%s%d:%s", len(text), text, 1<<20, strings.Repeat("x", 32<<10)) // fails if refused
			if len(all)%50 == 0 {
				read() // an inbox keeps a hundred
			}
		}
		until(t, func() bool { // until the message of each open connection has arrived
			read()
			waits := 0
			for i, c := range all {
				if _, said := got[word(i)]; !said && stands(c) {
					waits++
				}
			}
			return waits == 0
		})
	}
	n := flooding(200, 2000)
	most(t, pid)
	flood(n / 10)
	tenth := most(t, pid)
	flood(n - n/10)
	bounded(t, fmt.Sprintf("%d connections", n), tenth, most(t, pid), 40) // 16 large frames, and 512 conversations

	taken := 0
	for i, c := range all {
		assert.LessOrEqual(t, got[word(i)], 1, "%s was taken twice", word(i))
		if stands(c) {
			taken++
		}
	}
	t.Logf("%d of %d stand", taken, n)
	assert.Positive(t, taken)
	for _, c := range all {
		c.Close()
	}
	until(t, func() bool {
		_, code := k.says("send", "--to-port", port, "--from-port", "9001", "--message", "and after")
		return code == 0
	})
	until(t, func() bool { read(); return got["and after"] > 0 })
}

// 10,000 AEA files arrive at once while the inotify queue overflows. Each is processed once, in bounded memory.
func TestD5_FilesAtOnce(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	asker, target := filepath.Join(k.env["HOME"], "asker"), filepath.Join(k.env["HOME"], "target")
	for _, dir := range []string{asker, target} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		k.runsIn(dir, "aea", "install")
	}
	k.runsIn(target, "aea", "monitor", "start")
	var one struct{ File string }
	require.NoError(t, json.Unmarshal([]byte(k.runsIn(asker, "aea", "send", "--to", "claude-target", "--type", "update", "--priority", "low", "--subject", "s", "--message", "m", "--json")), &one))
	logged := func() string {
		text, _ := os.ReadFile(filepath.Join(target, ".aea", "agent.log"))
		return string(text)
	}
	until(t, func() bool { return strings.Contains(logged(), "/"+filepath.Base(one.File)+" -> ") })
	pattern, err := os.ReadFile(one.File)
	require.NoError(t, err)
	id := regexp.MustCompile(`"message_id": *"[^"]*"`)
	require.Regexp(t, id, string(pattern))

	var sent []string
	var pid int
	until(t, func() bool { pid = k.sidecarOf(""); return pid > 0 })
	drop := func(n int) {
		own, err := fsnotify.NewWatcher() // nobody reads it, as the stopped sidecar does not read its own
		require.NoError(t, err)
		require.NoError(t, own.Add(filepath.Join(target, ".aea")))
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		defer syscall.Kill(pid, syscall.SIGCONT)
		staged := []string{filepath.Join(target, ".aea", ".one"), filepath.Join(target, ".aea", ".two")}
		for _, path := range staged {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		for i := range 12_000 { // 24,000 events, none equal to its predecessor: the queue holds 16,384, and one read takes 2,048
			for _, path := range staged {
				require.NoError(t, os.Chmod(path, 0o600|os.FileMode(i%2)<<6))
			}
		}
		for range n {
			at := time.Date(2026, 1, 1, 0, 0, len(sent), 0, time.UTC)
			name := "message-" + at.Format("20060102T150405Z") + "-from-claude-asker.json"
			text := id.ReplaceAllString(string(pattern), `"message_id": "`+string(message.NewID())+`"`)
			require.NoError(t, os.WriteFile(filepath.Join(target, ".aea", ".new"), []byte(text), 0o600))
			require.NoError(t, os.Rename(filepath.Join(target, ".aea", ".new"), filepath.Join(target, ".aea", name)))
			sent = append(sent, name)
		}
		overflowed := false
		for !overflowed {
			select {
			case err := <-own.Errors:
				require.ErrorIs(t, err, fsnotify.ErrEventOverflow)
				overflowed = true
			case <-own.Events:
			case <-time.After(20 * time.Second):
				require.Fail(t, "the queue did not overflow")
			}
		}
		require.NoError(t, own.Close())
	}
	processed := func() int { return strings.Count(logged(), " -> acknowledged\n") }
	wait := func() {
		for done := processed(); done < len(sent)+1; done = processed() { // while it makes progress
			until(t, func() bool { return processed() > done })
		}
	}
	n := flooding(150, 10_000)
	most(t, pid)
	drop(n / 10)
	wait()
	tenth := most(t, pid)
	drop(n - n/10)
	wait()
	bounded(t, fmt.Sprintf("%d files", n), tenth, most(t, pid), flooding(10+garbageMost>>20, 60)) // and uncollected garbage
	log := logged()
	for _, name := range sent {
		require.Equal(t, 1, strings.Count(log, "] Processed: .aea/"+name+" -> acknowledged\n"), name)
	}
}

// A port takes many messages of a megabyte at once. Each arrives whole and once, in bounded memory.
func TestD5_Megabytes(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	pid := int(k.ok("listen", "start", "--port", port)["pid"].(float64))
	n, atOnce := flooding(30, 300), flooding(3, 30)
	got := map[string]int{}
	read := func() (n int) {
		for _, text := range bodies(k.ok("check", "--port", port, "--clear")) {
			require.Len(t, text, 1<<20)
			got[strings.TrimRight(text, "x")]++
			n++
		}
		return n
	}
	sent := 0
	flood := func(n int) {
		for ; n > 0; n -= atOnce {
			var all sync.WaitGroup
			for range min(n, atOnce) {
				name := fmt.Sprintf("megabyte %d ", sent)
				sent++
				all.Go(func() {
					c, err := net.Dial("tcp4", "127.0.0.1:"+port)
					if !assert.NoError(t, err) {
						return
					}
					defer c.Close()
					_, err = fmt.Fprintf(c, "%d:%s", 1<<20, name+strings.Repeat("x", 1<<20-len(name)))
					assert.NoError(t, err)
					_ = c.(*net.TCPConn).CloseWrite()
					_, _ = io.Copy(io.Discard, c)
				})
			}
			all.Wait()
			read()
		}
	}
	most(t, pid)
	flood(n / 10)
	tenth := most(t, pid)
	flood(n - n/10)
	whole := most(t, pid)
	until(t, func() bool { read(); return len(got) == n })
	for name, times := range got {
		assert.Equal(t, 1, times, name)
	}
	bounded(t, fmt.Sprintf("%d messages of a megabyte to a port", n), tenth, whole, 80) // 16 at once, and their lines
}

// AEA files of a megabyte, the most that one may hold, are each processed once, in bounded memory.
func TestD5_MegabytesInFiles(t *testing.T) {
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("30 files of a megabyte: set INTERCOM_LONG=1")
	}
	t.Parallel()
	k := newTalker(t)
	dirs := k.repositories("asker", "target")
	k.runsIn(dirs[1], "aea", "monitor", "start")
	text := strings.Repeat("é", 500_000)
	var pid int
	until(t, func() bool { pid = k.sidecarOf(""); return pid > 0 })
	logged := func() string {
		log, _ := os.ReadFile(filepath.Join(dirs[1], ".aea", "agent.log"))
		return string(log)
	}
	var sent []string
	flood := func(n int) {
		for range n {
			var one struct{ File string }
			cmd := k.command(thisProgram(), "aea", "send", "--to", "claude-target", "--type", "update", "--priority", "low", "--subject", "s", "--message", "-", "--json")
			cmd.Dir, cmd.Stdin = dirs[0], strings.NewReader(text)
			out, err := cmd.Output()
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(out, &one))
			info, err := os.Stat(one.File)
			require.NoError(t, err)
			require.Greater(t, info.Size(), int64(1_000_000))
			sent = append(sent, filepath.Base(one.File))
		}
		for done := -1; done < len(sent); { // while it makes progress
			until(t, func() bool {
				before := done
				done = strings.Count(logged(), "] Processed: ")
				return done > before
			})
		}
	}
	const n = 30 // below the limit for approvals: on a busy machine the policies may time out
	most(t, pid)
	flood(n / 10)
	tenth := most(t, pid)
	flood(n - n/10)
	bounded(t, fmt.Sprintf("%d files of a megabyte", n), tenth, most(t, pid), 10+garbageMost>>20)
	for _, name := range sent {
		assert.Equal(t, 1, strings.Count(logged(), "] Processed: .aea/"+name+" -> "), name)
	}
}

// 2000 clients of the sidecar at once, half of which never finish their request while the rest read no reply. Memory stays
// bounded, other commands are answered and messages accepted meanwhile, and the connections are gone once the clients hang up.
func TestD5_ClientsThatStall(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	pid := int(k.ok("listen", "start", "--port", port)["pid"].(float64))
	ask := "GET /v1/status HTTP/1.1\r\nHost: intercom\r\n\r\n"
	var all []net.Conn
	hangUp := func() {
		for _, c := range all {
			c.Close()
		}
		all = nil
	}
	defer hangUp()
	flood := func(n int) {
		for i := range n {
			c, err := net.Dial("unix", k.headless().Socket)
			require.NoError(t, err)
			all = append(all, c)
			text := ask[:len(ask)/2]
			switch {
			case i%20 == 0:
				text = strings.Repeat(ask, 400) // more than the socket's buffers hold
			case i%2 == 0:
				text = ask
			}
			_ = c.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
			_, _ = io.WriteString(c, text)
			if i%(n/4) == 0 {
				k.runs("status")
				k.ok("send", "--to-port", port, "--from-port", "9001", "--message", fmt.Sprint("meanwhile ", len(all)))
			}
		}
	}
	n := flooding(200, 2000)
	files := openOf(t, pid)
	most(t, pid)
	flood(n / 10)
	tenth := most(t, pid)
	flood(n - n/10)
	bounded(t, fmt.Sprintf("%d clients", n), tenth, most(t, pid), n/20+garbageMost>>20) // 50 kB each, and uncollected garbage
	hangUp()
	until(t, func() bool { return openOf(t, pid) <= files+n/10 }) // the sidecar opens some files of its own, too
	assert.Len(t, bodies(k.ok("check", "--port", port)), 8)
}
