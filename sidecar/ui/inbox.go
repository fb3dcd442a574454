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

// inboxShelf lists what waits for a person or for a safe moment.
type inboxShelf struct{}

func (inboxShelf) flex() int    { return 4 }
func (inboxShelf) none() string { return "nothing is waiting" }

func (inboxShelf) items(m model) (all []item) {
	for _, h := range m.known.held {
		mark, style := " ", normal
		if h.Decision {
			mark, style = "●", urgent
		}
		first, _, _ := strings.Cut(opening(words(h), rowBytes), "\n")
		all = append(all, item{id: string(h.Delivery), style: style, cells: []string{
			mark, h.From + " → " + h.To, waitsFor(h), age(m.now, h.Since), first,
		}})
	}
	return all
}

// waitsFor says what a delivery waits for.
func waitsFor(h api.Held) string {
	if h.Decision {
		return "your yes"
	}
	return cmp.Or(string(h.Reason), h.State.Words(h.Door))
}

// words returns what a delivery says to its reader.
func words(h api.Held) string { return render.Words(h.Form, h.Envelope) }

func (m model) heldBy(id string) (api.Held, bool) {
	i := slices.IndexFunc(m.known.held, func(h api.Held) bool { return string(h.Delivery) == id })
	if i < 0 {
		return api.Held{}, false
	}
	return m.known.held[i], true
}

func (inboxShelf) detail(m model, id string, width int) (string, []string) {
	h, ok := m.heldBy(id)
	if !ok {
		return "", nil
	}
	rows := indented(about(m, h), 1, width)
	for i := range rows {
		rows[i] = styled(faint, rows[i])
	}
	return h.From + " → " + h.To, append(append(rows, ""), indented(opening(words(h), detailBytes), 1, width)...)
}

// How much of a body is laid out in a row, and in the area below the list. A longer one can be read whole on a
// page of its own.
const (
	rowBytes    = 1 << 10
	detailBytes = 32 << 10
)

// opening returns at most most bytes from the beginning of a text, followed by … if there is more.
func opening(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return plain.Beginning(text, most) + "…"
}

// about says in a line or two why a delivery waits.
func about(m model, h api.Held) string {
	text := waitsFor(h) + ", since " + h.Since.Local().Format("15:04:05")
	if c, ok := m.known.chat(h.Chat); ok {
		text += ", in " + called(c.Chat)
	} else if h.ChatName != "" {
		text += ", in " + h.ChatName
	}
	if h.Envelope.Depth > 0 {
		text += fmt.Sprintf(", depth %d", h.Envelope.Depth)
	}
	switch because := h.Because(); {
	case because == "":
	case h.Asked.By == "" || h.Asked.By == message.BuiltIn:
		text += "\nyou are asked: " + because
	default:
		text += "\n" + strings.TrimSuffix(h.Asked.By+" asks: "+h.Asked.Reason, ": ")
	}
	return text
}

func (inboxShelf) keys(m model, id string) []string {
	h, ok := m.heldBy(id)
	switch {
	case !ok:
		return nil
	case h.Start():
		return []string{"a approve", "x reject", "Enter read"}
	case h.Decision && h.Unanswerable:
		return []string{"a approve", "x reject", "e edit", "Enter read"}
	case h.Decision:
		return []string{"a approve", "x reject", "e edit", "r reply", "Enter read"}
	}
	switch _, paused := m.pausedChat(h); {
	case m.known.status.Stopped:
		return []string{"Enter read", "g go to pane", "x reject"}
	case paused:
		return []string{"Enter read", "g go to pane", "r resume", "x reject"}
	}
	return []string{"Enter read", "g go to pane", "l vouch for its screen", "x reject"}
}

// pausedChat returns the chat of a delivery, and reports whether it is paused.
func (m model) pausedChat(h api.Held) (api.ChatDetail, bool) {
	d, ok := m.known.chat(h.Chat)
	return d, ok && d.State == message.ChatPaused
}

