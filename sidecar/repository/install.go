package repository

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Instructs reports whether a repository's CLAUDE.md has the lines that an installation adds.
func Instructs(path string) bool {
	have, err := foreign.Read(filepath.Join(path, "CLAUDE.md"), maxInstructions)
	return err == nil && strings.Contains(string(have), snippetMark)
}

//go:embed template
var templates embed.FS

// snippetMark is the text by which the lines in CLAUDE.md are recognised.
const snippetMark = ".aea/scripts/aea-check.sh"

// maxInstructions is the most bytes that a CLAUDE.md may have to be read.
const maxInstructions = 4 << 20

// Installed says what Install did with one file.
type Installed struct {
	File string `json:"file"` // relative to the repository
	Did  string `json:"did"`  // created, updated, kept or left
	Why  string `json:"why,omitempty"`
}

// Install makes the .aea of a repository: directories, scripts, prompts, README and configuration. It also adds
// its lines to CLAUDE.md, once. Existing files stay, except for our own scripts, which are updated; with force,
// scripts of others are replaced too. program is the path of intercom, for the scripts.
func Install(path, program string, force bool) (Dir, []Installed, error) {
	if _, err := os.Lstat(filepath.Join(path, folder)); errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(path) {
		if err := atomicfile.Mkdir(filepath.Join(path, folder), 0o755); err != nil {
			return Dir{}, nil, fmt.Errorf("install: %w", err)
		}
	}
	d, err := Open(path)
	if err != nil {
		return Dir{}, nil, err
	}
	for _, dir := range []string{processed, "scripts", "prompts"} {
		if err := os.Mkdir(d.at(dir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return d, nil, fmt.Errorf("install: %w", err)
		}
		if err := d.check(d.at(dir)); err != nil {
			return d, nil, &PathError{d.Path, because(err)}
		}
	}
	var all []Installed
	for _, t := range d.templates(program) {
		one, err := d.install(t, force)
		if err != nil {
			return d, all, fmt.Errorf("install: %w", err)
		}
		all = append(all, one)
	}
	one, err := d.snippet()
	return d, append(all, one), err
}

// template is one file of an installation.
type template struct {
	name   string // below .aea
	text   []byte
	script bool
}

func (d Dir) templates(program string) (all []template) {
	_ = fs.WalkDir(templates, "template", func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, "template/")
		if err != nil || e.IsDir() || name == "claude.md" {
			return err
		}
		text, err := templates.ReadFile(path)
		if strings.HasSuffix(name, "/intercom.sh") {
			quoted := "'" + strings.ReplaceAll(program, "'", `'\''`) + "'"
			text = []byte(strings.ReplaceAll(string(text), "@INTERCOM@", quoted))
		}
		all = append(all, template{name, text, strings.HasPrefix(name, "scripts/")})
		return err
	})
	return all
}

// install writes one file, unless there is one that we may not change.
func (d Dir) install(t template, force bool) (Installed, error) {
	mode := os.FileMode(0o644)
	if t.script {
		mode = 0o755
	}
	one := Installed{File: filepath.Join(folder, t.name), Did: "created"}
	have, err := foreign.ReadItself(d.at(t.name), 1<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		one.Did, one.Why = "left", because(err)
		return one, nil
	case string(have) == string(t.text):
		one.Did = "kept"
		return one, nil
	case !t.script:
		one.Did, one.Why = "kept", "it is not as installed"
		return one, nil
	case force || ourScript(have):
		one.Did = "updated"
	default:
		one.Did, one.Why = "left", "it is not ours; --force replaces it"
		return one, nil
	}
	return one, atomicfile.Write(d.at(t.name), t.text, mode)
}

// ourScript reports whether a script is one that an earlier version installed.
func ourScript(text []byte) bool {
	return strings.Contains(string(text), "Installed by `intercom aea install`") || strings.HasPrefix(string(text), "# Finds the program intercom:")
}

// snippet adds the lines to CLAUDE.md that tell an agent to look for messages.
func (d Dir) snippet() (Installed, error) {
	one := Installed{File: "CLAUDE.md"}
	path := filepath.Join(d.Path, "CLAUDE.md")
	lines, err := templates.ReadFile("template/claude.md")
	if err != nil {
		return one, err
	}
	have, err := foreign.Read(path, maxInstructions)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		one.Did = "created"
		return one, atomicfile.Create(path, lines, 0o644)
	case err != nil:
		one.Did, one.Why = "left", because(err)
		return one, nil
	case strings.Contains(string(have), snippetMark):
		one.Did = "kept"
		return one, nil
	}
	f, err := foreign.AppendOurs(path, 0o644)
	if err != nil {
		one.Did, one.Why = "left", because(err)+"; add the lines of .aea/README.md yourself"
		return one, nil
	}
	defer f.Close()
	gap := "\n"
	if !strings.HasSuffix(string(have), "\n") && len(have) > 0 {
		gap = "\n\n"
	}
	one.Did = "updated"
	_, err = f.WriteString(gap + string(lines))
	return one, err
}
