package repository

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

var at = time.Date(2025, 10, 14, 5, 42, 0, 0, time.UTC)

// repo makes a repository of that name, with an .aea.
func repo(t *testing.T, name string) Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.MkdirAll(filepath.Join(path, ".aea"), 0o755))
	d, err := Open(path)
	require.NoError(t, err)
	return d
}

// many returns how many a test takes: with `make long`, all that its row says.
func many(usual, row int) int {
	if os.Getenv("INTERCOM_LONG") == "" {
		return usual
	}
	return row
}

// letter returns a message from one repository to another.
func letter(from, to Dir, kind string) aea.Message {
	return aea.Message{
		ID: StableID(from.Path, to.Path, kind, string(message.NewID())), Type: kind, Priority: "normal", Time: at, From: from.Own(), To: to.Own(), Subject: "s", Body: "b",
	}
}

func drop(t *testing.T, d Dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(d.File(name), []byte(text), 0o644))
}

// A path has to be absolute, without "..", and that of a directory of ours with an .aea of its own. Its name
// makes no difference.
func TestA38_Paths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"with space", "ünï-日本", "quote'\"$(x)", "plain"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Join(path, ".aea"), 0o755))
		to, err := Open(path)
		require.NoError(t, err, name)
		file, err := to.Put(letter(to, to, "update"), "")
		require.NoError(t, err, name)
		m, _, err := to.Read(file)
		require.NoError(t, err)
		assert.Equal(t, path, m.To.Path)
	}
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bare"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "linked"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(dir, "plain", ".aea"), filepath.Join(dir, "linked", ".aea")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o644))
	for path, why := range map[string]string{
		"plain": "not absolute", "": "not absolute", filepath.Join(dir, "none"): NoDirectory, dir + "/bare/../plain": `".."`,
		filepath.Join(dir, "loop"): "too many", filepath.Join(dir, "bare"): "no .aea", filepath.Join(dir, "linked"): "symbolic link", filepath.Join(dir, "file"): "no directory",
		dir + "/plain\x00x": "invalid",
	} {
		_, err := Open(path)
		assert.ErrorContains(t, err, why, "%q", path)
		var is *PathError
		assert.ErrorAs(t, err, &is)
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "plain"), filepath.Join(dir, "alias")))
	d, err := Open(filepath.Join(dir, "alias"))
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "plain"), d.Path, "a link to a repository is that repository")
}

// The document's own loop and ours find the same among a thousand files. The newest comes first.
func TestA26_A25_C14_TheDocumentsLoop(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	n := many(200, 1000)
	for i := range n {
		name := aea.FileName(at, "claude-a", fmt.Sprint("n", i), 1)
		drop(t, d, name, `{"message_type":"update","message":{"body":"x"}}`)
		when := at.Add(time.Duration(i*7919%n) * time.Second)
		require.NoError(t, os.Chtimes(d.File(name), when, when))
		if i%3 == 0 {
			require.NoError(t, d.Mark(name))
		}
	}
	drop(t, d, "notes.json", "{}")
	drop(t, d, "message.txt", "{}")
	all, err := d.List()
	require.NoError(t, err)
	require.Len(t, all, n)
	var ours, newest []string
	for _, e := range all {
		newest = append(newest, ".aea/"+e.Name)
		if !e.Processed {
			ours = append(ours, "Unprocessed: .aea/"+e.Name)
		}
	}
	loop := exec.CommandContext(t.Context(), "bash", "-c", `for msg in .aea/message-*.json; do
    if [ ! -f ".aea/.processed/$(basename $msg)" ]; then
        echo "Unprocessed: $msg"
    fi
done`)
	loop.Dir = d.Path
	out, err := loop.Output()
	require.NoError(t, err)
	assert.ElementsMatch(t, strings.Split(strings.TrimSpace(string(out)), "\n"), ours)
	list := exec.CommandContext(t.Context(), "bash", "-c", `ls -1t .aea/message-*.json 2>/dev/null`)
	list.Dir = d.Path
	out, err = list.Output()
	require.NoError(t, err)
	assert.Equal(t, strings.Split(strings.TrimSpace(string(out)), "\n"), newest)
}

