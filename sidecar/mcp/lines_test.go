package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

const ping = `{"jsonrpc":"2.0","id":"after","method":"ping"}` + "\n"

// A line that is not a message is answered with a JSON-RPC error, with its id if it has one, and what comes
// after it is answered too.
func TestH72_linesThatAreNoMessages(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100_000)
	for line, want := range map[string]string{
		`hello`: `null -32700`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"`:    `null -32700`,
		`{"jsonrpc":"2.0","id":3,"method":"ping"} x`: `null -32700`,
		"\xff\xfe{}": `null -32700`,
		"\x00":       `null -32700`,
		deep:         `null -32700`,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"\xff\"}": `3 -32700`,
		`42`: `null -32600`,
		`[]`: `null -32600`,
		`[{"jsonrpc":"2.0","id":3,"method":"ping"}]`: `null -32600`,
		`{}`:   `null -32600`,
		`null`: `null -32600`,
		`{"jsonrpc":"1.0","id":"3","method":"ping"}`:                             `"3" -32600`,
		`{"jsonrpc":"2.0","id":3,"method":7}`:                                    `3 -32600`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`:                         `null -32600`,
		`{"jsonrpc":"2.0","id":2.5,"method":"ping"}`:                             `2.5 -32600`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:                `9007199254740993 -32600`,
		`{"jsonrpc":"2.0","id":3,"method":"no/such"}`:                            `3 -32601`,
		`{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"` + deep + `"}}`: `3 ok`,
		strings.Repeat("x", longestLine+1):                                       `null -32600`,
		strings.Repeat(" ", longestLine-1):                                       ``,
		``:                                                                       ``,
		"\r":                                                                     ``,
		`{"jsonrpc":"2.0","id":77,"result":{}}`:                                  ``,
		`{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}`:                     ``,
		`{"jsonrpc":"2.0","method":"no/such/notification"}`:                      ``,
	} {
		var out bytes.Buffer
		require.NoError(t, (&Server{}).Serve(t.Context(), strings.NewReader(hello+line+"\n"+ping), &out))
		answers := answersIn(t, out.Bytes())
		assert.Equal(t, "ok", answers[`"after"`], "%.80q", line)
		delete(answers, `"after"`)
		assert.Equal(t, "ok", answers[`"hello"`])
		delete(answers, `"hello"`)
		var got string
		for id, said := range answers {
			got += id + " " + said
		}
		assert.Equal(t, want, got, "%.80q", line)
	}
}

// The input ends in the middle of a line, or of a call: requests are answered, and what waits is given up.
func TestMCP_itsInputEnds(t *testing.T) {
	t.Parallel()
	begun, gaveUp := make(chan struct{}), make(chan struct{})
	s := &Server{Tools: []Tool{Func(Tool{Name: "quick"}, func(context.Context, *Call, struct{}) (any, error) {
		<-begun
		return Text("done"), nil
	}), waits(begun, gaveUp)}}
	var out bytes.Buffer
	require.NoError(t, s.serve(t.Context(), strings.NewReader(hello+tool("1", "wait")+tool("2", "quick")+`{"jsonrpc":"2.0","id":3`), &out, 50*time.Millisecond))
	answers := answersIn(t, out.Bytes())
	assert.Equal(t, "ok", answers["2"])
	assert.Equal(t, "-32700", answers["null"])
	<-gaveUp
}

// A client that has closed its end and reads slowly gets all answers, however long that takes.
func TestMCP_itsInputEndsAndItReadsSlowly(t *testing.T) {
	t.Parallel()
	const all, patience = 3 * mostUnread, 2 * time.Second
	s := &Server{Tools: []Tool{Func(Tool{Name: "quick"}, func(context.Context, *Call, struct{}) (any, error) { return Text("done"), nil })}}
	var asked strings.Builder
	for i := range all {
		asked.WriteString(tool(strconv.Itoa(i), "quick"))
	}
	read, out := io.Pipe()
	over := make(chan error, 1)
	go func() {
		over <- s.serve(t.Context(), strings.NewReader(hello+asked.String()), out, patience)
		_ = out.Close() // what is not answered by now never is
	}()
	answers := bufio.NewReader(read)
	pace := time.NewTicker(patience / 12)
	defer pace.Stop()
	for i := range 1 + all {
		if i > all-30 { // the last ones: everything has been taken in by then
			<-pace.C
		}
		_, err := answers.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, <-over)
}

// A client may write all its requests, close its end and read: slow calls are answered all the same.
func TestMCP_itsInputEndsAndACallTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Tools: []Tool{Func(Tool{Name: "slow"}, func(context.Context, *Call, struct{}) (any, error) {
			time.Sleep(callTimeout - lastAnswers/2) // on the clock of the test
			return Text("done"), nil
		})}}
		var answers bytes.Buffer
		require.NoError(t, s.Serve(t.Context(), strings.NewReader(hello+tool("1", "slow")), &answers))
		assert.Contains(t, answers.String(), "done")
	})
}

// An id belongs to one request until that is answered; then another request may use it.
func TestMCP_H72_anIDIsUsedAgain(t *testing.T) {
	t.Parallel()
	begun, gaveUp, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s := &Server{Tools: []Tool{waits(begun, gaveUp)}}
	in, write := io.Pipe()
	read, out := io.Pipe()
	go func() { over <- s.serve(t.Context(), in, out, 50*time.Millisecond) }()
	answers := bufio.NewReader(read)
	asks := func(line string) string {
		_, err := io.WriteString(write, line)
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err)
		return answer
	}
	asks(hello)
	for range 2 {
		assert.Contains(t, asks(ping), `"id":"after"`)
	}
	_, err := io.WriteString(write, tool("7", "wait"))
	require.NoError(t, err)
	<-begun
	refused := asks(tool("7", "wait"))
	assert.Contains(t, refused, `"id":null`)
	assert.Contains(t, refused, "under way")
	require.NoError(t, write.Close())
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	require.NoError(t, <-over)
	<-gaveUp
}

// A client that does not read prevents nothing from ending, neither by a signal nor by its own end.
func TestMCP_itsOutputIsNotRead(t *testing.T) {
	t.Parallel()
	for _, signalled := range []bool{true, false} {
		begun, gaveUp := make(chan struct{}), make(chan struct{})
		s := &Server{Tools: []Tool{waits(begun, gaveUp)}}
		in, write := io.Pipe()
		read, out := io.Pipe()
		ctx, signal := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, in, out) }()
		_, err := io.WriteString(write, hello+tool("1", "wait"))
		require.NoError(t, err)
		_, err = bufio.NewReader(read).ReadString('\n') // and nothing more
		require.NoError(t, err)
		<-begun
		_, err = io.WriteString(write, strings.Repeat(ping, 100))
		require.NoError(t, err)
		if signalled {
			signal()
		} else {
			require.NoError(t, write.Close())
		}
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(30 * time.Second):
			t.Fatal("it goes on")
		}
		<-gaveUp
		signal()
		_ = write.Close()
	}
}

// Nothing more is taken from a client that never reads, once its answers or its requests have piled up: its
// calls are not made, and its messages are not kept. As soon as it reads, all are answered.
func TestMCP_D5_aClientThatNeverReads(t *testing.T) {
	t.Parallel()
	const all = 10_000
	pad := strings.Repeat("x", 1<<10)
	asks := func(method, with string) func(id int) string {
		return func(id int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"name":"count"%s,"_meta":{"x":%q}}}`+"\n", id, method, with, pad)
		}
	}
	for name, ask := range map[string]func(id int) string{
		"calls":      asks("tools/call", ""),
		"errors":     asks("no/such/method", ""),
		"no message": func(int) string { return "{" + pad + "\n" },
		"large":      asks("tools/call", `,"arguments":{"x":"`+strings.Repeat("y", 1<<20)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := all
			if name == "large" {
				n = 100
			}
			var calls atomic.Int64
			s := &Server{Tools: []Tool{Func(Tool{Name: "count"}, func(context.Context, *Call, struct{}) (any, error) {
				calls.Add(1)
				return Text("done"), nil
			})}}
			read, out := io.Pipe()
			in := &taken{hello: hello, ask: ask, all: n, whole: make(chan struct{})}
			l := newLines(t.Context(), in, out, time.Minute)
			defer l.close()
			server, err := s.build(l)
			require.NoError(t, err)
			over := make(chan error, 1)
			go func() {
				over <- server.Run(t.Context(), l)
				_ = out.Close() // what is not answered by now never is
			}()
			answers := bufio.NewReader(read)
			_, err = answers.ReadString('\n') // its first line, and nothing more
			require.NoError(t, err)
			for full := false; !full; runtime.Gosched() {
				select {
				case <-in.whole:
					t.Fatal("all was taken of it")
				default:
				}
				l.owes.Lock()
				full = l.full
				l.owes.Unlock()
			}
			most := mostOpen + mostUnread + 2 // one is on its way in, and a buffer is ahead of that
			assert.LessOrEqual(t, int(calls.Load()), most)
			assert.LessOrEqual(t, in.bytes(), most*(2<<10)+mostUnderWay+3*longestLine/8)
			for range n {
				line, err := answers.ReadString('\n')
				require.NoError(t, err)
				require.Less(t, len(line), 4<<10)
			}
			require.NoError(t, <-over)
		})
	}
}

