package api

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// sound reports whether JSON is UTF-8 throughout, with no half of a pair of surrogates in an
// escape: the decoder would put another character in the place of either without a word.
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
			continue // what is no escape, the decoder refuses
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

// escaped is the character of four hexadecimal digits.
func escaped(data []byte, at int) (rune, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[at:at+4]), 16, 16)
	return rune(n), err == nil
}
