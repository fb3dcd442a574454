package service

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// A process belongs to the teammate from whose program it descends or in whose terminal's session it is,
// whatever its environment. If that cannot be found out it is an error; if there is no teammate that it could
// belong to, it belongs to nobody.
func TestMateOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A program started in a terminal, as by tmux, writes down the pids of those below it.
	starts := func(name, script string) process.Identity {
		cmd := exec.Command("sh", "-c", "kin() { echo $! >$1.part; mv $1.part $1; }\n"+script+"\ntouch "+name+"; wait; exec sleep 600")
		cmd.Dir = dir
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait(); terminal.Close() })
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }, patience, time.Millisecond)
		id, err := process.Identify(cmd.Process.Pid)
		require.Eventually(t, func() bool { // it may be just about to become the sleep
			if errors.Is(err, process.ErrExecuting) {
				id, err = process.Identify(cmd.Process.Pid)
			}
			return !errors.Is(err, process.ErrExecuting)
		}, patience, time.Millisecond)
		require.NoError(t, err)
		return id
	}
	pidOf := func(name string) (pid int) {
		require.Eventually(t, func() bool {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return pid > 0
		}, patience, time.Millisecond)
		t.Cleanup(func() {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		})
		return pid
	}
	alice := starts("alice", `
env -i sleep 600 & kin child
sh -c 'env -i setsid sleep 600 & echo $! >deep; wait' &
(env -i sleep 600 & kin orphan)
(setsid sh -c 'env -i sleep 600 & echo $! >gone') &
(sh -c 'sh -c "env -i setsid sleep 600 & echo \$! >below; wait" & exit') &
bash -c "exec -a codex bash -c 'sleep 600 & echo \$! >behind; wait' app-server" &
`)
	bob := starts("bob", "")
	beside := starts("beside", "")
	numbers, err := process.OurNumbers()
	require.NoError(t, err)
	programOf := func(name string, of process.Identity) team.Program {
		return team.Program{Name: name, PID: of.PID, Start: of.Start, Boot: numbers.Boot, Space: numbers.Space}
	}
	a, b := programOf("alice", alice), programOf("bob", bob)
	with := func(p team.Program, change func(*team.Program)) team.Program { change(&p); return p }
	both := []team.Program{a, b}
	for name, c := range map[string]struct {
		all    []team.Program
		pid    int
		own    string
		others []string
		untold string
	}{
		"the program itself":                      {both, alice.PID, "alice", []string{"bob"}, ""},
		"the other one":                           {both, bob.PID, "bob", []string{"alice"}, ""},
		"a child without an environment":          {both, pidOf("child"), "alice", []string{"bob"}, ""},
		"below it, in a session of its own":       {both, pidOf("deep"), "alice", []string{"bob"}, ""},
		"it lost its parents, not its terminal":   {both, pidOf("orphan"), "alice", []string{"bob"}, ""},
		"below what lost its parents":             {both, pidOf("below"), "alice", []string{"bob"}, ""},
		"it left both, as a person's job may":     {both, pidOf("gone"), "", []string{"alice", "bob"}, ""},
		"another terminal":                        {both, beside.PID, "", []string{"alice", "bob"}, ""},
		"not of this terminal":                    {both, os.Getpid(), "", []string{"alice", "bob"}, ""},
		"nobody has a session":                    {nil, alice.PID, "", nil, ""},
		"its number is another's by now":          {[]team.Program{with(a, func(p *team.Program) { p.Start-- }), b}, alice.PID, "", []string{"bob"}, ""},
		"of before the computer was started anew": {[]team.Program{with(a, func(p *team.Program) { p.Boot = "another" })}, alice.PID, "", nil, ""},
		"other numbers": {
			[]team.Program{with(a, func(p *team.Program) { p.Space = "pid:[1]" }), b}, beside.PID, "", []string{"alice", "bob"}, "other numbers than those of the teammates",
		},
		"other numbers, but of another teammate": {[]team.Program{with(a, func(p *team.Program) { p.Space = "pid:[1]" }), b}, bob.PID, "bob", []string{"alice"}, ""},
		"an agent's background process":          {both, pidOf("behind"), "", []string{"alice", "bob"}, "background process of "},
		"it has ended":                           {both, 1 << 30, "", []string{"alice", "bob"}, "no such process"},
	} {
		d := team.Dir{Path: t.TempDir()}
		require.NoError(t, d.Make())
		require.NoError(t, d.SetPrograms(c.all))
		got, err := MateOf(d, c.pid)
		assert.Equal(t, Mate{c.own, c.others}, got, name)
		if c.untold == "" {
			assert.NoError(t, err, name)
			continue
		}
		assert.ErrorContains(t, err, c.untold, name)
		untold := new(UntoldError)
		assert.ErrorAs(t, err, &untold, name)
	}
}

