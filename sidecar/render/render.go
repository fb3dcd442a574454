// Package render makes the text that is typed into a pane, from an envelope and the form in which its reader
// gets it. All measurements of that text use the text made here.
//
// The package is pure: the same delivery gives the same text in every run. So a form holds names and numbers as
// they were when it was made.
package render

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The beginning of the line that shows a subject above a body, and the text after it.
const (
	subjectMark  = "Subject: "
	afterSubject = "\n\n"
)

// Text returns all that is typed of a message, before the sink sanitises it for its program.
func Text(f message.Form, e message.Envelope) string { return f.Head + f.Separator + Words(f, e) }

// Words returns the text below the head: the body, under the subject if there is one. A person reads and edits
// this text.
func Words(f message.Form, e message.Envelope) string {
	subject := oneLine(e.Subject)
	if subject == "" || f.AsIs {
		return e.Body
	}
	return subjectMark + subject + afterSubject + e.Body
}

// Parse is the reverse of Words, for a text that a person has edited. If the text does not begin with a subject
// as Words would write it, all of it is the body.
func Parse(text string) (subject, body string) {
	line, body, found := strings.Cut(text, afterSubject)
	subject, marked := strings.CutPrefix(line, subjectMark)
	if !found || !marked || subject == "" || subject != oneLine(subject) || len(subject) > message.MaxSubject {
		return "", text
	}
	return subject, body
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
