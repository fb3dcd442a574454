package door

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// ErrNone says that an agent has no inbox, or none that is certainly its own. Nothing was written.
var ErrNone = errors.New("no inbox that is certainly the agent's own")

// Owner is the agent whose inbox is wanted.
type Owner struct {
	Home string // its own directory
	PIDs []int  // its processes
}

// Offer is an inbox that was found. Two Offers for the same inbox and conversation are equal.
type Offer struct {
	Name    string // name of this way in, for receipts
	PID     int    // the process that must be listening
	Start   uint64
	Socket  string
	Session string // the agent's own id of its current conversation
	Version string
}

// longestRecord limits the size of a record or key, and longestSocket the path of a socket.
const (
	longestRecord = 64 << 10
	longestSocket = 103 // the smallest limit of all systems, less a NUL
)

// record holds the fields that are used of a process's record of itself.
type record struct {
	PID       int             `json:"pid"`
	ProcStart json.RawMessage `json:"procStart"` // a string; a number would do
	Session   string          `json:"sessionId"`
	Version   string          `json:"version"`
	Protocol  int             `json:"peerProtocol"`
	Socket    string          `json:"messagingSocketPath"`
}

// Find finds the inbox of an agent. It reads files and writes nothing. Every error wraps ErrNone.
func Find(in profile.Inbox, who Owner) (Offer, error) {
	if !in.Offered() || who.Home == "" {
		return Offer{}, ErrNone
	}
	for _, pid := range who.PIDs {
		path := placed(in.Record, who.Home, pid, "")
		text, _, err := foreign.ReadOurs(path, longestRecord)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Offer{}, fmt.Errorf("%w: its record: %w", ErrNone, err)
		}
		o, err := offered(in, pid, text)
		if err != nil {
			return Offer{}, fmt.Errorf("%w: its record %q: %w", ErrNone, path, err)
		}
		return o, nil
	}
	return Offer{}, fmt.Errorf("%w: it has written down none", ErrNone)
}

// Find calls the function Find.
func (h *House) Find(in profile.Inbox, who Owner) (Offer, error) { return Find(in, who) }

// offered returns the offer in the record of a process.
func offered(in profile.Inbox, pid int, text []byte) (Offer, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return Offer{}, err
	}
	start, err := process.Start(pid)
	if err != nil {
		return Offer{}, err
	}
	var since string
	if json.Unmarshal(r.ProcStart, &since) != nil {
		since = string(r.ProcStart)
	}
	switch {
	case r.PID != pid || since != strconv.FormatUint(start, 10):
		return Offer{}, errors.New("it is of another process")
	case r.Protocol != in.Protocol || !in.Speaks(r.Version):
		return Offer{}, fmt.Errorf("version %q, protocol %d", r.Version, r.Protocol)
	case r.Session == "":
		return Offer{}, errors.New("it names no conversation")
	case r.Socket == "":
		return Offer{}, errors.New("it names no socket")
	}
	if err := private(r.Socket); err != nil {
		return Offer{}, err
	}
	return Offer{Name: in.Name, PID: pid, Start: start, Socket: r.Socket, Session: r.Session, Version: r.Version}, nil
}

// private returns an error unless the socket and its directory belong to this user alone, so that nobody else can
// replace the socket.
func private(socket string) error {
	if !filepath.IsAbs(socket) || filepath.Clean(socket) != socket || len(socket) > longestSocket {
		return fmt.Errorf("%q is not a valid socket path", socket)
	}
	for path, kind := range map[string]fs.FileMode{socket: fs.ModeSocket, filepath.Dir(socket): fs.ModeDir} {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); info.Mode().Type() != kind || info.Mode().Perm()&0o077 != 0 || !ok || int(stat.Uid) != os.Geteuid() {
			return fmt.Errorf("%q is not this user's alone: %s", path, info.Mode())
		}
	}
	return nil
}

// token reads the token that an inbox expects first.
func token(in profile.Inbox, home string, o Offer) (string, error) {
	sum := sha256.Sum256([]byte(o.Socket))
	text, info, err := foreign.ReadOurs(placed(in.Key, home, o.PID, hex.EncodeToString(sum[:])), longestRecord)
	if err != nil {
		return "", err
	}
	var key struct {
		Token string `json:"peerToken"`
	}
	if err := json.Unmarshal(text, &key); err != nil {
		return "", errors.New("it is no JSON") // the content must not be logged
	}
	if key.Token == "" || info.Mode().Perm()&0o077 != 0 {
		return "", errors.New("it holds no token that is this user's alone")
	}
	return key.Token, nil
}

// placed expands a path of a profile for a process.
func placed(path, home string, pid int, socket string) string {
	path = strings.NewReplacer("{pid}", strconv.Itoa(pid), "{socket}", socket).Replace(path)
	if rest, own := strings.CutPrefix(path, "@/"); own {
		return filepath.Join(home, rest)
	}
	return path
}
