package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// compressed is a program as a release contains it, and the SHA-256 of the uncompressed program.
func compressed(data []byte) ([]byte, string) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes(), fmt.Sprintf("%x", sha256.Sum256(data))
}

// theProgram is the program under test, compressed.
var theProgram = sync.OnceValues(func() ([]byte, string) {
	data, err := os.ReadFile(thisProgram())
	if err != nil {
		panic(err)
	}
	return compressed(data)
})

// startsTheProgram is a compressed script that runs the program under test: far less to compress and verify.
var startsTheProgram = sync.OnceValues(func() ([]byte, string) {
	return compressed([]byte("#!/bin/sh\nexec '" + thisProgram() + "' \"$@\"\n"))
})

// releases serves the programs of releases on loopback, and counts the requests.
type releases struct {
	*httptest.Server
	asked atomic.Int32
}

func serveReleases(t *testing.T, body []byte) *releases {
	t.Helper()
	r := &releases{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.asked.Add(1)
		if q.URL.Path != "/intercom-v0.9.0-"+runtime.GOOS+"-"+runtime.GOARCH+".gz" {
			http.NotFound(w, q)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(r.Close)
	return r
}

// writeRelease records a release v0.9.0 of those sources with a program of that sum.
func writeRelease(t *testing.T, root, url, sources, sum string) {
	t.Helper()
	text := "# a release\nrelease v0.9.0\ncommit 0\ngo " + runtime.Version() + "\nsources " + sources + "\nurl " + url +
		"\nsha256 " + strings.Repeat("0", 64) + " intercom-v0.9.0-plan9-386\nsha256 " + sum + " intercom-v0.9.0-" + runtime.GOOS + "-" + runtime.GOARCH + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "tmux-plugin", "release.txt"), []byte(text), 0o600))
}

