package daemon_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// smallDisk runs the sidecar with its journal on a file system of a few MiB, which no
// other process sees.
type smallDisk struct {
	*rig
	child *exec.Cmd
	disk  string // its path for other processes
}

func newSmallDisk(t *testing.T) *smallDisk {
	t.Helper()
	need(t, "unshare")
	flags := "-Urm"
	if os.Getuid() == 0 {
		flags = "-m"
	}
	mount := []string{"unshare", flags, "sh", "-ec", `mount -t tmpfs -o size=8m,mode=700 tmpfs "$0"; exec "$@"`}
	if out, err := exec.Command(mount[0], append(mount[1:], t.TempDir(), "true")...).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, bytes.TrimSpace(out))
	}
	r := newRig(t)
	require.NoError(t, r.end())
	state := r.cfg.Paths.State
	require.NoError(t, os.RemoveAll(state)) // the mount would only hide what the first sidecar left there
	require.NoError(t, os.MkdirAll(state, 0o700))
	d := &smallDisk{rig: r}
	var line string
	d.child, line = r.childBy(append(mount, state), "")
	require.Equal(t, "ready\n", line)
	d.disk = filepath.Join("/proc", fmt.Sprint(d.child.Process.Pid), "root", state)
	return d
}

// fill leaves no room on the disk.
func (d *smallDisk) fill() {
	d.t.Helper()
	f, err := os.OpenFile(filepath.Join(d.disk, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(d.t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	require.ErrorIs(d.t, err, syscall.ENOSPC)
}

// empty makes room again.
func (d *smallDisk) empty() {
	d.t.Helper()
	require.NoError(d.t, os.Remove(filepath.Join(d.disk, "filler")))
}

// trouble is what the sidecar says about its disk.
func (d *smallDisk) trouble() (said []string) {
	d.t.Helper()
	status, err := d.client.Status(d.t.Context())
	require.NoError(d.t, err)
	return slices.DeleteFunc(status.Degraded, func(s string) bool { return !strings.HasPrefix(s, "disk ") })
}

func (d *smallDisk) option() string {
	text, _ := d.Try("show-options", "-sqv", "@intercom-status")
	return strings.TrimSpace(text)
}

// The disk becomes full in the middle of a chat: everything is held, and the sidecar still answers and says why.
// Words that are said meanwhile are relayed once, when there is room again.
func TestD2_FullDiskInAChat(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	a, ben := d.coder("claude", "Ada", silent...), d.adopted("Ben", bracketed...)
	cyd := d.adopted("Cyd", "--reply", "none")
	a.adopt("")
	chat := d.chat([]*agent{a, ben, cyd}, unlimited...)
	a.do(":turn hold | say the answer")
	ben.do(":say question")
	a.gets("[Ben] (2):\n\nquestion")
	id := d.idOf("question")
	d.waitFor("it is taken", func() bool { return d.open() == 0 })
	clients := d.Run("list-clients")

	d.fill()
	heard := len(ben.bytes()) + len(cyd.bytes())
	a.do(":go")
	d.waitFor("it says so", func() bool { return len(d.trouble()) == 1 })
	assert.Equal(t, []string{"disk full: " + filepath.Join(d.cfg.Paths.State, "journal.db")}, d.trouble())
	d.waitFor("the status line", func() bool { return strings.HasPrefix(d.option(), "disk full") })
	cyd.do(":say while it is full")
	_, err := d.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "never taken"})
	require.ErrorContains(t, err, "disk full")
	var refused *api.Error
	require.True(t, errors.As(err, &refused))
	assert.Equal(t, api.CodeFailed, refused.Code)
	_, err = d.client.Adopt(t.Context(), api.AdoptRequest{Pane: d.line("Dan", silent...).pane, As: "line"})
	require.ErrorContains(t, err, "disk full")
	sessions, err := d.client.Sessions(t.Context())
	require.NoError(t, err)
	assert.Len(t, sessions, 3)
	assert.Equal(t, message.ChatOn, d.current(chat).State)
	for _, one := range []*agent{a, ben, cyd} {
		assert.NotEmpty(t, one.explain().State)
	}
	d.stays(func() bool { return len(ben.bytes())+len(cyd.bytes()) == heard && len(a.received()) == 1 })
	require.Len(t, d.trouble(), 1)

	d.empty()
	ben.gets("[Ada] (1):\n\nthe answer")
	ben.gets("[Cyd] (3):\n\nwhile it is full")
	a.gets("[Cyd] (3):\n\nwhile it is full")
	cyd.hears("[Ada] (1): the answer")
	d.waitFor("it is well", func() bool { return len(d.trouble()) == 0 && !strings.Contains(d.option(), "full") })
	d.waitFor("at rest", func() bool { return d.open() == 0 })
	for _, receipt := range d.receiptsOf(id) {
		if receipt.Target == a.session.ID {
			assert.NotEqual(t, message.Uncertain, receipt.State)
		}
	}
	assert.Equal(t, "answered", d.trails(id)[a.session.ID], "%v", d.trails(id))
	assert.Equal(t, []string{"[Ada] (1):\n\nthe answer", "[Cyd] (3):\n\nwhile it is full"}, partsOf(ben))
	assert.Equal(t, []string{"[Ben] (2): question", "[Ada] (1): the answer"}, cyd.received())
	_, err = d.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "and on it goes"})
	require.NoError(t, err)
	cyd.hears("[tester] (0): and on it goes")
	assert.NotContains(t, strings.Join(cyd.received(), " "), "never taken")
	assert.Equal(t, clients, d.Run("list-clients"))
}

