package soaktest_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
)

// hub connects the computers: the program, and a cable to it that can be cut.
type hub struct {
	w       *world
	program string
	dir     string
	at      string // where it listens
	through string // where the computers connect
	cmd     *exec.Cmd

	mu    sync.Mutex
	cut   bool
	calls map[net.Conn]bool
}

func (w *world) newHub() *hub {
	program, err := programtest.Build("intercom-hub", "cmd/intercom-hub")
	require.NoError(w.t, err)
	h := &hub{w: w, program: program, dir: filepath.Join(w.dir, "hub"), at: "127.0.0.1:0", calls: map[net.Conn]bool{}}
	said := h.start()
	at, err := url.Parse(said)
	require.NoError(w.t, err)
	h.at = at.Host // where it listens after a restart
	cable, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(w.t, err)
	h.through = at.Scheme + "://" + cable.Addr().String()
	go h.carry(cable)
	w.t.Cleanup(func() {
		cable.Close()
		h.kill()
	})
	return h
}

// start starts the hub, and returns the address that it prints.
func (h *hub) start() string {
	h.cmd = exec.Command(h.program, "--dir", h.dir, "--listen", h.at, "--host", "127.0.0.1", "--json")
	h.cmd.Env = append(os.Environ(), "HOME="+h.w.dir)
	out, err := h.cmd.StdoutPipe()
	require.NoError(h.w.t, err)
	require.NoError(h.w.t, h.cmd.Start())
	var ready struct{ URL string }
	require.NoError(h.w.t, json.NewDecoder(out).Decode(&ready))
	return ready.URL
}

func (h *hub) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// add gives a computer access, and returns the file of its credentials.
func (h *hub) add(name string) string {
	cmd := exec.Command(h.program, "--dir", h.dir, "add", name)
	cmd.Env = append(os.Environ(), "HOME="+h.w.dir)
	out, err := cmd.Output()
	require.NoError(h.w.t, err)
	file := filepath.Join(h.w.dir, name+".creds")
	require.NoError(h.w.t, os.WriteFile(file, out, 0o600))
	return file
}

// carry forwards the connections of the cable while it is whole.
func (h *hub) carry(cable net.Listener) {
	for {
		one, err := cable.Accept()
		if err != nil {
			return
		}
		other, err := net.Dial("tcp4", h.at)
		h.mu.Lock()
		if err != nil || h.cut {
			one.Close()
			if err == nil {
				other.Close()
			}
			h.mu.Unlock()
			continue
		}
		h.calls[one], h.calls[other] = true, true
		h.mu.Unlock()
		for _, way := range [][2]net.Conn{{one, other}, {other, one}} {
			go func() {
				_, _ = io.Copy(way[0], way[1])
				one.Close()
				other.Close()
				h.mu.Lock()
				delete(h.calls, one)
				delete(h.calls, other)
				h.mu.Unlock()
			}()
		}
	}
}

// cuts cuts the cable in the middle of any traffic, or mends it.
func (h *hub) cuts(cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = cut
	if cut {
		for c := range h.calls {
			c.Close()
		}
	}
}

// meet waits until the computers know each other.
func (w *world) meet() {
	for c, there := range map[*computer]string{w.here: "there", w.there: "here"} {
		knows := false
		for until := time.Now().Add(30 * time.Second); !knows && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			all, err := api.Call(context.Background(), c.client, api.Computers, api.None{})
			for _, other := range all {
				knows = knows || err == nil && strings.EqualFold(other.Name, there) && other.Present && other.Sessions > 0
			}
		}
		require.True(w.t, knows, "%s does not see %s", c.name, there)
	}
}
