package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// strangeFiles are what may stand in place of a file that others write, and what the sidecar says about each.
var strangeFiles = []struct {
	name, says string
	put        func(path string) error
}{
	{"FIFO", "is a FIFO, not a regular file", func(path string) error { return syscall.Mkfifo(path, 0o600) }},
	{"link to zero", "is a character device, not a regular file", func(path string) error { return os.Symlink("/dev/zero", path) }},
	{"sparse", "bytes", func(path string) error {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(path, 50<<30)
	}},
	{"directory", "is a directory, not a regular file", func(path string) error { return os.Mkdir(path, 0o700) }},
}

// filesOfProjects has, for each agent, a file of the project in which it works that tells how it takes a text.
var filesOfProjects = map[string]string{
	"claude": filepath.Join(".claude", "settings.json"),
	"codex":  filepath.Join(".agents", "skills", "mine", "SKILL.md"),
}

// A strange file that came with a git clone hangs nobody and takes no memory: messages to this agent and to another
// program arrive, and explain says which file cannot be read.
func TestS24_FilesOfAProject(t *testing.T) {
	t.Parallel()
	for kind, file := range filesOfProjects {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, r.end())
			c := r.child()
			path := filepath.Join(r.dir, "work", file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			a, b := r.coder(kind, "Ada"), r.line("Ben")
			a.adopt("")
			b.adopt("line")
			r.told(r.post(a, "hello"), "submitted (answered)")
			before := peak(t, c)
			for i, strange := range strangeFiles {
				if kind == "codex" && strange.name == "sparse" {
					continue // only its head is read
				}
				require.NoError(t, strange.put(path), strange.name)
				r.waitFor("explain says so of a "+strange.name, func() bool { return strings.Contains(settingsSay(a.explain()), strange.says) })
				assert.Contains(t, settingsSay(a.explain()), path)
				r.told(r.post(a, fmt.Sprintf("word %d", i)), "submitted (answered)")
				r.told(r.post(b, fmt.Sprintf("word %d", i)), "submitted (answered)")
				require.NoError(t, os.RemoveAll(path))
			}
			assert.Less(t, peak(t, c)-before, 20<<10, "kB of memory at the most")
		})
	}
}

// settingsSay is what an explanation says about settings that are not read.
func settingsSay(e message.Explanation) (all string) {
	for _, g := range e.Evidence {
		if g.Source == "settings" {
			all += g.Says + "\n"
		}
	}
	return all
}

// peak is the most memory that a process has had, in kB.
func peak(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(t, err)
	return n
}

// A strange file takes the place of an agent's transcript. It tells nothing, and what the transcript told is soon too
// old: nothing is typed until the transcript is read again.
func TestS25_TranscriptIsReplaced(t *testing.T) {
	t.Parallel()
	for _, strange := range strangeFiles {
		t.Run(strange.name, func(t *testing.T) {
			t.Parallel()
			if strange.name == "link to zero" || strange.name == "directory" { // no regular file, as a FIFO is none
				inTheTable(t, "agent/tail_test.go: TestS24_TranscriptIsReplaced", "foreign/foreign_test.go: TestS24_WhateverStandsThere")
			}
			r := newRig(t)
			a, b := r.coder("claude", "Ada"), r.adopted("Ben")
			a.adopt("")
			r.told(r.post(a, "hello"), "submitted (answered)")
			path := r.transcripts("claude")[0]
			require.NoError(t, os.Rename(path, path+"-"))
			require.NoError(t, strange.put(path))
			r.blind(a)
			if strange.name != "sparse" {
				assert.Contains(t, a.explain().Trouble, strange.says)
			}
			before := len(a.bytes())
			id := r.post(a, "hello again")
			r.told(id, "held: its transcript is not read")
			r.told(r.post(b, "hello"), "submitted (answered)")
			assert.Len(t, a.bytes(), before, "nothing is typed")
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.Rename(path+"-", path))
			r.told(id, "submitted (answered)")
		})
	}
}

// blind waits until an agent's transcript no longer counts.
func (r *rig) blind(a *agent) {
	r.t.Helper()
	r.waitFor("its account counts for nothing", func() bool {
		e := a.explain()
		return e.State == message.Unknown && e.Why == message.TranscriptLost && !e.WouldType
	})
}

// A read of a transcript hangs, because the file system does not answer any more. Messages for that pane are held
// with that reason, those for others arrive, and the sidecar still ends when it is asked to.
func TestS25_ReaderThatHangs(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"SIGTERM", "down"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			require.NoError(t, r.end())
			c := r.child()
			a, b := r.coder("claude", "Ada"), r.line("Ben")
			a.adopt("")
			b.adopt("line")
			r.told(r.post(a, "hello"), "submitted (answered)")
			path := r.transcripts("claude")[0]
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path+".new", text, 0o600))
			release := hang(t, path+".new") // a file that is open already would not hang
			require.NoError(t, os.Rename(path, path+"-"))
			require.NoError(t, os.Rename(path+".new", path))
			r.blind(a)
			assert.Contains(t, a.explain().Trouble, "was last read")
			before := len(a.bytes())
			id := r.post(a, "hello again")
			r.told(id, "held: its transcript is not read")
			r.told(r.post(b, "hello"), "submitted (answered)")
			assert.Len(t, a.bytes(), before, "nothing is typed")

			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			asked := time.Now()
			if end == "down" {
				require.NoError(t, r.client.Down(t.Context()))
			} else {
				require.NoError(t, c.Process.Signal(syscall.SIGTERM))
			}
			select {
			case err := <-ended:
				assert.ErrorContains(t, err, fmt.Sprintf("exit status %d", abandonedChild))
			case <-time.After(20 * time.Second):
				t.Fatal("it does not end")
			}
			assert.Less(t, time.Since(asked), 5*time.Second+grace)
			release()
			require.NoError(t, os.Rename(path+"-", path))
			r.child()
			r.told(id, "submitted (answered)")
			assert.Equal(t, 1, strings.Count(strings.Join(a.received(), "\n"), "hello again"))
		})
	}
}

// A read of the settings hangs, so the sidecar does not know whether the composer has vim keys: nothing is typed.
func TestS25_SettingsThatHang(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	path := filepath.Join(r.dir, "work", ".claude", "settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	a, b := r.coder("claude", "Ada"), r.adopted("Ben")
	a.adopt("")
	r.told(r.post(a, "hello"), "submitted (answered)")
	release := hang(t, path)
	r.waitFor("explain says so", func() bool { return strings.Contains(settingsSay(a.explain()), "takes long") })
	id := r.post(a, "hello again")
	r.told(id, "held: its settings are not read")
	r.told(r.post(b, "hello"), "submitted (answered)")
	assert.Equal(t, 1, a.count(persona.EventPaste), "nothing is typed")
	release()
	r.told(id, "submitted (answered)")
}

// grace is how much longer a busy machine may take.
const grace = 3 * time.Second

// hang makes each read of a file wait until release is called or the test ends.
func hang(t *testing.T, path string) (release func()) {
	t.Helper()
	fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT|unix.FAN_CLOEXEC, unix.O_RDONLY)
	if err == nil {
		if err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_ACCESS_PERM, unix.AT_FDCWD, path); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil {
		t.Skipf("no file can be made to hang here (it takes root): %v", err)
	}
	open := true
	release = func() {
		if open {
			unix.Close(fd)
		}
		open = false
	}
	t.Cleanup(release)
	return release
}
