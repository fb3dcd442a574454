// Package policies holds the policies that come with the program, and examples to copy.
//
// The shipped policies are the default behaviour. They are asked after all that a person has written, in their own
// order: they remove secrets from what leaves, decide messages of the AEA protocol by its table, and deliver the rest
// where it was sent if its author is known. They use nothing that a person's own policies cannot use.
package policies

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

//go:embed *.lua examples/*.lua
var files embed.FS

// Shipped returns the shipped policies, in the order in which they are asked. Their names begin with shipped/, so that
// no other policy has the same name.
func Shipped() []policy.Source { return read(".", "shipped/") }

// Examples returns the policies that do nothing until a person copies them, in the order of their names, which are
// those of their files: quiet-hours.lua.
func Examples() []policy.Source { return read("examples", "") }

// Example returns the example of that name, with or without .lua.
func Example(name string) (policy.Source, bool) {
	for _, s := range Examples() {
		if s.Name == name || s.Name == name+".lua" {
			return s, true
		}
	}
	return policy.Source{}, false
}

// Purpose says in a line what an example does: it returns the beginning of the example's first comment.
func Purpose(s policy.Source) string {
	var words []string
	for line := range strings.Lines(s.Text) {
		text, comment := strings.CutPrefix(strings.TrimSpace(line), "--")
		if !comment || strings.TrimSpace(text) == "" {
			break
		}
		words = append(words, strings.Fields(text)...)
	}
	text := strings.Join(words, " ")
	if end := strings.IndexAny(text, ".;:"); end > 0 {
		text = text[:end]
	}
	return text
}

// TestsOf returns the tests that lie beside an example.
func TestsOf(s policy.Source) string {
	text, err := files.ReadFile("examples/" + strings.TrimSuffix(s.Name, ".lua") + "_test.lua")
	if err != nil {
		panic("policies: " + err.Error()) // it is part of the program
	}
	return string(text)
}

// read returns the policies in a directory, without the tests beside them.
func read(dir, prefix string) []policy.Source {
	names, _ := fs.Glob(files, path.Join(dir, "*.lua")) // in order; the pattern is valid
	var all []policy.Source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.lua") {
			continue
		}
		text, err := files.ReadFile(name)
		if err != nil {
			panic("policies: " + err.Error()) // it is part of the program
		}
		all = append(all, policy.Source{Name: prefix + path.Base(name), Text: string(text), Shipped: prefix != ""})
	}
	return all
}
