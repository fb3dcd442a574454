package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

const (
	// maxSocketPath is the smallest limit of all systems for the path of a unix socket, including its closing
	// zero.
	maxSocketPath = 104
	// maxKeyName is how much of the name of a tmux socket goes into the key. The hash covers what is cut off.
	maxKeyName = 32
)

// Paths holds the paths of one sidecar.
type Paths struct {
	Server  string // socket of the tmux server, canonical; "" for headless
	Key     string // the part of the names below that differs between servers
	Runtime string // directory of Socket and Lock, 0700
	Socket  string // less than 104 bytes long
	Lock    string // never unlinked
	Guard   string // lock of the process that restarts the sidecar; never unlinked
	State   string // directory of the journal and Log, 0700
	Log     string

	Config    string // directory of the person's init.lua and policies/; in State if the environment names none
	PolicyLog string // the decisions of policies, in lines of JSON
}

// Places computes the paths of the sidecar that serves the tmux server at the given socket, or of the headless
// one if server is "". It reads the environment through getenv. Two paths that lead to the same socket have the
// same Paths, since two sidecars for one server would type twice. Places makes no file or directory. An error
// wraps an *Error with a hint.
func Places(getenv func(string) string, server string) (Paths, error) {
	p := Paths{Key: "headless"}
	if server != "" {
		canonical, err := canonicalSocket(server)
		if err != nil {
			return Paths{}, Errorf(CodeUsage, "tmux socket %q: %w", server, err)
		}
		p.Server = canonical
		p.Key = serverKey(canonical)
	}
	// The specification of these variables says that a relative path is to be ignored.
	runtime := getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) {
		runtime = fmt.Sprintf("/tmp/intercom-%d", os.Geteuid())
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Paths{}, Errorf(CodeUsage, "no place for the journal: neither XDG_STATE_HOME nor HOME is an absolute path").
				WithHint("set HOME")
		}
		state = filepath.Join(home, ".local", "state")
	}
	p.Runtime = filepath.Join(runtime, "intercom")
	p.Socket = filepath.Join(p.Runtime, p.Key+".sock")
	p.Lock = filepath.Join(p.Runtime, p.Key+".lock")
	p.Guard = filepath.Join(p.Runtime, p.Key+".guard")
	p.State = filepath.Join(state, "intercom", p.Key)
	p.Log = filepath.Join(p.State, "sidecar.log")
	p.PolicyLog = filepath.Join(p.State, "policy.log")
	if p.Config = Config(getenv); p.Config == "" {
		p.Config = filepath.Join(p.State, "config")
	}
	if len(p.Socket) >= maxSocketPath {
		return Paths{}, Errorf(CodeUsage, "socket path %q is %d bytes long; the limit is %d", p.Socket, len(p.Socket), maxSocketPath-1).
			WithHint("set XDG_RUNTIME_DIR to a shorter path")
	}
	return p, nil
}

// Config returns the directory of the person's own Lua, "" if the environment names none.
func Config(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "intercom")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "intercom")
	}
	return ""
}

// canonicalSocket resolves symbolic links in the path of a socket. If the socket is gone, it resolves its
// directory; if that is gone too, it returns the path as it is.
func canonicalSocket(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if whole, err := filepath.EvalSymlinks(path); err == nil {
		return whole, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// serverKey returns the name of a tmux server for use in file names: the name of its socket, for people, and a
// hash of the whole path, since many servers are called "default".
func serverKey(socket string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, filepath.Base(socket))
	sum := sha256.Sum256([]byte(socket))
	return name[:min(len(name), maxKeyName)] + "-" + hex.EncodeToString(sum[:4])
}

// Sockets returns the sockets of a person's sidecars in a runtime directory, for all servers. Some may belong
// to sidecars that have ended.
func Sockets(runtime string) []string { return own.Glob(runtime, "*.sock") }
