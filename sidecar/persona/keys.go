package persona

import (
	"bytes"
	"unicode/utf8"
)

// keyKind is the kind of a key.
type keyKind int

const (
	keyText   keyKind = iota // printable text, maybe several characters
	keyEnter                 // CR or LF
	keyErase                 // backspace
	keyKill                  // ^U
	keyCancel                // ^C
	keyEOF                   // ^D
	keyUp
	keyDown
	keyEscape // Esc by itself
	keyPaste  // a bracketed paste, whole
	keyOther  // any other control character or escape sequence
)

// key is one key, or one run of text.
type key struct {
	kind keyKind
	text string
}

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// decoder splits the bytes of a terminal in raw mode into keys. It keeps what is incomplete: a character or a sequence
// split between two reads, or an unfinished paste.
type decoder struct {
	held  []byte
	paste bool // within a bracketed paste
}

// feed returns the keys that data completes.
func (d *decoder) feed(data []byte) []key {
	d.held = append(d.held, data...)
	var keys []key
	for len(d.held) > 0 {
		if d.paste {
			i := bytes.Index(d.held, pasteEnd)
			if i < 0 {
				return keys
			}
			keys = append(keys, key{keyPaste, string(d.held[:i])})
			d.held, d.paste = d.held[i+len(pasteEnd):], false
			continue
		}
		k, n := d.next()
		if n == 0 {
			return keys
		}
		if k.kind == keyOther && bytes.Equal(d.held[:n], pasteBegin) {
			d.paste = true
		} else {
			keys = append(keys, k)
		}
		d.held = d.held[n:]
	}
	return keys
}

// waiting reports whether a lone Esc is held: it is a key if nothing follows soon.
func (d *decoder) waiting() bool { return !d.paste && len(d.held) == 1 && d.held[0] == 0x1b }

// flush turns a lone Esc into a key.
func (d *decoder) flush() []key {
	if !d.waiting() {
		return nil
	}
	d.held = nil
	return []key{{keyEscape, "\x1b"}}
}

// next returns the first key of held and its length, or 0 if it is incomplete.
func (d *decoder) next() (key, int) {
	b := d.held[0]
	switch {
	case b == 0x1b:
		n := sequence(d.held)
		if n == 0 {
			return key{}, 0
		}
		text := string(d.held[:n])
		switch text {
		case "\x1b[A", "\x1bOA":
			return key{keyUp, text}, n
		case "\x1b[B", "\x1bOB":
			return key{keyDown, text}, n
		}
		return key{keyOther, text}, n
	case b < 0x20 || b == 0x7f:
		kind := keyOther
		switch b {
		case '\r', '\n':
			kind = keyEnter
		case '\b', 0x7f:
			kind = keyErase
		case 0x15:
			kind = keyKill
		case 0x03:
			kind = keyCancel
		case 0x04:
			kind = keyEOF
		}
		return key{kind, string(d.held[:1])}, 1
	}
	n := 0
	for n < len(d.held) && d.held[n] >= 0x20 && d.held[n] != 0x7f {
		if !utf8.FullRune(d.held[n:]) {
			break
		}
		_, size := utf8.DecodeRune(d.held[n:])
		n += size
	}
	return key{keyText, string(d.held[:n])}, n
}

// sequence returns the length of the escape sequence at the beginning of b, or 0 if it is incomplete.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case 0x1b:
		return 1
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if b[i] < 0x20 || b[i] > 0x7e {
				return i
			}
		}
		return 0
	case 'O':
		if len(b) < 3 {
			return 0
		}
		return 3
	}
	return 2
}
