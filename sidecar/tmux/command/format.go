package command

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Format is text that a server expands. The zero Format expands to nothing.
type Format struct{ text string }

// String is the format as the server gets it.
func (f Format) String() string { return f.text }

// Format expands to the value of a field, and to nothing where what it is about is not there.
func (f Field) Format() Format {
	value := "#{" + fields[f].name + "}"
	if fields[f].kind == instant {
		return Format{"#{?" + fields[there[fields[f].of]].name + "," + value + ",}"}
	}
	return Format{value}
}

// Join puts sep between formats; sep is of letters, digits, dashes, dots, blanks and bars only.
func Join(sep string, formats ...Format) Format {
	var b strings.Builder
	for i, f := range formats {
		if i > 0 {
			b.WriteString(inert(sep))
		}
		b.WriteString(f.text)
	}
	return Format{b.String()}
}

// Fields is Join of fields.
func Fields(sep string, fields ...Field) Format { return Join(sep, formats(fields)...) }

// Row makes a record of fields that sep, a nonce, begins, ends and keeps apart: a title or a
// name may hold any character that a person can think of, a line break too.
func Row(sep string, fields []Field) Format {
	return Join(sep, append(append([]Format{{}}, formats(fields)...), Format{})...)
}

func formats(fields []Field) []Format {
	all := make([]Format, len(fields))
	for i, f := range fields {
		all[i] = f.Format()
	}
	return all
}

// Option expands to the value of a user option (@name), which is not expanded in turn.
func Option(name string) Format { return Format{"#{@" + inert(strings.TrimPrefix(name, "@")) + "}"} }

// Environment expands to the value of a variable of the global environment.
func Environment(name string) Format { return Format{"#{" + inert(name) + "}"} }

// Equal expands to 1 where each format expands to its value, in one comparison: && with more
// than two parts, and !, are broken up to 3.5a. A value that would
// mean something in a format is refused. Of a format that tmux gives up, from 3.7 on after 100 ms, both sides are empty, and
// equal: take Both of it and of something that is never empty.
func Equal(formats []Format, values []string) (Format, error) {
	for _, v := range values {
		if !plainValue.MatchString(v) {
			return Format{}, fmt.Errorf("value %q cannot be compared inside tmux", v)
		}
	}
	return Format{"#{==:" + Join("|", formats...).text + "," + strings.Join(values, "|") + "}"}, nil
}

// plainValue is what a format compares as it stands: nothing in it ends the comparison or is expanded.
var plainValue = regexp.MustCompile(`^[^#,{}[:cntrl:]]*$`)

// Both expands to 1 where both formats expand to something else than nothing and 0.
func Both(a, b Format) Format { return Format{"#{&&:" + a.text + "," + b.text + "}"} }

// Either expands to 1 where at least one of both formats expands to something else than nothing and 0.
func Either(a, b Format) Format { return Format{"#{||:" + a.text + "," + b.text + "}"} }

// OnScreen expands to the number of a row of the visible screen that text stands in, else
// to 0. Characters of text that mean something to globs, formats or tmux's parser stand for
// any one character; text that has nothing else is refused, since it would match every row.
func OnScreen(text string) (Format, error) {
	glob, err := literalGlob(text)
	if err != nil {
		return Format{}, err
	}
	return Format{"#{C:" + glob + "}"}, nil
}

func literalGlob(text string) (string, error) {
	var b strings.Builder
	literal := 0
	for _, r := range strings.Trim(text, " ") {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r > 0x9f && r != utf8.RuneError:
			literal++
			b.WriteRune(r)
		case r == ' ', r == '-', r == '_', r == '.':
			b.WriteRune(r)
		default:
			b.WriteByte('?')
		}
	}
	if literal == 0 {
		return "", fmt.Errorf("tail %q: no letter or digit to look for", text)
	}
	return b.String(), nil
}

// inert leaves of text what means nothing to a format.
func inert(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-_. |", r):
			return r
		}
		return -1
	}, text)
}

// literal makes text that a format expands to itself, also where strftime runs over it.
// Control characters, among them line breaks, become blanks.
func literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x20 || 0x7f <= r && r <= 0x9f || r == utf8.RuneError:
			b.WriteByte(' ')
		case r == '#' || r == '%':
			b.WriteRune(r)
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unexpanded makes a word that a format expands to itself where no strftime runs over it.
func unexpanded(word string) string { return strings.ReplaceAll(word, "#", "##") }
