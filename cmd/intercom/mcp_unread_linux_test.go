package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A message that an MCP client fetches counts as submitted once the client has read the answer. If the client ends or cancels
// first, the message is typed instead. If its server is killed, the message is uncertain.
func TestM6_submittedMeansRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		then func(t *testing.T, r *rawMCP)
		want []string // the states after typed
		once bool     // the message is typed into the agent
	}{
		{"it reads", func(t *testing.T, r *rawMCP) { r.reads(t, "for you") }, []string{"submitted"}, false},
		{"it ends", func(t *testing.T, r *rawMCP) { r.ends(t) }, []string{"held", "queued"}, true},
		{"it cancels", func(t *testing.T, r *rawMCP) {
			r.answered(t)
			r.writes(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"its user pressed a key"}}`)
		}, []string{"held", "queued"}, true},
		{"its server is killed", func(t *testing.T, r *rawMCP) { require.NoError(t, syscall.Kill(r.pid(t), syscall.SIGKILL)) }, []string{"uncertain"}, false},
		{"its server is stopped while it reads", func(t *testing.T, r *rawMCP) {
			r.answered(t) // its server has passed the answer on: typed says only that it is about to
			r.stopped(t, func() { r.reads(t, "for you") })
		}, []string{"submitted"}, false},
		{"its server is stopped while it ends", func(t *testing.T, r *rawMCP) {
			r.stopped(t, func() { r.ends(t) })
		}, []string{"held", "queued"}, true},
		{"it closes its half of a socket, and reads", func(t *testing.T, r *rawMCP) {
			r.answered(t) // a call that still waits when its client has closed its half is cancelled
			require.NoError(t, syscall.Shutdown(int(r.to.Fd()), syscall.SHUT_WR))
			r.reads(t, "for you")
		}, []string{"submitted"}, false},
		{"it reads no more of a socket", func(t *testing.T, r *rawMCP) {
			require.NoError(t, syscall.Shutdown(int(r.from.Fd()), syscall.SHUT_RD))
			r.ends(t)
		}, []string{"uncertain"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, tmuxtest.Versions(t)[0])
			claude := st.coder("claude")
			out, code := st.intercom("adopt", claude.pane)
			require.Zero(t, code, out)
			claude.do(":turn hold")
			out, code = st.intercom("send", claude.pane, "work", "--timeout", "1m")
			require.Zero(t, code, out)
			raw := st.rawMCPIn(claude)
			if strings.Contains(c.name, "socket") {
				raw = st.rawMCPOverSocket(claude)
			}
			states := func() []string { return st.statesOf("for you") }
			raw.still = func() {
				out, code := st.intercom("status") // it answers, so it has handled what came before
				require.Zero(t, code, out)
				assert.Equal(t, "typed mcp", states()[len(states())-1], "nobody has told what became of it")
			}
			raw.writes(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
			raw.reads(t, "protocolVersion")
			raw.writes(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			raw.writes(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":50}}}`)
			out, code = st.intercom("send", claude.pane, "for you", "--timeout", "0s")
			require.Contains(t, []int{0, 4, 5}, code, out)
			tmuxtest.WaitFor(t, "it is handed over", func() bool { return slices.Contains(states(), "typed mcp") })
			require.Equal(t, "typed mcp", states()[len(states())-1], "nobody has read it")
			c.then(t, raw)
			tmuxtest.WaitFor(t, "it is known what became of it", func() bool { s := states(); return s[len(s)-1] != "typed mcp" })
			claude.do(":go")
			if c.once {
				tmuxtest.WaitFor(t, "it is typed", func() bool { return strings.Contains(strings.Join(claude.received(), "\n"), "for you") })
				tmuxtest.WaitFor(t, "it is submitted", func() bool { s := states(); return slices.Contains(s, "submitted") || slices.Contains(s, "answered") })
			}
			out, code = st.intercom("send", claude.pane, "after", "--timeout", "1m")
			require.Zero(t, code, out)
			s := states()
			from := slices.Index(s, "typed mcp") + 1
			for i, want := range c.want {
				require.Greater(t, len(s), from+i)
				assert.Equal(t, want, strings.Fields(s[from+i])[0], "%v", s)
			}
			assert.Equal(t, map[bool]int{true: 1}[c.once], strings.Count(strings.Join(claude.received(), "\n"), "for you"), "%v", s)
		})
	}
}

