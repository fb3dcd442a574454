package soaktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/soaktest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// toolbox is a tool server below an agent, started as the agent starts its servers, and the
// server's client.
type toolbox struct {
	c     *computer
	agent string
	lives int
	s     *sdk.ClientSession
}

// open starts the server, and connects.
func (b *toolbox) open() error {
	b.c.mu.Lock()
	p := b.c.panes[b.agent]
	b.c.mu.Unlock()
	b.lives++
	at := filepath.Join(b.c.w.dir, fmt.Sprintf("%s-%d.", b.agent, b.lives))
	for _, pipe := range []string{at + "in", at + "out"} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			return err
		}
	}
	tmuxtest.Program(b.c.w.t, at+"sh", fmt.Sprintf("#!/bin/sh\nexec %s mcp <%s >%s 2>%s\n", b.c.w.program, at+"in", at+"out", at+"err"))
	if err := persona.Control(p.control, ":run "+at+"sh"); err != nil {
		return err
	}
	// Open for reading and writing: an agent that dies before its server has opened the pipes
	// blocks nobody.
	to, err := os.OpenFile(at+"in", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	from, err := os.OpenFile(at+"out", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	b.s, err = sdk.NewClient(&sdk.Implementation{Name: "soak", Version: "1"}, nil).Connect(ctx, &sdk.IOTransport{Reader: from, Writer: to}, nil)
	return err
}

// call sends by the tool send_message. The tool has no id for asking again.
func (b *toolbox) call(to string) func(context.Context, *soaktest.Word, string) (soaktest.Answer, string) {
	return func(ctx context.Context, word *soaktest.Word, text string) (soaktest.Answer, string) {
		word.Tries = 1
		if b.s == nil {
			if err := b.open(); err != nil {
				b.s = nil
				time.Sleep(time.Second)
				return soaktest.Refused, "the agent is not there"
			}
		}
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		r, err := b.s.CallTool(ctx, &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"computer": "local", "session_id": to, "message": text}})
		if err != nil { // its pane has gone
			_ = b.s.Close()
			b.s = nil
			return soaktest.Unknown, firstLine(err)
		}
		said, _ := r.Content[0].(*sdk.TextContent)
		switch {
		case !r.IsError:
			return soaktest.Accepted, ""
		case said != nil && strings.Contains(said.Text, "disk full"):
			return soaktest.Refused, "disk full"
		case said != nil:
			return soaktest.Unknown, said.Text
		}
		return soaktest.Unknown, "an error without a word"
	}
}

// repositories are two repositories with .aea; a line program works in the second.
type repositories struct {
	c        *computer
	from, to string
	toID     string
}

func (w *world) newRepositories(c *computer) *repositories {
	r := &repositories{c: c, from: filepath.Join(w.dir, "asking"), to: filepath.Join(w.dir, "asked")}
	for _, dir := range []string{r.from, r.to} {
		require.NoError(w.t, os.MkdirAll(dir, 0o700))
		cmd := c.command("aea", "install", "--json")
		cmd.Dir = dir
		out, err := cmd.Output()
		require.NoError(w.t, err, "%s", out)
		var said struct {
			Agent string `json:"agent_id"`
		}
		require.NoError(w.t, json.Unmarshal(out, &said))
		r.toID = said.Agent
	}
	cmd := c.command("aea", "monitor", "start")
	cmd.Dir = r.to
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "%s", out)
	w.t.Cleanup(func() {
		cmd := c.command("aea", "monitor", "stop")
		cmd.Dir = r.to
		_, _ = cmd.CombinedOutput()
	})
	return r
}

// byFile sends by aea send: either the file is there, or it is not.
func (r *repositories) byFile(_ context.Context, word *soaktest.Word, text string) (soaktest.Answer, string) {
	word.Tries = 1
	cmd := r.c.command("aea", "send", "--to", r.toID, "--to-path", r.to, "--type", "question", "--priority", "normal", "--subject", "soak", "--message", text)
	cmd.Dir = r.from
	out, err := cmd.CombinedOutput()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		if failed.ExitCode() == 1 || failed.ExitCode() == 2 {
			return soaktest.Refused, strings.TrimSpace(string(out))
		}
		return soaktest.Unknown, string(out)
	}
	return soaktest.Accepted, ""
}

// told returns the words whose author was told, by a file, that nobody works there to receive them.
func (r *repositories) told() map[soaktest.Mark]soaktest.Journal {
	type file struct {
		ID       string `json:"message_id"`
		Message  struct{ Body string }
		Metadata struct {
			ReplyTo string `json:"reply_to"`
		}
		at time.Time
	}
	read := func(dir string) (all []file) {
		paths, _ := filepath.Glob(filepath.Join(dir, ".aea", "message-*.json"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			var f file
			if info, gone := os.Stat(path); gone == nil {
				f.at = info.ModTime()
			}
			if err == nil && json.Unmarshal(text, &f) == nil {
				all = append(all, f)
			}
		}
		return all
	}
	marks := map[string][]soaktest.Mark{}
	for _, f := range read(r.to) {
		marks[f.ID] = soaktest.Marks(f.Message.Body)
	}
	told := map[soaktest.Mark]soaktest.Journal{}
	for _, f := range read(r.from) {
		if strings.HasPrefix(f.Message.Body, "no agent") {
			for _, m := range marks[f.Metadata.ReplyTo] {
				told[m] = soaktest.Journal{{State: soaktest.Failed, Why: "answered: no agent", Ended: f.at}}
			}
		}
	}
	return told
}
