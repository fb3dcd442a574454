package pane

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// canonicalMax is the longest line, its newline included, that a Linux terminal in
// canonical mode hands to its reader; what is longer is lost in the terminal, Enter too.
const canonicalMax = 4096

// canonicalLeast is the same on the systems with the shortest of them.
const canonicalLeast = 1024

// compose puts together the bytes of a delivery in the form that the program of prof
// reads, and counts the characters that the sanitiser removed or changed. The first
// characters are always the head's, which the sidecar made itself; active says what else
// the program takes for more than words, and its Head is not looked at.
func compose(d message.Delivery, prof profile.Profile, active sanitise.Options) (text string, changed int, ok bool) {
	body, changed := d.Message.Body, 0
	if gate("sanitise") {
		active.Head = d.Head
		body, changed = sanitise.Text(body, active)
	}
	if strings.TrimSpace(body) == "" {
		return "", changed, false
	}
	if prof.Reads == profile.Bracketed {
		return d.Head + d.Separator + body + prof.End, changed, true
	}
	mark := d.LineBreak
	if mark == "" {
		mark = prof.LineBreak
	}
	if gate("sanitise") {
		// A reader of lines gets each byte as a key, and Tab is one that completes.
		if n := strings.Count(body, "\t"); n > 0 {
			body, changed = strings.ReplaceAll(body, "\t", "    "), changed+n
		}
	}
	return d.Head + " " + sanitise.Line(body, mark) + prof.End, changed, true
}
