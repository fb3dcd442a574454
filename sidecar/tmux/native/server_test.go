package native_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func each(t *testing.T, test func(t *testing.T, s *tmuxtest.Server, n native.Server)) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		test(t, s, native.Server{Socket: s.Socket, PID: s.PID})
	})
}

// The output of a command, its stream and its exit status are the same as with the tmux program.
func TestRun_isWhatTheProgramDoes(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		s.Print(s.Base, "words \x1b[31mred\x1b[0m ünicode\r\n")
		s.WaitForText(s.Base, "ünicode")
		long := strings.Repeat("#{pane_id} ", 900)
		for _, argv := range [][]string{
			{"display-message", "-p", "#{pid} #{version} #{pane_id}"},
			{"display-message", "-p", long},
			{"list-panes", "-a"},
			{"list-panes", "-a", "-F", "#{pane_id}|#{pane_pid}"},
			{"capture-pane", "-p", "-e", "-J", "-t", s.Base},
			{"display-message", "-p", "one", ";", "capture-pane", "-p", "-S", "-", "-t", s.Base, ";", "display-message", "-p", "two"},
			{"display-message", "-p", "one", ";", "no-such-command"},
			{"display-message", "-p", "one", ";", "kill-pane", "-t", "%999", ";", "display-message", "-p", "two"},
			{"no-such-command"},
			{"list-keys"},
			{"list-clients"},
			{"show-options", "-g"},
			{"display-message", "-p", ""},
			{"set-buffer", "-b", "x", "bytes\n", ";", "show-buffer", "-b", "x"},
			{"save-buffer", "-b", "x", "-"},
			{"run-shell", "exit 3"},
			{"load-buffer", "-b", "y", "-", ";", "show-buffer", "-b", "y"},
			{"load-buffer", filepath.Join(s.Dir, "none")},
		} {
			var stdout, stderr strings.Builder
			cmd := exec.Command(s.Version.Bin, append([]string{"-u", "-N", "-S", s.Socket}, argv...)...)
			cmd.Dir = "/"
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input\n"), &stdout, &stderr
			failed := cmd.Run()
			reply, err := n.Run(t.Context(), argv, []byte("input\n"))
			assert.Equal(t, stdout.String(), string(reply.Stdout), "%q", argv)
			if !strings.HasPrefix(argv[0], "load-buffer") { // the program opens a file, and we do not
				assert.Equal(t, stderr.String(), string(reply.Stderr), "%q", argv)
			}
			var status *native.ExitError
			if exit := (*exec.ExitError)(nil); errors.As(failed, &exit) {
				require.ErrorAs(t, err, &status, "%q", argv)
				assert.Equal(t, exit.ExitCode(), status.Status, "%q", argv)
			} else {
				assert.NoError(t, err, "%q", argv)
			}
		}
		assert.True(t, s.Alive())
	})
}

// Input arrives as it is, of any length.
func TestRun_input(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		for _, size := range []int{1, 16363, 16364, 16365, 65536, 1 << 20} {
			text := make([]byte, size)
			for i := range text {
				text[i] = byte(i*7 + i>>8)
			}
			reply, err := n.Run(t.Context(), []string{"load-buffer", "-b", "x", "-", ";", "show-buffer", "-b", "x", ";", "delete-buffer", "-b", "x"}, text)
			require.NoError(t, err)
			assert.True(t, reply.Sent)
			if !assert.Equal(t, len(text), len(reply.Stdout)) {
				continue
			}
			assert.Equal(t, text, reply.Stdout)
		}
	})
}

// If we end at any byte of a request, the server stays as it was; if we are only stopped there,
// others are answered. A command behind input that did not wholly arrive never runs.
func TestRun_endsAtAnyByte(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		request := native.Request(os.Getpid(), "load-buffer", "-b", "x", "-", ";", "set-option", "-g", "@ran", "yes")
		rest := native.Input(0, []byte("text")) // its stream is not known yet
		held := net.Conn(nil)
		for cut := 0; cut < len(request)+len(rest); cut += 3 {
			conn, err := net.Dial("unix", s.Socket)
			require.NoError(t, err)
			_, err = conn.Write(request[:min(cut, len(request))])
			require.NoError(t, err)
			if cut > len(request) {
				data := make([]byte, 64)
				_, err := io.ReadFull(conn, data[:24])
				require.NoError(t, err)
				stream := int32(binary.NativeEndian.Uint32(data[16:]))
				_, err = conn.Write(native.Input(stream, []byte("text"))[:cut-len(request)])
				require.NoError(t, err)
			}
			if held != nil {
				require.NoError(t, held.Close())
			}
			held = conn
			reply, err := n.Run(t.Context(), []string{"display-message", "-p", "#{pid}"}, nil) // beside the stopped one
			require.NoError(t, err)
			require.NotEmpty(t, reply.Stdout)
		}
		require.NoError(t, held.Close())
		assert.True(t, s.Alive())
		assert.Empty(t, s.Run("show-options", "-gqv", "@ran"))
		assert.Empty(t, s.Run("list-buffers"))
		assert.Empty(t, s.Run("list-clients"))
	})
}

