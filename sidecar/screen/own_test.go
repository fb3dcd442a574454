package screen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// head is the beginning of every text of ours.
const head = "[claude-2] (2):\n\n"

// ownTexts holds the typed texts by the names of their recordings.
var ownTexts = map[string]string{
	"line":         head + "hello there",
	"below-answer": head + "and so it goes on",
	"long-line":    head + "The quick brown fox jumps over the lazy dog and then goes on to tell of it at some length, so that the row is full twice over, even on a wide screen of two hundred cells or so, which takes many words.",
	"lines5":       head + "a\nb\nc",
	"lines10":      head + numbered(10),
	"p500":         head + paragraph(500),
	"p800":         head + paragraph(783),
	"p900":         head + paragraph(900),
	"p2k":          head + paragraph(2<<10),
	"l10k":         head + numbered(250),
	"l64k":         head + numbered(1600),
	"cjk":          head + "日本語の文章です。" + strings.Repeat("漢字と仮名を混ぜて書く", 12) + "終わり",
	"emoji":        head + "🚀 one 👨‍👩‍👧 two ❤️ three 🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F four é e\u0301 👩🏽‍❤️‍💋‍👨🏽 five " + strings.Repeat("😀", 60) + " سلام end",
	"code":         head + "Look:\n```go\nfunc main() {\n\tfmt.Println(\"hi\")\n\n\tif x {\n\t\treturn\n\t}\n}\n```\nand `this` **bold** _it_",
	"blank-end":    head + `see \@x `,
	"breaks-end":   head + "ends in breaks\n\n",
	"blanks":       head + "two  blanks   three    " + strings.Repeat("a    ", 60) + "end",
	"no-blanks":    head + strings.Repeat("abcdefghij", 45),
	"full-row":     head + strings.Repeat("x", 116),
	"fuller-row":   head + strings.Repeat("x", 117),
	"empty-lines":  head + "one\n\n\ntwo\n\n\n\nthree",
	"marks":        head + "- one\n  - two\n> three\n# four\n/clear\n!ls\n1. five",
	"composer":     head + strings.Repeat("─", 60) + "\n❯ not mine\n" + strings.Repeat("─", 60) + "\n  ? for shortcuts",
	"short":        shortHead + "hello there",
	"short-wide":   shortHead + "日本語 🚀 é `code` **bold** 漢字と仮名を混ぜて書く end",
	"short-two":    shortHead + "one line\nand another",
	"short-full":   shortHead + strings.Repeat("x", 97),
	"short-150":    shortHead + paragraph(136),
	"placeholders": head + "see [Pasted text #1 +11 lines] and [Pasted Content 1017 chars]",
}

// shortHead is the beginning of a question: with it a text may have one line.
const shortHead = "AI[vm:peer] | "

// ownEverywhere lists the texts that are recorded in panes of all sizes.
var ownEverywhere = map[string]bool{
	"line": true, "long-line": true, "lines10": true, "p500": true, "p800": true, "p2k": true, "l64k": true, "cjk": true, "blank-end": true, "no-blanks": true,
}

// ownLists are texts whose end may open a list; the sanitiser never leaves such an end.
var ownLists = map[string]string{
	"at": head + "see @", "at-fi": head + "see @fi", "at-file": head + "see @file1.txt", "at-nothing": head + "see @zzzz",
	"dollar": head + "cost $", "dollar-imag": head + "cost $imag", "dollar-nothing": head + "cost $imag.",
	"short-at-fi": shortHead + "see @fi", "short-at-nothing": shortHead + "see @zzzz",
	"slash": head + "see /mo", "emoji": head + "see :smi", "escaped": head + `see \@fi`, "closed": head + "see @fi ",
}

// opensList reports which of them do.
func opensList[K ~string](agent K, name string) bool {
	switch name {
	case "at", "at-fi", "at-file", "short-at-fi":
		return true
	case "escaped":
		return agent == "gemini"
	case "short-at-nothing", "at-nothing", "dollar", "dollar-imag", "dollar-nothing":
		return agent == "codex"
	case "slash", "emoji":
		return agent == "claude"
	}
	return false
}

func numbered(n int) string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("Line %d of the answer, with some words.", i+1)
	}
	return strings.Join(lines, "\n")
}

