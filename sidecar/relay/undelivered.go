package relay

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// sendersWait is how long whoever sends a message waits for what becomes of it, at most or nearly so.
const sendersWait = 15 * time.Second

// unawaited reports whether whoever sent a single message learns no more from its receipts what became of it.
func (tx *tx) unawaited(d *delivery) bool {
	return d.first || d.restored || tx.now.Sub(d.Message.Created) > sendersWait
}

// ofRelay are messages that the sidecar itself sends: when one is not delivered, nobody is told.
var ofRelay = []string{message.KindCheck, message.KindNotice, message.KindQuit}

// undelivered tells of a delivery that has failed or expired at its sink. A person is told of all that expired, and of what
// failed in a chat or was their own; an agent is told of its own messages: it waits for no answer, nor for the
// end of a turn that never began. after is " after " and the time that it waited, or "" where that is its sink's.
func (tx *tx) undelivered(d *delivery, after string) {
	what := fmt.Sprintf("message %s from %s", d.Message.ID.Short(), d.Message.From.Name)
	to := string(d.Target)
	target := tx.present(d.Target)
	if target != nil {
		to = target.Name
	}
	told := !slices.Contains(ofRelay, d.Message.Type) && !d.shut
	switch {
	case d.state == message.Expired:
		text := fmt.Sprintf("%s to %s expired%s", what, to, after)
		if d.reason != "" {
			text += ": " + string(d.reason)
		}
		tx.notice(d.Chat, text)
	case told && (d.Chat != "" || !d.Message.Origin.OfAgent() && tx.unawaited(d)):
		tx.notice(d.Chat, fmt.Sprintf("%s did not reach %s: %s", what, to, d.reason))
	}
	if author := tx.present(d.Message.From.Peer); told && author != nil && target != nil && tx.mayHearOf(d, author) {
		text := fmt.Sprintf("%q did not get your message: %s", titleOf(target), cmp.Or(d.reason, expired))
		c := tx.chat(d.Chat)
		if c != nil && (c.question() || c.closing()) {
			c = nil // it ends, and waits for nothing that is said of it
		}
		tx.tellAuthor(d.Message, author, address(target), c, text, d.Message.Depth)
	}
}

// mayHearOf reports whether the author of a message that was not delivered is told so. The receipt tells the sidecar of another
// computer, which tells the author there, but does not know that a program was starting here.
func (tx *tx) mayHearOf(d *delivery, author *peer) bool {
	c := tx.chat(d.Chat)
	switch {
	case !bounds[author.Kind].hears:
		return false
	case bounds[author.Kind].bearer && (!d.first || tx.now.Sub(d.Message.Created) > sendersWait):
		return false
	case d.Chat == "":
		return tx.unawaited(d)
	}
	return d.Message.Origin.OfAgent() && c != nil && c.State != message.ChatOver && c.maySpeak(author.ID)
}
