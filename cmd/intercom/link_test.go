package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
)

// One line carries everything that another computer needs. Joining with it writes the credentials and the init.lua.
func TestN4_linkAddAndJoin(t *testing.T) {
	t.Parallel()
	desk, raspi := newLinkHome(t), newLinkHome(t)
	_, errs, code := desk.run("link", "add", "raspi")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "no hub has run")

	h, err := hub.Open(filepath.Join(desk.dir, ".local", "state", "intercom-hub"))
	require.NoError(t, err)
	require.NoError(t, h.Say(hub.Serving{Listen: "127.0.0.1:4222"}))
	_, errs, code = desk.run("link", "add", "raspi")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "no other computer reaches")
	assert.Contains(t, errs, "hint: start it with --listen 0.0.0.0:4222")

	require.NoError(t, h.Say(hub.Serving{Listen: "0.0.0.0:4222", Hosts: []string{"192.0.2.7", "desk"}}))
	out, errs, code := desk.run("link", "add", "Raspi")
	require.Zero(t, code, errs)
	words := strings.Fields(out)
	require.Len(t, words, 4, "one line, and nothing else")
	assert.Equal(t, []string{"intercom", "link", "join"}, words[:3])
	assert.Contains(t, errs, "revoke raspi undoes it")
	own := desk.read(t, "init.lua")
	assert.Contains(t, own, `nats = "tls://127.0.0.1:4222"`, "the computer of the hub joins too")

	out, errs, code = raspi.run(words[1:]...)
	require.Zero(t, code, errs)
	assert.Contains(t, out, "linked as raspi")
	setting := `intercom.configure { computer = { name = "raspi", nats = "tls://192.0.2.7:4222", creds = "~/.config/intercom/link.creds" } }`
	assert.Contains(t, raspi.read(t, "init.lua"), "\n"+setting+"\n")
	info, err := os.Stat(filepath.Join(raspi.dir, ".config", "intercom", "link.creds"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = link.ParseCredentials([]byte(raspi.read(t, "link.creds")))
	require.NoError(t, err)
	_, errs, code = raspi.run(words[1:]...)
	assert.Zero(t, code, "twice is as good: %s", errs)

	// An existing init.lua is left alone, and the line to put into it is printed.
	_, errs, code = desk.run("link", "add", "raspi")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "has access already")
	out, errs, code = desk.run("link", "--json")
	require.Zero(t, code, errs)
	var added linkAdded
	require.NoError(t, json.Unmarshal([]byte(out), &added))
	assert.Equal(t, "computer-2", added.Computer)
	assert.Nil(t, added.Here)
	other := newLinkHome(t)
	require.NoError(t, os.MkdirAll(filepath.Join(other.dir, ".config", "intercom"), 0o700))
	mine := "-- mine\n"
	require.NoError(t, os.WriteFile(filepath.Join(other.dir, ".config", "intercom", "init.lua"), []byte(mine), 0o600))
	out, errs, code = other.run(strings.Fields(added.Line)[1:]...)
	require.Zero(t, code, errs)
	assert.Contains(t, out, `intercom.configure { computer = { name = "computer-2"`)
	assert.Contains(t, errs, "put this into")
	assert.Equal(t, mine, other.read(t, "init.lua"))

	// A computer that has joined one hub cannot join another by accident.
	_, errs, code = raspi.run(strings.Fields(added.Line)[1:]...)
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "has joined already")
	assert.Contains(t, errs, "rm ~/.config/intercom/link.creds")
}