// Errors repeat little of what is wrong, however long that is.
func TestMCP_errorsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é ", 1<<20)
	for what, line := range map[string]string{
		"a tool":      tool("1", long),
		"a method":    `{"jsonrpc":"2.0","id":1,"method":"` + long + `"}` + "\n",
		"a parameter": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":3,"` + long + `":1,"task":"` + long + `"}}` + "\n",
		"a protocol":  `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + long + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n",
		"an argument": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":"` + long + `"}}}` + "\n",
		"a number":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":1` + strings.Repeat("0", 1<<20) + `}}}` + "\n",
		"a time":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_session_data","arguments":{"computer":"local","session_id":"x","since_timestamp":"` + long + `"}}}` + "\n",
	} {
		in, write := io.Pipe()
		read, answers := io.Pipe()
		over := make(chan error, 1)
		go func() { over <- (&Server{}).Serve(t.Context(), in, answers) }()
		go func() { _, _ = io.WriteString(write, hello+line+ping) }()
		var out bytes.Buffer
		for lines := bufio.NewReader(read); bytes.Count(out.Bytes(), []byte{'\n'}) < 3; {
			answer, err := lines.ReadString('\n')
			require.NoError(t, err, what)
			out.WriteString(answer)
		}
		require.NoError(t, write.Close())
		require.NoError(t, <-over)
		assert.Len(t, answersIn(t, out.Bytes()), 3, what)
		for answer := range strings.Lines(out.String()) {
			assert.Less(t, len(answer), 16<<10, "%s: %.200s", what, answer)
		}
	}
}

