package link

import (
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// The subjects. TO and FROM are the tokens of two computers: whoever may publish as FROM alone cannot
// speak as another computer, and what says otherwise inside is refused.
//
//	intercom.v1.to.TO.FROM         what must arrive: kept by the stream INTERCOM_TO until TO has it in its journal
//	intercom.v1.ask.TO.FROM        a question that is answered at once or not at all
//	intercom.v1.answer.TO.ID.FROM  the answer to the question ID that TO has asked
//	intercom.v1.here.FROM          that a computer is here, and which sessions it has
//	intercom.v1.mail.TO.FROM       the server's: FROM has sent something that the stream of TO now keeps
//
// An answer goes to its subject, whatever reply subject the question names. A reply subject is chosen by
// the asker and no server checks it: with leave to answer there (allow_responses) a computer could be made
// to purge its own mailbox ($JS.API.STREAM.PURGE.…) or to publish under its own name what another wants.
const prefix = "intercom.v1."

func toSubject(to, from string) string  { return prefix + "to." + to + "." + from }
func askSubject(to, from string) string { return prefix + "ask." + to + "." + from }

// answerSubject is where from answers the question with that id, which to has asked.
func answerSubject(to, id, from string) string {
	return prefix + "answer." + to + "." + id + "." + from
}

func hereSubject(from string) string { return prefix + "here." + from }

// bellSubject is where the server says that the stream of a computer has something more of another one.
func bellSubject(to, from string) string { return prefix + "mail." + to + "." + from }

// StreamOf is the name of the stream that keeps what is sent to a computer.
func StreamOf(token string) string { return "INTERCOM_" + token }

// from is the computer that a message claims to be from, by its subject.
func from(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// Token is what a computer goes by in subjects. It is a name as sessions have it, without a dot, which
// divides a subject, and case does not matter. "local" is no name: it means whichever computer reads it.
func Token(name string) (string, error) {
	if err := registry.CheckName(name); err != nil {
		return "", fmt.Errorf("name of a computer: %w", err)
	}
	if strings.Contains(name, ".") {
		return "", fmt.Errorf("name of a computer: %w: %q has a dot", registry.ErrName, name)
	}
	return strings.ToLower(name), nil
}

// Grants are the subjects that the server has to let one computer publish and subscribe to, and no
// others: what it sends is then its own, what it reads is for it. It needs no leave to reply to what it is
// asked (allow_responses), and must not have any.
// The stream is made by whoever grants: who may make one, or a consumer, can have the server copy those of others, or
// publish anywhere. A computer reads and deletes in its own stream by requests, which no reply subject reaches (a
// consumer's are reached: any computer could have another's hand out its mail to nobody).
func Grants(token string) (publish, subscribe []string) {
	stream := StreamOf(token)
	publish = []string{
		toSubject("*", token), askSubject("*", token), answerSubject("*", "*", token), hereSubject(token),
		"$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.MSG.GET." + stream, "$JS.API.STREAM.MSG.DELETE." + stream,
	}
	subscribe = []string{askSubject(token, "*"), answerSubject(token, "*", "*"), hereSubject("*"), bellSubject(token, "*"), inbox(token) + ".>"}
	return publish, subscribe
}

// inbox is the prefix of the subjects to which a computer has itself answered.
func inbox(token string) string { return "_INBOX." + token }
