package policy

import (
	"strings"
	"unicode"
)

// Lines are the lines at which init.lua names what it configures, by the setting: "chats", "chats.turns";
// and under "" that of intercom.configure itself.
type Lines map[string]int

// Wrong is what is wrong with what init.lua sets, where that is named. The error begins with the
// setting, and may name what stands in it: `brakes: no limit "turn"`.
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
			break // it does not begin with a setting
		}
	}
	return p
}
