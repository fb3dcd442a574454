package relay

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// sendersWait is roughly the longest time that the sender of a message waits for its outcome.
const sendersWait = 15 * time.Second

// unawaited reports whether the sender of a single message no longer learns its outcome from the
// receipts.
func (tx *tx) unawaited(d *delivery) bool {
	return d.first || tx.now.Sub(d.Message.Created) > sendersWait
}

// ofRelay are the types of messages that the sidecar itself sends: if one is not delivered, nobody
// is told.
var ofRelay = []string{message.KindCheck, message.KindNotice, message.KindQuit}

// undelivered tells of a delivery that has failed or expired at its sink. A person is told of all
// expired ones, and of failed ones in a chat or of their own. An agent is told of its own messages,
// so that it does not wait for an answer, or for the end of a turn that never began. after is "
// after " and the time that the delivery waited, or "" if its sink decided that.
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
			c = nil // the chat ends, and does not wait for this notice
		}
		tx.tellAuthor(d.Message, author, address(target), c, text, d.Message.Depth)
	}
}

// endedWith tells each agent, once, that its words were still to be typed when their chat ended or
// their reader left it. It does not tell the caller that caused this. If a person did, no agent is
// told: the person learns how many messages are lost, the number that endedWith returns.
func (tx *tx) endedWith(by By, c *chat, unsent []*delivery, why string) (lost int) {
	var messages, authors []message.ID
	own := map[message.ID][]*delivery{} // by their author
	for _, d := range unsent {
		if d.state != message.Failed || slices.Contains(ofRelay, d.Message.Type) {
			continue
		}
		if !slices.Contains(messages, d.Message.ID) {
			messages = append(messages, d.Message.ID)
		}
		author := d.Message.From.Peer
		if own[author] == nil {
			authors = append(authors, author)
		}
		own[author] = append(own[author], d)
	}
	for _, id := range authors {
		last := own[id][len(own[id])-1]
		author, target, place := tx.present(id), tx.present(last.Target), c.member(id)
		switch {
		case author == nil, target == nil, place == nil, id == by.Peer, by.Person():
		case !place.MaySpeak, !last.Message.Origin.OfAgent(), !bounds[author.Kind].hears, bounds[author.Kind].bearer: // see mayHearOf
		default:
			tx.tellAuthor(last.Message, author, address(target), nil, tx.lostWords(own[id])+": "+why, last.Message.Depth)
		}
	}
	return len(messages)
}

// lostWords says, to the author of deliveries, who did not get them.
func (tx *tx) lostWords(own []*delivery) string {
	var to []string
	var messages []message.ID
	for _, d := range own {
		if s := tx.present(d.Target); s != nil && !slices.Contains(to, strconv.Quote(titleOf(s))) {
			to = append(to, strconv.Quote(titleOf(s)))
		}
		if !slices.Contains(messages, d.Message.ID) {
			messages = append(messages, d.Message.ID)
		}
	}
	what := "your message"
	if len(messages) > 1 {
		what = fmt.Sprintf("%d of your messages", len(messages))
	}
	return strings.Join(to, " and ") + " did not get " + what
}

// mayHearOf reports whether the author of an undelivered message is told. An author on another
// computer learns it from its own sidecar, which gets the receipt, but does not know that a program
// was still starting here.
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
