package relay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// StopChat ends a chat, or All: what was not typed fails. An agent may end a chat of its own that
// is neither paused nor asks for a person's yes. After All nothing more is typed, not even single
// messages, until a person resumes All. Answer: Chats, those that ended.
type StopChat struct {
	By   By
	Chat string
	// After lets the chat go on until what is being said in it now has arrived: one turn of each
	// participant that is at work, or one more if none is.
	After bool
}

func (r StopChat) by() By    { return r.By }
func (r StopChat) stopping() {}

func (r StopChat) do(tx *tx, _ *Requested) (Answer, error) {
	chats, err := tx.chosen(r.Chat)
	if err == nil {
		err = tx.mayTouch(r.By, r.Chat, chats)
	}
	if err == nil && !r.By.Person() && chats[0].bound() {
		err = ErrPersonOnly // to stop it and start it again would be to resume it
	}
	if err != nil {
		return Answer{}, fmt.Errorf("stop chat: %w", err)
	}
	if r.After {
		for _, c := range chats {
			if last := c.taken + max(1, tx.atWork(c)); c.Turns == 0 || c.Turns > last {
				if c.Closes == "" {
					c.Chosen = c.Turns
				}
				c.Turns, c.Closes = last, "stopped after the last answer by "+tx.who(r.By)
				tx.altered(c)
			}
		}
		return tx.answer(chats), nil
	}
	for _, c := range chats {
		tx.endBy(r.By, c, "stopped by "+tx.who(r.By))
	}
	if strings.EqualFold(r.Chat, All) {
		tx.stopAll(r.By)
	}
	return tx.answer(chats), nil
}

// atWork counts the participants whose turns under way will be heard in the chat.
func (tx *tx) atWork(c *chat) (n int) {
	for _, id := range c.there() {
		heard := c.maySpeak(id) && (!c.OneWay || id != c.Asker())
		if s := tx.present(id); heard && s != nil && s.State == message.Working {
			n++
		}
	}
	return n
}

// PauseChat holds everything in a chat, or All. With All it also holds single messages, and nothing
// at all is typed until a person resumes All. Answer: Chats, those that are paused now.
type PauseChat struct {
	By   By
	Chat string
	Why  string // "" is "paused by …"
}

func (r PauseChat) by() By    { return r.By }
func (r PauseChat) stopping() {}
func (r PauseChat) unproven() {} // to hold too much harms nobody

func (r PauseChat) do(tx *tx, _ *Requested) (Answer, error) {
	chats, err := tx.chosen(r.Chat)
	if err == nil {
		err = tx.mayTouch(r.By, r.Chat, chats)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("pause chat: %w", err)
	}
	why := r.Why
	if why == "" {
		why = "paused by " + tx.who(r.By)
	}
	for _, c := range chats {
		switch c.State {
		case message.ChatOn:
			tx.pause(c, why)
		case message.ChatPaused: // paused at a limit, Enter is still permitted
			tx.withhold(tx.at[place{inChat, c.ID}], message.HoldPause, message.Paused)
		}
	}
	if strings.EqualFold(r.Chat, All) {
		tx.stopAll(r.By)
	}
	return tx.answer(chats), nil
}

// ResumeChat is a person's word that a chat, or All, may go on: what was held goes out in its
// order. With Sure, the person has also said yes to what is held at a limit: depths are 0 again,
// and rates begin again. Errors: ErrPersonOnly; ErrStopped for a single chat while everything is
// stopped; a *BrakedError if something is held at a limit and Sure is not set. Answer: Chats, those
// that are on again.
type ResumeChat struct {
	By   By
	Chat string
	Sure bool
}

func (r ResumeChat) by() By { return r.By }

// BrakedError says what is held at a limit, which only a person lets go.
type BrakedError struct{ Why []string }

func (e *BrakedError) Error() string { return strings.Join(e.Why, "\n") }

// ErrorKind returns KindAtLimit.
func (e *BrakedError) ErrorKind() message.ErrorKind { return message.KindAtLimit }

func (r ResumeChat) do(tx *tx, _ *Requested) (Answer, error) {
	if !r.By.Person() {
		return Answer{}, fmt.Errorf("resume chat: %w", ErrPersonOnly)
	}
	chats, err := tx.chosen(r.Chat)
	if err != nil {
		return Answer{}, fmt.Errorf("resume chat: %w", err)
	}
	all := strings.EqualFold(r.Chat, All)
	if tx.stopped && !all {
		return Answer{}, fmt.Errorf("resume chat: %w", ErrStopped)
	}
	chats = slices.DeleteFunc(chats, func(c *chat) bool { return c.State != message.ChatPaused })
	if why := tx.brakedOf(chats, all); len(why) > 0 && !r.Sure && gate.Stands("relay:resume") {
		return Answer{}, &BrakedError{why}
	}
	for _, c := range chats {
		if c.Braked && r.Sure {
			c.Spent.Granted = c.Spent.Counted()
		}
		c.State, c.Why, c.Braked = message.ChatOn, "", false
		tx.altered(c)
	}
	if all {
		tx.latch(false)
	}
	if r.Sure {
		tx.trustAll(chats, all)
	}
	at := []place{{inChat, ""}}
	for _, c := range chats {
		at = append(at, place{inChat, c.ID})
	}
	tx.unhold(tx.underway(func(d *delivery) bool {
		return d.Chat != "" || all || slices.ContainsFunc(chats, func(c *chat) bool { return tx.with(c, d) })
	}, at...), r.Sure)
	for _, c := range chats {
		tx.settle(c)
	}
	return tx.answer(chats), nil
}

// brakedOf lists what would go on and is held at a limit.
func (tx *tx) brakedOf(chats []*chat, all bool) (why []string) {
	for _, c := range chats {
		if c.Braked {
			why = append(why, fmt.Sprintf("%s is paused: %s", called(c.Chat), c.Why))
		}
	}
	if n := len(tx.underway(func(d *delivery) bool { return all && d.hold == message.HoldLimit }, place{inChat, ""})); n > 0 {
		why = append(why, fmt.Sprintf("single messages held at a limit: %d", n))
	}
	return why
}

// trustAll resets the brakes of all participants of chats, or of everybody.
func (tx *tx) trustAll(chats []*chat, all bool) {
	for _, c := range chats {
		for _, id := range c.there() {
			tx.trust(tx.present(id))
		}
	}
	for _, s := range tx.peers {
		if all && s.Ended == nil {
			tx.trust(s)
		}
	}
	if all {
		tx.forgive(tx.stranger)
	}
}

// trust resets a peer's brakes: a person said that it may go on.
func (tx *tx) trust(s *peer) {
	tx.freed(s)
	tx.forgive(s)
}

// forgive resets a peer's rates.
func (tx *tx) forgive(s *peer) {
	s.byPerson()
	s.budget.Reset()
	clear(s.sends)
	tx.counted(s)
}

// stopAll stops everything: nothing gets permission any more, single messages included.
func (tx *tx) stopAll(by By) {
	tx.latch(true)
	tx.withhold(tx.at[place{inChat, ""}], message.HoldPause, message.Stopped)
	tx.noticeBy(by, "", "everything is stopped: nothing is typed until a person resumes all")
}

// latch notes whether everything is stopped, for the next run too.
func (tx *tx) latch(stopped bool) {
	if tx.stopped != stopped {
		tx.stopped, tx.step.Stopped = stopped, &stopped
	}
}
