package api

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// sound reports whether JSON is valid UTF-8 with no lone surrogate in an escape: the decoder would silently
// replace either with another character.
func sound(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	for at := 0; at < len(data); at++ {
		if data[at] != '\\' {
			continue
		}
		if at++; at >= len(data) || data[at] != 'u' {
			continue
		}
		r, ok := escaped(data, at+1)
		if !ok {
			continue // the decoder refuses what is not an escape
		}
		at += 4
		if !utf16.IsSurrogate(r) {
			continue
		}
		if at+2 >= len(data) || data[at+1] != '\\' || data[at+2] != 'u' {
			return false
		}
		low, _ := escaped(data, at+3)
		if utf16.DecodeRune(r, low) == utf8.RuneError {
			return false
		}
		at += 6
	}
	return true
}

// escaped returns the character of the four hexadecimal digits at data[at:].
func escaped(data []byte, at int) (rune, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[at:at+4]), 16, 16)
	return rune(n), err == nil
}