func paragraph(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "word%d is followed by the next, ", i)
	}
	return b.String()[:size-1] + "."
}

// own returns the text that was typed for a recording, if there was one.
func (r recording) own(t testing.TB) (text string, ok bool) {
	t.Helper()
	_, name, ok := strings.Cut("-"+r.What, "-own-")
	if !ok || strings.HasPrefix(name, "words") { // a person's own text, in a dialog
		return "", false
	}
	fitted, list := false, false
	if rest, cut := strings.CutPrefix(name, "fitted-"); cut {
		name, fitted = rest, true
	}
	if rest, cut := strings.CutPrefix(name, "list-"); cut {
		name, list = rest, true
	}
	found := ""
	for known := range ownTexts {
		if !list && (name == known || strings.HasPrefix(name, known+"-")) && len(known) > len(found) {
			found, text = known, ownTexts[known]
		}
	}
	for known := range ownLists {
		if list && (name == known || strings.HasPrefix(name, known+"-")) && len(known) > len(found) {
			found, text = known, ownLists[known]
		}
	}
	switch {
	case found == "" && (strings.Contains(name, "twice") || strings.Contains(name, "placeholder")):
		return ownTexts["p2k"], true
	case found == "":
		return ownTexts["line"], true
	case fitted:
		text, ok = screen.Fitted(r.view(), agentNamed(t, r.Agent), text)
		require.True(t, ok, r)
	}
	return text, true
}

// shown returns how the text stands in its recording.
func (r recording) shown() screen.Own {
	switch {
	case r.Label == "blocked" && strings.Contains(r.What, "under-dialog"):
		return screen.Absent
	case r.Label != "draft", strings.Contains(r.What, "own-elsewhere"), strings.HasPrefix(r.What, "vim-own-normal"):
		return screen.Among
	}
	if r.scrolled() || r.Agent == "gemini" && geminiHalf[r.What] {
		return screen.Among
	}
	return screen.Whole
}

// scrolled reports whether the composer shows that it shows only a part of its text.
func (r recording) scrolled() bool {
	return slices.ContainsFunc(plainRows(r.Rows), func(row string) bool {
		return strings.HasPrefix(row, "─── ↑ ") || strings.HasPrefix(row, "› ") && strings.HasSuffix(row, "  ↑")
	})
}

func (r recording) judgeOwn(t testing.TB, text string) screen.Own {
	t.Helper()
	return screen.JudgeOwn(r.view(), agentNamed(t, r.Agent), text)
}

// The gate before Enter, over all recordings: our text is found where it stands, and nowhere else.
func TestJudgeOwn_overTheCorpus(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	recorded, scrolled := map[screen.Own]int{}, map[string]int{}
	for _, r := range corpus(t) {
		text, ours := r.own(t)
		if !ours {
			for name, text := range ownTexts {
				assert.NotEqual(t, screen.Whole, r.judgeOwn(t, text), "%s, %s", r, name)
			}
			continue
		}
		got := r.judgeOwn(t, text)
		recorded[got]++
		if r.scrolled() {
			scrolled[r.Agent]++
		}
		fmt.Fprintf(&table, "%d %-60s %q\n", got, r, clip(text))
		assert.Equal(t, r.shown(), got, r)
		if tail := screen.OwnTail(r.view(), agentNamed(t, r.Agent)); got == screen.Whole {
			assert.NotEmpty(t, tail, r)
			assert.Contains(t, strings.Join(plainRows(r.Rows), "\n"), tail, r)
		}
		// A text with one character more, less or changed is another text. So is our own text if only a part of a
		// longer one has arrived.
		others := []string{text + "\n" + text, text + "\nx", head + "\n" + text}
		if !r.countsLines() {
			others = append(others, text+"x", "x"+text, strings.Replace(text, "]", "]]", 1), strings.TrimSpace(text)[:len(strings.TrimSpace(text))-1])
		}
		for _, other := range others {
			assert.NotEqual(t, screen.Whole, r.judgeOwn(t, other), "%s: %q", r, clip(other))
		}
	}
	t.Logf("\n%s%v, scrolled %v", table.String(), recorded, scrolled)
	assert.Len(t, scrolled, 2)
	assert.Greater(t, recorded[screen.Whole], 80)
	assert.Greater(t, recorded[screen.Among], 30)
}

