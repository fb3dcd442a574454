package door

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// listenFor names a socket on which the test program listens, as another process, until its standard input ends.
const listenFor = "INTERCOM_TEST_LISTEN"

func TestMain(m *testing.M) {
	if path := os.Getenv(listenFor); path != "" {
		os.Exit(listenElsewhere(path))
	}
	if path := os.Getenv(houseAt); path != "" {
		os.Exit(houseElsewhere(path))
	}
	os.Exit(m.Run())
}

// listenElsewhere writes what it receives to a file beside the socket.
func listenElsewhere(path string) int {
	l, err := net.Listen("unix", path)
	if err != nil {
		return 1
	}
	_ = os.Chmod(path, 0o600)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			got, _ := bufio.NewReader(conn).ReadString('\n')
			if got != "" {
				_ = os.WriteFile(path+".got", []byte(got), 0o600)
			}
		}
	}()
	fmt.Println("listening")
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return 0
}

// stage is an agent played by this process: its directory, its record, its key, and its inbox. The inbox imitates
// the observed behaviour of Claude Code's and uses none of our code.
type stage struct {
	*testing.T
	home, dir, socket string
	session           string
	house             *House
	inbox             net.Listener

	mu    sync.Mutex
	lines []string // received by the inbox
	words []Word   // received by us
}

func newStage(t *testing.T) *stage {
	t.Helper()
	top, err := os.MkdirTemp("", "door") // short: it contains sockets
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	s := &stage{T: t, home: filepath.Join(top, "home"), dir: filepath.Join(top, "cc-socks"), session: "11111111-2222-4333-8444-555555555555"}
	s.socket = filepath.Join(s.dir, "agent.sock")
	for _, dir := range []string{filepath.Join(s.home, "sessions"), s.dir} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	s.house = &House{Ledger: filepath.Join(top, "sockets.json"), Log: slog.New(slog.DiscardHandler), Heard: s.hear}
	s.writes(s.record())
	s.writesKey(strings.Repeat("ab", 16))
	return s
}

// record returns this process's record of itself.
func (s *stage) record() map[string]any {
	start, err := process.Start(os.Getpid())
	require.NoError(s, err)
	return map[string]any{
		"pid": os.Getpid(), "procStart": strconv.FormatUint(start, 10), "sessionId": s.session, "version": "2.1.329",
		"peerProtocol": 1, "messagingSocketPath": s.socket, "status": "idle",
	}
}

func (s *stage) writes(record map[string]any) {
	text, err := json.Marshal(record)
	require.NoError(s, err)
	require.NoError(s, os.WriteFile(s.recordPath(), text, 0o600))
}

func (s *stage) recordPath() string {
	return filepath.Join(s.home, "sessions", strconv.Itoa(os.Getpid())+".json")
}

func (s *stage) keyPath() string {
	sum := sha256.Sum256([]byte(s.socket))
	return filepath.Join(s.home, "sessions", fmt.Sprintf("%d.%s.key", os.Getpid(), hex.EncodeToString(sum[:])))
}

func (s *stage) writesKey(token string) {
	require.NoError(s, os.WriteFile(s.keyPath(), []byte(`{"peerToken":"`+token+`"}`), 0o600))
}

// listens opens the inbox, and calls a function for each connection.
func (s *stage) listens(with func(net.Conn)) {
	s.Helper()
	l, err := net.Listen("unix", s.socket)
	require.NoError(s, err)
	require.NoError(s, os.Chmod(s.socket, 0o600))
	s.inbox = l
	s.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go with(conn)
		}
	}()
}

// reads is an inbox that reads everything.
func (s *stage) reads(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		s.mu.Lock()
		s.lines = append(s.lines, lines.Text())
		s.mu.Unlock()
	}
}

func (s *stage) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.lines...)
}

func (s *stage) heard() []Word {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Word(nil), s.words...)
}

func (s *stage) owner() Owner { return Owner{Home: s.home, PIDs: []int{os.Getpid()}} }

func table() profile.Inbox { return profile.Claude().Inbox }

// until waits for a condition.
func (s *stage) until(what string, cond func() bool) {
	s.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			require.Failf(s, "waited in vain", "for %s", what)
		}
	}
}

// another is a process that listens on a path, and ends with the test.
func (s *stage) another(path string) *exec.Cmd {
	s.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), listenFor+"="+path)
	in, err := cmd.StdinPipe()
	require.NoError(s, err)
	out, err := cmd.StdoutPipe()
	require.NoError(s, err)
	require.NoError(s, cmd.Start())
	s.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(s, err)
	return cmd
}
