package talk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

func TestK9_K10_K20_whatAListenerLeavesInItsPlace(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	a, b := who.start(Wish{}), who.start(Wish{Name: "beta"})
	all := who.Discover()
	require.Len(t, all, 2)
	for _, l := range all {
		assert.Contains(t, []int{a.Number, b.Number}, l.Port)
		assert.Equal(t, os.Getpid(), l.PID, "the process that has the socket")
		assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`, l.Started)
	}
	pid, err := os.ReadFile(a.PIDFile())
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintln(os.Getpid()), string(pid))
	l, ok := a.Listening()
	require.True(t, ok)
	assert.Equal(t, filepath.Join(who.Dir, fmt.Sprint(a.Number), "inbox.jsonl"), l.MessageFile)
}

func TestK5_K6_K44_stop(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	was, err := p.Unwant()
	require.NoError(t, err)
	assert.True(t, was)
	_, err = who.Keeper.Look(t.Context())
	require.NoError(t, err)
	assert.False(t, p.Served())
	assert.NoFileExists(t, p.PIDFile())
	assert.NoFileExists(t, p.server())
	assert.Empty(t, who.Discover())
	assert.NoError(t, free(p.Number), "the port is free")
	was, err = p.Unwant()
	require.NoError(t, err)
	assert.False(t, was)
	who.start(Wish{Port: p.Number})
}

func TestK46_secondStart(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{})
	err := who.want(p.Number, Wish{})
	assert.Equal(t, PortInUse, codeOf(err))
	assert.Equal(t, map[string]any{"port": p.Number, "pid": os.Getpid(), "already_running": true}, err.(*Error).Details)
}

// However many start at once, in one process or several, one listens.
func TestK52_startedAtOnce(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	keep(t, who.Home)
	number := freePort(t)
	results := make(chan error, 10)
	for range cap(results) {
		go func() {
			c, err := who.Starting(patience)
			if err == nil {
				defer c.Release()
				p := who.Port(number)
				if err = p.Want(Wish{}); err == nil {
					_, err = who.Keeper.Look(t.Context())
					// Either keeper may serve it: the one that starts it waits until one of them does.
					assert.Eventually(t, func() bool { _, ok := p.Listening(); return ok }, patience, time.Millisecond)
				}
			}
			results <- err
		}()
	}
	started := 0
	for range cap(results) {
		if err := <-results; err == nil {
			started++
		} else {
			assert.Equal(t, PortInUse, codeOf(err))
		}
	}
	assert.Equal(t, 1, started)
	assert.Len(t, who.Discover(), 1)
}

func TestK21_killed(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	other := who.another()
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{}))
	p := who.Port(number)
	until(t, func() bool { _, ok := p.Listening(); return ok }, "served")
	l, _ := p.Listening()
	assert.Equal(t, other.Process.Pid, l.PID)
	other.kill()
	assert.Empty(t, who.Discover())
	assert.FileExists(t, p.PIDFile(), "it had no time to remove it")
	require.NoError(t, who.want(number, Wish{}), "a later start works")
	who.keep()
	_, err := who.Keeper.Look(t.Context())
	require.NoError(t, err)
	l, ok := p.Listening()
	require.True(t, ok)
	assert.Equal(t, os.Getpid(), l.PID)
}

// Three processes keep one port, and end in every order and manner: each acknowledged message is there once,
// and there is always another process that takes over.
func TestC50_takenOver(t *testing.T) {
	t.Parallel()
	for _, how := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			who := newPerson(t)
			number := freePort(t)
			require.NoError(t, who.want(number, Wish{Name: "kept"}))
			p := who.Port(number)
			byPID := map[int]*process{}
			for range 3 {
				one := who.another()
				byPID[one.Process.Pid] = one
			}
			var told []string
			for len(byPID) > 0 {
				var owner *process
				until(t, func() bool {
					l, ok := p.Listening()
					owner = byPID[l.PID]
					return ok && owner != nil
				}, "another takes over")
				for i := range 3 {
					text := fmt.Sprintf("%d/%d", owner.Process.Pid, i)
					require.NoError(t, p.say(t, 9001, text))
					told = append(told, text)
				}
				delete(byPID, owner.Process.Pid)
				owner.signal(t, how)
				_ = owner.Wait()
			}
			assert.Equal(t, told, texts(p.unread(t, CheckOptions{})))
			_, err := p.Wanted()
			assert.NoError(t, err, "it is wanted still")
		})
	}
}

// One of two keepers is asked to end the port, and the other one has it.
func TestC50_stoppedByWhoeverHasIt(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	who.another()
	number := freePort(t)
	require.NoError(t, who.want(number, Wish{}))
	p := who.Port(number)
	until(t, func() bool { _, ok := p.Listening(); return ok }, "served")
	who.keep()
	_, err := who.Keeper.Look(t.Context())
	require.NoError(t, err)
	assert.Empty(t, who.Keeper.Serving())
	_, err = p.Unwant()
	require.NoError(t, err)
	until(t, func() bool { return !p.Served() }, "the other one notices")
	require.NoError(t, free(number))
}

// Who no longer wants to know what a look finds does not wait for its end.
func TestKeeper_LookIsGivenUp(t *testing.T) {
	t.Parallel()
	k := &Keeper{Home: newPerson(t).Home}
	k.init()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := k.Look(ctx)
		ended <- err
	}()
	<-k.look // accepted, and the look does not end
	cancel()
	select {
	case err := <-ended:
		assert.ErrorIs(t, err, context.Canceled)
	case <-time.After(10 * time.Second):
		t.Error("it still waits")
	}
}

func TestKeeper_saysWhatItCannotServe(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.Port(freePort(t))
	require.NoError(t, p.make())
	require.NoError(t, os.Symlink("/etc/passwd", p.Inbox()))
	require.NoError(t, who.want(p.Number, Wish{}))
	refused, err := who.Keeper.Look(t.Context())
	require.NoError(t, err)
	require.Len(t, refused, 1)
	assert.Equal(t, FileError, codeOf(refused[0].Err))
	until(t, func() bool { return !claim.Held(p.claim()) }, "given back, but for a moment of another try")
	assert.False(t, errors.Is(refused[0].Err, fs.ErrNotExist))
	require.NoError(t, os.Remove(p.Inbox()))
	_, err = who.Keeper.Look(t.Context())
	require.NoError(t, err)
	_, ok := p.Listening()
	assert.True(t, ok, "it tries again")
}

// A message file in a missing directory is a reason too, and the one that wants it is told.
func TestKeeper_saysThatADirectoryIsMissing(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.Port(freePort(t))
	file := filepath.Join(t.TempDir(), "missing", "messages.jsonl")
	require.NoError(t, who.want(p.Number, Wish{MessageFile: file}))
	refused, err := who.Keeper.Look(t.Context())
	require.NoError(t, err)
	require.Len(t, refused, 1)
	assert.Equal(t, FileError, codeOf(refused[0].Err))
	assert.Contains(t, refused[0].Err.Error(), "no such file")
}

func TestF6_names(t *testing.T) {
	t.Parallel()
	who := newPerson(t).keep()
	p := who.start(Wish{Name: "beta"})
	number, err := who.Named("beta")
	require.NoError(t, err)
	assert.Equal(t, p.Number, number)
	assert.Equal(t, "beta", who.Discover()[0].Name)
	assert.Equal(t, NameInUse, codeOf(who.want(freePort(t), Wish{Name: "beta"})))
	for _, bad := range []string{"Beta", "1beta", "-", "be ta", "be_ta", "../x", "b\n"} {
		assert.Equal(t, InvalidName, codeOf(who.want(freePort(t), Wish{Name: bad})), "%q", bad)
		_, err := who.Named(bad)
		assert.Equal(t, InvalidName, codeOf(err), "%q", bad)
	}
	_, err = who.Named("gamma")
	assert.Equal(t, NameUnknown, codeOf(err))

	// The name follows its owner to another port.
	_, err = p.Unwant()
	require.NoError(t, err)
	_, err = who.Keeper.Look(t.Context())
	require.NoError(t, err)
	q := who.start(Wish{Name: "beta"})
	number, err = who.Named("beta")
	require.NoError(t, err)
	assert.Equal(t, q.Number, number)
}

func TestK29_convention(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	firstFree := func(from int) int { // according to the system
		for free(from) != nil {
			from++
		}
		return from
	}
	for from := FirstPort; from < FirstPort+2; { // 9001, then 9002, where no other program has them
		before := firstFree(from)
		got, err := who.Vacant()
		require.NoError(t, err)
		if before == firstFree(from) { // otherwise somebody took or left a port meanwhile
			assert.Equal(t, before, got)
		}
		require.NoError(t, who.want(got, Wish{}))
		from = got + 1
	}
}

func TestK24_listenOnceWhereNobodyListens(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	p := who.Port(freePort(t))
	var run sync.WaitGroup
	ctx, stop := testContext(t)
	serve, err := p.ListenOnce(ctx, discard)
	require.NoError(t, err)
	run.Go(func() { assert.NoError(t, serve()) })
	_, err = p.ListenOnce(ctx, discard)
	assert.ErrorIs(t, err, claim.ErrHeld)
	require.NoError(t, p.say(t, 9001, "one"))
	assert.Equal(t, []string{"one"}, texts(p.unread(t, CheckOptions{Clear: true, Limit: 1})))
	stop()
	run.Wait()
	assert.NoError(t, free(p.Number))
	assert.NoFileExists(t, p.PIDFile())
}

// ListenOnce on a port that is wanted, and that no sidecar serves, listens as it is wanted: a check finds what
// came.
func TestListenOnce_asItIsWanted(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	p := who.Port(freePort(t))
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	require.NoError(t, who.want(p.Number, Wish{MessageFile: file, Name: "beta"}))
	var run sync.WaitGroup
	ctx, stop := testContext(t)
	serve, err := p.ListenOnce(ctx, discard)
	require.NoError(t, err)
	run.Go(func() { assert.NoError(t, serve()) })
	require.NoError(t, p.say(t, 9001, "one"))
	assert.Equal(t, []string{"one"}, texts(p.unread(t, CheckOptions{Clear: true, Limit: 1})))
	assert.NoFileExists(t, p.Inbox())
	stop()
	run.Wait()
}

// ListenOnce makes way for somebody who wants another message file: that one is served once it says so.
func TestListenOnce_makesWay(t *testing.T) {
	t.Parallel()
	who := newPerson(t)
	p := who.Port(freePort(t))
	var run sync.WaitGroup
	ctx, stop := testContext(t)
	serve, err := p.ListenOnce(ctx, discard)
	require.NoError(t, err)
	run.Go(func() { assert.NoError(t, serve()) })
	file := filepath.Join(t.TempDir(), "messages.jsonl")
	require.NoError(t, who.want(p.Number, Wish{MessageFile: file}))
	_, ok := p.Listening()
	assert.False(t, ok, "whoever has it listens for another file")
	who.keep()
	until(t, func() bool { _, ok := p.Listening(); return ok }, "served")
	require.NoError(t, p.say(t, 9001, "one"))
	assert.Equal(t, []string{"one"}, texts(p.unread(t, CheckOptions{Clear: true, Limit: 1})))
	assert.FileExists(t, file)
	stop()
	run.Wait()
}