// Markers made at the same time are links to one file. Each is a marker of its own, whatever becomes of the
// others.
func TestA30_MarkersOfOneMoment(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("message-20251014T05420%dZ-from-claude-a.json", i))
	}
	require.NoError(t, d.Mark(names[1])) // by somebody else, earlier
	for _, err := range d.MarkAll(names...) {
		require.NoError(t, err)
	}
	require.NoError(t, os.Remove(d.at(processed, names[0]))) // the one to which the others are links
	for i, name := range names[1:] {
		info, err := os.Lstat(d.at(processed, name))
		require.NoError(t, err, i)
		assert.True(t, info.Mode().IsRegular())
		assert.Zero(t, info.Size())
	}
	require.NoError(t, d.Mark(names[0]))
	// A marker that has gone meanwhile cannot be linked to: a new file is made.
	path := d.at(processed, "message-20251014T054300Z-from-claude-a.json")
	made, err := mark(path, d.at(processed, "gone"))
	require.NoError(t, err)
	assert.Equal(t, path, made)
}

func TestA30_Marker(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	name, err := d.Put(letter(d, d, "update"), "")
	require.NoError(t, err)
	require.NoError(t, d.Mark(name))
	require.NoError(t, d.Mark(name))
	info, err := os.Lstat(d.at(processed, name))
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular())
	assert.Zero(t, info.Size())
	outside := t.TempDir()
	other := repo(t, "other")
	require.NoError(t, os.Symlink(outside, other.at(processed)))
	assert.ErrorContains(t, other.Mark(name), "symbolic link")
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Neither ledger nor journal can tell a name that is not UTF-8 from another one. Such a file is no message, and
// the error says why.
func TestH20_H64_NameThatIsNoUTF8(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	name := "message-20251014T054200Z-from-\x9b\xff.json"
	if err := os.WriteFile(d.at(name), []byte(`{"message_type":"update","from":{"agent_id":"a"},"message":{"body":"b"}}`), 0o600); err != nil {
		t.Skip("this file system takes no name that is not UTF-8; set TMPDIR to one that does, ext4 or tmpfs: ", err)
	}
	_, _, err := d.Read(name)
	assert.ErrorAs(t, err, new(*aea.InvalidError))
	assert.ErrorContains(t, err, "not UTF-8")
	all, err := d.List()
	require.NoError(t, err)
	assert.Len(t, all, 1, "the document's loop sees it, and so does a list")
}

// Each record is one line, whatever its words contain.
func TestA31_H64_Log(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	require.NoError(t, d.Processed(at, "message-20251014T054200Z-from-claude-a.json", "acknowledged"))
	require.NoError(t, d.Processed(at, "message-\n\x1b[31m=cmd().json", "a\nb"))
	require.NoError(t, d.Processed(at, "message-\x9b31m\xff.json", "8-bit control characters are no UTF-8"))
	text, err := os.ReadFile(d.at(logName))
	require.NoError(t, err)
	assert.True(t, utf8.Valid(text))
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, "[2025-10-14T05:42:00Z] Processed: .aea/message-20251014T054200Z-from-claude-a.json -> acknowledged", lines[0])
	assert.Regexp(t, regexp.MustCompile(`^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] Processed: .* -> .*$`), lines[1])
	assert.NotContains(t, string(text), "\x1b")
	require.NoError(t, d.Log(at, "Sent", "id-1", "x"))
	assert.True(t, d.Sent("id-1"))
	assert.False(t, d.Sent("id-2"))
	assert.False(t, d.Sent(""))

	linked := repo(t, "linked")
	target := filepath.Join(t.TempDir(), "bashrc")
	require.NoError(t, os.WriteFile(target, []byte("x"), 0o644))
	require.NoError(t, os.Symlink(target, linked.at(logName)))
	assert.Error(t, linked.Log(at, "Sent", "x", "y"), "a link is not followed")
	text, err = os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "x", string(text))
}

// All messages that one agent sends in one second are there, each in its own file.
func TestA54_C12_ManyInASecond(t *testing.T) {
	t.Parallel()
	from, to := repo(t, "from"), repo(t, "to")
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, err := to.Put(letter(from, to, "update"), "")
			assert.NoError(t, err)
		})
	}
	all.Wait()
	found, err := to.List()
	require.NoError(t, err)
	require.Len(t, found, 100)
	ids := map[string]bool{}
	for _, e := range found {
		assert.Regexp(t, `^message-\d{8}T\d{6}Z-from-claude-from(-\d+)?\.json$`, e.Name)
		m, _, err := to.Read(e.Name)
		require.NoError(t, err)
		ids[m.ID] = true
	}
	assert.Len(t, ids, 100)
	entries, err := os.ReadDir(to.at())
	require.NoError(t, err)
	assert.Len(t, entries, 100, "nothing else is left there")
}