// countsLines reports whether a recording shows, in place of our text, a line that reveals only the number of its
// line breaks.
func (r recording) countsLines() bool {
	return slices.ContainsFunc(plainRows(r.Rows), func(row string) bool {
		return strings.Contains(row, "[Pasted text #") || strings.Contains(row, "[Pasted ~") || strings.Contains(row, "[Pasted Text: ") && strings.Contains(row, " lines")
	})
}

func clip(text string) string { return string([]rune(text)[:min(40, len([]rune(text)))]) }

func plainRows(rows []string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = screen.Plain(row)
	}
	return out
}

// Two screens combined: the lower part of each blocked one below our own text, with the cursor of either.
func TestJudgeOwn_underSomethingElse(t *testing.T) {
	t.Parallel()
	all := corpus(t)
	for i := range all {
		all[i].Rows = self(all[i].Rows)
	}
	made := 0
	for i, upper := range all {
		text, ours := upper.own(t)
		if !ours || upper.shown() != screen.Whole || !slices.Contains([]string{"line", "p500", "lines10", "below-answer", "list-closed"}, strings.TrimRight(strings.TrimPrefix(upper.What, "own-"), "-0123456789")) && !strings.Contains(upper.What, "own-line") {
			continue
		}
		for j, lower := range all {
			if leftOut(i, j) || lower.Agent != upper.Agent || lower.Width != upper.Width || lower.Label != "blocked" || strings.HasPrefix(lower.What, "vim-") {
				continue
			}
			for rows := lower.tells(); rows < min(lower.Height, upper.Height)-1; rows += step(lower.Height) {
				below := lower.Rows[lower.Height-rows:]
				for name, r := range map[string]recording{
					"covered": {Rows: append(slices.Clone(upper.Rows[:upper.Height-rows]), below...)},
					"pushed":  {Rows: append(slices.Clone(upper.Rows[rows:]), below...)},
				} {
					for cursor, from := range map[string]recording{"lower": lower, "upper": upper} {
						s := upper
						s.Title, s.Rows, s.CursorVisible = lower.Title, r.Rows, from.CursorVisible
						s.CursorX, s.CursorY = from.CursorX, from.CursorY
						if cursor == "lower" {
							s.CursorY += upper.Height - lower.Height
						} else if name == "pushed" {
							s.CursorY -= rows
						}
						made++
						if got := s.judgeOwn(t, text); got == screen.Whole && !untouched(upper, s) {
							t.Errorf("%s, %s by the last %d rows of %s, the cursor of the %s: is Whole", upper, name, rows, lower, cursor)
						}
					}
				}
			}
		}
	}
	t.Logf("%d screens", made)
	assert.NotZero(t, made)
}

// tells is how many of the last rows of a blocked recording show that it is blocked: a composer stands below a
// list.
func (r recording) tells() int {
	if r.Agent == "gemini" {
		return r.geminiLeast()
	}
	if strings.Contains(r.What, "menu") || strings.Contains(r.What, "own-list") || strings.Contains(r.What, "rename-typed") {
		return r.Height - r.CursorY + 6
	}
	blank := 0
	for blank < r.Height-1 && screen.Plain(r.Rows[r.Height-1-blank]) == "" {
		blank++
	}
	return max(r.least(), blank+1)
}

// untouched reports whether everything from right above the agent's composer on is as it was, apart from a hint
// above Claude Code's composer and the foot of Codex, which is missing at first.
func untouched(was, is recording) bool {
	top := was.CursorY
	for top > 0 && !strings.HasPrefix(screen.Plain(was.Rows[top]), "❯") && !strings.HasPrefix(screen.Plain(was.Rows[top]), "›") {
		top--
	}
	shift := is.CursorY - was.CursorY
	if was.Agent == "gemini" { // its cursor says nothing
		top = max(0, was.geminiGlyph()-2)
		shift = is.geminiGlyph() - was.geminiGlyph()
	}
	if was.Agent == "opencode" {
		top = was.opencodeTop() + 1
	}
	for y := max(0, top-2); y < max(was.Height, is.Height-shift); y++ {
		before, now := "", ""
		if y < was.Height {
			before = screen.Plain(was.Rows[y])
		}
		if y+shift >= 0 && y+shift < is.Height {
			now = screen.Plain(is.Rows[y+shift])
		}
		if was.Agent == "opencode" { // its recordings were made in several directories
			before, now = tidy(before), tidy(now)
			if y > was.CursorY+4 && now == opencodeHomeFoot {
				continue // in any directory
			}
		}
		gone := now == "" && (was.Agent == "codex" && y > was.CursorY || was.Agent == "gemini" && y > top+2 || was.Agent == "opencode" && y > was.CursorY+4 || was.Agent == "claude" && y == top-2)
		if now != before && !gone {
			return false
		}
	}
	return true
}

