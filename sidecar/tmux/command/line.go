package command

import (
	"fmt"
	"strings"
)

// Argv turns commands into the arguments of a tmux process. A word that ends in a semicolon would
// end its command, so Argv escapes that semicolon.
func Argv(cmds []Command) []string {
	var args []string
	for i, c := range cmds {
		if i > 0 {
			args = append(args, ";")
		}
		for _, word := range c.words {
			if strings.HasSuffix(word, ";") {
				word = word[:len(word)-1] + `\;`
			}
			args = append(args, word)
		}
	}
	return args
}

// Sequence turns commands into text for tmux's own parser: a line of control mode, or a
// branch of If. It never holds a line break.
func Sequence(cmds []Command) string {
	var b strings.Builder
	for i, c := range cmds {
		if i > 0 {
			b.WriteString(" ; ")
		}
		for j, word := range c.words {
			if j > 0 {
				b.WriteByte(' ')
			}
			quote(&b, word)
		}
	}
	return b.String()
}

// quote writes word for tmux's parser. Inside double quotes it writes every byte except letters,
// digits and a few harmless ones as an octal escape. That is exact for the bytes 1 to 255 on every
// version, and an unescaped 0xFF would end the token in the middle of the quotes. quote omits NUL,
// which would end the string and which no caller passes.
func quote(b *strings.Builder, word string) {
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c == 0:
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == ' ', c == '-', c == '_', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
}
