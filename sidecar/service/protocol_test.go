package service

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/comeback"
	"github.com/tmux-intercom/tmux-intercom/sidecar/filepeertest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/filepeertest/ops"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A protocol consists of its package (filepeertest), one file in api (filepeertest/ops), one in service
// (directories_test.go), and three rows where the parts are put together, which are marked here. Everything
// else stays as it is: its peers get messages, chat, are held and listed, and survive a restart, by operations
// that know nothing of them.
func TestProtocol_aFileInApiAndOneInService(t *testing.T) {
	h := &headless{t: t, state: filepath.Join(t.TempDir(), "state"), runtime: filepath.Join(t.TempDir(), "run")}
	require.NoError(t, os.Mkdir(h.state, 0o700))
	left, right := h.dir("left"), h.dir("right")
	ctx := t.Context()
	h.begin()
	none, err := api.Call(ctx, h.client, ops.Directories, api.None{})
	require.NoError(t, err)
	assert.Equal(t, []ops.Directory{}, none)
	_, err = api.Call(ctx, h.client, ops.Serve, ops.ServeRequest{Path: "here"})
	assert.ErrorContains(t, err, `directory "here": the path must be absolute`)
	_, err = h.directories.Serve(ctx, api.Caller{PID: api.Gone}, ops.ServeRequest{Path: left})
	assert.ErrorContains(t, err, "serve a directory: only a person may")
	var peers []message.Peer
	for _, path := range []string{left, right, left} {
		one, err := api.Call(ctx, h.client, ops.Serve, ops.ServeRequest{Path: path})
		require.NoError(t, err)
		peers = append(peers, one)
	}
	assert.Equal(t, peers[0].ID, peers[2].ID)
	served := []ops.Directory{{Session: peers[0].ID, Name: "left", Path: left}, {Session: peers[1].ID, Name: "right", Path: right}}
	all, err := api.Call(ctx, h.client, ops.Directories, api.None{})
	require.NoError(t, err)
	assert.Equal(t, served, all)

	sent, err := api.Call(ctx, h.client, api.Send, api.SendRequest{To: "left", Text: "hello", Timeout: patience})
	require.NoError(t, err)
	assert.Equal(t, message.Submitted, sent.Receipt.State)
	assert.Contains(t, h.out(left, 1)[0].Message.Body, "hello")

	chat, err := api.Call(ctx, h.client, api.StartChat, api.StartChatRequest{Panes: []string{"left", "right"}})
	require.NoError(t, err)
	h.says(left, "in the chat")
	line := h.out(right, 1)[0].Message
	assert.Equal(t, "in the chat", line.Body)
	assert.Equal(t, message.TrustUnverified, line.Trust, "its kind bounds what it is taken for")
	_, err = api.Call(ctx, h.client, api.PauseChat, api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	h.says(left, "while it is paused")
	var held []api.Held
	h.until(func() bool {
		held, err = api.Call(ctx, h.client, api.Inbox, api.None{})
		require.NoError(t, err)
		return len(held) == 1
	})
	assert.Equal(t, "right", held[0].To)
	_, err = api.Call(ctx, h.client, api.Rename, api.RenameRequest{Pane: "left", Name: "port"})
	require.NoError(t, err)
	served[0].Name = "port"
	listed, err := api.Call(ctx, h.client, api.Peers, api.None{})
	require.NoError(t, err)
	require.Len(t, listed, 2)
	assert.Equal(t, []string{"port", left, peers[0].ID.Short(), string(peers[0].ID), "[port] (1)"}, listed[0].Aliases)
	assert.Equal(t, filepeertest.Kind, listed[0].Kind)

	h.end()
	h.begin()
	all, err = api.Call(ctx, h.client, ops.Directories, api.None{})
	require.NoError(t, err)
	assert.Equal(t, served, all)
	_, err = api.Call(ctx, h.client, api.ResumeChat, api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	assert.Equal(t, "while it is paused", h.out(right, 2)[1].Message.Body)
	sent, err = api.Call(ctx, h.client, api.Send, api.SendRequest{To: "port", Text: "again", Timeout: patience})
	require.NoError(t, err)
	assert.Equal(t, message.Submitted, sent.Receipt.State)
	assert.Len(t, h.out(left, 2), 2)
	h.end()
}

// A caller whose environment names no pane is not inside a session that has no pane.
func TestOrigin_nobodyIsInsideWhatLivesInNoPane(t *testing.T) {
	o := origin{line: []process.Relative{{Process: process.Process{PID: os.Getpid(), Start: 7}, Terminal: true}}}
	nowhere := []message.Peer{{ID: "d", Kind: filepeertest.Kind, Key: "/src"}}
	_, inside := o.inside(nowhere)
	assert.False(t, inside)
	_, started := o.startedIn(nowhere)
	assert.False(t, started)
	here, inside := o.inside([]message.Peer{{ID: "d", Kind: filepeertest.Kind}, {ID: "p", PaneOf: message.PaneOf{Pane: "%1", PaneProc: message.Process{PID: os.Getpid(), Start: 7}}}})
	assert.True(t, inside)
	assert.Equal(t, message.ID("p"), here.ID)
}

// Helpers.

const patience = 20 * time.Second

// headless is a sidecar without tmux: journal, relay, services and server, put together as in package daemon.
type headless struct {
	t              *testing.T
	state, runtime string
	client         *api.Client
	directories    *directories
	end            func()
}

// begin begins a life of the sidecar; end ends it.
func (h *headless) begin() {
	j, err := journal.Open(h.t.Context(), h.state)
	require.NoError(h.t, err)
	log := slog.New(slog.DiscardHandler)
	bell := NewBell()
	dirs := &filepeertest.Dirs{}
	r := &relay.Relay{
		Journal: j, Sink: nowhere{}, Restored: h.restored(j), Publish: func([]message.Event) { bell.Ring() },
		Sinks: map[message.PeerKind]relay.Sink{
			filepeertest.Kind: dirs, // a row
		},
	}
	dirs.Relay = r
	returns := &comeback.Returns{Relay: r, Journal: j, Bell: bell, Log: log}
	callers := &Callers{Person: "ada", Relay: r, Log: log}
	names := &Names{Relay: r, Journal: j, Ended: returns}
	sessions := &Sessions{Callers: callers, Names: names, Relay: r, Log: log}
	h.directories = &directories{Callers: callers, Relay: r, Dirs: dirs, Log: log, fresh: make(chan string)}
	server := &api.Server{Logger: log}
	for _, service := range []interface{ Offer(*api.Server) }{
		sessions,
		&Sending{Callers: callers, Names: names, Sessions: sessions, Relay: r, Journal: j, Bell: bell},
		&Chats{Callers: callers, Names: names, Sessions: sessions, Returns: returns, Relay: r, Journal: j, Log: log},
		&Inbox{Callers: callers, Names: names, Relay: r, Journal: j, Log: log},
		&Panes{Callers: callers, Names: names, Relay: r, Log: log},
		h.directories, // a row
	} {
		service.Offer(server)
	}
	listener, err := api.Listen(h.runtime, "test")
	require.NoError(h.t, err)
	h.client = &api.Client{Socket: listener.Addr().String()}

	ctx, stop := context.WithCancel(h.t.Context())
	var relayEnd, parts sync.WaitGroup
	relayCtx, endRelay := context.WithCancel(h.t.Context())
	relayEnd.Go(func() { assert.NoError(h.t, r.Run(relayCtx)) })
	require.NoError(h.t, r.Begun(ctx))
	for _, run := range []func(context.Context) error{
		func(ctx context.Context) error { return server.Serve(ctx, listener) },
		h.directories.Run, // a row
	} {
		parts.Go(func() { assert.NoError(h.t, run(ctx)) })
	}
	h.end = func() {
		stop()
		parts.Wait()
		endRelay()
		relayEnd.Wait()
		require.NoError(h.t, listener.Release())
		require.NoError(h.t, j.Close())
	}
}

// restored returns what an earlier life left.
func (h *headless) restored(j *journal.Journal) *relay.Restored {
	was, err := j.Restore(h.t.Context())
	require.NoError(h.t, err)
	left := &relay.Restored{Stopped: was.Stopped, Undecided: was.Undecided}
	for _, one := range was.Sessions {
		left.Peers = append(left.Peers, relay.SavedPeer{Peer: one, Last: was.Depths[one.ID].Last, Cause: was.Depths[one.ID].Cause})
	}
	for _, one := range was.Chats {
		left.Chats = append(left.Chats, relay.SavedChat{Chat: one, Taken: was.Taken[one.ID]})
	}
	for _, one := range was.Pending {
		left.Deliveries = append(left.Deliveries, relay.SavedDelivery{Delivery: one.Delivery, Last: one.Last, Verdict: one.Verdict})
	}
	for _, one := range was.Submitted {
		left.Submitted = append(left.Submitted, one.Delivery)
	}
	return left
}

func (h *headless) dir(name string) string {
	path := filepath.Join(h.t.TempDir(), name)
	require.NoError(h.t, os.Mkdir(path, 0o700))
	return path
}

// says appends a line to the messages from a directory.
func (h *headless) says(dir, words string) {
	f, err := os.OpenFile(filepath.Join(dir, "in"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	require.NoError(h.t, err)
	defer f.Close()
	require.NoError(h.t, json.NewEncoder(f).Encode(message.Envelope{Body: words}))
}

// out returns what a directory was given, once it has that length.
func (h *headless) out(dir string, n int) (lines []filepeertest.Line) {
	h.until(func() (so bool) {
		var err error
		lines, err = filepeertest.Out(dir)
		require.NoError(h.t, err)
		return len(lines) >= n
	})
	return lines
}

func (h *headless) until(so func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		require.False(h.t, time.Now().After(deadline), "waited in vain")
	}
}