// A half-drawn screen: as long as anything from the composer on is missing, our text is not Whole.
func TestJudgeOwn_cropped(t *testing.T) {
	t.Parallel()
	made, whole := 0, 0
	for i, r := range corpus(t) {
		text, ours := r.own(t)
		if !ours || r.shown() != screen.Whole || strings.Contains(r.What, "64k") {
			continue
		}
		rows := self(r.Rows)
		every := 1
		if leftOut(0, 1) {
			every = 9
		}
		for n := 1 + i%every; n < r.Height; n += every {
			blank := make([]string, n)
			for name, c := range map[string]struct {
				rows []string
				y    int
			}{
				"its first rows blank": {append(slices.Clone(blank), rows[n:]...), r.CursorY},
				"its last rows blank":  {append(slices.Clone(rows[:r.Height-n]), blank...), r.CursorY},
				"scrolled up":          {append(slices.Clone(rows[n:]), blank...), r.CursorY - n},
				"scrolled down":        {append(slices.Clone(blank), rows[:r.Height-n]...), r.CursorY + n},
				"cut at the top":       {rows[n:], r.CursorY - n},
				"cut at the bottom":    {rows[:r.Height-n], r.CursorY},
			} {
				if c.y < 0 || c.y >= len(c.rows) {
					continue
				}
				crop := r
				crop.Rows, crop.CursorY, crop.Height = c.rows, c.y, len(c.rows)
				made++
				if crop.judgeOwn(t, text) != screen.Whole {
					continue
				}
				whole++
				if !untouched(r, crop) {
					t.Errorf("%s, %d rows, %s: is Whole", r, n, name)
				}
			}
		}
	}
	t.Logf("%d crops, %d of them with all that counts", made, whole)
}

// Our text in a composer drawn by this test is no longer Whole after any change in it, around it or over it.
func TestJudgeOwn_anyChange(t *testing.T) {
	claude := profile.Claude()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(30, 90).Draw(t, "width")
		body := rapid.StringOfN(rapid.SampledFrom([]rune("abc  de\\@/x.日漢éß")), 1, 300, -1).Draw(t, "body")
		text := head + strings.TrimSpace("w "+body)
		draw := func(text string) (rows []string, x, y int) {
			rule := strings.Repeat("─", width)
			rows = []string{"", rule}
			for i, line := range wrap(text, width-4) {
				lead := "  "
				if i == 0 {
					lead = "❯\u00a0"
				}
				rows = append(rows, lead+line)
				x, y = 2+cells(line), len(rows)-1
			}
			return append(rows, rule, "  ⏸ manual mode on"), x, y
		}
		view := func(rows []string, x, y int) screen.View {
			return screen.View{Screen: screen.Screen{Rows: rows, Width: width, Height: len(rows), CursorX: x, CursorY: y}}
		}
		rows, x, y := draw(text)
		require.Equal(t, screen.Whole, screen.JudgeOwn(view(rows, x, y), claude, text), "%q", rows)

		runes := []rune(text)
		at := rapid.IntRange(0, len(runes)-1).Draw(t, "at")
		other := string(runes[:at]) + "Z" + string(runes[at:])
		changed, cx, cy := draw(other)
		assert.NotEqual(t, screen.Whole, screen.JudgeOwn(view(changed, cx, cy), claude, text), "%q", changed)
		for name, change := range map[string]func(v *screen.View){
			"a list":            func(v *screen.View) { v.Rows[0] = "    + file1.txt" },
			"a list, selected":  func(v *screen.View) { v.Rows[0] = "  ❯ /model" },
			"a panel":           func(v *screen.View) { v.Rows[len(v.Rows)-1] = "  Esc to cancel" },
			"nothing below":     func(v *screen.View) { v.Rows[len(v.Rows)-1] = "" },
			"a dim glyph":       func(v *screen.View) { v.Rows[2] = "\x1b[2m" + v.Rows[2] + "\x1b[0m" },
			"a mode":            func(v *screen.View) { v.Rows[2] = strings.Replace(v.Rows[2], "❯", "!", 1) },
			"a plain blank":     func(v *screen.View) { v.Rows[2] = strings.Replace(v.Rows[2], "\u00a0", " ", 1) },
			"no rule":           func(v *screen.View) { v.Rows[1] = "" },
			"the cursor before": func(v *screen.View) { v.CursorX -= 2 },
			"the cursor behind": func(v *screen.View) { v.CursorX += 2 },
			"the cursor above":  func(v *screen.View) { v.CursorY-- },
			"copy mode":         func(v *screen.View) { v.InMode = true },
			"vim keys":          func(v *screen.View) { v.Vim = true },
			"a spinner": func(v *screen.View) {
				v.Rows = slices.Insert(v.Rows, 0, "✻ Doing the work… (3s)")
				v.Height++
				v.CursorY++
			},
			"half of a capture": func(v *screen.View) { v.Rows = v.Rows[1:] },
		} {
			v := view(slices.Clone(rows), x, y)
			change(&v)
			assert.NotEqual(t, screen.Whole, screen.JudgeOwn(v, claude, text), "%s: %q", name, v.Rows)
		}
	})
}

