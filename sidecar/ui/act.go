package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// do makes an effect of an action that returns what to tell the person when it is done.
func do(act func(e edge) (string, error)) effect {
	return func(e edge) any {
		text, err := act(e)
		if err != nil {
			return failed{hinted(e, err)}
		}
		return told{text}
	}
}

// hinted returns an error whose hint names keys instead of commands, if there are keys.
func hinted(e edge, err error) error {
	told := api.AsError(err)
	if e.Hint == nil {
		return told
	}
	return api.Errorf(told.Code, "%s", e.Hint(told.Text)).WithHint("%s", e.Hint(told.Hint))
}

// hinting returns a command, or the keys for it if there are any.
func hinting(e edge, command string) string {
	if e.Hint == nil {
		return command
	}
	return e.Hint(command)
}

// jump shows a pane at the person's client. It closes a popup, which would cover the pane.
func jump(pane string, popup bool) effect {
	return func(e edge) any {
		if err := e.Jump(e.ctx, pane); err != nil {
			return failed{err}
		}
		if popup {
			return leaves{}
		}
		return nil
	}
}

// decide takes a person's decision about a message. It first asks the sidecar whether the decision would count,
// then asks the person, with the whole text in front of them.
func decide(req api.DecideRequest) effect {
	return func(e edge) any {
		d, err := call(e, api.Decide, req)
		switch {
		case err != nil:
			return failed{hinted(e, err)}
		case len(d.Waiting) == 0:
			return already(d)
		}
		return opened{question{text: Decision(req, d), ask: askedOf[req.Choice], yes: decided(req, d)}}
	}
}

// chosen has the past participle of each choice.
var chosen = map[api.Choice]string{api.ChoiceApprove: "approved", api.ChoiceReject: "rejected", api.ChoiceReply: "answered"}

// already tells the person that the same decision was made before, and by whom if that is known.
func already(d api.Decided) told {
	if d.By.Name == "" {
		return told{"it has been decided about already"}
	}
	return told{fmt.Sprintf("already %s by %s", chosen[d.Choice], d.By)}
}

func decided(req api.DecideRequest, d api.Decided) effect {
	req.ID, req.Sure = string(d.Message), true
	return do(func(e edge) (string, error) {
		now, err := call(e, api.Decide, req)
		saved := ""
		if (err != nil || now.Already) && req.Body != nil {
			saved = e.saved(*req.Body)
		}
		if err != nil {
			return "", after(saved, err)
		}
		done := chosen[req.Choice]
		if now.Already { // decided elsewhere while this screen asked
			done = fmt.Sprintf("already %s by %s", done, now.By)
		}
		return fmt.Sprintf("%s%s: %s → %s", saved, done, d.Waiting[0].From, targets(d.Waiting)), nil
	})
}

// saved saves a person's text that was not used, and says where. Callers put that before anything else they
// tell, since the rest may be cut off.
func (e edge) saved(text string) string {
	if e.Keep == nil || text == "" {
		return ""
	}
	where, err := e.Keep(text)
	if err != nil {
		return "your text could not be saved: " + err.Error() + "; "
	}
	return "your text is saved in " + where + "; "
}

// after returns err with first put before its text.
func after(first string, err error) error {
	told := api.AsError(err)
	return api.Errorf(told.Code, "%s%s", first, told.Text).WithHint("%s", told.Hint)
}

// change lets the person edit a message in their editor, and asks about the result.
func change(id string) effect {
	return func(e edge) any {
		req := api.DecideRequest{ID: id, Choice: api.ChoiceApprove}
		d, err := call(e, api.Decide, req)
		switch {
		case err != nil:
			return failed{hinted(e, err)}
		case len(d.Waiting) == 0:
			return already(d)
		}
		return edits{words(d.Waiting[0]), changed(req, d)}
	}
}

// changed asks about the text that a person's editor returned. A text that is not used is saved.
func changed(req api.DecideRequest, d api.Decided) func(text string, err error) effect {
	return func(text string, err error) effect {
		return func(e edge) any {
			if err != nil {
				return failed{hinted(e, after(e.saved(text), err))}
			}
			req.Body = &text
			return opened{question{
				text: Decision(req, d), ask: "Approve it as you changed it?", yes: decided(req, d),
				no: do(func(e edge) (string, error) { return e.saved(text) + "nothing was done", nil }),
			}}
		}
	}
}

