// Package policies holds the policies that come with the program, and examples to copy.
//
// The shipped ones are the default behaviour, in the order in which they are asked, behind
// all that a person has written: secrets are taken out of what leaves, messages of the AEA
// protocol are decided by its table, and the rest goes where it was sent if its author is
// known. They use nothing that a person's own policies cannot use.
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

// Shipped are the shipped policies, in the order in which they are asked. Their names begin
// with shipped/, so that they are nobody else's.
func Shipped() []policy.Source { return read(".", "shipped/") }

// Examples are policies that do nothing until a person copies them, in the order of their
// names, which are those of their files: quiet-hours.lua.
func Examples() []policy.Source { return read("examples", "") }

// Example is one of them, by its name, with or without .lua.
func Example(name string) (policy.Source, bool) {
	for _, s := range Examples() {
		if s.Name == name || s.Name == name+".lua" {
			return s, true
		}
	}
	return policy.Source{}, false
}

// Purpose says in a line what an example does: how the comment begins that it begins with.
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

// TestsOf are the tests that lie beside an example.
func TestsOf(s policy.Source) string {
	text, err := files.ReadFile("examples/" + strings.TrimSuffix(s.Name, ".lua") + "_test.lua")
	if err != nil {
		panic("policies: " + err.Error()) // it is part of the program
	}
	return string(text)
}

// read reads a directory of policies; tests that lie beside them are none.
func read(dir, prefix string) []policy.Source {
	names, _ := fs.Glob(files, path.Join(dir, "*.lua")) // in order; the pattern is a good one
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
