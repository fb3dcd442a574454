package labtest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestNetwork_loopbackAlone(t *testing.T) {
	n, err := newNetwork()
	require.NoError(t, err)
	t.Cleanup(n.close)
	t.Cleanup(func() { _ = n.listener.Close() })
	if n.open != "" {
		t.Skip(n.open)
	}
	inside := func(program string, args ...string) *exec.Cmd {
		words := append(append(n.enter[1:len(n.enter):len(n.enter)], program), args...)
		return exec.CommandContext(t.Context(), n.enter[0], words...)
	}
	devices, err := inside("cat", "/proc/self/net/dev").Output()
	require.NoError(t, err)
	assert.Contains(t, string(devices), "lo:")
	assert.NotContains(t, string(devices), "eth")
	routes, err := inside("cat", "/proc/self/net/route").Output()
	require.NoError(t, err)
	assert.NotContains(t, string(routes), "00000000", "no way out")

	// The listener can be reached from inside, but not from outside.
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash to connect from inside")
	}
	_, port, err := net.SplitHostPort(n.listener.Addr().String())
	require.NoError(t, err)
	got := make(chan string, 1)
	go func() {
		c, err := n.listener.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer c.Close()
		data, _ := io.ReadAll(c)
		got <- string(data)
	}()
	if c, err := net.Dial("tcp", n.listener.Addr().String()); err == nil {
		// A listener of another program may have the same port out here. Its words must not arrive inside.
		_, _ = c.Write([]byte("from outside"))
		c.Close()
	}
	out, err := inside("bash", "-c", "echo hello > /dev/tcp/127.0.0.1/"+port).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "hello\n", <-got)
}

// The keeper ends when the network is closed.
func TestNetwork_keeperEnds(t *testing.T) {
	n, err := newNetwork()
	require.NoError(t, err)
	require.NoError(t, n.listener.Close())
	if n.open != "" {
		n.close()
		t.Skip(n.open)
	}
	pid := n.enter[len(n.enter)-2]
	_, err = os.Stat("/proc/" + pid)
	require.NoError(t, err)
	n.close()
	tmuxtest.WaitFor(t, "the end of the keeper", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return err != nil
	})
}