// vouch lets a message be typed at an unrecognised screen, on a person's word.
func vouch(h api.Held) effect {
	req := api.VouchRequest{ID: string(h.Delivery)}
	return func(e edge) any {
		if _, err := call(e, api.Vouch, req); err != nil {
			return failed{hinted(e, err)}
		}
		req.Sure = true
		return opened{question{
			text: fmt.Sprintf("%s to %s, which waits: %s\n\n%s\n\nLook at the pane first. It is typed as soon as the screen stays as it is.", h.From, h.To, h.Reason, words(h)),
			ask:  "Type it there?",
			yes: do(func(e edge) (string, error) {
				_, err := call(e, api.Vouch, req)
				return "vouched for: " + h.From + " → " + h.To, err
			}),
		}}
	}
}

// resume resumes chats, after a person's yes for those at a limit.
func resume(which api.ChatRef, done string) effect {
	return func(e edge) any {
		_, err := call(e, api.ResumeChat, which)
		switch {
		case err == nil:
			return told{done}
		case api.AsError(err).Code != api.CodeUnsure:
			return failed{hinted(e, err)}
		}
		which.Sure = true
		return opened{question{text: api.AsError(err).Text, ask: "Resume it?", yes: do(func(e edge) (string, error) {
			_, err := call(e, api.ResumeChat, which)
			return done, err
		})}}
	}
}

// ofChat changes a chat.
func ofChat(op api.Op[api.ChatRef, []message.Chat], c message.Chat, done string) effect {
	return unsending(op, api.ChatRef{Chat: string(c.ID)}, called(c)+": "+done)
}

// unsending runs an operation that keeps typed texts from their Enter. It tells the outcome at once; finding
// the composers with a text of ours takes a moment longer.
func unsending(op api.Op[api.ChatRef, []message.Chat], which api.ChatRef, done string) effect {
	return func(e edge) any {
		chats, err := call(e, op, which)
		switch {
		case err != nil:
			return failed{hinted(e, err)}
		case e.Unsent == nil:
			return told{done}
		}
		return withMore(done, func(e edge) []string { return e.Unsent(e.ctx, which, chats) })
	}
}

// withMore tells what was done, and then adds what more finds out, with keys instead of commands if there are
// any.
func withMore(done string, more func(e edge) []string) any {
	return toldAnd{done, func(e edge) any {
		var told []string
		for _, one := range more(e) {
			told = append(told, hinting(e, one))
		}
		if len(told) == 0 {
			return nil
		}
		return adds{done, strings.Join(told, "; ")}
	}}
}

// freeing asks whether to release a pane, after it has found out what that would lose.
func freeing(p api.Peer) effect {
	return func(e edge) any {
		would, err := call(e, api.MayRelease, api.MayReleaseRequest{Pane: p.Pane})
		if err != nil {
			return failed{hinted(e, err)}
		}
		return opened{free(p, would)}
	}
}

func free(p api.Peer, would api.Losses) question {
	text := p.Name + " is neither read nor typed into from then on"
	switch n := len(would.Messages); n {
	case 0:
		text += "."
	case 1:
		text += ", and 1 message that waits is not delivered: the inbox shows it, the log keeps it."
	default:
		text += fmt.Sprintf(", and %d messages that wait are not delivered: the inbox shows them, the log keeps them.", n)
	}
	switch {
	case len(would.Chats) > 0:
		for _, c := range would.Chats {
			text += "\n\nIt ends the " + c.Noun() + " " + called(c) + "."
		}
	case p.Chat != "":
		text += " It leaves its chat."
	}
	return question{text: text, ask: "Release it?", yes: func(e edge) any {
		shown, _ := call(e, api.Explain, api.ExplainRequest{Pane: string(would.ID)}) // after the release, nothing tells
		session, err := call(e, api.Release, api.ReleaseRequest{Pane: string(would.ID)})
		if err != nil {
			return failed{hinted(e, err)}
		}
		done := p.Name + " is released: it is neither read nor typed into"
		return withMore(done, func(e edge) []string { return stays(e, session, shown.Unsent, would.Chats) })
	}}
}

// stays says where texts of ours remain after a release: in the pane itself, and in the panes of chats that the
// release ended.
func stays(e edge, session message.Peer, deliveries []message.ID, ended []message.Chat) (more []string) {
	if e.Left != nil {
		if left := e.Left(e.ctx, session, deliveries); left != "" {
			more = append(more, left)
		}
	}
	if e.Unsent == nil || len(ended) == 0 {
		return more
	}
	on, err := call(e, api.Chats, api.ChatsQuery{})
	if err != nil {
		return more
	}
	for _, chat := range ended {
		if slices.ContainsFunc(on, func(one message.Chat) bool { return one.ID == chat.ID }) {
			continue // somebody joined it meanwhile, so it goes on
		}
		chat.State = message.ChatOver
		more = append(more, e.Unsent(e.ctx, api.ChatRef{Chat: string(chat.ID)}, []message.Chat{chat})...)
	}
	return more
}

