package link_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// killed describes the computer that a process of the test plays.
type killed struct {
	Dir, URL  string
	Name      string
	Own, Peer message.Peer // Peer is for a sender
	Sends     bool
}

const (
	killedVar  = "INTERCOM_TEST_KILLED_COMPUTER"
	killedSent = 6
)

// A computer is killed at the n-th call of each system call on which its journal, its files and its connection
// depend, once as the sender and once as the receiver. The next one goes on from what is left: what was
// accepted is taken once by the other computer, in order, and what was typed before the kill is not typed
// again.
func TestD1_N3_killedAtEverySystemCall(t *testing.T) {
	if text := os.Getenv(killedVar); text != "" {
		beAComputer(t, text)
		return
	}
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which a computer is killed at a system call: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	points := map[string][]int{"fsync,fdatasync": {12}, "pwrite64": {60}, "write": {16}}
	if os.Getenv("INTERCOM_LONG") != "" {
		points = map[string][]int{}
		for n := 1; n <= 60; n++ {
			for _, call := range []string{"openat", "fsync,fdatasync", "pwrite64", "write", "linkat,renameat,renameat2,unlinkat"} {
				points[call] = append(points[call], n+n*n/30) // closer to each other at the beginning
			}
		}
	}
	runs, died := 0, 0
	for _, sends := range []bool{true, false} {
		side := map[bool]string{true: "sends", false: "receives"}[sends]
		for call, all := range points {
			of := 0
			for _, n := range all {
				t.Run(fmt.Sprint(side, " ", call, " ", n), func(t *testing.T) {
					runs++
					if killedComputer(t, strace, sends, call, n) {
						of++
					}
				})
			}
			died += of
			t.Logf("%-8s %-36s %3d times killed", side, call, of)
		}
	}
	t.Logf("%d runs, %d killed", runs, died)
	assert.GreaterOrEqual(t, died, runs/3, "hardly any run was killed: this proves nothing")
}

// killedComputer runs a computer that is killed at one point, then another one on what it left, and reports
// whether the first was killed.
func killedComputer(t *testing.T, strace string, sends bool, call string, n int) bool {
	s := newServer(t, nil)
	k := killed{Dir: t.TempDir(), URL: s.ClientURL(), Name: "b", Sends: sends, Own: paneOf("inB")}
	other := newComputer(t, "a", s.ClientURL(), nil)
	theirs := other.session("inA")
	k.Peer = theirs
	text, err := json.Marshal(k)
	require.NoError(t, err)
	cmd := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n),
		os.Args[0], "-test.run=^TestD1_N3_killedAtEverySystemCall$")
	cmd.Env = append(os.Environ(), killedVar+"="+string(text))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said, accepted []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		if lines.Text() == "ready" && !sends {
			waitFor(t, "a knows inB, or b was killed before", func() bool {
				_, known := other.sees("b", k.Own)
				return known || !process.Lives(cmd.Process.Pid, 0)
			})
			if _, known := other.sees("b", k.Own); !known {
				continue
			}
			other.knows("b", k.Own)
			for i := range killedSent {
				_, err := other.send(theirs.ID, k.Own.ID, fmt.Sprint("word ", i))
				require.NoError(t, err)
				accepted = append(accepted, fmt.Sprint("word ", i))
			}
		}
		if lines.Text() == "done" || lines.Text() == "took "+fmt.Sprint("word ", killedSent-1) {
			in.Close() // it was not killed
		}
	}
	in.Close()
	died := cmd.Wait() != nil
	var took []string
	for _, one := range said {
		if body, ok := strings.CutPrefix(one, "accepted "); ok {
			accepted = append(accepted, body)
		}
		if body, ok := strings.CutPrefix(one, "took "); ok {
			took = append(took, body)
		}
	}
	c := &computer{t: t, name: "b", dir: k.Dir, config: link.Config{Name: "b", NATS: k.URL}}
	c.start()
	defer func() { c.end() }()
	if sends {
		waitFor(t, "what was accepted", func() bool { return len(other.bodies()) >= len(accepted) })
	} else {
		waitFor(t, "what was accepted, or may have been typed", func() bool {
			all := slices.Concat(took, c.bodies())
			for _, body := range accepted {
				if !slices.Contains(all, body) && !c.typed(body) {
					return false
				}
			}
			return true
		})
	}
	if !sends && len(accepted) == 0 { // it was killed before anybody knew it
		_, err := c.relay.Adopt(t.Context(), paneOf("later"))
		require.NoError(t, err)
		return died
	}
	got := slices.Concat(took, c.bodies())
	if sends {
		got = other.bodies()
	}
	assert.True(t, slices.IsSorted(got), "in their order: %v", got)
	assert.Len(t, slices.Compact(slices.Clone(got)), len(got), "each once: %v", got)
	for _, body := range accepted {
		assert.True(t, slices.Contains(got, body) || !sends && c.typed(body), "%s was accepted: %v", body, got)
	}
	return died
}

func paneOf(name string) message.Peer {
	return message.Peer{ID: message.NewID(), Name: name, PaneOf: message.PaneOf{Pane: "%" + name, Profile: "line"}}
}

// typed reports whether a message may have been typed by an earlier life.
func (c *computer) typed(body string) bool {
	c.t.Helper()
	was, err := c.journal.Restore(c.t.Context())
	require.NoError(c.t, err)
	return slices.ContainsFunc(was.Pending, func(one journal.Pending) bool { return one.Delivery.Message.Body == body && one.Delivery.Typed })
}

// beAComputer plays the computer that is killed.
func beAComputer(t *testing.T, text string) {
	var k killed
	require.NoError(t, json.Unmarshal([]byte(text), &k))
	require.NoError(t, os.MkdirAll(filepath.Join(k.Dir, "link"), 0o700))
	c := &computer{t: t, name: k.Name, dir: k.Dir, config: link.Config{Name: k.Name, NATS: k.URL}, told: func(d message.Delivery) { fmt.Println("took", d.Message.Body) }}
	c.start()
	defer func() { c.end() }()
	_, err := c.relay.Adopt(t.Context(), k.Own)
	require.NoError(t, err)
	fmt.Println("ready")
	if k.Sends {
		c.knows("a", k.Peer)
		for i := range killedSent {
			answer, err := c.send(k.Own.ID, k.Peer.ID, fmt.Sprint("word ", i))
			require.NoError(t, err)
			require.NotEmpty(t, answer.Message)
			fmt.Println("accepted", fmt.Sprint("word ", i))
		}
		waitFor(t, "they are told of", func() bool { return c.link.Computers()[0].Waiting == 0 })
		fmt.Println("done")
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the test no longer needs it
}