// The line is kept nowhere: it is printed although the hub is slow to learn of the computer, or this one cannot join; and
// that it could not be printed is an error.
func TestLinkAdd_theLineIsNotLost(t *testing.T) {
	t.Parallel()
	desk := newLinkHome(t)
	dir := filepath.Join(desk.dir, ".local", "state", "intercom-hub")
	h, err := hub.Open(dir)
	require.NoError(t, err)
	require.NoError(t, h.Say(hub.Serving{Listen: "0.0.0.0:4222", Hosts: []string{"192.0.2.7"}, Applied: "old"}))
	add := func(out io.Writer, args ...string) (code int, errs string) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var e strings.Builder
		code = run(ctx, env{
			Args: append([]string{"link", "add"}, args...), Stdin: strings.NewReader(""), Stdout: out, Stderr: &e,
			Getenv: func(name string) string { return map[string]string{"HOME": desk.dir}[name] },
		})
		return code, e.String()
	}
	for name, args := range map[string][]string{"full": {"full"}, "full-json": {"full-json", "--json"}, "full-dir": {"full-dir", "--dir", dir}} {
		code, errs := add(fullDisk{}, args...)
		assert.Equal(t, 1, code, name)
		assert.Contains(t, errs, "print the line for "+name+": no space left on device")
		if len(args) == 3 {
			name += " --dir " + dir
		}
		assert.Contains(t, errs, "hint: intercom-hub revoke "+name+", then add it again")
	}
	serves, err := h.Begin(t.Context())
	require.NoError(t, err)
	defer serves.Release()
	var out strings.Builder
	code, errs := add(&out, "slow")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "the hub has not applied the change yet")
	assert.Contains(t, out.String(), "intercom link join ")
	out.Reset()
	_, errs = add(&out, "slow-json", "--json")
	assert.Contains(t, errs, "the hub has not applied the change yet")
	var r linkAdded
	require.NoError(t, json.Unmarshal([]byte(out.String()), &r))
	assert.Contains(t, r.Line, "intercom link join ")

	// The directory of its credentials cannot be made.
	require.NoError(t, os.RemoveAll(filepath.Join(desk.dir, ".config")))
	require.NoError(t, os.Symlink(filepath.Join(desk.dir, "none", "none"), filepath.Join(desk.dir, ".config")))
	require.NoError(t, h.Revoke(ownName(), false))
	out.Reset()
	code, errs = add(&out, "other")
	assert.Equal(t, 1, code)
	assert.Contains(t, errs, "intercom: error: mkdir ")
	assert.Contains(t, out.String(), "intercom link join ")
}

// fullDisk is a file on a full disk.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A token that was cut off, changed, or made to inject code into init.lua is refused, and nothing is written.
func TestN5_tokensOfOthers(t *testing.T) {
	t.Parallel()
	h, err := hub.Open(filepath.Join(t.TempDir(), "hub"))
	require.NoError(t, err)
	home := newLinkHome(t)
	good, _, err := h.Add("raspi", time.Now())
	require.NoError(t, err)
	seed, _, err := link.NewSeed()
	require.NoError(t, err)
	word := hub.Invitation{Name: good.Name, URL: "tls://192.0.2.7:4222", Seed: string(seed)}.String()
	for _, bad := range []string{
		"x", word[:len(word)/2], word[1:],
		hub.Invitation{Name: "local", URL: "tls://192.0.2.7:4222", Seed: string(seed)}.String(),
		hub.Invitation{Name: `a" } os.execute("x") --`, URL: "tls://192.0.2.7:4222", Seed: string(seed)}.String(),
		hub.Invitation{Name: "raspi", URL: `tls://x" } os.execute("x") --`, Seed: string(seed)}.String(),
		hub.Invitation{Name: "raspi", URL: "tls://x\n--", Seed: string(seed)}.String(),
	} {
		_, errs, code := home.run("link", "join", bad)
		assert.Equal(t, 2, code, bad)
		assert.Contains(t, errs, "not an invitation")
	}
	_, err = os.Stat(filepath.Join(home.dir, ".config"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Helpers of the tests.

// linkHome is a HOME directory.
type linkHome struct {
	t   *testing.T
	dir string
}

func newLinkHome(t *testing.T) linkHome { return linkHome{t, t.TempDir()} }

func (h linkHome) run(args ...string) (out, errs string, code int) {
	var o, e strings.Builder
	code = run(h.t.Context(), env{
		Args: args, Stdin: strings.NewReader(""), Stdout: &o, Stderr: &e,
		Getenv: func(name string) string { return map[string]string{"HOME": h.dir}[name] },
	})
	return o.String(), e.String(), code
}

func (h linkHome) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, ".config", "intercom", name))
	require.NoError(t, err)
	return string(text)
}
