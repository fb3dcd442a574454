package policy

import (
	"strings"
	"unicode"
)

// Lines maps each setting, such as "chats" or "chats.turns", to the line at which init.lua names it. The line under ""
// is that of intercom.configure itself.
type Lines map[string]int

// Wrong returns the problem for an error in a setting, with the line that names it. The error begins with the setting,
// and may go on to name something within it: `brakes: no limit "turn"`.
func (l Lines) Wrong(err error) Problem {
	p := Problem{File: "init.lua", Line: l[""], Text: err.Error()}
	name := ""
	for word := range strings.FieldsFuncSeq(p.Text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-", r)
	}) {
		within := strings.TrimPrefix(name+"."+word, ".")
		if line, named := l[within]; named {
			name, p.Line = within, line
		}
		if name == "" {
			break // the error does not begin with a setting
		}
	}
	return p
}