// At any moment a reader sees only whole messages.
func TestA56_Atomic(t *testing.T) {
	t.Parallel()
	from, to := repo(t, "from"), repo(t, "to")
	sends := many(150, 10_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range sends {
			m := letter(from, to, "update")
			m.Time, m.Body = at.Add(time.Duration(i)*time.Second), strings.Repeat("x", 5000)
			name, err := to.Put(m, "")
			if assert.NoError(t, err) && i%8 != 0 { // the directory stays small
				assert.NoError(t, os.Remove(to.File(name)))
			}
		}
	}()
	looks := 0
	for going := true; going; looks++ {
		select {
		case <-done:
			going = false
		default:
		}
		paths, err := filepath.Glob(to.at("message-*.json"))
		require.NoError(t, err)
		for _, path := range paths[max(0, len(paths)-3):] {
			text, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				continue
			}
			require.NoError(t, err)
			require.True(t, json.Valid(text), "%d bytes of %s", len(text), path)
		}
	}
	assert.Greater(t, looks, 10)
}

func TestA47_C28_Archive(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	old, recent := at.Add(-40*24*time.Hour), at
	for i, c := range []struct {
		when time.Time
		mark bool
	}{{old, true}, {old, false}, {recent, true}} {
		name := aea.FileName(c.when, "claude-a", fmt.Sprint(i), 1)
		drop(t, d, name, `{"message_type":"update","message":{"body":"x"}}`)
		require.NoError(t, os.Chtimes(d.File(name), c.when, c.when))
		if c.mark {
			require.NoError(t, d.Mark(name))
		}
	}
	moved, err := d.Archive(at.Add(-30 * 24 * time.Hour))
	require.NoError(t, err)
	assert.Equal(t, []string{aea.FileName(old, "claude-a", "0", 1)}, moved)
	all, err := d.List()
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.True(t, all[0].Processed)
	assert.False(t, all[1].Processed, "what is not processed stays, and looks as before")
	assert.FileExists(t, d.at(archived, moved[0]))
	assert.FileExists(t, d.at(archived, processed, moved[0]))
	assert.NoFileExists(t, d.at(processed, moved[0]))
	moved, err = d.Archive(at.Add(-30 * 24 * time.Hour))
	require.NoError(t, err)
	assert.Empty(t, moved)
}

// The registry as AEA's own script writes it: entries below "agents: {}", which is not YAML.
func TestA60_Registry(t *testing.T) {
	t.Parallel()
	r := Registry{filepath.Join(t.TempDir(), "config", "agents.yaml")}
	all, err := r.List()
	require.NoError(t, err)
	assert.Empty(t, all)
	require.NoError(t, os.Mkdir(filepath.Dir(r.Path), 0o755))
	upstream := `# AEA Agent Registry
# This file tracks all AEA-enabled repositories for message routing

version: "1.0"
agents: {}
  claude-two:
    path: /home/user/two
    enabled: false
    description: "Auto-registered from /home/user/two"
  claude-one:
    path: /home/user/one
    enabled: true
    description: "AEA-enabled repository"

# Example agent configuration:
# agents:
#   my-backend-agent:
#     path: /home/user/projects/backend
  remote-agent:
    host: server.example.com
    path: /opt/projects/api
    method: ssh
    enabled: true
`
	require.NoError(t, os.WriteFile(r.Path, []byte(upstream), 0o644))
	all, err = r.List()
	require.NoError(t, err)
	assert.Equal(t, []Registered{
		{ID: "claude-one", Path: "/home/user/one", Enabled: true, Description: "AEA-enabled repository"},
		{ID: "claude-two", Path: "/home/user/two", Description: "Auto-registered from /home/user/two"},
		{ID: "remote-agent", Path: "/opt/projects/api", Enabled: true, Host: "server.example.com"},
	}, all)
	for id, ok := range map[string]bool{"claude-one": true, "claude-two": false, "remote-agent": false, "none": false} {
		_, found := r.Find(id)
		assert.Equal(t, ok, found, id)
	}
	for _, path := range []string{"/src/ours", "/src/with space: and 'quote'", "/src/ours"} {
		_, err := r.Add(Registered{ID: "claude-ours", Path: path, Description: `d "x"`})
		require.NoError(t, err)
		one, ok := r.Find("claude-ours")
		require.True(t, ok)
		assert.Equal(t, path, one.Path)
		assert.Equal(t, `d "x"`, one.Description)
	}
	all, err = r.List()
	require.NoError(t, err)
	assert.Len(t, all, 4, "the others are there still")
	awk := exec.CommandContext(t.Context(), "awk", "-v", "agent=claude-ours", `$0 ~ "^  " agent ":" { found=1; next } found && /^    path:/ { print $2; exit } /^  [a-zA-Z]/ { found=0 }`, r.Path)
	out, err := awk.Output()
	require.NoError(t, err)
	assert.Equal(t, "/src/ours\n", string(out), "AEA's own script finds it")
}

