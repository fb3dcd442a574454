package sanitise

import "unicode"

// Characters that are visible only through their neighbours.
const (
	zwnj      = 0x200c
	zwj       = 0x200d
	textStyle = 0xfe0e // VS15
	emojiLook = 0xfe0f // VS16
	keycap    = 0x20e3
	blackFlag = 0x1f3f4
	tagFirst  = 0xe0020
	tagLast   = 0xe007e
	tagEnd    = 0xe007f
	// A flag's tags are the code of a region and of its part, as in gbeng, and never more.
	tagsMin, tagsMax = 3, 6
)

// stray reports whether r is one of the invisible characters that some texts need. These stay where they have a
// meaning and are removed everywhere else.
func stray(r rune) bool {
	return r == zwnj || r == zwj || r == textStyle || r == emojiLook || r >= tagFirst && r <= tagEnd
}

// invisible reports whether r is never seen and never needed: directional formatting, zero-width characters,
// fillers, variation selectors, and Unicode's format characters, except those that are drawn.
func invisible(r rune) bool {
	if r < 0xad || stray(r) {
		return false
	}
	switch r {
	case 0x0600, 0x0601, 0x0602, 0x0603, 0x0604, 0x0605, 0x06dd, 0x070f, 0x0890, 0x0891, 0x08e2, 0x110bd, 0x110cd:
		return false // signs that enclose or precede a number
	}
	if r >= 0x13430 && r <= 0x1345f {
		return false // they arrange hieroglyphs
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// withoutStrays removes the strays that have no meaning where they stand. Whether a stray stays depends on what was
// kept before it and on a visible character after it, so a second pass changes nothing.
func withoutStrays(runes []rune) []rune {
	out := runes[:0]
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if !stray(r) {
			out = append(out, r)
			continue
		}
		var before, after rune
		if len(out) > 0 {
			before = out[len(out)-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		switch {
		case r == zwj && endsEmoji(out) && emoji(after),
			(r == zwj || r == zwnj) && joins(before) && joins(after),
			(r == textStyle || r == emojiLook) && takesStyle(before, after):
			out = append(out, r)
		case r >= tagFirst && r <= tagLast && before == blackFlag:
			if n := flagTags(runes[i:]); n > 0 {
				out = append(out, runes[i:i+n]...)
				i += n - 1
				continue
			}
			for i+1 < len(runes) && runes[i+1] >= tagFirst && runes[i+1] <= tagEnd {
				i++ // not a flag: the whole run goes, whatever its end alone would spell
			}
		}
	}
	return out
}

// flagTags returns the length of the run of tags at the start of runes, including its end tag, if the run spells a
// flag, and 0 otherwise.
func flagTags(runes []rune) int {
	n := 0
	for n < len(runes) && n <= tagsMax {
		r := runes[n]
		if r == tagEnd {
			if n < tagsMin {
				return 0
			}
			return n + 1
		}
		letter := r - 0xe0000
		if !(letter >= 'a' && letter <= 'z' || letter >= '0' && letter <= '9') {
			return 0
		}
		n++
	}
	return 0
}

// endsEmoji reports whether runes end in an emoji that a joiner may follow, which may include its style, a skin
// tone, or the tags of a flag.
func endsEmoji(runes []rune) bool {
	if len(runes) == 0 {
		return false
	}
	last := runes[len(runes)-1]
	if last == emojiLook && len(runes) > 1 {
		last = runes[len(runes)-2]
	}
	return emoji(last) || last == tagEnd
}

// takesStyle reports whether a presentation selector has a meaning between the two characters.
func takesStyle(before, after rune) bool {
	if before >= '0' && before <= '9' || before == '#' || before == '*' {
		return after == keycap
	}
	return emoji(before) || before == 0xa9 || before == 0xae
}

// emoji reports whether r is, or may be, shown as a picture.
func emoji(r rune) bool {
	switch {
	case r < 0x203c:
		return false
	case r >= 0x1f000 && r <= 0x1faff:
		return true
	case r >= 0x2190 && r <= 0x2bff: // arrows, technical signs, symbols, dingbats
		return unicode.In(r, unicode.So, unicode.Sm)
	}
	switch r {
	case 0x203c, 0x2049, 0x2122, 0x2139, 0x3030, 0x303d, 0x3297, 0x3299:
		return true
	}
	return false
}

// joining lists the scripts whose letters change their form next to joiners.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Mongolian, unicode.Phags_Pa,
	unicode.Manichaean, unicode.Psalter_Pahlavi, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Sogdian,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
	unicode.Tibetan, unicode.Balinese, unicode.Javanese, unicode.Sundanese, unicode.Grantha, unicode.Tirhuta,
}

// joins reports whether r is a letter, or a mark on one, of a script with joiners.
func joins(r rune) bool {
	if r < 0x600 || !unicode.In(r, unicode.L, unicode.Mn, unicode.Mc) {
		return false
	}
	return unicode.In(r, joining...) || unicode.Is(unicode.Inherited, r) && r >= 0x64b && r <= 0x670
}
