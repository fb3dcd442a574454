package link

import (
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// The subjects. TO and FROM are the tokens of two computers. A computer that may publish only as FROM cannot speak as
// another one, and a message that says otherwise inside is refused.
//
//	intercom.v1.to.TO.FROM         what must arrive: kept by the stream INTERCOM_TO until TO has it in its journal
//	intercom.v1.ask.TO.FROM        a question that is answered at once or not at all
//	intercom.v1.answer.TO.ID.FROM  the answer to the question ID that TO has asked
//	intercom.v1.here.FROM          that a computer is here, and which sessions it has
//	intercom.v1.mail.TO.FROM       the server's: FROM has sent something that the stream of TO now keeps
//
// An answer goes to its subject, whatever reply subject the question names. The asker chooses the reply subject, and no
// server checks it. With leave to answer there (allow_responses) a computer could be made to purge its own mailbox
// ($JS.API.STREAM.PURGE.…) or to publish under its own name what another one wants.
const prefix = "intercom.v1."

func toSubject(to, from string) string  { return prefix + "to." + to + "." + from }
func askSubject(to, from string) string { return prefix + "ask." + to + "." + from }

// answerSubject is where from answers the question with that id that to has asked.
func answerSubject(to, id, from string) string {
	return prefix + "answer." + to + "." + id + "." + from
}

func hereSubject(from string) string { return prefix + "here." + from }

// bellSubject is where the server announces new mail from one computer in the stream of another.
func bellSubject(to, from string) string { return prefix + "mail." + to + "." + from }

// StreamOf returns the name of the stream that keeps messages to a computer.
func StreamOf(token string) string { return "INTERCOM_" + token }

// from returns the computer from which a message claims to be, by its subject.
func from(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// Token returns the name of a computer in subjects. The name follows the rules for session names, but has no
// dot, since a dot divides a subject, and case does not matter. "local" is no name: it means the computer that
// reads it.
func Token(name string) (string, error) {
	if err := registry.CheckName(name); err != nil {
		return "", fmt.Errorf("name of a computer: %w", err)
	}
	if strings.Contains(name, ".") {
		return "", fmt.Errorf("name of a computer: %w: %q has a dot", registry.ErrName, name)
	}
	return strings.ToLower(name), nil
}

// Grants returns the subjects that the server has to let one computer publish and subscribe to, and no others.
// Then it can only send in its own name and only read what is for it. It needs no leave to reply to questions
// (allow_responses), and must not have it.
//
// The stream is created by the one who grants. A computer that could create a stream or a consumer could make
// the server copy the streams of others, or publish anywhere. A computer reads and deletes in its own stream by
// requests, which no reply subject reaches. A consumer's requests are reached: any computer could make
// another's consumer hand out its mail to nobody.
func Grants(token string) (publish, subscribe []string) {
	stream := StreamOf(token)
	publish = []string{
		toSubject("*", token), askSubject("*", token), answerSubject("*", "*", token), hereSubject(token),
		"$JS.API.STREAM.INFO." + stream, "$JS.API.STREAM.MSG.GET." + stream, "$JS.API.STREAM.MSG.DELETE." + stream,
	}
	subscribe = []string{askSubject(token, "*"), answerSubject(token, "*", "*"), hereSubject("*"), bellSubject(token, "*"), inbox(token) + ".>"}
	return publish, subscribe
}

// inbox is the prefix of the subjects on which a computer receives answers.
func inbox(token string) string { return "_INBOX." + token }