// The inbox of a team is emptied only once the client has read its content.
func TestM6_P30_anInboxThatIsNotRead(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	project := st.project("p")
	inbox := filepath.Join(project, ".team", "inbox", "lead.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(inbox), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(project, ".team", "config.json"), []byte(`{"members":[{"name":"zed","role":"dev","status":"idle"}]}`), 0o600))
	line := `{"type": "message", "from": "zed", "content": "for you", "timestamp": 1.0}` + "\n"
	require.NoError(t, os.WriteFile(inbox, []byte(line), 0o600))
	claude := st.coderIn("claude", project)
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	begin := func() *rawMCP {
		raw := st.rawMCPIn(claude)
		raw.writes(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		raw.reads(t, "protocolVersion")
		raw.writes(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		raw.writes(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"team_inbox","arguments":{}}}`)
		return raw
	}
	gone := func() bool { _, err := os.Lstat(inbox); return err != nil }
	raw := begin()
	tmuxtest.WaitFor(t, "it is being read", gone)
	raw.ends(t)
	tmuxtest.WaitFor(t, "it is back", func() bool { return !gone() })
	assert.Equal(t, line, read(t, inbox))
	begin().reads(t, "for you")
	tmuxtest.WaitFor(t, "it is empty", func() bool {
		left, _ := filepath.Glob(filepath.Join(project, ".team", "inbox", "*"))
		dots, _ := filepath.Glob(filepath.Join(project, ".team", "inbox", ".*lead*"))
		return len(left)+len(dots) == 0
	})
}

// rawMCP is an agent's MCP client that reads only when told to.
type rawMCP struct {
	to, from *os.File
	number   string // the file with its server's process id
	still    func() // checks that the unread message's fate is still unknown
}

// stopped calls do while the server is stopped.
func (r *rawMCP) stopped(t *testing.T, do func()) {
	t.Helper()
	require.NoError(t, syscall.Kill(r.pid(t), syscall.SIGSTOP))
	tmuxtest.WaitFor(t, "it is stopped", func() bool {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.pid(t)))
		return err == nil && strings.Contains(string(data), ") T ")
	})
	do()
	r.still()
	require.NoError(t, syscall.Kill(r.pid(t), syscall.SIGCONT))
}

// rawMCPOverSocket is like rawMCPIn, over a socket such as Node makes for a child.
func (st *stage) rawMCPOverSocket(a *coder) *rawMCP {
	st.t.Helper()
	at, err := os.MkdirTemp(st.run, "raw")
	require.NoError(st.t, err)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(at, "s")})
	require.NoError(st.t, err)
	defer listener.Close()
	script := filepath.Join(at, "raw.sh")
	tmuxtest.Program(st.t, script, fmt.Sprintf("#!/bin/sh\necho $$ >%s.pid\nexec env -u INTERCOM_TEST_MAIN %s %[1]s %[3]s mcp 2>%[1]s.err\n",
		filepath.Join(at, "s"), filepath.Join(filepath.Dir(thisProgram()), "oversocket"), thisProgram()))
	a.do(":run " + script)
	require.NoError(st.t, listener.SetDeadline(time.Now().Add(tmuxtest.Patience)))
	over, err := listener.AcceptUnix()
	require.NoError(st.t, err)
	defer over.Close()
	to, err := over.File()
	require.NoError(st.t, err)
	from, err := over.File()
	require.NoError(st.t, err)
	st.t.Cleanup(func() { _, _ = to.Close(), from.Close() })
	return &rawMCP{to: to, from: from, number: filepath.Join(at, "s.pid")}
}

func (st *stage) rawMCPIn(a *coder) *rawMCP {
	st.t.Helper()
	at, err := os.MkdirTemp(st.run, "raw")
	require.NoError(st.t, err)
	in, out := filepath.Join(at, "raw.in"), filepath.Join(at, "raw.out")
	for _, pipe := range []string{in, out} {
		require.NoError(st.t, syscall.Mkfifo(pipe, 0o600))
	}
	script := filepath.Join(at, "raw.sh")
	tmuxtest.Program(st.t, script, "#!/bin/sh\necho $$ >"+out+".pid\nINTERCOM_TEST_MAIN=1 exec "+thisProgram()+" mcp <"+in+" >"+out+" 2>"+out+".err\n")
	a.do(":run " + script)
	to, err := os.OpenFile(in, os.O_WRONLY, 0)
	require.NoError(st.t, err)
	from, err := os.OpenFile(out, os.O_RDONLY, 0)
	require.NoError(st.t, err)
	r := &rawMCP{to: to, from: from, number: out + ".pid"}
	st.t.Cleanup(func() { _, _ = to.Close(), from.Close() })
	return r
}

func (r *rawMCP) writes(t *testing.T, line string) {
	t.Helper()
	_, err := io.WriteString(r.to, line+"\n")
	require.NoError(t, err)
}

// answered waits until an answer is in the pipe, and reads nothing of it.
func (r *rawMCP) answered(t *testing.T) {
	t.Helper()
	from, err := r.from.SyscallConn()
	require.NoError(t, err)
	tmuxtest.WaitFor(t, "an answer", func() bool {
		n := 0
		require.NoError(t, from.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }))
		return n > 0
	})
}

// reads reads until it has that text.
func (r *rawMCP) reads(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, r.from.SetReadDeadline(time.Now().Add(tmuxtest.Patience)))
	var got strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(got.String(), text); {
		n, err := r.from.Read(buf)
		require.NoError(t, err, got.String())
		got.Write(buf[:n])
	}
}

func (r *rawMCP) ends(t *testing.T) {
	t.Helper()
	require.NoError(t, r.from.Close())
	require.NoError(t, r.to.Close())
}

func (r *rawMCP) pid(t *testing.T) (pid int) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(read(t, r.number)), &pid))
	return pid
}

// statesOf are the states, each with its door, of the deliveries of the message with that text.
func (st *stage) statesOf(text string) (all []string) {
	st.t.Helper()
	events := st.told(api.LogQuery{Limit: 100_000})
	ids := map[message.ID]bool{}
	for _, e := range events {
		if e.Message != nil && e.Message.Body == text {
			ids[e.Message.ID] = true
		}
	}
	for _, e := range events {
		if e.Receipt != nil && ids[e.Receipt.Message] {
			all = append(all, strings.TrimSpace(string(e.Receipt.State)+" "+e.Receipt.Door))
		}
	}
	return all
}
