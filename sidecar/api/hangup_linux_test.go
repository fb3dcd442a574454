package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// connectFor is the body of a child process: it connects the socket that its parent passed to it, and ends when
// its standard input does.
func connectFor(socket string) {
	if err := syscall.Connect(3, &syscall.SockaddrUnix{Name: socket}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("connected")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// startOf returns when a process began, found without the code under test.
func startOf(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	var start uint64
	_, err = fmt.Sscan(strings.Fields(rest)[19], &start)
	return start, err
}

// connectedBy returns a connection to a socket that another process has made, and a function that ends that
// process.
func connectedBy(t *testing.T, socket string) (conn net.Conn, pid int, end func()) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), "ours")
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = []string{"API_TEST_CONNECT=" + socket}
	cmd.ExtraFiles = []*os.File{file}
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "connected\n", line)
	conn, err = net.FileConn(file)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn, cmd.Process.Pid, func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
	}
}

// Pids are reused, and a connection may outlive its process. Whoever continues the connection of an ended
// process is not taken for the process that has its pid by then.
func TestS28_AConnectionOfAnEndedProcessIsNobodys(t *testing.T) {
	down := func(t *testing.T, conn net.Conn) {
		t.Helper()
		_, err := fmt.Fprintf(conn, "POST /v1/down HTTP/1.1\r\nHost: x\r\n%s: %s\r\nContent-Length: 2\r\n\r\n{}", api.VersionHeader, api.Version)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	t.Run("which ended meanwhile", func(t *testing.T) {
		b := &backend{}
		c, _ := serveWith(t, b.offered(&api.Server{Started: startOf}))
		conn, pid, end := connectedBy(t, c.Socket)
		down(t, conn)
		assert.Equal(t, pid, b.took().from.PID)
		end()
		down(t, conn)
		assert.Equal(t, api.Gone, b.took().from.PID)
	})
	t.Run("whose number is another's by now", func(t *testing.T) {
		b := &backend{}
		asked := uint64(0) // a process that began at each time
		c, _ := serveWith(t, b.offered(&api.Server{Started: func(int) (uint64, error) { asked++; return asked, nil }}))
		conn, _, end := connectedBy(t, c.Socket)
		defer end()
		down(t, conn)
		assert.Equal(t, api.Gone, b.took().from.PID)
	})
	t.Run("before it was let in, and whose number is another's by now", func(t *testing.T) {
		ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		require.NoError(t, err)
		conn, _, end := connectedBy(t, ln.Addr().String())
		end()
		b := &backend{}
		serveOn(t, b.offered(&api.Server{Started: func(int) (uint64, error) { return 1, nil }}), ln)
		down(t, conn)
		from := b.took().from.PID
		if release := kernel(t); from != api.Gone && release < 6.05 {
			t.Skip("a kernel before 6.5 does not tell this")
		}
		assert.Equal(t, api.Gone, from)
	})
}

// kernel returns the version of the kernel as a number, with two digits for the minor version.
func kernel(t *testing.T) float64 {
	t.Helper()
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	var major, minor int
	_, err = fmt.Sscanf(string(data), "%d.%d", &major, &minor)
	require.NoError(t, err)
	return float64(major) + float64(minor)/100
}