// An installation has all parts. A second one changes nothing, and what a person wrote stays.
func TestA35_A51_Install(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my repo")
	require.NoError(t, os.Mkdir(path, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(path, "CLAUDE.md"), []byte("# Mine"), 0o644))
	assert.False(t, Instructs(path))
	d, _, err := Install(path, "/opt/it's/intercom", false)
	require.NoError(t, err)
	assert.True(t, Instructs(path))
	for _, name := range []string{"README.md", "agent-config.yaml", "scripts/aea-send.sh", "scripts/aea-check.sh", "scripts/aea-monitor.sh", "prompts/check-messages.md", "prompts/question.md", "prompts/handoff.md", ".processed"} {
		assert.FileExists(t, d.at("README.md"), name)
		_, err := os.Stat(d.at(name))
		assert.NoError(t, err)
	}
	for _, script := range []string{"aea-send.sh", "aea-check.sh", "aea-monitor.sh"} {
		info, err := os.Stat(d.at("scripts", script))
		require.NoError(t, err)
		assert.NotZero(t, info.Mode().Perm()&0o100, script)
		assert.NoError(t, exec.CommandContext(t.Context(), "sh", "-n", d.at("scripts", script)).Run())
	}
	instructions, err := os.ReadFile(filepath.Join(path, "CLAUDE.md"))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(instructions), "# Mine\n"))
	assert.Equal(t, 1, strings.Count(string(instructions), "bash .aea/scripts/aea-check.sh || cat .aea/prompts/check-messages.md"))
	require.NoError(t, os.WriteFile(d.at("agent-config.yaml"), []byte("agent: {id: mine}\n"), 0o644))
	require.NoError(t, os.WriteFile(d.at("scripts", "aea-send.sh"), []byte("#!/bin/bash\n# somebody's\n"), 0o755))
	_, all, err := Install(path, "/opt/it's/intercom", false)
	require.NoError(t, err)
	did := map[string]string{}
	for _, one := range all {
		did[one.File] = one.Did
	}
	assert.Equal(t, "kept", did[".aea/agent-config.yaml"])
	assert.Equal(t, "left", did[".aea/scripts/aea-send.sh"])
	assert.Equal(t, "kept", did["CLAUDE.md"])
	again, err := os.ReadFile(filepath.Join(path, "CLAUDE.md"))
	require.NoError(t, err)
	assert.Equal(t, instructions, again)
	assert.Equal(t, "mine", d.Own().ID)
	_, all, err = Install(path, "/opt/it's/intercom", true)
	require.NoError(t, err)
	assert.True(t, slices.ContainsFunc(all, func(i Installed) bool { return i.File == ".aea/scripts/aea-send.sh" && i.Did == "updated" }))
	config, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, "agent: {id: mine}\n", config.Text)
}

