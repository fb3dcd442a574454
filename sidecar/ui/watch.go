package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// watch shows one chat, live: who waits for whom, and what is said.
type watch struct {
	scroll
	ref  string // id, short id or name
	tail bool   // the latest is in view, and stays there
	last api.ChatDetail
}

func (w watch) open(model) []effect { return nil }

// chat returns the chat as it is now, or as it was when it ended.
func (w watch) chat(m model) (api.ChatDetail, bool) {
	for _, d := range m.known.chats {
		if string(d.ID) == w.ref || d.ID.Is(w.ref) || d.Name == w.ref {
			return d, true
		}
	}
	return w.last, w.last.ID != ""
}

// arrived keeps the watch's chat up to date, and notes when it has ended.
func (w watch) arrived(m model) (model, []effect) {
	if d, ok := w.chat(m); ok {
		if on := slices.ContainsFunc(m.known.chats, func(x api.ChatDetail) bool { return x.ID == d.ID }); !on {
			d.State = message.ChatOver
			for _, e := range m.known.of(d.ID) {
				if e.Change != nil {
					d.Chat = *e.Change
				}
			}
		}
		w.last = d
		m = m.set(w)
	}
	if m.stale {
		return m.reload(settles)
	}
	return m, nil
}

const watchHead = 3 // rows above the transcript

func (w watch) height(m model) int { return max(1, m.height-watchHead-len(m.foot())) }

func (w watch) rows(m model, width int) []string {
	d, ok := w.chat(m)
	if !ok {
		return nil
	}
	return m.transcript(m.known.of(d.ID), width)
}

func (w watch) press(m model, k key) (model, []effect) {
	rows := len(w.rows(m, m.width))
	if w.tail {
		w.top = max(0, rows-w.height(m))
	}
	if s, moved := w.scroll.press(k.name, rows, w.height(m)); moved {
		w.scroll = s
		w.tail = w.top >= max(0, rows-w.height(m))
		return m.set(w), nil
	}
	if k.name == "q" || k.name == "esc" {
		return m.pop(), nil
	}
	if k.name == "?" {
		return m.push(keysPage()), nil
	}
	if d, ok := w.chat(m); ok {
		return m.onChat(d, k.name)
	}
	return m, nil
}

func (w watch) view(m model, width, height int) []string {
	d, ok := w.chat(m)
	if !ok {
		text := "…"
		if m.known.ready {
			text = "no chat " + w.ref + " goes on"
		}
		return []string{rule("watch", width), "", styled(faint, plain.Cut("   "+plain.Line(text), width))}
	}
	style := normal
	if d.State == message.ChatPaused {
		style = urgent
	}
	if m.trouble != "" {
		style = wrong
	}
	lines := []string{rule(called(d.Chat), width), styled(style, plain.Cut(" "+plain.Line(w.state(m, d)), width)), ""}
	rows := w.rows(m, width)
	if len(rows) == 0 {
		return append(lines, styled(faint, plain.Cut(" nothing was said yet", width)))
	}
	room := height - watchHead
	if w.tail {
		w.top = max(0, len(rows)-room)
	}
	return append(lines, w.window(rows, room)...)
}

// state describes the state of the chat in a line.
func (w watch) state(m model, d api.ChatDetail) string {
	if m.trouble != "" {
		return m.trouble
	}
	state := m.known.standing(d)
	if d.State == message.ChatOn {
		state = "on · " + state
	}
	if d.Closes != "" && d.State != message.ChatOver {
		state += " · ends after the next answer"
	}
	return strings.TrimSuffix(state+" · "+progress(d)+" · "+cost(d), " · ")
}

func (w watch) help(m model) []string {
	d, ok := w.chat(m)
	keys := []string{"? keys", "q back"}
	if ok {
		keys = append(m.chatKeys(d), keys...)
	}
	if !w.tail {
		keys = append(keys, "End latest")
	}
	return keys
}

// decidedAgainst reports whether a person rejected a message for a target.
func decidedAgainst(r message.Receipt) bool {
	return r.State == message.Failed && (r.Reason == message.Rejected || r.Reason == message.RepliedInstead)
}

// transcript returns, in rows, what was said in a chat, with the text as typed if a person edited it, and how
// the chat changed.
func (m model) transcript(events []message.Event, width int) (rows []string) {
	var edits message.Edits
	said, refused := map[message.ID]bool{}, map[message.ID][]message.Receipt{} // a rejection is shown below its message
	for _, e := range events {
		edits.Take(e)
		switch {
		case e.Message != nil:
			said[e.Message.ID] = true
		case e.Receipt != nil && decidedAgainst(*e.Receipt) && said[e.Receipt.Message]:
			refused[e.Receipt.Message] = append(refused[e.Receipt.Message], *e.Receipt)
		}
	}
	fails := func(r message.Receipt) {
		rows = append(rows, styled(wrong, plain.Cut("   → "+plain.Line(m.named(r.Target)+" "+outcome(r)), width)))
	}
	for _, e := range events {
		when := e.At.Local().Format("15:04")
		switch {
		case e.Message != nil:
			if len(rows) > 0 {
				rows = append(rows, "")
			}
			who := author(*e.Message)
			if e.Message.From.Number > 0 {
				who = fmt.Sprintf("%s (%d)", who, e.Message.From.Number)
			}
			who, body := cmp.Or(who, "?"), e.Message.Body
			switch edit, edited := edits.Of(e.Message.ID); {
			case edited && edit.ID == "":
				who += ", before a person edited it"
			case edited:
				who, body = who+", edited by a person", render.Words(edit.Form, edit.Message)
			}
			rows = append(rows, styled(bold, plain.Cut(" "+plain.Line(who), max(1, width-7)))+styled(faint, plain.First("  "+when, width-1)))
			rows = append(rows, indented(opening(strings.Trim(body, "\n"), detailBytes), 3, width)...)
			for _, r := range refused[e.Message.ID] {
				fails(r)
			}
		case e.Receipt != nil && e.Receipt.Superseded(): // the receipts of the other delivery are shown
		case e.Receipt != nil && decidedAgainst(*e.Receipt) && said[e.Receipt.Message]: // told above
		case e.Receipt != nil && (e.Receipt.State == message.Failed || e.Receipt.State == message.Expired || e.Receipt.State == message.Uncertain):
			fails(*e.Receipt)
		case e.Change != nil && e.Change.State != message.ChatOn:
			rows = append(rows, styled(urgent, plain.Cut(" "+when+" "+plain.Line(e.Change.State.For(e.Change.Why)), width)))
		}
	}
	return rows
}
