package screen

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// promptMax is the width in cells of the longest text that Learn accepts as a prompt.
const promptMax = 60

// gapMax is how many blanks a prompt may end with at most.
const gapMax = 8

// Prompt is what the empty composer of a line program shows: a literal text up to the column of the cursor, or a
// regular expression. The zero Prompt matches nothing.
type Prompt struct {
	text   string // the literal, with its trailing blanks
	re     *regexp.Regexp
	source string // of re, as a person wrote it
	more   []string
}

// Literal returns a prompt of exactly that text, including trailing blanks. It must not be blank.
func Literal(text string) (Prompt, error) {
	if trim(text) == "" {
		return Prompt{}, fmt.Errorf("prompt %q is empty", text)
	}
	if Plain(text) != trim(text) {
		return Prompt{}, fmt.Errorf("prompt %q holds control characters", text)
	}
	return Prompt{text: text}, nil
}

// Pattern returns a prompt given as a regular expression. The expression must match everything left of the cursor
// when the composer is empty, including trailing blanks; `^` and `$` around it are optional. Pattern refuses an
// expression that also matches ordinary words.
func Pattern(expr string) (Prompt, error) {
	body := strings.TrimPrefix(expr, "^")
	if strings.HasSuffix(body, "$") && !strings.HasSuffix(body, `\$`) {
		body = strings.TrimSuffix(body, "$")
	}
	re, err := regexp.Compile(`\A(?:` + body + `)`)
	if err != nil {
		return Prompt{}, fmt.Errorf("prompt %q: %w", expr, err)
	}
	re.Longest()
	p := Prompt{re: re, source: expr}
	for _, probe := range []string{"", " ", "word", "Some words, and more.", "42"} {
		if p.exactly(probe) {
			return Prompt{}, fmt.Errorf("prompt %q would match %q, which is no prompt: make the expression narrower", expr, probe)
		}
	}
	return p, nil
}

// With sets the continuation prompts: what the program may show before each further line of a composer.
func (p Prompt) With(continuations []string) Prompt {
	p.more = append([]string(nil), continuations...)
	return p
}

// String returns the source of the prompt: the text, or the regular expression.
func (p Prompt) String() string {
	if p.re != nil {
		return p.source
	}
	return p.text
}

// IsZero reports whether there is no prompt to match.
func (p Prompt) IsZero() bool { return p.re == nil && p.text == "" }

// Rest reports whether a line begins with the prompt, and returns what follows it. The line is a captured one,
// without its trailing blanks, so those of the prompt may be missing. rest is empty if only blanks follow.
func (p Prompt) Rest(line string) (rest string, ok bool) {
	switch {
	case p.IsZero():
		return "", false
	case p.re != nil:
		line = trim(line) + strings.Repeat(" ", gapMax)
		loc := p.re.FindStringIndex(line)
		if loc == nil {
			return "", false
		}
		return trim(line[loc[1]:]), true
	case trim(line) == trim(p.text):
		return "", true
	}
	if rest, ok = strings.CutPrefix(line, p.text); !ok {
		return "", false
	}
	return trim(rest), true
}

// exactly reports whether the expression matches all of left.
func (p Prompt) exactly(left string) bool {
	loc := p.re.FindStringIndex(left)
	return loc != nil && loc[1] == len(left)
}

// Learn returns the text left of the cursor on an otherwise quiet screen as the prompt. It refuses a screen on
// which that would be a guess; its errors say what to do.
func Learn(s Screen) (Prompt, error) {
	p, err := learn(s)
	if err != nil {
		return Prompt{}, fmt.Errorf("learn the prompt: %w", err)
	}
	return p, nil
}