// The installed configuration, as it is, names the agent by its directory, and says what the
// protocol's table says.
func TestA63_AgentID(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "xpull-hub")
	require.NoError(t, os.Mkdir(path, 0o755))
	d, _, err := Install(path, "/bin/intercom", false)
	require.NoError(t, err)
	assert.Equal(t, aea.Agent{ID: "claude-xpull-hub", Path: path}, d.Own())
	text, err := os.ReadFile(d.at("agent-config.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `id: "claude-$(basename $(pwd))"`)
	config, err := Read(path)
	require.NoError(t, err)
	for _, p := range config.Problems {
		assert.Equal(t, aea.Notice, p.Level, p.Text)
	}
	for _, kind := range aea.Types() {
		for _, priority := range aea.Priorities() {
			if kind != "response" {
				assert.Equal(t, aea.Protocol(kind, priority).Action, config.Said.Choose(kind, priority, false).Action, "%s %s", kind, priority)
			}
		}
	}
	assert.Equal(t, "claude-b-c", repo(t, "b c").Own().ID)
}

// The notes about what was sent are shortened to what is searched. Their latest lines stay, whole.
func TestNoteSent_isShortened(t *testing.T) {
	t.Parallel()
	d, e := repo(t, "repo"), EnabledIn(t.TempDir())
	require.NoError(t, os.MkdirAll(e.Dir, 0o700))
	var text strings.Builder
	for i := 0; text.Len() <= 2*searched; i++ {
		fmt.Fprintf(&text, "id-%09d\n", i)
	}
	last := text.String()[text.Len()-13 : text.Len()-1]
	require.NoError(t, os.WriteFile(e.sentLog(d.Path), []byte(text.String()), 0o600))
	require.NoError(t, e.NoteSent(d.Path, "next"))
	kept, err := os.ReadFile(e.sentLog(d.Path))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(kept), searched)
	assert.Greater(t, len(kept), searched-100)
	assert.True(t, strings.HasPrefix(string(kept), "id-"))
	require.NoError(t, e.NoteSent(d.Path, "after"))
	for _, id := range []string{last, "next", "after"} {
		assert.True(t, e.Sent(d, id), id)
	}
	assert.False(t, e.Sent(d, "id-000000000"))
}

// A directory that has grown beyond the limit of a list can still be cleared up.
func TestA47_moreThanAreListed(t *testing.T) {
	t.Parallel()
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("makes 60,000 files: set INTERCOM_LONG=1")
	}
	d := repo(t, "repo")
	for i := range 30_000 {
		name := fmt.Sprintf("message-20251014T054200Z-from-a-%d.json", i)
		drop(t, d, name, "{}")
		require.NoError(t, d.Mark(name))
		drop(t, d, fmt.Sprint("junk-", i), "")
	}
	_, err := d.List()
	var many *foreign.TooManyError
	require.ErrorAs(t, err, &many)
	moved, err := d.Archive(time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Len(t, moved, 30_000)
	left, err := d.List()
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A message is read only if its name leads to a file of ours that has no other name. Nothing else under that
// name keeps anybody waiting.
func TestH53_H54_H55_Files(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	secret := filepath.Join(t.TempDir(), "id_rsa")
	valid := `{"message_type":"question","message":{"body":"x"}}`
	require.NoError(t, os.WriteFile(secret, []byte(valid), 0o600))
	require.NoError(t, os.Symlink(secret, d.File("message-1-from-link.json")))
	require.NoError(t, os.Link(secret, d.File("message-2-from-hard.json")))
	require.NoError(t, syscall.Mkfifo(d.File("message-3-from-fifo.json"), 0o644))
	require.NoError(t, os.Mkdir(d.File("message-4-from-dir.json"), 0o755))
	drop(t, d, "message-5-from-sparse.json", "")
	require.NoError(t, os.Truncate(d.File("message-5-from-sparse.json"), 10<<30))
	require.NoError(t, os.Symlink("/proc/self/environ", d.File("message-6-from-proc.json")))
	require.NoError(t, os.Symlink("/dev/zero", d.File("message-7-from-zero.json")))
	short, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	require.NoError(t, os.Rename(filepath.Join(short, "s"), d.File("message-8-from-socket.json")))
	bad := 8
	if os.Geteuid() == 0 {
		drop(t, d, "message-9-from-other.json", valid)
		require.NoError(t, os.Chown(d.File("message-9-from-other.json"), 12345, -1))
		bad++
		if err := syscall.Mknod(d.File("message-a-from-device.json"), syscall.S_IFCHR|0o600, 1<<8|5); err == nil { // /dev/zero
			bad++
		} else {
			t.Logf("no device can be made here: %v", err) // as in a user namespace
		}
	}
	drop(t, d, "message-x-from-good.json", valid)
	all, err := d.List()
	require.NoError(t, err)
	refusals := 0
	for _, e := range all {
		_, text, err := d.Read(e.Name)
		if e.Name == "message-x-from-good.json" {
			assert.NoError(t, err)
			continue
		}
		refusals++
		var is *aea.InvalidError
		assert.ErrorAs(t, err, &is, e.Name)
		assert.Empty(t, text)
	}
	assert.Equal(t, bad, refusals)
	_, _, err = d.Read("../../etc/passwd")
	assert.ErrorContains(t, err, "not the name of a message")
}

// Only a person's list enables a repository; nothing that the repository brings along does.
func TestH58_Enabled(t *testing.T) {
	t.Parallel()
	e := EnabledIn(filepath.Join(t.TempDir(), "state"))
	all, err := e.List()
	require.NoError(t, err)
	assert.Empty(t, all)
	d := repo(t, "repo")
	_, ok := e.Find(d.Path)
	assert.False(t, ok)
	require.NoError(t, e.Set(Wish{Path: d.Path, Agent: "claude-repo", Since: at}))
	require.NoError(t, e.Set(Wish{Path: "/other", Agent: "claude-other", Since: at, Monitor: MonitorOn}))
	one, ok := e.Find(d.Path)
	require.True(t, ok)
	assert.Equal(t, "claude-repo", one.Agent)
	all, err = e.List()
	require.NoError(t, err)
	assert.Len(t, all, 2)
	// A file that says something about another repository than its name does not count.
	text, err := os.ReadFile(e.file("/other"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(e.file("/third"), text, 0o600))
	_, ok = e.Find("/third")
	assert.False(t, ok)
	require.NoError(t, os.Chmod(e.file("/other"), 0o666))
	_, ok = e.Find("/other")
	assert.False(t, ok, "others may write it")
}

// A person is told if others may write there.
func TestH58_OthersMayWrite(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	for mode, want := range map[os.FileMode]string{
		0o755: "", 0o700: "", 0o775: "others may write there: -rwxrwxr-x", 0o757: "others may write there: -rwxr-xrwx",
	} {
		require.NoError(t, os.Chmod(d.at(), mode))
		assert.Equal(t, want, d.Exposed())
		_, err := Open(d.Path)
		assert.NoError(t, err, "it is served: this is how a clone is made where the umask is 002")
	}
	h := newHouse(t)
	var log bytes.Buffer
	h.logTo = slog.NewTextHandler(&log, nil)
	require.NoError(t, os.Chmod(h.target.at(), 0o777))
	h.run()
	h.until(func() bool { return h.peers.Enabled.Served(h.target.Path) && h.peers.Enabled.Served(h.asker.Path) })
	h.end()
	var told []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "others may write there") {
			told = append(told, line)
		}
	}
	require.Len(t, told, 1)
	assert.Contains(t, told[0], h.target.Path)
}