// A held message may be typed at last, but the disk is full, so the typing cannot be written down: nothing is typed.
// The message is typed once when there is room.
func TestD2_NothingIsTypedThatCannotBeWrittenDown(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"line", "claude"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d := newSmallDisk(t)
			var a *agent
			want := hello
			if kind == "line" {
				a, want = d.line("Ada", silent...), "[tester] (0): hello"
				a.adopt("line")
				a.drafts("in the way")
			} else {
				a = d.coder(kind, "Ada", silent...)
				a.adopt("")
				a.types("in the way")
				a.waitFor("a draft", func() bool { return a.explain().Composer.Text == "in the way" })
			}
			id := d.post(a, "hello")
			d.told(id, "held")
			d.fill()
			a.types("", "C-u")
			d.waitFor("it says so", func() bool { return len(d.trouble()) == 1 })
			d.stays(func() bool { return !bytes.Contains(a.bytes(), []byte("hello")) })
			d.empty()
			d.told(id, "submitted")
			assert.Equal(t, []string{want}, a.received())
			assert.Equal(t, 1, bytes.Count(a.bytes(), []byte("hello")))
			d.waitFor("it is well", func() bool { return len(d.trouble()) == 0 })
		})
	}
}

// A person's pause counts although it cannot be written down: when there is room again, the chat is paused, and a
// message that waits is not typed.
func TestD2_APauseIsKept(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	a, b := d.adopted("Ada", silent...), d.adopted("Ben", silent...)
	chat := d.chat([]*agent{a, b}, unlimited...)
	d.fill()
	a.do(":say too late")
	d.waitFor("it says so", func() bool { return len(d.trouble()) == 1 })
	_, err := d.client.PauseChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.ErrorContains(t, err, "disk full")
	d.empty()
	d.waitFor("paused", func() bool { return d.current(chat).State == message.ChatPaused })
	d.waitFor("it is well", func() bool { return len(d.trouble()) == 0 })
	d.stays(func() bool { return len(b.received()) == 0 })
	assert.True(t, slices.Contains([]string{"held: chat paused", "queued"}, d.last(d.idOf("too late"))), d.last(d.idOf("too late")))
}

// A person's request that was refused because the disk was full is never carried out, be it for a chat or for a
// single message.
func TestD2_WhatWasRefusedNeverComes(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	a, b := d.adopted("Ada", silent...), d.adopted("Ben", silent...)
	chat := d.chat([]*agent{a, b}, unlimited...)
	d.say(chat, "before")
	a.hears("[tester] (0): before")
	d.waitFor("at rest", func() bool { return d.open() == 0 && d.state(a) == message.Idle && d.state(b) == message.Idle })
	d.fill()
	_, err := d.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "refused"})
	require.ErrorContains(t, err, "disk full")
	_, err = d.client.Send(t.Context(), api.SendRequest{To: a.pane, Text: "refused too"})
	require.ErrorContains(t, err, "disk full")
	a.do(":say meanwhile")
	d.empty()
	b.hears("[Ada] (1): meanwhile")
	d.waitFor("it is well", func() bool { return len(d.trouble()) == 0 })
	d.say(chat, "after")
	b.hears("[tester] (0): after")
	a.hears("[tester] (0): after")
	assert.Equal(t, []string{"[tester] (0): before", "[tester] (0): after"}, a.received())
	assert.Equal(t, []string{"[tester] (0): before", "[Ada] (1): meanwhile", "[tester] (0): after"}, b.received())
	assert.Equal(t, message.ChatOn, d.current(chat).State)
}

// A person at a terminal is told that the disk is full, and later that there is room.
func TestD2_APersonIsTold(t *testing.T) {
	t.Parallel()
	d := newSmallDisk(t)
	a, b := d.adopted("Ada", silent...), d.adopted("Ben", silent...)
	d.chat([]*agent{a, b}, unlimited...)
	p := d.person(a.pane)
	told := func(words string) func() bool {
		return func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return bytes.Contains(p.received, []byte(words))
		}
	}
	d.fill()
	a.do(":say something")
	d.waitFor("a notice", told("intercom: disk full: "))
	d.empty()
	d.waitFor("another", told("intercom: the disk can be written again"))
	b.hears("[Ada] (1): something")
}
