// Package render makes the text that a pane is given: of an envelope, and of the form in which
// its reader is to get it. Every measure of that text is taken of what stands here.
//
// It is pure: the same text for the same delivery, in whichever run it is asked for. So a form
// holds names and numbers as they were when it was made.
package render

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What the line begins and ends with that shows a subject above a body.
const (
	subjectMark  = "Subject: "
	afterSubject = "\n\n"
)

// Text is all that is typed of a message, before the sink makes it harmless for its program.
func Text(f message.Form, e message.Envelope) string { return f.Head + f.Separator + Words(f, e) }

// Words are what stands below the head: the body, under the subject if there is one. They are
// what a person reads of a message, and edits.
func Words(f message.Form, e message.Envelope) string {
	subject := oneLine(e.Subject)
	if subject == "" || f.AsIs {
		return e.Body
	}
	return subjectMark + subject + afterSubject + e.Body
}

// Parse is the reverse of Words, for what a person has made of them: where it finds no subject
// that Words would show so, all of the text is the body.
func Parse(text string) (subject, body string) {
	line, body, found := strings.Cut(text, afterSubject)
	subject, marked := strings.CutPrefix(line, subjectMark)
	if !found || !marked || subject == "" || subject != oneLine(subject) || len(subject) > message.MaxSubject {
		return "", text
	}
	return subject, body
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
