package render

import (
	"cmp"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Person is the name for a person who gave no usable name.
const Person = "person"

// Values of a chat's setting for how a speaker is shown: by the attribution alone, or with the header before
// it.
const (
	HeaderAttribution = "attribution"
	HeaderBoth        = "both"
)

// Separators between a head and the body.
const (
	afterAttribution = "\n\n"
	afterHeader      = " "
)

// noticeMark follows the head of a notice. Only the sidecar writes it; sanitise quotes it in a body.
const noticeMark = "[notice]"

// For returns the form of e for its readers in a chat, or outside any if chat is nil. It also returns e;
// outside chats, and for a notice, without a leading copy of the head, which would only repeat it. In a chat,
// an agent's head is its attribution, `[Name] (n):` and a blank line, after the header if the chat shows both;
// in a single message it is the header. A person's head is always the attribution. The head of a notice is
// always the header of the agent that it is about, with the mark that identifies the sidecar; for a notice
// about a person's decision, it is that person's attribution and the mark.
func For(e message.Envelope, chat *message.Chat) (message.Form, message.Envelope) {
	f := message.Form{Head: Header(e.From), Separator: afterHeader}
	notice := e.Type == message.KindNotice && e.Origin == message.OriginSystem // only the sidecar has that origin
	switch {
	case notice && e.From.Peer == "":
		f.Head, f.Separator = attribution(cmp.Or(registry.NameFrom(e.From.Name), Person), 0)+" "+noticeMark, afterAttribution
	case notice:
		f.Head += " " + noticeMark
	case e.Origin == message.OriginHuman:
		f.Head, f.Separator = attribution(cmp.Or(registry.NameFrom(e.From.Name), Person), 0), afterAttribution
	case chat != nil:
		name, number := e.From.Name, e.From.Number
		for _, p := range chat.Participants {
			if p.Peer == e.From.Peer {
				name, number = p.Name, p.Number
			}
		}
		own := attribution(name, number)
		if chat.Limits.Header == HeaderBoth {
			own = f.Head + " " + own
		}
		f.Head, f.Separator = own, afterAttribution
	}
	if chat == nil || notice { // in a chat such a header is content
		e.Body = without(f.Head+afterHeader, e.Body)
	}
	if chat != nil {
		f.LineBreak = chat.Limits.LineBreak
	}
	return f, e
}

func attribution(name string, number int) string { return fmt.Sprintf("[%s] (%d):", name, number) }
