package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func init() {
	if orders := os.Getenv("INTERCOM_TEST_CALLER"); orders != "" {
		os.Exit(callerMain(orders))
	}
}

// order is an operation for which a caller is told to ask, and answer is the sidecar's reply.
type (
	order struct {
		Op, Method string
		Headers    map[string]string
		Body       json.RawMessage
	}
	answer struct {
		Status int
		Body   json.RawMessage
	}
)

// callerMain asks the sidecar for the orders that come over a socket, without a client of ours, until the socket is
// closed.
func callerMain(orders string) int {
	conn, err := net.Dial("unix", orders)
	if err != nil {
		return 1
	}
	told, out := bufio.NewReader(conn), json.NewEncoder(conn)
	socket, err := told.ReadString('\n')
	if err != nil {
		return 1
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket[:len(socket)-1])
	}}}
	for in := json.NewDecoder(told); ; {
		var o order
		if in.Decode(&o) != nil {
			return 0
		}
		if out.Encode(o.ask(client)) != nil {
			return 0
		}
	}
}

func (o order) ask(client *http.Client) (a answer) {
	request, err := http.NewRequest(o.Method, "http://sidecar/v1/"+o.Op, bytes.NewReader(o.Body))
	if err != nil {
		return a
	}
	request.Header.Set(api.VersionHeader, api.Version)
	for name, value := range o.Headers {
		request.Header.Set(name, value)
	}
	got, err := client.Do(request)
	if err != nil {
		a.Body, _ = json.Marshal(err.Error())
		return a
	}
	defer got.Body.Close()
	a.Status = got.StatusCode
	if got.Header.Get("Content-Type") == "application/x-ndjson" {
		return a // it goes on for as long as the sidecar does
	}
	a.Body, _ = io.ReadAll(got.Body)
	return a
}

// asker is a process that asks the sidecar on behalf of the test, started as one kind of caller.
type asker struct {
	t    testing.TB
	name string
	in   *json.Encoder
	out  *json.Decoder
	// headers go with the requests of the table's tests.
	headers map[string]string
}

// asker waits for a process that start begins with this environment. How start begins it decides as whom it asks.
func (r *rig) asker(name string, start func(env, program string)) *asker {
	r.t.Helper()
	self, err := os.Executable()
	require.NoError(r.t, err)
	path := filepath.Join(r.dir, name+".orders")
	l, err := net.Listen("unix", path)
	require.NoError(r.t, err)
	defer l.Close()
	start("INTERCOM_TEST_CALLER="+path, self)
	conn, err := l.Accept()
	require.NoError(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	_, err = fmt.Fprintln(conn, r.cfg.Paths.Socket)
	require.NoError(r.t, err)
	return &asker{t: r.t, name: name, in: json.NewEncoder(conn), out: json.NewDecoder(conn)}
}

// asPerson is a process that counts as the person's, because its parent is older than the tmux server.
func (r *rig) asPerson(name string, terminal bool) *asker {
	return r.asker(name, func(env, program string) {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), env)
		if terminal {
			tty, err := pty.Start(cmd)
			require.NoError(r.t, err)
			go io.Copy(io.Discard, tty)
			r.t.Cleanup(func() { tty.Close() })
		} else {
			require.NoError(r.t, cmd.Start())
		}
		r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	})
}

// ask asks for an operation, and returns the code with which it was refused, "" for not at all, and the answer.
func (k *asker) ask(op string, req any, headers map[string]string) (api.Code, json.RawMessage) {
	k.t.Helper()
	body, err := json.Marshal(req)
	require.NoError(k.t, err)
	o := order{Op: op, Method: http.MethodPost, Headers: headers, Body: body}
	if req == nil {
		o.Method, o.Body = http.MethodGet, nil
	}
	require.NoError(k.t, k.in.Encode(o))
	var a answer
	require.NoError(k.t, k.out.Decode(&a), "%s: %s", k.name, op)
	require.NotZero(k.t, a.Status, "%s: %s: %s", k.name, op, a.Body)
	if a.Status < 300 {
		return "", a.Body
	}
	told := &api.Error{}
	require.NoError(k.t, json.Unmarshal(a.Body, told), "%s", a.Body)
	require.NotEmpty(k.t, told.Code)
	return told.Code, a.Body
}
