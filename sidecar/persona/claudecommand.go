package persona

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Claude Code lets a person keep commands in files. As measured with 2.1.329, a composer that begins with a slash shows
// a list of commands above it, and Enter takes the marked one. A blank after the name of a command closes the list.

// commands returns the names of the commands in the directory.
func (l *claude) commands() (names []string) {
	files, _ := os.ReadDir(filepath.Join(l.dir, ".claude", "commands"))
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".md"); ok {
			names = append(names, name)
		}
	}
	return names
}

// listed returns the names in the list above the composer, the marked one first, and whether the list is open.
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

// list returns the rows of that list.
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

// chosen returns the text that Enter takes.
func (l *claude) chosen(text string) string {
	if names, open := l.listed(text); open && len(names) > 0 {
		return "/" + names[0]
	}
	return text
}

// commanded returns the form in which a command is written down, or "" if the text is no command.
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