// sourcesOf is the key by which the plugin identifies the sources in root.
func sourcesOf(t *testing.T, root string) string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `cd "$1" && eval "$(sed -n '/^sum() {$/,/^}$/p' tmux-plugin/program.sh)" && sum cmd sidecar scripting policies docs/skill go.mod go.sum`, "sh", root).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func TestU26_aReleaseIsVerifiedBeforeItRuns(t *testing.T) {
	t.Parallel()
	body, right := startsTheProgram() // TestU26_U18_installedWithoutGo uses the program itself
	wrong := strings.Repeat("1", 64)
	builds := "for last; do [ \"$before\" != -o ] || out=$last; before=$last; done\ncp '" + thisProgram() + "' \"$out\"\n"
	for _, c := range []struct {
		name    string
		sum     string
		past    bool   // the checkout has other sources than the release
		long    bool   // only in a long run: other cases cover its parts
		goes    string // the version of Go that can be found, if any
		install string // @intercom-install
		url     string // of the release; "" for the server of this test
		says    string // what a person sees
		key     string // of the program in use: "source" for that of the checkout, "" for none
		asked   int32
	}{
		{name: "of these sources", sum: right, says: "intercom: release v0.9.0 is ready; prefix + @ chats, prefix + B is the menu", key: "source", asked: 1},
		{name: "rather than a build", long: true, sum: right, goes: "go1.99.1", says: "intercom: release v0.9.0 is ready", key: "source", asked: 1},
		{name: "a wrong sum, no Go", sum: wrong, says: "does not match its checksum and was removed; building needs Go", asked: 1},
		{name: "a wrong sum, and Go", sum: wrong, goes: "go1.99.1", says: "intercom: built and ready", key: "source", asked: 1},
		{name: "older than the checkout, no Go", sum: right, past: true, says: "and no Go was found; running release v0.9.0, which is older than the plugin", key: "v0.9.0", asked: 1},
		{name: "older than the checkout, a wrong sum", long: true, sum: wrong, past: true, says: "does not match its checksum and was removed; building needs Go", asked: 1},
		{name: "older than the checkout, and Go", long: true, sum: right, past: true, goes: "go1.99.1", says: "intercom: built and ready", key: "source"},
		{name: "not wanted", sum: right, install: "build", says: "building needs Go 1", asked: 0},
		{name: "wanted alone", sum: right, past: true, goes: "go1.99.1", install: "download", says: "@intercom-install is download, so nothing is built; running release v0.9.0", key: "v0.9.0", asked: 1},
		{name: "wanted alone, and there is none", goes: "go1.99.1", install: "download", says: "no release of this revision; @intercom-install is download, so nothing is built; unset @intercom-install, so that it is built"},
		{name: "not to be had", long: true, sum: right, url: "http://127.0.0.1:1", says: "http://127.0.0.1:1/intercom-v0.9.0-" + runtime.GOOS, asked: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.long && os.Getenv("INTERCOM_LONG") == "" {
				t.Skip("in a long run: make long LONG=TestU26")
			}
			tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
				b := newBuild(t, v, c.goes, builds)
				served := serveReleases(t, body)
				if c.url == "" {
					c.url = served.URL
				}
				sources := sourcesOf(t, b.root)
				if c.past {
					sources = "1"
				}
				if c.sum != "" {
					writeRelease(t, b.root, c.url, sources, c.sum)
				}
				if c.install != "" {
					b.Run("set-option", "-g", "@intercom-install", c.install)
				}
				b.two()
				me := b.sit("base")
				me.resize(400, 30)
				me.press("C-l")
				b.Run("run-shell", "'"+b.root+"/intercom.tmux'")
				me.sees(c.says)
				store := filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin")
				if c.key == "" {
					tmuxtest.WaitFor(t, "the end of the loading", func() bool { return b.Run("show-options", "-gqv", troubleOption) != "" })
					assert.Empty(t, b.Run("show-options", "-gqv", usedOption))
					left, _ := filepath.Glob(filepath.Join(store, "*", "intercom*"))
					assert.Empty(t, left, "nothing unverified is left")
				} else {
					tmuxtest.WaitFor(t, "a program", func() bool { return b.Run("show-options", "-gqv", usedOption) != "" })
					assert.Regexp(t, "^"+store+"/"+c.key+`(-\d+)?-`+thisMachine(t)+`/intercom$`, b.Run("show-options", "-gqv", usedOption))
					b.load() // a second load finds it
					me.press("C-b", b.chatKey)
					me.sees("claude (1) ↔ codex (2): on")
				}
				assert.Equal(t, c.asked, served.asked.Load(), "downloads")
				runs, _ := os.ReadFile(b.runs)
				assert.Equal(t, c.says == "intercom: built and ready", len(runs) > 0, "builds")
			})
		})
	}
}

// A load that is killed in mid-download stops its download, and its directory is gone, at the latest when another load begins.
// The log of builds is never written through a link.
func TestU26_killedInMidDownload(t *testing.T) {
	t.Parallel()
	b := newBuild(t, tmuxtest.Versions(t)[0], "", "")
	begun, ended := make(chan struct{}, 8), make(chan struct{}, 8)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		begun <- struct{}{}
		<-q.Context().Done()
		ended <- struct{}{}
	}))
	t.Cleanup(served.Close)
	writeRelease(t, b.root, served.URL, sourcesOf(t, b.root), strings.Repeat("1", 64))
	store := filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin")
	mine := filepath.Join(b.home, "mine")
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	require.NoError(t, os.MkdirAll(store, 0o700))
	require.NoError(t, os.Symlink(mine, filepath.Join(store, "build.log")))

	kill := func() (pid int) {
		t.Helper()
		b.Run("run-shell", "-b", "'"+b.root+"/intercom.tmux'")
		<-begun
		holder, err := os.Readlink(b.key())
		require.NoError(t, err)
		_, err = fmt.Sscanf(holder, "%d-", &pid)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		return pid
	}
	first := kill()
	<-ended
	tmuxtest.WaitFor(t, "its directory is gone", func() bool {
		left, _ := filepath.Glob(filepath.Join(store, fmt.Sprintf("*.%d", first)))
		return len(left) == 0
	})
	assert.Equal(t, "mine", read(t, mine))
	left := filepath.Join(store, filepath.Base(strings.TrimSuffix(b.key(), ".lock"))+".999999999") // left by a killed load
	require.NoError(t, os.Mkdir(left, 0o700))
	kill()
	<-ended
	assert.NoDirExists(t, left)
}

