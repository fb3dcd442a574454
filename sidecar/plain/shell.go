package plain

import "strings"

// ShellWord is a text as a shell takes it for one word: in quotes, unless nothing in it means anything to one.
func ShellWord(text string) string {
	if text != "" && strings.Trim(text, "/._-+abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
