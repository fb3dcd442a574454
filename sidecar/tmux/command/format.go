package command

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Format is text that a server expands. The zero Format expands to nothing.
type Format struct{ text string }

// String returns the format as it is sent to the server.
func (f Format) String() string { return f.text }

// Format returns the format that expands to the value of a field, and to nothing if its subject
// does not exist.
func (f Field) Format() Format {
	value := "#{" + fields[f].name + "}"
	if fields[f].kind == instant {
		return Format{"#{?" + fields[there[fields[f].of]].name + "," + value + ",}"}
	}
	return Format{value}
}

// Join puts sep between formats. sep may hold only letters, digits, dashes, underscores, dots,
// blanks and bars.
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

// Row makes a record of fields. sep, a nonce, begins, separates and ends the fields, since a title
// or a name may hold any character, even a line break.
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

// Option expands to the value of a user option (@name). tmux does not expand the value in turn.
func Option(name string) Format { return Format{"#{@" + inert(strings.TrimPrefix(name, "@")) + "}"} }

// Environment expands to the value of a variable of the global environment.
func Environment(name string) Format { return Format{"#{" + inert(name) + "}"} }

// Equal expands to 1 if each format expands to its value. It is one comparison, since && with more
// than two parts, and !, are broken up to 3.5a. Equal refuses a value that would have a meaning in
// a format. From 3.7 on, tmux gives up a format after 100 ms; then both sides are empty and thus
// equal. So combine Equal by Both with something that is never empty.
func Equal(formats []Format, values []string) (Format, error) {
	for _, v := range values {
		if !plainValue.MatchString(v) {
			return Format{}, fmt.Errorf("value %q cannot be compared inside tmux", v)
		}
	}
	return Format{"#{==:" + Join("|", formats...).text + "," + strings.Join(values, "|") + "}"}, nil
}

// plainValue matches a value that a format compares literally: nothing in it ends the comparison or
// is expanded.
var plainValue = regexp.MustCompile(`^[^#,{}[:cntrl:]]*$`)

// Both expands to 1 if both formats expand to something other than nothing or 0.
func Both(a, b Format) Format { return Format{"#{&&:" + a.text + "," + b.text + "}"} }

// Either expands to 1 if at least one of the formats expands to something other than nothing or 0.
func Either(a, b Format) Format { return Format{"#{||:" + a.text + "," + b.text + "}"} }

// OnScreen expands to the number of a row of the visible screen that contains text, or to 0.
// Characters of text that have a meaning in globs, formats or tmux's parser stand for any one
// character. OnScreen refuses text that has nothing else, since it would match every row.
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

// inert removes every character that could have a meaning in a format.
func inert(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-_. |", r):
			return r
		}
		return -1
	}, text)
}

// literal escapes text so that a format expands it to itself, even if strftime runs over it.
// Control characters, including line breaks, become blanks.
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

// unexpanded escapes a word so that a format expands it to itself if no strftime runs over it.
func unexpanded(word string) string { return strings.ReplaceAll(word, "#", "##") }