// key is the path of the only lock in the plugin's store.
func (b *checkout) key() string {
	b.t.Helper()
	locks, _ := filepath.Glob(filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin", "*.lock"))
	require.Len(b.t, locks, 1)
	return locks[0]
}

// withoutGo hides every Go of this computer from a command by mounts of the command's own.
const withoutGo = `for dir in $(printf %s "$PATH" | tr : ' ') /usr/local/go/bin /opt/homebrew/bin /usr/local/bin /opt/local/bin /snap/bin; do
	[ ! -e "$dir/go" ] || mount --bind /dev/null "$(readlink -f "$dir/go")" || exit 9
done
! command -v go && exec "$@"`

func TestU26_U18_installedWithoutGo(t *testing.T) {
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("TestU12_U26_theFirstHourByREADME installs so; what a plain clone has beside that is looked at in a long run: make long LONG=TestU26_U18")
	}
	isolated := []string{"unshare", "-m", "sh", "-c", withoutGo, "sh"}
	if out, err := exec.Command("unshare", "-m", "sh", "-c", withoutGo, "sh", "true").CombinedOutput(); err != nil {
		t.Skipf("nobody can hide Go here, which takes mounts of its own: run the test as root, and in a container with --cap-add SYS_ADMIN: %v: %s", err, out)
	}
	s := takeSnapshot(t)
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		program, sum := theProgram()
		served := serveReleases(t, program)
		u := newUser(t, v, s)
		where := filepath.Join(u.home, ".tmux", "plugins", "tmux-intercom")
		u.must("git", "clone", "-q", "--single-branch", "https://git::@github.com/acme/tmux-intercom", where)
		// The sums of a tag are committed after the tag.
		writeRelease(t, where, served.URL, sourcesOf(t, where), sum)
		u.must("git", "-C", where, "commit", "-q", "-am", "sums")
		u.commit = u.must("git", "-C", where, "rev-parse", "HEAD")
		u.bin = filepath.Join(u.data, "intercom", "bin", u.commit[:12]+"-"+thisMachine(t), "intercom")
		u.configure("run '" + standIn + "'")
		u.must(isolated[0], append(isolated[1:], "tmux", "new-session", "-d", "-s", "early", "exec cat")...)
		_, terminal := u.installed(where)
		assert.EqualValues(t, 1, served.asked.Load(), "downloads")
		u.pauses(terminal)
		u.gone()
	})
}

// TestU26_theSameBytesEverywhere releases a tag from two clones in different directories: both record the same sums.
func TestU26_theSameBytesEverywhere(t *testing.T) {
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("two releases are built in a long run: make long LONG=TestU26")
	}
	s := takeSnapshot(t)
	var lists []string
	for _, name := range []string{"one", "a much longer name"} {
		dir := filepath.Join(t.TempDir(), name)
		do := func(env []string, words ...string) string {
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		require.NoError(t, os.Mkdir(dir, 0o700))
		do(nil, "git", "clone", "-q", filepath.Join(s.dir, "acme", "tmux-intercom"), ".")
		do(nil, "git", "tag", "v0.9.0")
		here := []string{"PLATFORMS=" + runtime.GOOS + "/" + runtime.GOARCH}
		do(here, ".ci/release", "v0.9.0")
		list, err := os.ReadFile(filepath.Join(dir, "tmux-plugin", "release.txt"))
		require.NoError(t, err)
		lists = append(lists, string(list))
		assert.Contains(t, lists[0], "sources "+sourcesOf(t, dir)+"\n")
		assert.Contains(t, do(here, ".ci/release", "--check"), "the sums of v0.9.0 hold")
		do(nil, "sh", "-c", "sed -i 's/^sha256 ./sha256 x/' tmux-plugin/release.txt")
		cmd := exec.Command(".ci/release", "--check")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), here...)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), "another in tmux-plugin/release.txt")
	}
	assert.Equal(t, lists[0], lists[1])
}
