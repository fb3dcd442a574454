package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// ownConfig is the agent-config.yaml of the repository that we are in. It is the zero value if the repository has none,
// and outside any repository.
type ownConfig struct {
	repository string
	file       repository.Config
	unread     error // it cannot be read
	trusted    bool
}

// ownConfig reads that file.
func (a *app) ownConfig() (ownConfig, error) {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return ownConfig{}, nil //nolint:nilerr // a directory that has gone has no file
	}
	c := ownConfig{repository: repository.Of(dir)}
	if c.repository == "" {
		return ownConfig{}, nil
	}
	c.file, c.unread = repository.Read(c.repository)
	if errors.Is(c.unread, fs.ErrNotExist) {
		return ownConfig{}, nil
	}
	list, err := a.trusted()
	c.trusted = err == nil && list.Trusted(repository.ConfigFile, c.file.Hash)
	return c, err
}

// config returns what policies get of the file for a message.
func (c ownConfig) config() map[string]any {
	if c.repository == "" || c.unread != nil {
		return nil
	}
	return map[string]any{"aea": aea.Value(map[string]aea.Config{c.repository: c.file.Holds(c.trusted)})}
}

// problems returns the mistakes in the file, and what has no effect since nobody trusts the file.
func (c ownConfig) problems() (name string, all []policy.Problem) {
	if c.repository == "" {
		return "", nil
	}
	name = filepath.Join(c.repository, repository.ConfigFile)
	if c.unread != nil {
		return name, []policy.Problem{{File: name, Text: c.unread.Error()}}
	}
	of := slices.Clone(c.file.Problems)
	if _, broken := c.file.Problem(); !broken && !c.trusted {
		of = append(of, c.file.Said.Withheld()...)
	}
	for _, p := range of {
		if p.Level != aea.Notice {
			all = append(all, policy.Problem{File: name, Line: p.Line, Text: p.Text, Warning: p.Level != aea.Broken})
		}
	}
	return name, all
}