// Whatever comes in, only JSON-RPC goes out, and the next message is answered.
func FuzzServe(f *testing.F) {
	f.Add([]byte("hello\n[1]\n{}\n\xff\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_sessions","arguments":[]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		unreachable := func(context.Context) (*api.Client, error) { return nil, errors.New("none") }
		var out bytes.Buffer
		all := io.MultiReader(strings.NewReader(hello), bytes.NewReader(input), strings.NewReader("\n"+ping))
		require.NoError(t, (&Server{Connect: unreachable}).Serve(t.Context(), all, &out))
		assert.Equal(t, "ok", answersIn(t, out.Bytes())[`"after"`])
	})
}

// Helpers.

// waits returns a tool that ends when it is given up.
func waits(begun, gaveUp chan struct{}) Tool {
	return Func(Tool{Name: "wait"}, func(ctx context.Context, _ *Call, _ struct{}) (any, error) {
		close(begun)
		<-ctx.Done()
		close(gaveUp)
		return Text("given up"), nil
	})
}

func tool(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}` + "\n"
}

// taken is the input of a client: a greeting, and then so many lines that are made as they are taken.
type taken struct {
	hello string
	ask   func(id int) string
	all   int
	whole chan struct{} // closed when nothing is left

	mu   sync.Mutex // guards n and made
	n    int        // bytes
	made int
	rest string
}

func (c *taken) Read(into []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.hello != "":
		c.rest, c.hello = c.hello, ""
	case c.rest == "" && c.made == c.all:
		close(c.whole)
		return 0, io.EOF
	case c.rest == "":
		c.made++
		c.rest = c.ask(c.made)
	}
	n := copy(into, c.rest)
	c.n, c.rest = c.n+n, c.rest[n:]
	return n, nil
}

func (c *taken) bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// answersIn returns the answers by their ids: "ok", or the code of an error.
func answersIn(t *testing.T, out []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var m struct {
			Version string `json:"jsonrpc"`
			ID      json.RawMessage
			Result  json.RawMessage
			Error   *struct{ Code json.Number }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m), "%.200q", lines.Text())
		require.Equal(t, "2.0", m.Version)
		require.NotEqual(t, m.Result == nil, m.Error == nil, "%.200q", lines.Text())
		all[string(m.ID)] = "ok"
		if m.Error != nil {
			all[string(m.ID)] = m.Error.Code.String()
		}
	}
	require.NoError(t, lines.Err())
	return all
}
