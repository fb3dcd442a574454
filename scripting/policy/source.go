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
	MaxFiles  = 64       // that could be read, modules among them
)

// Source is one file of Lua.
type Source struct {
	Name string `json:"name"` // as it stands in messages: init.lua, policies/50-x.lua
	Text string `json:"text"`
	// GuardsOnly is a file whose author is not the person: it may tighten and nothing else. If
	// it is broken, its guard counts as failed, and the set can be used.
	GuardsOnly bool `json:"guards_only,omitempty"`
	// Project is where the file was found; it is only asked about messages of that project
	// (Input.Projects). "" is asked about all.
	Project string `json:"project,omitempty"`
	// Broken is why the file could not be read; its Text is then empty. Only a file that is
	// GuardsOnly can be so.
	Broken string `json:"broken,omitempty"`
	// Shipped is a file of ours, which the person's own come before.
	Shipped bool `json:"shipped,omitempty"`
	// Settings is the file that may call intercom.configure.
	Settings bool `json:"settings,omitempty"`
}

// Files are the files of one set, in the order in which they are asked, with what
// ctx.config is to them: values as JSON has them.
type Files struct {
	Sources []Source       `json:"sources"`
	Modules []Source       `json:"modules,omitempty"` // what they may require; they are asked nothing themselves
	Config  map[string]any `json:"config,omitempty"`
}

// With is a person's own files with those of projects behind them, as far as there is room, and
// behind those what is shipped: what it decides holds where nothing else does.
func (f Files) With(projects, shipped []Source) Files {
	projects = slices.Clone(projects)
	for i := max(0, MaxFiles-len(f.Sources)-len(f.Modules)-len(shipped)); i < len(projects); i++ {
		projects[i] = projects[i].Unusable(fmt.Sprintf("not read: more than %d files", MaxFiles))
	}
	f.Sources = slices.Concat(f.Sources, projects, shipped)
	return f
}

// Generation is the name of this very set: equal if and only if all that scripts can see of
// it is equal.
func (f Files) Generation() string {
	text, err := json.Marshal(f) // sorts the keys of maps
	if err != nil {
		text = fmt.Appendf(nil, "%#v", f.Sources)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// Validate checks what can be told of a set without reading its Lua.
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

// Validate checks what can be told of one file without reading its Lua.
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

// Unusable is the file as one that nobody can ask, for a reason: its guard counts as failed, so
// that nothing passes that it might have stopped.
func (s Source) Unusable(why string) Source {
	s.Text, s.GuardsOnly, s.Broken = "", true, strings.ToValidUTF8(why, "_")
	return s
}

// Module is the name by which a file is required.
func (s Source) Module() string { return strings.TrimSuffix(path.Base(s.Name), ".lua") }

// Hash names the content of a file, for the list of what a person trusts.
func (s Source) Hash() string {
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// Problem is something that is wrong with a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // from 1; 0 is the whole file
	Text    string `json:"text"`
	Warning bool   `json:"warning,omitempty"` // the file can be used
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Script is what is known of a file that was loaded.
type Script struct {
	Name  string         `json:"name"`
	Hooks map[Hook][]int `json:"hooks"` // the lines at which functions and rules were registered
}