// The program in a teammate's pane is recorded for as long as the teammate has its seat, even in a team that is
// made only then.
func TestTeam_whatRunsInItsPanes(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	bob, err := k.relay.Adopt(t.Context(), message.Peer{Name: "bob", PaneOf: message.PaneOf{Pane: "%2", PaneProc: message.Process{PID: 1 << 30, Start: 7}}})
	require.NoError(t, err)
	_, err = k.relay.Do(t.Context(), relay.TakeSeat{By: ada, Seat: relay.Seat{Dir: k.Path, Name: "bob"}, Peer: bob.ID})
	require.NoError(t, err)
	files := filepath.Join(k.Path, team.Folder)
	require.NoError(t, os.Rename(files, files+"-away"))
	k.looks(1)
	require.NoError(t, os.Rename(files+"-away", files))
	k.looks(1)
	all, err := k.Programs()
	require.NoError(t, err)
	require.Len(t, all, 1, "alice's has no number here")
	numbers, err := process.OurNumbers()
	require.NoError(t, err)
	assert.Equal(t, team.Program{Name: "bob", PID: 1 << 30, Start: 7, Boot: numbers.Boot, Space: numbers.Space}, all[0])
	require.NoError(t, k.relay.Gone(t.Context(), bob.ID, "it ended"))
	k.looksUntil(func() bool { all, err := k.Programs(); return err == nil && len(all) == 0 })
	assert.NotContains(t, k.log.String(), "processes of teammates")
}

// A change to the record of programs, or its removal, does not last, and a person is told of it once per team.
func TestTeam_whatRunsInItsPanesIsWrittenAgain(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	bob, err := k.relay.Adopt(t.Context(), message.Peer{Name: "bob", PaneOf: message.PaneOf{Pane: "%2", PaneProc: message.Process{PID: 1 << 30, Start: 7}}})
	require.NoError(t, err)
	_, err = k.relay.Do(t.Context(), relay.TakeSeat{By: ada, Seat: relay.Seat{Dir: k.Path, Name: "bob"}, Peer: bob.ID})
	require.NoError(t, err)
	k.looks(1)
	written, err := k.Programs()
	require.NoError(t, err)
	require.Len(t, written, 1)
	file := filepath.Join(k.Path, team.Folder, team.ProgramsName)
	for _, forge := range []func() error{
		func() error { return os.Remove(file) },
		func() error { return os.WriteFile(file, []byte(`[{"name"`), 0o600) },
		func() error { return k.SetPrograms([]team.Program{{Name: "eve", PID: 1}}) },
		func() error { return errors.Join(os.Remove(file), os.Symlink("/dev/zero", file)) },
	} {
		require.NoError(t, forge())
		k.looks(1)
		again, err := k.Programs()
		require.NoError(t, err)
		assert.Equal(t, written, again)
	}
	told := func() (n int) {
		happened, err := k.disk.Events(t.Context(), journal.Query{Limit: 1000})
		require.NoError(t, err)
		for _, e := range happened {
			if strings.Contains(e.Notice, "changed or removed processes.json") {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return told() > 0 }, 20*time.Second, time.Millisecond, "the relay writes it down when its turn comes")
	assert.Equal(t, 1, told())

	require.NoError(t, os.RemoveAll(filepath.Join(k.Path, team.Folder)))
	k.looks(2)
	assert.NoFileExists(t, file, "a team that was removed stays so")
}
