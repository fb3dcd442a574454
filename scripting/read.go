package scripting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Read reads a person's own files: init.lua, then policies/*.lua in the order of their names, and the modules
// policies/lib/*.lua. All of them are optional. Read does not parse them.
func Read(config string) (policy.Files, error) {
	var all policy.Files
	first, err := readSource(filepath.Join(config, "init.lua"), "init.lua", foreign.Read)
	switch {
	case err == nil:
		first.Settings = true
		all.Sources = append(all.Sources, first)
	case !errors.Is(err, fs.ErrNotExist):
		return all, err
	}
	if err := nothing(filepath.Join(config, "init.lua")); err != nil {
		return all, err
	}
	own, err := readAll(filepath.Join(config, "policies"), "policies/")
	if err != nil {
		return all, err
	}
	all.Sources = append(all.Sources, own...)
	if all.Modules, err = readAll(filepath.Join(config, modulesOf("init.lua")), "policies/lib/"); err != nil {
		return all, err
	}
	return all, all.Validate()
}

// readAll reads the Lua files in a directory, in the order of their names.
func readAll(dir, prefix string) (all []policy.Source, err error) {
	entries, err := foreign.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nothing(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("listing policies: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".lua" || strings.HasPrefix(name, ".") || IsTests(name) { // an editor's file, or tests
			continue
		}
		source, err := readSource(filepath.Join(dir, name), prefix+name, foreign.Read)
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	return all, nil
}

// nothing returns an error if a missing path may only be out of reach, behind a link that leads nowhere. If a person's
// files are on a file system that is not mounted, they must not count as absent.
func nothing(path string) error {
	for ; ; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			break
		}
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("reading policies: %w", err)
	}
	return nil
}

// modulesOf returns the directory of a policy's modules.
func modulesOf(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(path) == "init.lua" {
		dir = filepath.Join(dir, "policies")
	}
	return filepath.Join(dir, "lib")
}

// ReadModules reads the modules that a policy may require, wherever the policy is.
func ReadModules(path string) ([]policy.Source, error) {
	dir := modulesOf(path)
	return readAll(dir, sourceName(dir)+"/")
}

// readSource reads one file with a function of package foreign.
func readSource(path, name string, read func(string, int64) ([]byte, error)) (policy.Source, error) {
	text, err := read(path, policy.MaxSource)
	if err != nil {
		return policy.Source{}, fmt.Errorf("reading a policy: %w", err)
	}
	return policy.Source{Name: name, Text: string(text)}, nil
}

// globbed escapes a path for use in a glob pattern.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// sourceName turns an arbitrary path into a valid name of a source.
func sourceName(path string) string {
	name := strings.Map(func(r rune) rune {
		if r == ':' || r < ' ' {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(path, "_"))
	if len(name) > 200 {
		name = "…" + strings.ToValidUTF8(name[len(name)-200:], "")
	}
	return name
}
