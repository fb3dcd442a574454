// Package repository reads, writes and processes the files of AEA, by which agents of different repositories
// leave each other messages.
//
// One half of it has the files of one .aea directory (Dir): messages, markers, agent.log, the archive, and
// agent-config.yaml (Config). Whoever wrote the repository wrote these files. So they are read with care, and
// the whole configuration holds only if a person trusts its content. Commands use this half without a sidecar.
//
// Peers is the other half: each repository that a person has enabled (Enabled) is a peer of the relay. A
// message that comes as a file is handed to the relay, and policies decide about it. If they let it through, it
// goes to the agent that works in the repository, and the agent's words go back as a file. The directory
// belongs to the person, not to one tmux server. So the sidecar that processes a repository holds a claim on
// it, and records in a ledger how far each message has come.
package repository

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// ConfigFile is the path of the configuration in a repository.
var ConfigFile = filepath.Join(".aea", "agent-config.yaml")

// Of returns the repository to which a directory belongs: the nearest directory, from dir upwards, that has
// .aea or .git; "" for none.
func Of(dir string) string { return Nearest(dir, ".aea", ".git") }

// Nearest returns the nearest directory, from dir upwards, that has one of the marks; "" for none. The mark has
// to belong to this user: what somebody else puts above a person's directories, as into /tmp, does not count.
// dir is an absolute path without links; for a relative one the result is "".
func Nearest(dir string, marks ...string) string {
	for filepath.IsAbs(dir) {
		for _, mark := range marks {
			if info, err := os.Lstat(filepath.Join(dir, mark)); err == nil && ours(info) {
				return dir
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return ""
}

func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// Config is the agent-config.yaml of a repository as it was read. The zero value stands for a repository that
// has none.
type Config struct {
	Text string
	Hash string // SHA-256 of Text, for the list of what a person trusts; "" if there is no file
	// Said is all that the file says, and Problems is what is wrong with it.
	Said     aea.Config
	Problems []aea.Problem

	as stamp // of the file that was read
}

// Read reads the agent-config.yaml of a repository. It has to be a regular file in the repository of at most
// aea.MaxConfig bytes; a link that leads out of the repository is an error. If there is no file, the error
// wraps fs.ErrNotExist.
func Read(repository string) (Config, error) { return Config{}.Again(repository) }

// Again is Read, but returns c itself if the file is unchanged since c was read.
func (c Config) Again(repository string) (Config, error) {
	as := stampOf(repository)
	if c.Hash != "" && as.ok && as == c.as {
		return c, nil
	}
	text, err := read(repository)
	if err != nil {
		return Config{}, fmt.Errorf("reading %q: %w", filepath.Join(repository, ConfigFile), err)
	}
	if c.Hash == "" || c.Text != string(text) {
		sum := sha256.Sum256(text)
		c = Config{Text: string(text), Hash: hex.EncodeToString(sum[:])}
		c.Said, c.Problems = aea.ReadConfig(text)
	}
	c.as = as
	return c, nil
}

func read(repository string) ([]byte, error) {
	text, err := foreign.ReadIn(repository, ConfigFile, aea.MaxConfig)
	return text, reason(err)
}

// reason returns an error of a file without the file's name, which was said already.
func reason(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	if of, ok := errors.AsType[*foreign.NotRegularError](err); ok {
		return fmt.Errorf("it is %s, not a regular file", of.Is)
	}
	if of, ok := errors.AsType[*foreign.TooLargeError](err); ok {
		return fmt.Errorf("more than %d bytes", of.Limit)
	}
	return err
}

// Problem returns the first problem for which the file is not used while an earlier version of it can be; false
// for none.
func (c Config) Problem() (aea.Problem, bool) {
	for _, p := range c.Problems {
		if p.Level == aea.Broken {
			return p, true
		}
	}
	return aea.Problem{}, false
}

// Holds returns the part of the configuration that is in force: all of it if a person trusts it, otherwise only
// what tightens.
func (c Config) Holds(trusted bool) aea.Config {
	if trusted {
		return c.Said
	}
	return c.Said.Tightening()
}
