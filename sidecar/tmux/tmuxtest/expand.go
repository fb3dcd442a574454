package tmuxtest

import (
	"slices"
	"strings"
)

// instants are the variables that tmux 3.2a reads through a pointer which is nil if their subject
// does not exist (its format.c, FORMAT_TABLE_TIME), except start_time.
var instants = []string{
	"buffer_created", "client_activity", "client_created", "session_activity", "session_created", "session_last_attached", "window_activity",
}

// Instants returns the variables of formats that crash a server up to 3.2a if their subject does
// not exist.
func Instants() []string { return slices.Clone(instants) }

// Kills reports whether a format crashes a server up to 3.2a if neither a pane nor a client exists
// for it. It walks the format as that server does: of a condition only the branch that is taken, of
// everything else all.
func Kills(format string) bool {
	_, killed := expand(format)
	return killed
}

func expand(format string) (value string, killed bool) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if strings.HasPrefix(format[i:], "##") {
			b.WriteByte('#')
			i++
			continue
		}
		if !strings.HasPrefix(format[i:], "#{") {
			b.WriteByte(format[i])
			continue
		}
		end := i + 2 + until(format[i+2:], '}')
		value, killed := variable(format[i+2 : end])
		if killed {
			return "", true
		}
		b.WriteString(value)
		i = end
	}
	return b.String(), false
}

// variable expands the text between #{ and }.
func variable(text string) (value string, killed bool) {
	if condition, ok := strings.CutPrefix(text, "?"); ok {
		parts := split(condition)
		if strings.Contains(parts[0], "#{") {
			value, killed = expand(parts[0])
		} else {
			value, killed = variable(parts[0])
		}
		branch := append(parts[1:], "", "")[0]
		if value == "" || value == "0" {
			branch = append(parts[1:], "", "")[1]
		}
		if killed {
			return "", true
		}
		return expand(branch)
	}
	if at := until(text, ':'); at < len(text) {
		all := ""
		for _, part := range split(text[at+1:]) {
			if value, killed = expand(part); killed || slices.Contains(instants, part) {
				return "", true
			}
			all += value
		}
		return all, false
	}
	switch {
	case slices.Contains(instants, text):
		return "", true
	case slices.Contains([]string{"pid", "start_time", "version", "socket_path"}, text):
		return "1", false
	}
	return "", false
}

// split cuts text at the commas outside braces.
func split(text string) (parts []string) {
	for {
		at := until(text, ',')
		parts = append(parts, text[:at])
		if at == len(text) {
			return parts
		}
		text = text[at+1:]
	}
}

// until returns the index of the first c outside braces, or the length of text.
func until(text string, c byte) int {
	depth := 0
	for i := range len(text) {
		switch {
		case text[i] == c && depth == 0:
			return i
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		}
	}
	return len(text)
}
