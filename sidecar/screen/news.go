package screen

import (
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// An unknown program may ask a question over a composer that looks as it always does, in any language. So the rows
// above the composer count too. The rows that a person saw when they adopted the program are known, and so are
// those that came as the answer to a submitted text. Any other row is news, and as long as it stands there nobody
// knows what a key would do.

// Since says what has happened in a program since the rows above its composer were last known.
type Since int

// Ordered by how much may be in new rows, from the least to the most.
const (
	Nothing   Since = iota // nobody submitted anything: new rows came by themselves
	Unseen                 // nobody looked
	Acted                  // somebody else was seen to act there: a turn of theirs, a dialog that has gone
	Submitted              // a text of ours was submitted, and new rows may be its answer
	Redrawn                // the pane has another size, so the same rows are drawn differently
)

// shownRow is a row above a composer.
type shownRow struct {
	text     string // plain
	key      string // identifies the row; "" if it has no words
	reversed bool   // it contains reverse video
}

// newRow reads a row. Its key ignores what depends on a counter or on the width of the pane, and includes what is
// highlighted in the row.
func newRow(c *canvas, y int) shownRow {
	lit := highlighted(c.row(y))
	row := shownRow{text: c.plain(y), reversed: slices.ContainsFunc(c.row(y), func(c cell) bool { return c.reverse })}
	if lit != "" || slices.ContainsFunc(c.row(y), wordy) {
		h := fnv.New64a()
		h.Write([]byte(gist(row.text) + "\x00" + lit))
		row.key = strconv.FormatUint(h.Sum64(), 36)
	}
	return row
}

// highlighted returns the gist of the characters in a row that have reverse video or a background.
func highlighted(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		if c.reverse || c.ground {
			b.WriteString(c.text)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "▮" + gist(b.String())
}

// Keys returns the keys of the rows above the composer, in the form in which News expects known rows.
func (v FrameView) Keys() (keys []string) {
	for _, row := range v.above {
		if row.key != "" {
			keys = append(keys, row.key)
		}
	}
	return keys
}

// Shows reports whether the text stands in unknown rows above the composer.
func (v FrameView) Shows(known []string, text string) bool {
	fresh, _ := v.fresh(known)
	_, found := v.withoutText(fresh, text)
	return found
}

// News finds a row above the composer of an unknown program that may be a question, as far as can be told. A row
// that came by itself always is, whatever it says. A row that came after a submission is not, if the new rows came
// as words do: in one piece, below everything that still stands there or below the submitted text, without a key
// mark or a highlight. A row that ends like a question may belong to an answer, but only then. said holds the
// submitted texts, which are not news.
func (v FrameView) News(known []string, since Since, said ...string) (row string, found bool) {
	fresh, flows := v.fresh(known)
	for _, text := range said {
		rest, echoed := v.withoutText(fresh, text)
		fresh, flows = rest, flows || echoed
	}
	if len(fresh) == 0 {
		return "", false
	}
	if since == Nothing || (since == Acted || since == Submitted) && !flows {
		return v.above[fresh[len(fresh)-1]].text, true
	}
	for i, y := range slices.Backward(fresh) {
		row := v.above[y]
		switch {
		case len(fresh)-i > nearRows:
			return "", false
		case row.reversed && since != Redrawn, marksKey(row.text), since < Submitted && questioning(row.text):
			return row.text, true
		}
	}
	return "", false
}

// fresh returns the rows above the composer that are not among the known ones, in order. flows reports whether they
// came as words do: in one piece directly below the row that stood last, whatever has scrolled off above, or so
// many that they fill the screen.
func (v FrameView) fresh(known []string) (rows []int, flows bool) {
	var at []int // rows with a key
	for y, row := range v.above {
		if row.key != "" {
			at = append(at, y)
		}
	}
	for up := range known { // the first rows may have scrolled off
		if left := known[up:]; len(left) <= len(at) && slices.EqualFunc(left, at[:len(left)], v.is) {
			return at[len(left):], true
		}
	}
	// The rows did not just scroll: use the longest common subsequence. most[i][j] is its length from at[i] and
	// known[j] on.
	most := make([][]int, len(at)+1)
	for i := range most {
		most[i] = make([]int, len(known)+1)
	}
	for i := len(at) - 1; i >= 0; i-- {
		for j := len(known) - 1; j >= 0; j-- {
			if v.is(known[j], at[i]) {
				most[i][j] = most[i+1][j+1] + 1
			} else {
				most[i][j] = max(most[i+1][j], most[i][j+1])
			}
		}
	}
	last, next, pieces := -1, -1, 0 // last and next: indexes in known, before the first fresh row and after the last; pieces: of fresh rows
	for i, j := 0, 0; i < len(at); {
		switch {
		case j < len(known) && v.is(known[j], at[i]):
			if len(rows) == 0 {
				last = j
			} else if next < 0 {
				next = j
			}
			i, j = i+1, j+1
		case j < len(known) && most[i][j+1] >= most[i+1][j]:
			j++
		default:
			if len(rows) == 0 || rows[len(rows)-1] != at[i-1] {
				pieces++
			}
			rows = append(rows, at[i])
			i++
		}
	}
	if len(rows) == 0 {
		return nil, true
	}
	if next < 0 {
		next = len(known)
	}
	below := next == last+1 && (last >= 0 || len(known) == 0)
	fills := rows[0] <= gapRows && rows[len(rows)-1] >= len(v.above)-gapRows
	return rows, pieces == 1 && (below || fills)
}

// is reports whether the row at y has that key.
func (v FrameView) is(key string, y int) bool { return v.above[y].key == key }

// gapRows is how many rows may stand above the words of a program that fill its screen, and between them and its
// composer.
const gapRows = 3

// withoutText removes from rows the shortest sequence that shows the text, whatever frames it.
func (v FrameView) withoutText(rows []int, text string) (rest []int, found bool) {
	want := undrawn(text)
	if want == "" {
		return rows, false
	}
	for n := 1; n <= len(rows); n++ {
		for i := 0; i+n <= len(rows); i++ {
			var stands strings.Builder
			for _, y := range rows[i : i+n] {
				stands.WriteString(undrawn(v.above[y].text))
			}
			if shown.Within(want, stands.String()) {
				return slices.Concat(rows[:i], rows[i+n:]), true
			}
		}
	}
	return rows, false
}

// undrawn returns the ink of a text without its frame.
func undrawn(text string) string {
	return strings.Map(func(r rune) rune {
		if drawn(r) {
			return -1
		}
		return r
	}, shown.Ink(text))
}

// keyMarks matches how programs write the keys that they wait for: a letter or a key in brackets; at the end of a
// row, letters or short words to choose from, one of them a capital or all in brackets; the symbols on keys; and
// their names.
var keyMarks = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?:^|[^\pL\pN_\])}])[\[(<{【（「](?:\pL|(?i:enter|return|esc|escape|tab|space|ctrl.\pL|\^\pL|f\d+))[\])>}】）」](?:$|[^(\pN_\[])`),
		regexp.MustCompile(`(?:^|[^\pL\pN/])(?:\p{Lu}(?:/\p{Ll})+|\p{Ll}(?:/\p{Ll})*/\p{Lu}(?:/\p{Ll})*)(?:$|[^\pL\pN/])`),
		regexp.MustCompile(`[\[(<{【（「]\s?[\pL\pM]{1,6}(?:\s?[/／|,、]\s?[\pL\pM]{1,6}){1,3}\s?[\])>}】）」]\s*[:：?？؟>]?\s*$`),
		regexp.MustCompile(`[⏎⎋↵↩⌫⇥␣⇧⌘⌃⌥⮐]`),
		regexp.MustCompile(`(?:^|[^\pL\pN_])(?:Enter|ENTER|Esc|ESC|Escape|Ctrl[-+]\pL|\^[A-Z]|Eingabetaste|Entrée|Échap|Intro|Invio|回车|回車|エンター)(?:$|[^\pL\pN_])`),
	}
})

// marksKey reports whether a row names keys.
func marksKey(row string) bool {
	return slices.ContainsFunc(keyMarks(), func(re *regexp.Regexp) bool { return re.MatchString(row) })
}

// questionMarks are the question marks of all scripts.
const questionMarks = "?？؟;՞፧⁇⁈⁉‽⸮❓❔﹖꘏꛷"

// questioning reports whether a row ends like a question, or begins like one, as it does where it is drawn from
// right to left. The Greek question mark looks like a semicolon.
func questioning(row string) bool {
	if strings.ContainsRune(row, '¿') {
		return true
	}
	row = strings.TrimFunc(row, func(r rune) bool {
		return unicode.IsSpace(r) || drawn(r) || strings.ContainsRune("\"'`»“”’)]}」』）】>*_:：\ufe0f", r)
	})
	first, _ := utf8.DecodeRuneInString(row)
	last, _ := utf8.DecodeLastRuneInString(row)
	return strings.ContainsRune(questionMarks, first) || strings.ContainsRune(questionMarks, last) ||
		last == ';' && strings.ContainsFunc(row, func(r rune) bool { return unicode.Is(unicode.Greek, r) })
}
