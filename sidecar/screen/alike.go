package screen

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Agents draw what was said as Markdown: marks vanish, rows are wrapped, links are written
// out. Letters and digits stay, in their order.

// endShown is how many letters and digits at the end of what is shown have to stand at the end
// of what was said.
const endShown = 32

// letters are the letters and digits of a text, those with an accent in one form: agents, and what
// they write down, do not agree on it.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, norm.NFC.String(text))
}

// Told reports whether the last prompt that is shown is this text, as far as it is shown and its letters tell:
// never one that is shown as a mark of what was pasted.
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

// Said reports whether the words that are shown end as these do, as far as their letters tell.
func (t Talk) Said(words string) bool {
	shown, said := []rune(letters(t.Words)), letters(words)
	end := string(shown[max(0, len(shown)-endShown):])
	return end != "" && said != "" && (strings.HasSuffix(said, end) || strings.HasSuffix(end, said))
}

// Telling reports whether the words that are shown are enough to tell one conversation from
// another, without a prompt.
func (t Talk) Telling() bool { return len([]rune(letters(t.Words))) >= endShown }

// Key is what two looks that show the same prompt and the same words have in common, however wide
// the panes are.
func (t Talk) Key() (prompt, words string) {
	said := []rune(letters(t.Words))
	return ink(t.Prompt), string(said[max(0, len(said)-endShown):])
}
