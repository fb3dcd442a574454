package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of a set.
const (
	MaxSource = 64 << 10 // bytes of one file
	MaxFiles  = 64       // that could be read, including modules
)

// Source is one Lua file.
type Source struct {
	Name string `json:"name"` // the name used in messages: init.lua, policies/50-x.lua
	Text string `json:"text"`
	// GuardsOnly marks a file whose author is not the person: it may only tighten. If it is broken, its guard counts as
	// failed, and the set can still be used.
	GuardsOnly bool `json:"guards_only,omitempty"`
	// Project is the project in which the file was found. The file is asked only about messages of that project
	// (Input.Projects). A file with Project "" is asked about all messages.
	Project string `json:"project,omitempty"`
	// Broken says why the file could not be read; its Text is then empty. Only a GuardsOnly file can be broken.
	Broken string `json:"broken,omitempty"`
	// Shipped marks a file that comes with intercom. The person's own files are asked before it.
	Shipped bool `json:"shipped,omitempty"`
	// Settings marks the file that may call intercom.configure.
	Settings bool `json:"settings,omitempty"`
}

// Files are the files of one set, in the order in which they are asked, and the values of ctx.config, as JSON has them.
type Files struct {
	Sources []Source       `json:"sources"`
	Modules []Source       `json:"modules,omitempty"` // what the sources may require; no hook asks a module
	Config  map[string]any `json:"config,omitempty"`
}

// With returns a person's own files followed by those of projects and then by the shipped ones, which decide only what
// no other file decides. Project files for which MaxFiles leaves no room are marked as unusable.
func (f Files) With(projects, shipped []Source) Files {
	projects = slices.Clone(projects)
	for i := max(0, MaxFiles-len(f.Sources)-len(f.Modules)-len(shipped)); i < len(projects); i++ {
		projects[i] = projects[i].Unusable(fmt.Sprintf("not read: more than %d files", MaxFiles))
	}
	f.Sources = slices.Concat(f.Sources, projects, shipped)
	return f
}

// Generation names this exact set. Two sets have the same generation if and only if all that scripts can see of them is
// equal.
func (f Files) Generation() string {
	text, err := json.Marshal(f) // sorts the keys of maps
	if err != nil {
		text = fmt.Appendf(nil, "%#v", f.Sources)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Validate checks a set as far as that is possible without reading its Lua.
func (f Files) Validate() error {
	seen := map[string]bool{}
	read := len(f.Modules)
	for _, s := range f.Modules {
		if err := s.Validate(); err != nil {
			return err
		}
		if seen[s.Module()] {
			return fmt.Errorf("module %q exists twice", s.Module())
		}
		seen[s.Module()] = true
	}
	clear(seen)
	for _, s := range f.Sources {
		if err := s.Validate(); err != nil {
			return err
		}
		if seen[s.Name] {
			return fmt.Errorf("file %q is listed twice", s.Name)
		}
		seen[s.Name] = true
		if s.Broken == "" {
			read++
		}
	}
	if read > MaxFiles {
		return fmt.Errorf("%d files, the most is %d", read, MaxFiles)
	}
	if _, err := json.Marshal(f.Config); err != nil {
		return errors.New("config: values that JSON does not have")
	}
	return nil
}

// Validate checks one file as far as that is possible without reading its Lua.
func (s Source) Validate() error {
	switch {
	case s.Name == "" || len(s.Name) > 256 || strings.ContainsAny(s.Name, ":\n") || !utf8.ValidString(s.Name):
		return fmt.Errorf("file %q: not a valid script name", s.Name)
	case len(s.Text) > MaxSource:
		return fmt.Errorf("file %q: more than %d bytes", s.Name, MaxSource)
	case !utf8.ValidString(s.Text):
		return fmt.Errorf("file %q: not valid UTF-8", s.Name)
	case s.Broken != "" && (!s.GuardsOnly || s.Text != ""):
		return fmt.Errorf("file %q: %s", s.Name, s.Broken)
	}
	return nil
}

// Unusable returns the file as one that cannot be asked, for the given reason. Its guard counts as failed, so nothing
// passes that it might have stopped.
func (s Source) Unusable(why string) Source {
	s.Text, s.GuardsOnly, s.Broken = "", true, strings.ToValidUTF8(why, "_")
	return s
}

// Module returns the name by which a file is required.
func (s Source) Module() string { return strings.TrimSuffix(path.Base(s.Name), ".lua") }

// Hash identifies the content of a file in the list of files that a person trusts.
func (s Source) Hash() string {
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// Problem is a fault in a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1; 0 means the whole file
	Text    string `json:"text"`
	Warning bool   `json:"warning,omitempty"` // the file can still be used
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Script describes a loaded file.
type Script struct {
	Name  string         `json:"name"`
	Hooks map[Hook][]int `json:"hooks"` // the lines that register functions and rules
}
