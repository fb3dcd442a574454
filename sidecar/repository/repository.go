// Package repository has the files of AEA, by which agents of different repositories leave each
// other messages, and processes them.
//
// The files are those of one .aea directory (Dir): messages, markers, agent.log, the archive, and
// agent-config.yaml (Config). Whoever wrote the repository wrote them, so that they are read with
// care, and the configuration holds in full only where a person trusts its content. Commands use
// this half without a sidecar.
//
// Peers is the other half: each repository that a person has enabled (Enabled) is a peer of the
// relay. What comes as a file is handed to it; policies decide; what they let through goes to the
// agent that works in the repository, and its words go back as a file. Who processes a repository
// holds a claim, and writes into a ledger how far each message has come: the directory is the
// person's, not a tmux server's.
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

// ConfigFile is where the file lies in a repository.
var ConfigFile = filepath.Join(".aea", "agent-config.yaml")

// Of is the repository to which a directory belongs: the nearest one upwards that has .aea or
// .git; "" for none.
func Of(dir string) string { return Nearest(dir, ".aea", ".git") }

// Nearest is the nearest directory, from one upwards, that has one of the marks and belongs to
// us with it; "" for none. What somebody else puts above the directories of a person, as into
// /tmp, is nothing to them. dir is an absolute path without links, or there is none.
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

// Config is the agent-config.yaml of a repository, as it is now. The zero value is that of one
// that has none.
type Config struct {
	Text string
	Hash string // SHA-256 of Text, for the list of what a person trusts; "" where there is none
	// Said is all that it says, and Problems what is wrong with it.
	Said     aea.Config
	Problems []aea.Problem

	as stamp // of the file that was read
}

// Read reads the agent-config.yaml of a repository. It is a regular file that lies in the
// repository, and has at most aea.MaxConfig bytes; a link that leads out is an error. Where
// there is none, the error is one of fs.ErrNotExist.
func Read(repository string) (Config, error) { return Config{}.Again(repository) }

// Again is Read, and c itself where the file says the same as when c was read.
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

// reason is an error of a file without its name, which is said already.
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

// Problem is the first thing for which the file is not used while there is an earlier one that
// can be; false for none.
func (c Config) Problem() (aea.Problem, bool) {
	for _, p := range c.Problems {
		if p.Level == aea.Broken {
			return p, true
		}
	}
	return aea.Problem{}, false
}

// Holds is what holds of it: all, where a person trusts it, and what tightens otherwise.
func (c Config) Holds(trusted bool) aea.Config {
	if trusted {
		return c.Said
	}
	return c.Said.Tightening()
}
