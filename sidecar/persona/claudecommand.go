package persona

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The commands that a person of Claude Code keeps in files: as measured of 2.1.329, a composer that begins
// with a slash has a list over it, which a blank behind the name of one closes; and Enter takes what is
// marked there.

// commands are those of the directory, by name.
func (l *claude) commands() (names []string) {
	files, _ := os.ReadDir(filepath.Join(l.dir, ".claude", "commands"))
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".md"); ok {
			names = append(names, name)
		}
	}
	return names
}

// listed is what the list over the composer has, the marked one first, and whether there is a list.
func (l *claude) listed(text string) (names []string, open bool) {
	name, words, blank := strings.Cut(text, " ")
	name, slash := strings.CutPrefix(name, "/")
	switch {
	case !slash || len(l.commands()) == 0 || strings.TrimSpace(words) != "" || strings.Contains(name, "/") || strings.Contains(name, "\n"):
		return nil, false
	case blank && slices.Contains(l.commands(), name):
		return nil, false
	}
	for _, one := range l.commands() {
		if strings.HasPrefix(one, name) {
			names = append(names, one)
		}
	}
	return names, true
}

// list are the rows of that.
func (l *claude) list(text string) (rows []string) {
	names, open := l.listed(text)
	switch {
	case !open:
		return nil
	case len(names) == 0:
		return []string{fmt.Sprintf("  No commands match %q", text)}
	}
	for i, name := range names {
		mark := "    "
		if i == 0 {
			mark = "  ❯ "
		}
		rows = append(rows, fmt.Sprintf("%s/%-26s Do what %s says", mark, name, name))
	}
	return rows
}

// chosen is what Enter takes of a text.
func (l *claude) chosen(text string) string {
	if names, open := l.listed(text); open && len(names) > 0 {
		return "/" + names[0]
	}
	return text
}

// commanded is how a command is written down, "" if the text is none.
func (l *claude) commanded(text string) string {
	name, words, _ := strings.Cut(text, " ")
	if name = strings.TrimPrefix(name, "/"); !strings.HasPrefix(text, "/") || !slices.Contains(l.commands(), name) {
		return ""
	}
	line := fmt.Sprintf("<command-message>%[1]s</command-message>\n<command-name>/%[1]s</command-name>", name)
	if words = strings.TrimSpace(words); words != "" {
		line += "\n<command-args>" + words + "</command-args>"
	}
	return line
}
