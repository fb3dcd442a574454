package sanitise

// The control characters that take part in sequences.
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	nel = 0x85
	ss2 = 0x8e
	ss3 = 0x8f
	dcs = 0x90
	sos = 0x98
	csi = 0x9b
	st  = 0x9c
	osc = 0x9d
	pm  = 0x9e
	apc = 0x9f
)

// introducers maps the character after ESC to the C1 character for which the two stand in seven bits.
var introducers = map[rune]rune{
	'N': ss2, 'O': ss3, 'P': dcs, 'X': sos, '[': csi, '\\': st, ']': osc, '^': pm, '_': apc,
}

// withoutSequences removes escape sequences, and every control character except Tab and line breaks. No ESC and no
// C1 except NEL is left, so nothing in the result begins a sequence, however the pieces were nested.
func withoutSequences(runes []rune) []rune {
	out := runes[:0]
	for i := 0; i < len(runes); {
		switch r := runes[i]; {
		case r == esc:
			i = afterEscape(runes, i)
		case r == nel || r >= 0xa0:
			out = append(out, r)
			i++
		case r >= 0x80:
			i = afterIntroducer(runes, i+1, r)
		case r == bel || r == can || r == sub || r == 0x7f:
			i++
		default:
			out = append(out, r)
			i++
		}
	}
	return out
}

// afterEscape returns the position after the sequence that begins with the ESC at i. If the ESC begins no sequence
// in use, only the ESC is removed, since a word may follow.
func afterEscape(runes []rune, i int) int {
	i = skipStrays(runes, i+1)
	if i >= len(runes) {
		return i
	}
	r := runes[i]
	if c1, ok := introducers[r]; ok {
		return afterIntroducer(runes, i+1, c1)
	}
	switch r {
	case '7', '8', '=', '>', 'c', 'D', 'E', 'H', 'M', 'Z': // cursor, keypad, tabs, reset
		return i + 1
	case '(', ')', '*', '+', '-', '.', '/', '#', '%': // character sets and similar
		if j := skipStrays(runes, i+1); j < len(runes) && (runes[j] >= '0' && runes[j] <= '9' || runes[j] >= '@' && runes[j] <= 'Z') {
			return j + 1
		}
	}
	return i
}

// afterIntroducer returns the position after the sequence that c1, a C1 character or its form with ESC, began just
// before i.
func afterIntroducer(runes []rune, i int, c1 rune) int {
	switch c1 {
	case csi:
		return afterCSI(runes, i)
	case osc, dcs, apc, pm, sos:
		return afterString(runes, i, c1)
	case ss3: // a function key: one more character
		if i < len(runes) && runes[i] >= 'A' && runes[i] <= 'Z' {
			return i + 1
		}
	}
	return i
}

// afterCSI skips parameters, intermediates and the final character. A character that cannot belong to the sequence
// ends it.
func afterCSI(runes []rune, i int) int {
	for ; i < len(runes); i++ {
		switch r := runes[i]; {
		case r >= 0x40 && r <= 0x7e:
			return i + 1
		case r >= 0x20 && r <= 0x3f, stray(r), r == bel:
		default:
			return i
		}
	}
	return i
}

// afterString skips the payload of a control string and its terminator, or everything up to the end of the line.
// Sequences inside the payload belong to it. tmux's passthrough doubles each ESC of its payload, so two of them are
// not a terminator there.
func afterString(runes []rune, i int, c1 rune) int {
	passthrough := c1 == dcs && hasPrefix(runes[i:], "tmux;")
	for i < len(runes) {
		r := runes[i]
		switch {
		case lineBreak(r):
			return i
		case r == st, r == can, r == sub, r == bel && c1 == osc:
			return i + 1
		case r == esc:
			j := skipStrays(runes, i+1)
			if j < len(runes) && runes[j] == '\\' {
				return j + 1
			}
			if passthrough && j < len(runes) && runes[j] == esc {
				i = j + 1
				continue
			}
		}
		i++
	}
	return i
}

// hasPrefix reports whether runes begin with the ASCII text prefix.
func hasPrefix(runes []rune, prefix string) bool {
	if len(runes) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if runes[i] != rune(prefix[i]) {
			return false
		}
	}
	return true
}

// skipStrays returns the first position from i on whose character is certainly visible.
func skipStrays(runes []rune, i int) int {
	for i < len(runes) && stray(runes[i]) {
		i++
	}
	return i
}
