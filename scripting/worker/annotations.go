package worker

import (
	"fmt"
	"strings"
)

// Annotations returns the text of intercom.d.lua, which describes the Lua of policies to a language server. It is made
// from the same table that installs the functions.
func Annotations() string {
	var b strings.Builder
	b.WriteString("---@meta\n-- What policies of tmux-intercom see, for language servers (Lua 5.1). Made by intercom; changes are lost.\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "\n---%s\n---@class (exact) %s\n", c.doc, c.name)
		for _, m := range c.members {
			if m.function() {
				continue
			}
			name := m.name
			if c.table {
				name += "?"
			}
			fmt.Fprintf(&b, "%s\n", strings.TrimRight("---@field "+name+" "+m.typ+" "+m.doc, " "))
		}
		variable := c.name
		if c != intercom {
			variable = strings.ReplaceAll(strings.ToLower(c.name), ".", "_")
		}
		switch {
		case c == intercom:
			b.WriteString("intercom = {}\n")
		case c.hasFunctions():
			fmt.Fprintf(&b, "local %s = {}\n", variable)
		}
		for _, m := range c.members {
			if m.function() {
				annotateFunction(&b, variable, m)
			}
		}
	}
	for _, m := range policyGlobals {
		annotateFunction(&b, "", m)
	}
	annotateTests(&b)
	return b.String()
}

// annotateTests describes what files of tests have in addition to policies.
func annotateTests(b *strings.Builder) {
	fmt.Fprintf(b, "\n---%s\n---@class (exact) %s\n---@operator call(%s): %s\n", fixtureObject.doc, fixtureObject.name, fixtures.name, fixtureObject.name)
	fmt.Fprintf(b, "\n---%s In *_test.lua.\n---@class (exact) %s\n\n---@type %s\nnothing = nil\n", nothingObject.doc, nothingObject.name, nothingObject.name)
	for _, m := range testGlobals {
		annotateFunction(b, "", m)
	}
}

func (c *class) hasFunctions() bool {
	for _, m := range c.members {
		if m.function() {
			return true
		}
	}
	return false
}

func annotateFunction(b *strings.Builder, variable string, m member) {
	fmt.Fprintf(b, "\n---%s\n", m.doc)
	names := make([]string, len(m.params))
	for i, p := range m.params {
		fmt.Fprintf(b, "---@param %s %s\n", p.name, p.typ)
		names[i] = strings.TrimSuffix(p.name, "?")
	}
	if m.returns != "" {
		fmt.Fprintf(b, "---@return %s\n", m.returns)
	}
	for _, o := range m.overloads {
		fmt.Fprintf(b, "---@overload %s\n", o)
	}
	between := "."
	switch {
	case variable == "":
		between = ""
	case m.method:
		between = ":"
	}
	fmt.Fprintf(b, "function %s%s%s(%s) end\n", variable, between, m.name, strings.Join(names, ", "))
}
