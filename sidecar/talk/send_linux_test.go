package talk

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A stopped listener has accepted the connection and stored nothing: nobody reports the message as stored.
func TestK48_acceptedIsNotStored(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	other := who.another()
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{}))
	p := who.Port(number)
	until(t, func() bool { _, ok := p.Listening(); return ok }, "served")
	other.signal(t, syscall.SIGSTOP)
	other.untilStopped(t)
	_, err := p.Send(t.Context(), Sending{To: number, From: 9001, Body: []byte("x"), Timeout: 300 * time.Millisecond})
	assert.Equal(t, ConnectionTimeout, codeOf(err))
	killed := make(chan error, 1)
	go func() { killed <- p.say(t, 9001, "y") }()
	until(t, func() bool { return established(t, number) > 0 }, "connected")
	other.kill()
	assert.Equal(t, ConnectionClosed, codeOf(<-killed))
	assert.Empty(t, p.unread(t, CheckOptions{}))
}

// established returns how many connections to a port are open at their clients' ends, according to the kernel.
func established(t *testing.T, port int) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		// sl, local address, remote address, state: 01 is established
		if f := strings.Fields(line); len(f) > 3 && f[2] == fmt.Sprintf("0100007F:%04X", port) && f[3] == "01" {
			n++
		}
	}
	return n
}