// again asks whether to restart an ended chat, as a new one with its participants and settings.
func again(c message.Chat) question {
	return question{
		text: fmt.Sprintf("%s has %s.\n\nA yes starts it again, with the same settings: its agents hear each other from their next answers on, and what was held for one that had gone goes to the one in its place.",
			called(c), message.ChatOver.For(c.Why)),
		ask: "Restart it?",
		yes: do(func(e edge) (string, error) {
			ctx, cancel := context.WithTimeout(e.ctx, begins) // its panes are captured
			defer cancel()
			now, err := api.Call(ctx, e.Client, api.StartChat, api.StartChatRequest{Again: string(c.ID)})
			return called(now) + ": on again", err
		}),
	}
}

// mute keeps what a participant says from the others, or lets it pass again. It changes the current state,
// which the screen may not show yet.
func mute(c message.Chat, p message.Participant) effect {
	return do(func(e edge) (string, error) {
		now, err := call(e, api.ShowChat, api.ChatQuery{Chat: string(c.ID)})
		if err != nil {
			return "", err
		}
		for _, x := range now.Participants {
			if x.Peer == p.Peer {
				p = x
			}
		}
		_, err = call(e, api.MuteMember, api.MemberRequest{Chat: string(c.ID), Pane: string(p.Peer), Off: !p.MaySpeak})
		if !p.MaySpeak {
			return p.Name + " is no longer muted", err
		}
		return p.Name + " is muted: it hears the others, and what it says is not passed on", err
	})
}

// say puts a person's words into a chat. If the chat is at a limit, it asks at once whether to resume it: y
// sends what waits, including the new words.
func say(c message.Chat, text string) effect {
	return func(e edge) any {
		said, err := call(e, api.Say, api.SayRequest{Chat: string(c.ID), Text: text})
		switch {
		case err != nil:
			return failed{hinted(e, err)}
		case said.Braked:
			return opened{askResume(c, string(said.Held))}
		case said.Failed != "":
			return failed{hinted(e, api.Errorf(api.CodeFailed, "nobody gets it: %s", said.Failed).WithHint("intercom log %s", said.Message.Short()))}
		case said.Awaits:
			return told{"held: " + string(said.Held) + " → " + hinting(e, "intercom inbox approve "+said.Message.Short())}
		case said.Held != "":
			return told{"held: " + string(said.Held) + " → " + resumes(e)}
		}
		return told{"said to " + called(c)}
	}
}

// askResume asks whether to resume a chat at a limit.
func askResume(c message.Chat, why string) question {
	why = cmp.Or(c.Why, why)
	return question{
		text: fmt.Sprintf("%s is paused: %s.\n\nYour words wait with the rest. A yes sends them, and depth, rate and bytes start again from 0.", called(c), why),
		ask:  "resume? y",
		yes: do(func(e edge) (string, error) {
			_, err := call(e, api.ResumeChat, api.ChatRef{Chat: string(c.ID), Sure: true})
			return called(c) + ": resumed, and your words are on their way", err
		}),
		no: do(func(e edge) (string, error) { return "held: " + why + " → " + resumes(e), nil }),
	}
}

// sayTo asks for a line to say in a chat.
func sayTo(c message.Chat) prompt {
	return prompt{title: "say to " + called(c), take: func(text string) effect { return say(c, text) }}
}

// sayInto is sayTo for a chat that is looked up when the line is sent.
func sayInto(find func(ctx context.Context) (message.Chat, error), about string) prompt {
	return prompt{title: "to " + about, take: func(text string) effect {
		return func(e edge) any {
			c, err := find(e.ctx)
			if err != nil {
				return failed{hinted(e, err)}
			}
			return say(c, text)(e)
		}
	}}
}

// resumes names the key, or the command, that resumes what is paused.
func resumes(e edge) string {
	const command = "intercom chat resume --all"
	if e.Hint == nil {
		return command
	}
	if by := e.Hint(command); by != command {
		return by + " resumes"
	}
	return command
}

// search searches all that was said.
func search(text string) effect {
	return func(e edge) any {
		ctx, cancel := context.WithTimeout(e.ctx, begins)
		defer cancel()
		events, err := api.Call(ctx, e.Client, api.Log, api.LogQuery{Search: text, Limit: mostEvents})
		if err != nil {
			return failed{hinted(e, err)}
		}
		return found{text, events}
	}
}
