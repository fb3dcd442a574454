package talk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// The ports that may be used: those above 1024, as the document says.
const (
	MinPort = 1025
	MaxPort = 65535
)

// FirstPort is the port of the first listener, by the document's convention.
const FirstPort = 9001

// Layouts of the document's times: local time, without a zone.
const (
	stampLayout   = "2006-01-02T15:04:05.000000"
	startedLayout = "2006-01-02T15:04:05"
)

// Stamp returns a time in the form that messages have.
func Stamp(t time.Time) string { return t.Local().Format(stampLayout) }

// Home is the place of one person's ports.
type Home struct {
	Dir    string // ~/.ai-talk
	Claims string // directory of the ports' claims: see package claim
}

// Port returns one of its ports.
func (h Home) Port(number int) Port { return Port{Home: h, Number: number} }

// Port gives access to the files of one port.
type Port struct {
	Home
	Number int
}

// CheckPort returns an error for a number that no port of ours may have.
func CheckPort(number int) error {
	if number < MinPort || number > MaxPort {
		return Errorf(InvalidPort, number, "Port %d is out of range: %d to %d", number, MinPort, MaxPort)
	}
	return nil
}

// ParsePort reads a port as somebody wrote it.
func ParsePort(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0, Errorf(InvalidPort, 0, "Port %q is not a number from %d to %d", text, MinPort, MaxPort).With("port", text)
	}
	return number, CheckPort(number)
}

func (p Port) path(name string) string {
	return filepath.Join(p.Dir, strconv.Itoa(p.Number), name)
}

// Inbox returns the path of the file for incoming messages, unless somebody wants another one.
func (p Port) Inbox() string { return p.path("inbox.jsonl") }

// Outbox returns the path of the log of sent messages.
func (p Port) Outbox() string { return p.path("outbox.jsonl") }

// Callback returns the path of the file that is there while messages are unread.
func (p Port) Callback() string { return p.path("callback") }

// PIDFile returns the path of the file that names the process that listens.
func (p Port) PIDFile() string { return p.path("listener.pid") }

func (p Port) receipts() string { return p.path("receipts.jsonl") }
func (p Port) wish() string     { return p.path("listen.json") }
func (p Port) files() string    { return p.path("files.json") }
func (p Port) server() string   { return p.path("server.json") }
func (p Port) tls() string      { return p.path("tls.pem") }

// claim returns the claim that the server of the port holds.
func (p Port) claim() string { return filepath.Join(p.Claims, fmt.Sprintf("talk-%d", p.Number)) }

// make makes the port's directory.
func (p Port) make() error {
	if err := private(p.Dir); err != nil {
		return err
	}
	return private(p.path(""))
}

// private makes a directory that only this user can enter. It returns an error if there is a link, a directory
// of somebody else, or one in which others may write. A directory into which others may look is left as it is.
func private(dir string) error {
	if err := atomicfile.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Errorf(FileError, 0, "%w", err).With("path", dir)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return Errorf(FileError, 0, "%w", err).With("path", dir)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o022 != 0 || ok && int(stat.Uid) != os.Geteuid() {
		return Errorf(FileError, 0, "%q is not a directory in which only you can write", dir).With("path", dir)
	}
	return nil
}

// numbers returns the ports that have a directory, in numerical order.
func (h Home) numbers() (all []int) {
	entries, _ := own.List(h.Dir)
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && strconv.Itoa(n) == e.Name() && CheckPort(n) == nil {
			all = append(all, n)
		}
	}
	return all
}

const maxSmallFile = 64 << 10 // bytes of a JSON file of ours

// readJSON reads a small file of ours. If it is not there, the error wraps fs.ErrNotExist.
func readJSON(path string, into any) error {
	text, err := own.Read(path, maxSmallFile)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// writeJSON writes a value to a file, whole or not at all.
func writeJSON(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}

// Config is ~/.ai-talk/config.json. The file and each of its fields may be missing.
type Config struct {
	// Auth says who may connect: "peeruid" (the default) is programs of this user; "none" is whoever reaches
	// the port, as in the document.
	Auth     string `json:"auth"`
	MaxInbox int    `json:"max_inbox"` // unread messages that a port keeps; 100
	LogSent  bool   `json:"log_sent"`  // sent messages also go to the outbox
	Sync     *bool  `json:"sync"`      // a message is on disk before it is acknowledged; true
	// Rate is how many admissible connections a port takes per second; 100. Burst is how many it takes at once;
	// 200.
	Rate  int `json:"rate"`
	Burst int `json:"burst"`
}

// syncs reports whether a message has to be on disk before it is acknowledged.
func (c Config) syncs() bool { return c.Sync == nil || *c.Sync }

// Values of Config.Auth.
const (
	AuthPeer = "peeruid"
	AuthNone = "none"
)

// Config returns the person's configuration, with defaults filled in.
func (h Home) Config() (Config, error) {
	var c Config
	path := filepath.Join(h.Dir, "config.json")
	if err := readJSON(path, &c); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, Errorf(FileError, 0, "config.json: %w", err).With("path", path)
	}
	for _, one := range []struct {
		field *int
		value int
	}{{&c.MaxInbox, 100}, {&c.Rate, 100}, {&c.Burst, 200}} {
		if *one.field <= 0 {
			*one.field = one.value
		}
	}
	switch c.Auth {
	case "":
		c.Auth = AuthPeer
	case AuthPeer, AuthNone:
	default:
		return c, Errorf(FileError, 0, "config.json: auth is %q, not %q or %q", c.Auth, AuthPeer, AuthNone).With("path", path)
	}
	return c, nil
}
