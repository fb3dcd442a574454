package repository

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mountsVar is set if a test runs with its own file systems.
const mountsVar = "INTERCOM_TEST_MOUNTS"

// ownMounts runs the test again in a place where it can mount file systems that nobody else sees, and reports
// whether it has done so.
func ownMounts(t *testing.T) bool {
	if os.Getenv(mountsVar) != "" {
		return false
	}
	flags := "-Urm"
	if os.Getuid() == 0 {
		flags = "-m"
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", flags, "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", flags, os.Args[0], "-test.count=1", "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mountsVar+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS")
	return true
}

// While the disk is too full for agent.log, no message is processed, and a person is told. Once there is room,
// each message is processed, and each line of the log is whole.
func TestH65_AgentLogOnAFullDisk(t *testing.T) {
	t.Parallel()
	if ownMounts(t) {
		return
	}
	h := newHouse(t)
	require.NoError(t, syscall.Mount("tmpfs", h.target.at(), "tmpfs", 0, "size=64k,mode=700"))
	t.Cleanup(func() { _ = syscall.Unmount(h.target.at(), syscall.MNT_DETACH) })
	require.NoError(t, os.Mkdir(h.target.at(processed), 0o700))
	var waiting []string
	for i := range 3 {
		name, err := h.target.Put(letter(h.asker, h.target, "update"), strconv.Itoa(i))
		require.NoError(t, err)
		waiting = append(waiting, name)
		require.NoError(t, os.Rename(h.target.File(name), h.target.at("later-"+name)))
	}
	// Ten bytes are left in the last block of the log, so the next line tears.
	begun := strings.Repeat("[2026-01-01T00:00:00Z] Sent: x -> y\n", 100)
	require.NoError(t, os.WriteFile(h.target.at(logName), []byte(begun+strings.Repeat("#", 4096-10-len(begun)-1)+"\n"), 0o600))
	h.run()
	defer h.end()
	h.until(func() bool { return h.peers.Enabled.Served(h.target.Path) })

	fill(t, h.target)
	appear := func(names ...string) {
		for _, name := range names {
			require.NoError(t, os.Rename(h.target.at("later-"+name), h.target.File(name)))
		}
	}
	appear(waiting[0])
	h.until(func() bool {
		return strings.Contains(h.notices(), "agent.log cannot be written, and no message is processed until it can")
	})
	appear(waiting[1:]...)
	h.later.Add(int64(rescan))
	assert.Never(t, func() bool { return h.marked(waiting[1]) || h.marked(waiting[2]) }, 3*tickEvery, tickEvery)
	require.NoError(t, os.Remove(h.target.at("filler")))
	for _, name := range waiting {
		h.until(func() bool {
			return h.marked(name) && strings.Count(h.log(), "Processed: .aea/"+name+" -> acknowledged\n")+strings.Count(h.log(), "Processed: .aea/"+name+" -> delivered to ben\n") == 1
		})
	}
	for line := range strings.Lines(h.log()) {
		if strings.HasPrefix(line, "[") && strings.Contains(line, "Processed") {
			assert.Regexp(t, `^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] Processed: \S+ -> [^\[]+\n$`, line)
		}
	}
}

// An answer that cannot be written because the asker's disk is full is not lost: a person is told, the answer
// waits, also over a restart, and is there once there is room.
func TestH65_AnswerOnAFullDisk(t *testing.T) {
	if ownMounts(t) {
		return
	}
	h := newHouse(t)
	require.NoError(t, syscall.Mount("tmpfs", h.asker.at(), "tmpfs", 0, "size=64k,mode=700"))
	t.Cleanup(func() { _ = syscall.Unmount(h.asker.at(), syscall.MNT_DETACH) })
	h.run()
	defer func() { h.end() }()
	untold := "an answer of claude-target is not in " + h.asker.Path + " yet"
	for n, restarts := range []bool{false, true} {
		h.until(func() bool { return h.peers.Enabled.Served(h.asker.Path) })
		_ = os.Remove(h.asker.at(PIDFile)) // otherwise the end of a sidecar makes room
		fill(t, h.asker)
		name, err := h.target.Put(letter(h.asker, h.target, "question"), strconv.Itoa(n))
		require.NoError(t, err)
		h.until(func() bool { return strings.Count(h.notices(), untold) == n+1 && h.marked(name) })
		h.later.Add(int64(rescan))
		h.settled()
		assert.Equal(t, n+1, strings.Count(h.notices(), untold), "once")
		if restarts {
			h.end()
			h.run()
		}
		assert.Len(t, h.answers(), n)
		require.NoError(t, os.Remove(h.asker.at("filler")))
		h.later.Add(int64(rescan))
		h.until(func() bool { return len(h.answers()) == n+1 })
		h.settled()
	}
	require.Len(t, h.answers(), 2)
	for _, a := range h.answers() {
		assert.Equal(t, "said by ben", a.Body)
	}
	assert.Equal(t, 2, strings.Count(h.log(), "] Sent: "), "%s", h.log())
	log, err := os.ReadFile(h.asker.at(logName))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(log), "] Answered: "), "%s", log)
}

// fill leaves no room on the disk of a repository until its filler file is removed.
func fill(t *testing.T, d Dir) {
	t.Helper()
	filler, err := os.Create(d.at("filler"))
	require.NoError(t, err)
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	require.True(t, errors.Is(err, syscall.ENOSPC), "%v", err)
}