// wrap breaks a text into rows as a composer may.
func wrap(text string, width int) (rows []string) {
	for line := range strings.SplitSeq(text, "\n") {
		row := ""
		for _, r := range line {
			if cells(row+string(r)) > width {
				rows, row = append(rows, row), ""
			}
			row += string(r)
		}
		rows = append(rows, row)
	}
	return rows
}

func cells(row string) (n int) {
	for _, r := range row {
		n++
		if r > 0x2e00 {
			n++
		}
	}
	return n
}

// A text that is too tall for the composer is made long enough to be shown as one line, and is not changed
// otherwise.
func TestFitted(t *testing.T) {
	view := func(width, height int) screen.View {
		return screen.View{Screen: screen.Screen{Width: width, Height: height}}
	}
	for _, a := range profile.Agents() {
		for name, text := range ownTexts {
			for _, size := range [][2]int{{120, 40}, {60, 20}, {120, 12}, {40, 10}} {
				fitted, ok := screen.Fitted(view(size[0], size[1]), a, text)
				require.True(t, ok)
				assert.True(t, strings.HasPrefix(fitted, text), "%s %s", a.Name, name)
				assert.Equal(t, strings.TrimSpace(text), strings.TrimSpace(fitted), "%s %s", a.Name, name)
			}
		}
		fitted, ok := screen.Fitted(view(120, 40), a, ownTexts["p500"])
		assert.True(t, ok)
		assert.Equal(t, ownTexts["p500"], fitted, "it has room")
		fitted, ok = screen.Fitted(view(60, 20), a, ownTexts["p500"])
		assert.True(t, ok)
		if !a.Long.Trimmed { // otherwise it is already long enough
			assert.NotEqual(t, ownTexts["p500"], fitted, "it has none")
		}
		_, ok = screen.Fitted(view(20, 20), a, ownTexts["line"])
		assert.False(t, ok, "not even the line for a long paste has room")
		_, ok = screen.Fitted(view(0, 0), a, ownTexts["line"])
		assert.False(t, ok)
	}
}

// A picture that is newer than tmux takes one cell there, and the agent leaves a blank in the other.
func TestJudgeOwn_newPicture(t *testing.T) {
	const text = shortHead + "w0 가가 w1 \U0001fae8\U0001fae8 end"
	rule := strings.Repeat("─", 60)
	for row, whole := range map[string]bool{
		text: true,
		shortHead + "w0 가가 w1 \U0001fae8 \U0001fae8  end":  true,
		shortHead + "w0 가가 w1 \U0001fae8 \U0001fae8 y end": false,
	} {
		v := screen.View{Screen: screen.Screen{Rows: []string{"", rule, "❯\u00a0" + row, rule, "  ⏸ manual mode on"}, Width: 60, Height: 5, CursorX: 2 + 33, CursorY: 2}}
		assert.Equal(t, whole, screen.JudgeOwn(v, profile.Claude(), text) == screen.Whole, "%q", row)
		v.CursorX = 2 + 28
		assert.NotEqual(t, screen.Whole, screen.JudgeOwn(v, profile.Claude(), text), "%q, the cursor within it", row)
	}
}

