package screen

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Agents draw what was said as Markdown: marks vanish, rows are wrapped, links are written out. Letters and digits
// stay, in their order.

// endShown is how many of the last letters and digits shown must match the end of what was said.
const endShown = 32

// letters returns the letters and digits of a text, with accents in composed form: what an agent draws and what it
// writes down differ in that form.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, norm.NFC.String(text))
}

// Told reports whether the last prompt shown is this text, as far as the prompt is shown and by its letters and
// digits. A prompt that is shown as a placeholder for a paste never is.
func (t Talk) Told(text string) bool {
	prompt := letters(t.Prompt)
	if prompt == "" {
		return shown.Same(shown.Ink(text), shown.Ink(t.Prompt))
	}
	switch {
	case strings.HasPrefix(t.Prompt, "[Pasted "):
		return false
	case t.Short:
		return strings.HasPrefix(letters(text), prompt)
	}
	return prompt == letters(text)
}

// Said reports whether the words shown end like these words, by their letters and digits.
func (t Talk) Said(words string) bool {
	shown, said := []rune(letters(t.Words)), letters(words)
	end := string(shown[max(0, len(shown)-endShown):])
	return end != "" && said != "" && (strings.HasSuffix(said, end) || strings.HasSuffix(end, said))
}

// Telling reports whether the words shown are long enough to identify a conversation without a prompt.
func (t Talk) Telling() bool { return len([]rune(letters(t.Words))) >= endShown }

// Key returns the same strings for two looks that show the same prompt and the same words, whatever the widths of
// their panes.
func (t Talk) Key() (prompt, words string) {
	said := []rune(letters(t.Words))
	return ink(t.Prompt), string(said[max(0, len(said)-endShown):])
}
