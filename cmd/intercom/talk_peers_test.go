package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If a port closes while a sender waits for an answer, the sender is told that none will come, and why.
func TestSend_portThatClosesEndsTheWait(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	port := aFreePort(t)
	k.ok("listen", "start", "--port", port, "--name", "nina")
	in := k.in(k.tmuxServer("waits"))
	in.runs("up")
	until(t, func() bool { return strings.Contains(in.runs("peers"), "nina") })
	cmd := in.command(thisProgram(), "send", "nina", "how far are you?", "--wait", "answered", "--timeout", "10m")
	var told bytes.Buffer
	cmd.Stderr = &told
	require.NoError(t, cmd.Start())
	until(t, func() bool { return len(bodies(k.ok("check", "--port", port))) == 1 })
	k.ok("listen", "stop", "--port", port)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("it waits on")
	}
	assert.Equal(t, 4, cmd.ProcessState.ExitCode(), "%s", &told)
	assert.Contains(t, told.String(), "intercom: error: submitted, and no answer will come: nobody listens on the port\nintercom: hint: intercom peers")
}

// A client and a server of a few lines of Python, written from the document alone, exchange messages with ours byte for byte.
func TestK2_K3_K33_peersInPython(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3: install it to run the peers")
	}
	peers, err := filepath.Abs(filepath.Join("..", "..", "testdata", "peers"))
	require.NoError(t, err)
	k := newTalker(t)
	port := aFreePort(t)
	k.ok("listen", "start", "--port", port)
	texts := []string{"Hello, World!", "5:é:5", "日本語\n\"two\" lines", "", strings.Repeat("x", 100_000)}
	out, err := k.command("python3", append([]string{filepath.Join(peers, "client.py"), port}, texts...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, texts, bodies(k.ok("check", "--port", port, "--clear")))

	server := k.command("python3", filepath.Join(peers, "server.py"), "0")
	pipe, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	lines := bufio.NewReader(pipe)
	theirs, err := lines.ReadString('\n')
	require.NoError(t, err)
	for _, text := range texts {
		sent := k.ok("send", "--to-port", strings.TrimSpace(theirs), "--from-port", port, "--message", text)
		assert.Equal(t, "sent", sent["status"])
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		var got string
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		assert.Equal(t, text, got)
	}
}