func (s inboxShelf) press(m model, id, name string) (model, []effect) {
	h, ok := m.heldBy(id)
	if !ok {
		return m, nil
	}
	next, effects, _ := s.act(m, h, name)
	if name == "enter" {
		next = m.push(reading{
			title: h.From + " → " + h.To,
			text: func(m model, width int) []string {
				_, rows := s.detail(m, id, width)
				if rows == nil {
					return []string{" it is no longer waiting"}
				}
				return rows
			},
			keys: func(m model) []string {
				return slices.DeleteFunc(s.keys(m, id), func(k string) bool { return k == "Enter read" })
			},
			act: func(m model, name string) (model, []effect, bool) {
				h, waits := m.heldBy(id)
				if !waits { // it was decided about, or typed
					return m, nil, false
				}
				return s.act(m, h, name)
			},
		})
	}
	return next, effects
}

func (inboxShelf) act(m model, h api.Held, name string) (model, []effect, bool) {
	id := string(h.Delivery)
	if name == "g" && h.Pane != "" {
		return m, []effect{jump(h.Pane, m.popup)}, true
	}
	if !h.Decision {
		switch d, paused := m.pausedChat(h); {
		case name == "r" && paused:
			return m, []effect{resume(api.ChatRef{Chat: string(d.ID)}, called(d.Chat)+": resumed")}, true
		case name == "l" && !paused:
			return m, []effect{vouch(h)}, true
		case name == "x":
			return m, []effect{decide(api.DecideRequest{ID: id, Choice: api.ChoiceReject})}, true
		}
		return m, nil, false
	}
	if name == "e" && h.Start() || name == "r" && (h.Start() || h.Unanswerable) {
		return m, nil, false
	}
	switch name {
	case "a":
		return m, []effect{decide(api.DecideRequest{ID: id, Choice: api.ChoiceApprove})}, true
	case "x":
		return m, []effect{decide(api.DecideRequest{ID: id, Choice: api.ChoiceReject})}, true
	case "e":
		return m, []effect{change(id)}, true
	case "r":
		return m.push(prompt{
			title: "answer " + h.From + " yourself: the message is not delivered", about: words(h),
			take: func(text string) effect {
				return decide(api.DecideRequest{ID: id, Choice: api.ChoiceReply, Say: text})
			},
		}), nil, true
	}
	return m, nil, false
}

var askedOf = map[api.Choice]string{
	api.ChoiceApprove: "Approve it?", api.ChoiceReject: "Reject it?", api.ChoiceReply: "Reject it, and answer it with your own words?",
}

// Decision returns the text about which a person is asked when they decide about a message: all of the
// message's text, or the person's own. A yes is a yes to what was shown. There are several texts if policies
// have rewritten the message for some targets.
func Decision(req api.DecideRequest, d api.Decided) string {
	var bodies []string
	to := map[string][]api.Held{}
	for _, h := range d.Waiting {
		body := words(h)
		if req.Body != nil {
			body = *req.Body
		}
		if to[body] == nil {
			bodies = append(bodies, body)
		}
		to[body] = append(to[body], h)
	}
	var text strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&text, "%s to %s:\n\n%s\n", d.Waiting[0].From, targets(to[body]), body)
	}
	for _, because := range d.Because() {
		fmt.Fprintf(&text, "\nYou are asked: %s\n", because)
	}
	if req.Say != "" {
		fmt.Fprintf(&text, "\nYou say: %s\n", req.Say)
	}
	return text.String()
}

func targets(all []api.Held) string {
	var names []string
	for _, h := range all {
		names = append(names, h.To)
	}
	return strings.Join(names, ", ")
}

// outcome describes a receipt in a word or two.
func outcome(r message.Receipt) string {
	if r.Reason != "" {
		return r.State.Words(r.Door) + ": " + string(r.Reason)
	}
	return r.State.Words(r.Door)
}
