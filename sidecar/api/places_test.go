package api_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestPlaces_standWhereTheEnvironmentSays(t *testing.T) {
	p, err := api.Places(env("HOME=/home/ann", "XDG_RUNTIME_DIR=/run/user/1000"), "/tmp/tmux-1000/default")
	require.NoError(t, err)
	// printf %s /tmp/tmux-1000/default | sha256sum | cut -c1-8
	const key = "default-7cbd633a"
	assert.Equal(t, api.Paths{
		Server:  "/tmp/tmux-1000/default",
		Key:     key,
		Runtime: "/run/user/1000/intercom",
		Socket:  "/run/user/1000/intercom/" + key + ".sock",
		Lock:    "/run/user/1000/intercom/" + key + ".lock",
		Guard:   "/run/user/1000/intercom/" + key + ".guard",
		State:   "/home/ann/.local/state/intercom/" + key,
		Log:     "/home/ann/.local/state/intercom/" + key + "/sidecar.log",

		Config:    "/home/ann/.config/intercom",
		PolicyLog: "/home/ann/.local/state/intercom/" + key + "/policy.log",
	}, p)

	p, err = api.Places(env("XDG_STATE_HOME=/s", "XDG_RUNTIME_DIR=relative"), "")
	require.NoError(t, err)
	assert.Equal(t, "headless", p.Key)
	assert.Empty(t, p.Server)
	assert.Equal(t, fmt.Sprintf("/tmp/intercom-%d/intercom/headless.sock", os.Geteuid()), p.Socket)
	assert.Equal(t, "/s/intercom/headless", p.State)
}

func TestPlaces_oneServerHasOneSidecar(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	e := env("HOME=/h", "XDG_RUNTIME_DIR=/r")
	places := func(path string) api.Paths {
		p, err := api.Places(e, path)
		require.NoError(t, err)
		return p
	}
	before := places(filepath.Join(dir, "real", "default"))
	assert.Equal(t, before, places(filepath.Join(dir, "link", "default")))
	assert.Equal(t, before, places(dir+"//real/../real/default"))
	t.Chdir(dir)
	assert.Equal(t, before, places("real/default"))

	ln, err := net.Listen("unix", filepath.Join(dir, "real", "default"))
	require.NoError(t, err)
	defer ln.Close()
	assert.Equal(t, before, places(filepath.Join(dir, "link", "default")), "the same whether the server runs or not")

	assert.NotEqual(t, before.Key, places("/elsewhere/default").Key, "equal names in different directories are different servers")
}

func TestPlaces_pathOfTheSocketStaysShort(t *testing.T) {
	long := "/tmp/" + strings.Repeat("n", 80) + "\x1b[2J"
	p, err := api.Places(env("HOME=/h", "XDG_RUNTIME_DIR=/run/user/1000"), long)
	require.NoError(t, err)
	assert.Less(t, len(p.Socket), 104)
	assert.NotContains(t, p.Key, "\x1b")

	_, err = api.Places(env("HOME=/h", "XDG_RUNTIME_DIR=/"+strings.Repeat("d", 60)), long)
	assert.Equal(t, api.CodeUsage, code(err), "%v", err)
	_, err = api.Places(env("XDG_RUNTIME_DIR=/r"), "")
	assert.Equal(t, api.CodeUsage, code(err), "no HOME: %v", err)
}

func TestParseSettings(t *testing.T) {
	limits, err := api.ParseSettings(map[string]string{"depth": "1000", "rate": "600", "bytes": "1", "line_break": " / ", "header": "both"})
	require.NoError(t, err)
	assert.Equal(t, message.Limits{Depth: 1000, Rate: 600, Bytes: 1, LineBreak: " / ", Header: "both"}, limits)

	limits, err = api.ParseSettings(nil)
	require.NoError(t, err)
	assert.Zero(t, limits)

	for key, value := range map[string]string{
		"depth": "0", "rate": "-1", "bytes": "4 MiB", "line_break": "\n", "header": "none", "Depth": "3", "": "",
	} {
		_, err := api.ParseSettings(map[string]string{key: value})
		assert.Equal(t, api.CodeUsage, code(err), "%s=%s", key, value)
		assert.ErrorContains(t, err, fmt.Sprintf("%q", key))
	}
}

// Helpers.

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