func learn(s Screen) (Prompt, error) {
	switch {
	case s.InMode:
		return Prompt{}, errors.New("the pane is in copy mode or another mode: leave it and try again")
	case s.Alternate:
		return Prompt{}, errors.New("a full-screen program is shown: only programs that print line by line have a prompt to learn")
	case !s.CursorVisible:
		return Prompt{}, errors.New("the cursor is hidden: wait until the program asks for input")
	case !s.sound():
		return Prompt{}, fmt.Errorf("the cursor at column %d, row %d is outside the %d rows seen: try again", s.CursorX, s.CursorY, len(s.Rows))
	}
	rows := plain(s.Rows)
	last, row := lastText(rows), rows[s.CursorY]
	switch {
	case row == "":
		return Prompt{}, errors.New("the cursor is in an empty row: wait until the program shows its prompt, or give the prompt as a regular expression")
	case last != s.CursorY:
		return Prompt{}, errors.New("there is text below the cursor: close what is shown there and try again")
	}
	width := ansi.StringWidth(row)
	if w := ansi.StringWidthWc(row); width > s.CursorX {
		width = w // tmux may count an emoji narrower than the grapheme rules do
	}
	end, _ := utf8.DecodeLastRuneInString(row)
	switch gap := s.CursorX - width; {
	case gap < 0:
		return Prompt{}, fmt.Errorf("there is text right of the cursor in %q: empty the composer and put the cursor behind the prompt", row)
	case gap > gapMax:
		return Prompt{}, fmt.Errorf("the cursor is %d columns after %q: wait until the program shows its prompt, or give it as a regular expression", gap, row)
	case width > promptMax:
		return Prompt{}, fmt.Errorf("%q is too long for a prompt", row)
	case s.wraps(rows):
		return Prompt{}, errors.New("a longer line wraps into the row of the cursor: empty the composer and try again")
	case draftLike(row, end):
		return Prompt{}, fmt.Errorf("%q does not end as prompts do, and may hold a draft", row)
	case controls.MatchString(row):
		return Prompt{}, fmt.Errorf("%q may hold a draft: it shows a control character that was typed", row)
	default:
		p := Prompt{text: row + strings.Repeat(" ", gap)}
		if !p.stoodAlone(row, gap, rows[:s.CursorY]) {
			return Prompt{}, fmt.Errorf("%q may hold a draft: empty the composer and press Enter once, so that the prompt is seen twice", row)
		}
		return p, nil
	}
}

// controls matches the echo of a typed control character.
var controls = regexp.MustCompile(`\^[@A-Z\[\\\]^_?]`)

// heads matches the places in a row where a shorter prompt may end and a draft that ends like a prompt may begin.
var heads = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[>❯»›$#%:?)\]] +|[>❯»›][\pL\pN"'/~.-]`) })

// stoodAlone reports whether a row is a prompt, as far as can be told, and not a prompt with a draft: a terminal
// echoes typed text just as a program writes. A row that could be both must have been seen before, and its
// beginning must not have been seen with something else after it.
func (p Prompt) stoodAlone(row string, gap int, before []string) bool {
	again := slices.ContainsFunc(before, func(line string) bool { _, ok := p.Rest(line); return ok })
	doubtful := gap == 0 && strings.Contains(row, " ")
	for i := 0; i < len(row); {
		at := heads().FindStringIndex(row[i:])
		if at == nil {
			break
		}
		_, size := utf8.DecodeRuneInString(row[i+at[0]:])
		i += at[0] + size
		doubtful = true
		head := Prompt{text: row[:i]}
		if slices.ContainsFunc(before, func(line string) bool {
			_, short := head.Rest(line)
			_, long := p.Rest(line)
			return short && !long
		}) {
			return false
		}
	}
	return again || !doubtful
}

// draftLike guesses whether somebody's words stand behind the prompt in row. If they became part of the prompt,
// that very draft would look like an empty composer.
func draftLike(row string, end rune) bool {
	if end == 'λ' || end == 'ƒ' {
		return false
	}
	if unicode.IsLetter(end) || unicode.IsDigit(end) || strings.ContainsRune(`.,;!'"…`, end) {
		return true
	}
	if end == '?' || end == ')' {
		return strings.ContainsAny(row, ">❯»›$#%")
	}
	return false
}
