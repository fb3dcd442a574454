package render

import (
	"cmp"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Person is how a person is named who gave no usable name.
const Person = "person"

// The settings of a chat that say what it shows of who speaks: the attribution alone, or the
// header before it.
const (
	HeaderAttribution = "attribution"
	HeaderBoth        = "both"
)

// What stands between a head and the body.
const (
	afterAttribution = "\n\n"
	afterHeader      = " "
)

// noticeMark is what only the sidecar writes behind a header; sanitise quotes it in a body.
const noticeMark = "[notice]"

// For is the form of e for its readers in a chat, or outside of any, where chat is nil; and e
// without the author's own header at its beginning, which would say the same once more. In a chat
// an agent has its attribution there, `[Name] (n):` and a blank line, behind the header where the
// chat shows both; in a single message the header. A person has the attribution everywhere. A
// notice has the header of the agent that it is about, everywhere, and the mark by which the
// sidecar itself is known; one about what a person decided has that person's attribution.
func For(e message.Envelope, chat *message.Chat) (message.Form, message.Envelope) {
	f := message.Form{Head: Header(e.From), Separator: afterHeader}
	notice := e.Type == message.KindNotice && e.Origin == message.OriginSystem // nobody else has that origin
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
	if chat == nil || notice { // in a chat it is content
		e.Body = without(f.Head+afterHeader, e.Body)
	}
	if chat != nil {
		f.LineBreak = chat.Limits.LineBreak
	}
	return f, e
}

func attribution(name string, number int) string { return fmt.Sprintf("[%s] (%d):", name, number) }
