package plain

import "strings"

// ShellWord returns a text as one word for a shell: in quotes, unless no character in it is special to a shell.
func ShellWord(text string) string {
	if text != "" && strings.Trim(text, "/._-+abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