// A text that an agent draws in other cells than tmux does becomes a long paste, however short it is, by line
// breaks or blanks after it or between its head and its words.
func TestFitted_inOtherCells(t *testing.T) {
	v := screen.View{Screen: screen.Screen{Width: 120, Height: 40}}
	for words, several := range map[string]bool{
		"plain": false, "日本語 한글 漢字": false, "é e\u0301": false, "😀😀 → ✓ ❤ ©": false, "سلام لا": false, "тест δοκιμή": false,
		"👨‍👩‍👧‍👦": true, "👩🏽‍❤️‍💋‍👨🏽": true, "👍🏽": true, "❤️": true, "1️⃣": true, "🇩🇪": true, "🇩": true, "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F": true,
		"मा": true, "क्षत्रिय": true, "မြန်မာ": true, "ខ្មែរ": true, "น้ำ": true, "السَّلامُ": true, "\u1112\u1161\u11ab": true, "a\u0300\u0301\u0302": true, "می\u200cخواهم": true, "\U0001fae8": true,
	} {
		for _, a := range profile.Agents() {
			text := shortHead + screen.Lead(a, shortHead+words) + words
			assert.Equal(t, several && a.Name == "opencode", text != shortHead+words, "%s %q", a.Name, text)
			assert.Empty(t, screen.Lead(a, text), "once is enough")
			fitted, ok := screen.Fitted(v, a, text)
			assert.True(t, ok, "%s %q", a.Name, text)
			assert.Equal(t, text, strings.TrimSpace(fitted), "%s", a.Name)
			long := a.Long.Breaks > 0 && strings.Count(fitted, "\n") > a.Long.Breaks || utf8.RuneCountInString(fitted) > a.Long.Chars
			assert.Equal(t, several && a.Composer.Miscounts, long, "%s %q", a.Name, text)
		}
	}
}

// On any screen the judges return, and Whole implies a draft.
func FuzzJudgeOwn(f *testing.F) {
	for _, r := range corpus(f) {
		if text, ours := r.own(f); ours && len(text) < 2000 && r.Width <= 80 {
			f.Add(strings.Join(r.Rows, "\n"), r.CursorX, r.CursorY, r.CursorVisible, r.Width, r.Title, text)
		}
	}
	f.Fuzz(func(t *testing.T, rows string, x, y int, visible bool, width int, title, text string) {
		split := strings.Split(rows, "\n")
		v := screen.View{
			Screen: screen.Screen{Rows: split, CursorX: x, CursorY: y, CursorVisible: visible, Width: width, Height: len(split)}, Title: title,
		}
		for _, a := range profile.Agents() {
			own, verdict := screen.JudgeOwn(v, a, text), screen.Judge(v, a)
			_ = screen.OwnTail(v, a)
			_, _ = screen.Fitted(v, a, text)
			if own == screen.Whole && (verdict.MayType || verdict.State != "draft") {
				t.Errorf("%s: Whole, and %s: %s", a.Name, verdict.State, says(verdict))
			}
		}
	})
}

// The cost of judging a screen of 120×40, once as before typing and once as before Enter.
func BenchmarkJudgeOwn(b *testing.B) {
	for _, r := range corpus(b) {
		text, ours := r.own(b)
		if !ours || r.Width != 120 || !strings.Contains(r.What, "own-below-answer") && !strings.Contains(r.What, "own-l64k") && !strings.Contains(r.What, "own-p800") {
			continue
		}
		a, v := agentNamed(b, r.Agent), r.view()
		b.Run(r.Agent+"-"+r.What, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				screen.Judge(v, a)
				if screen.JudgeOwn(v, a, text) != screen.Whole {
					b.Fatal("not Whole")
				}
			}
		})
	}
}