func TestA7_C17_StableID(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	ids := map[string]bool{}
	for i := range 10_000 {
		id := StableID("x", fmt.Sprint(i))
		require.Regexp(t, pattern, id)
		ids[id] = true
	}
	assert.Len(t, ids, 10_000)
	assert.Equal(t, StableID("a", "b"), StableID("a", "b"))
}

// The file under a name changes again and again while it is read. What is read never comes from a link's
// target, from a file with another name, or from a pipe, whatever the file was a moment before.
func TestH56_SwappedWhileItIsRead(t *testing.T) {
	t.Parallel()
	d := repo(t, "repo")
	const name = "message-1-from-swapped.json"
	good, secret := `{"message_type":"question","message":{"body":"good"}}`, `{"message_type":"question","message":{"body":"secret"}}`
	elsewhere := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(elsewhere, []byte(secret), 0o600))
	over := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		next := d.File(".next")
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
			}
			_ = os.Remove(next)
			switch i % 4 {
			case 0:
				_ = os.Symlink(elsewhere, next)
			case 1:
				_ = syscall.Mkfifo(next, 0o600)
			case 2:
				_ = os.Link(elsewhere, next)
			default:
				_ = os.WriteFile(next, []byte(good), 0o600)
			}
			_ = os.Rename(next, d.File(name))
		}
	})
	read := 0
	for tries := 0; read < 50 && tries < 1_000_000; tries++ {
		m, text, err := d.Read(name)
		require.NotContains(t, string(text), "secret")
		if err == nil {
			require.Equal(t, "good", m.Text())
			read++
		}
	}
	close(over)
	swapping.Wait()
	assert.Equal(t, 50, read)
}
