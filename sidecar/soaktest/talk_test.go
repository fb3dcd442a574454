package soaktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
)

// port is a port of ai-talk whose inbox is read repeatedly.
type port struct {
	c            *computer
	name, number string
	marks        []soaktest.Mark // of the messages read
}

func (w *world) newPort(c *computer) *port {
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(w.t, err)
	_, number, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	p := &port{c: c, name: "port", number: number}
	c.intercom("talk", "listen", "start", "--port", number)
	w.t.Cleanup(func() { _, _ = p.talk("listen", "stop", "--port", p.number) })
	return p
}

func (p *port) talk(args ...string) ([]byte, error) {
	return p.c.command(append([]string{"talk"}, args...)...).Output()
}

// read empties the inbox every second, and once more at the end.
func (p *port) read(ctx context.Context) {
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-time.After(time.Second):
		}
		out, err := p.talk("check", "--port", p.number, "--clear")
		var got struct {
			Messages []struct{ Message string }
		}
		if err != nil || json.Unmarshal(out, &got) != nil {
			continue
		}
		for _, m := range got.Messages {
			p.marks = append(p.marks, soaktest.Marks(m.Message)...)
		}
	}
}

// sure are the errors of talk send after which nothing can have been stored.
var sure = []string{"CONNECTION_REFUSED", "LISTENER_NOT_RUNNING", "INBOX_FULL", "NOT_STORED", "INVALID_MESSAGE"}

// byCommand sends by talk send. It has no id for asking again.
func (p *port) byCommand(_ context.Context, word *soaktest.Word, text string) (soaktest.Answer, string) {
	word.Tries = 1
	out, err := p.talk("send", "--to-port", p.number, "--from-port", "9001", "--message", text)
	if err == nil {
		return soaktest.Accepted, ""
	}
	var said struct {
		Error string `json:"error"`
		Code  string `json:"code"`
	}
	failed, _ := errors.AsType[*exec.ExitError](err)
	if failed != nil && json.Unmarshal(out, &said) != nil {
		return soaktest.Unknown, strings.TrimSpace(string(out) + string(failed.Stderr))
	}
	if slices.Contains(sure, said.Code) || slices.ContainsFunc(sure, func(code string) bool { return strings.Contains(string(out), code) }) {
		return soaktest.Refused, string(out)
	}
	return soaktest.Unknown, string(out)
}

// byFrame writes frames on one connection, as any program may that has never heard of us. Nothing
// is acknowledged, so nothing is accepted.
func (p *port) byFrame() func(context.Context, *soaktest.Word, string) (soaktest.Answer, string) {
	var conn net.Conn
	return func(_ context.Context, word *soaktest.Word, text string) (soaktest.Answer, string) {
		if conn == nil {
			var err error
			if conn, err = net.DialTimeout("tcp4", "127.0.0.1:"+p.number, time.Second); err != nil {
				conn = nil
				return soaktest.Refused, "not connected"
			}
		}
		_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if _, err := fmt.Fprintf(conn, "%d:%s", len(text), text); err != nil {
			conn.Close()
			conn = nil
			return soaktest.Unknown, "broken off"
		}
		return soaktest.Said, ""
	}
}
