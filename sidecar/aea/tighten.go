package aea

import (
	"fmt"
	"slices"
	"strings"
)

// Tightening returns what holds of a file that no person trusts: only what is stricter than the protocol's own table.
//
//   - Of the rules, those cells of the table that become stricter (Action.Strictness). A person is told of them at least
//     as loudly as the table says. All other cells are the table's.
//   - Approve, Notify and MaxAge as they are: they only ever make a person see more.
//   - Forbidden, each as one word, so that none can end the sentence in which it stands. Allowed is left out: only a
//     trusted file may say it.
func (c Config) Tightening() Config {
	t := Config{Agent: c.Agent, Approve: c.Approve, Notify: c.Notify, MaxAge: c.MaxAge}
	for _, word := range c.Forbidden {
		t.Forbidden = append(t.Forbidden, strings.Join(strings.Fields(word), "_"))
	}
	each(func(kind, priority string, wanted bool) {
		own, file := Protocol(kind, priority), c.Choose(kind, priority, wanted)
		if file.Action.Strictness() > own.Action.Strictness() {
			t.Rules = append(t.Rules, Rule{
				Type: kind, Priorities: []string{priority}, RequiresResponse: &wanted,
				Action: file.Action, Notify: louder(own.Notify, file.Notify), Line: file.Line,
			})
		}
	})
	return t
}

// Withheld returns, line by line, what of the file does not hold until a person trusts it; nil for nothing.
func (c Config) Withheld() []Problem {
	var all []Problem
	cells := map[int][]string{}
	held := c.Tightening()
	each(func(kind, priority string, wanted bool) {
		file := c.Choose(kind, priority, wanted)
		of := held.Choose(kind, priority, wanted)
		if of.Action == file.Action && of.Notify == file.Notify {
			return
		}
		text := kind + " " + priority + ": " + string(file.Action)
		switch {
		case file.Notify != "":
			text += ", " + file.Notify
		case of.Action == file.Action:
			text += ", no notice"
		}
		if cell := cells[file.Line]; !slices.Contains(cell, text) {
			cells[file.Line] = append(cell, text)
		}
	})
	for line, texts := range cells {
		all = append(all, Problem{Line: line, Level: Warning, Text: strings.Join(texts, "; ") + ": only once you trust this file"})
	}
	slices.SortFunc(all, func(a, b Problem) int { return a.Line - b.Line })
	if len(c.Allowed) > 0 {
		all = append(all, Problem{Level: Warning, Text: fmt.Sprintf("agents are told what they may do without asking (%s) only once you trust this file", strings.Join(c.Allowed, ", "))})
	}
	return all
}

// each calls do for every cell of the table.
func each(do func(kind, priority string, wanted bool)) {
	for _, kind := range types {
		for _, priority := range priorities {
			do(kind, priority, false)
			do(kind, priority, true)
		}
	}
}
