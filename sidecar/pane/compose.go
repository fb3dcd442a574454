package pane

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// canonicalMax is the longest line in bytes, its newline included, that a Linux terminal in
// canonical mode hands to its reader; the terminal loses the rest of a longer one, Enter too.
const canonicalMax = 4096

// canonicalLeast is the same on the systems where it is shortest.
const canonicalLeast = 1024

// compose puts head and body together in the form that the program of prof reads, and counts the
// characters that the sanitiser removed or changed. The text always begins with the head, which the
// sidecar made itself, or sanitised like the body. active says what else the program takes for more
// than words; its Head and Own are ignored.
func compose(f message.Form, body string, prof profile.Profile, active sanitise.Options) (text string, changed int, ok bool) {
	head := f.Head
	if gate.Stands("pane:sanitise") {
		if f.Formatted {
			head, changed = sanitise.Head(head, active)
		}
		active.Head, active.Own = f.Head, f.Own
		n := 0
		body, n = sanitise.Text(body, active)
		changed += n
	}
	if strings.TrimSpace(body) == "" || f.Formatted && !sanitise.Leads(head) {
		return "", changed, false
	}
	if prof.Reads == profile.Bracketed {
		return head + f.Separator + body + prof.End, changed, true
	}
	mark := f.LineBreak
	if mark == "" {
		mark = prof.LineBreak
	}
	if gate.Stands("pane:sanitise") {
		// A reader of lines gets each byte as a key, and Tab is one that completes.
		for _, text := range []*string{&head, &body} {
			if n := strings.Count(*text, "\t"); n > 0 {
				*text, changed = strings.ReplaceAll(*text, "\t", "    "), changed+n
			}
		}
	}
	if f.Formatted {
		head = strings.ReplaceAll(head, "\n", " ")
	}
	return head + " " + sanitise.Line(body, mark, f.Own) + prof.End, changed, true
}