// A waiting command line leaves nothing behind when it is given up. One that a stopped server does
// not answer is given up in time, and the commands behind its input do not run later.
func TestRun_givenUp(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { _, err := n.Run(ctx, []string{"wait-for", "never"}, nil); ended <- err }()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)

		require.NoError(t, syscall.Kill(s.PID, syscall.SIGSTOP))
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		reply, err := n.Run(ctx, []string{"load-buffer", "-b", "x", "-", ";", "set-option", "-g", "@ran", "yes"}, []byte("text"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, reply.Sent)
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGCONT))
		assert.Empty(t, s.Run("show-options", "-gqv", "@ran"))
		assert.Empty(t, s.Run("list-buffers"))
		assert.True(t, s.Alive())
	})
}

// A waiting client learns of the end of the server at once, and nothing delays that end.
func TestRun_serverEnds(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		ended := make(chan error)
		go func() { _, err := n.Run(t.Context(), []string{"wait-for", "never"}, nil); ended <- err }()
		_, _ = n.Run(t.Context(), []string{"kill-server"}, nil)
		require.Error(t, <-ended)
		tmuxtest.WaitFor(t, "the end of the server", func() bool { return errors.Is(syscall.Kill(s.PID, 0), syscall.ESRCH) })
	})
}

// Nothing is written to a socket behind which another process listens.
func TestRun_anotherProcessListens(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = native.Server{Socket: socket, PID: os.Getpid() + 1}.Run(ctx, []string{"list-panes"}, nil)
	require.ErrorIs(t, err, native.ErrPeer)
	conn, err := listener.Accept()
	require.NoError(t, err)
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Empty(t, all)
	require.NoError(t, conn.Close())

	_, err = native.Server{Socket: filepath.Join(dir, "none"), PID: 1}.Run(t.Context(), []string{"list-panes"}, nil)
	require.ErrorIs(t, err, syscall.ENOENT)
}

// The tmux program itself sends the same to a server, except for messages about a terminal.
func TestRequest_isWhatTheProgramSays(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		dir, err := os.MkdirTemp("", "ic")
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		socket := filepath.Join(dir, "s")
		listener, err := net.Listen("unix", socket)
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		argv := []string{"display-message", "-p", "x y;", ";", "list-panes", "-a"}
		cmd := exec.Command(v.Bin, append([]string{"-u", "-N", "-S", socket}, argv...)...)
		cmd.Dir = "/"
		require.NoError(t, cmd.Start())
		conn, err := listener.Accept()
		require.NoError(t, err)
		program := firstOf(t, conn)
		require.NoError(t, conn.Close())
		_ = cmd.Wait()

		ours := firstOf(t, strings.NewReader(string(native.Request(cmd.Process.Pid, argv...))))
		if program[100] == nil {
			delete(ours, 100) // newer ones send the long form twice
		}
		for kind, data := range ours {
			if kind == 101 || kind == 102 || kind == 109 {
				assert.Len(t, program[kind], 1, "message %d", kind) // about a terminal, which we do not have
				continue
			}
			theirs := program[kind][0]
			if kind == 111 { // 3.8 has it told when output is written, if it asks so
				theirs = theirs[:4] + data[0][4:]
			}
			assert.Equal(t, theirs, data[0], "message %d", kind)
		}
	})
}

// firstOf returns the messages up to the command, by their type. Reading drops the descriptors that
// come with some.
func firstOf(t *testing.T, from io.Reader) map[uint32][]string {
	t.Helper()
	all := map[uint32][]string{}
	for all[200] == nil {
		var header [16]byte
		_, err := io.ReadFull(from, header[:])
		require.NoError(t, err)
		data := make([]byte, int(binary.NativeEndian.Uint16(header[4:]))-16)
		_, err = io.ReadFull(from, data)
		require.NoError(t, err)
		assert.Equal(t, byte(8), header[8])
		kind := binary.NativeEndian.Uint32(header[:])
		all[kind] = append(all[kind], string(data))
	}
	return all
}

func descriptors(t *testing.T, pid int) int {
	t.Helper()
	all, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	require.NoError(t, err)
	return len(all)
}
