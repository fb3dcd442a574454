package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// chatsShelf lists the open chats, those that ended recently, and the panes that could be in a chat.
type chatsShelf struct{}

func (chatsShelf) flex() int    { return 1 }
func (chatsShelf) none() string { return "no chats, and no agent in any pane" }

func (chatsShelf) items(m model) (all []item) {
	for _, d := range m.known.chats {
		style := normal
		if d.State == message.ChatPaused {
			style = urgent
		}
		all = append(all, item{id: string(d.ID), style: style, cells: []string{
			called(d.Chat), m.known.standing(d), progress(d), age(m.now, d.Started),
		}})
	}
	for _, c := range m.known.ended {
		all = append(all, item{id: string(c.ID), style: faint, cells: []string{
			called(c), message.ChatOver.For(c.Why), "", age(m.now, ended(c)),
		}})
	}
	if len(m.known.peers) > 0 {
		if len(all) > 0 {
			all = append(all, item{head: true, cells: []string{""}})
		}
		all = append(all, item{head: true, cells: []string{"panes"}})
	}
	for _, p := range m.known.peers {
		style := normal
		if !p.Adopted && !elsewhere(p) {
			style = faint
		}
		all = append(all, item{id: peerID(p), style: style, cells: []string{
			cmp.Or(p.Name, p.Agent), peerStanding(p), cmp.Or(m.chatOf(p), p.Window), "",
		}})
	}
	return all
}

// ended returns when a chat ended.
func ended(c message.Chat) time.Time {
	if c.Ended == nil {
		return c.Started
	}
	return *c.Ended
}

func peerID(p api.Peer) string { return "peer " + cmp.Or(p.Pane, string(p.Session), p.Name) }

func peerState(p api.Peer) string {
	switch {
	case elsewhere(p):
		return "on " + p.Computer
	case !p.Adopted:
		return "not adopted"
	}
	return cmp.Or(string(p.State), "-")
}

// elsewhere reports whether a peer is on another computer.
func elsewhere(p api.Peer) bool {
	return p.Pane == "" && p.Computer != "" && p.Computer != message.LocalComputer
}

// peerStanding returns peerState and what keeps messages from being typed there now. If that contains the word
// of the state, it stands alone.
func peerStanding(p api.Peer) string {
	state := peerState(p)
	switch {
	case p.Why == "" || !p.Adopted && !elsewhere(p):
		return state
	case slices.Contains(strings.Fields(p.Why), state):
		return p.Why
	}
	return state + ": " + p.Why
}

// chatOf describes the chat of a peer.
func (m model) chatOf(p api.Peer) string {
	if p.Chat == "" {
		return ""
	}
	if d, ok := m.known.chat(p.Chat); ok {
		var others []string
		for _, x := range d.Participants {
			if x.Name != p.Name && !x.Left {
				others = append(others, x.Name)
			}
		}
		switch first := d.Participants[0].Name; {
		case d.OneWay && first != p.Name:
			return "→ " + first
		case d.OneWay:
			return "← " + strings.Join(others, ", ")
		}
		return "↔ " + strings.Join(others, ", ")
	}
	return p.ChatName
}

// progress says how far a chat has come towards its limits.
func progress(d api.ChatDetail) string {
	text := several(d.Stats.Turns, "turn")
	if d.Turns > 0 {
		text = fmt.Sprintf("%d of %d turns", d.Stats.Turns, d.Turns)
	}
	return text + fmt.Sprintf(", depth %d", d.Stats.Depth)
}

// cost returns the tokens that a chat's agents have recorded, "" while there is nothing to tell.
func cost(d api.ChatDetail) string {
	switch spent := d.Stats.Spent; {
	case spent.Turns > 0:
		return fmt.Sprintf("%d tokens", spent.Counted())
	case d.Stats.Turns > 0:
		return "tokens unknown"
	}
	return ""
}

func (chatsShelf) detail(m model, id string, width int) (string, []string) {
	if d, ok := m.known.chat(message.ID(id)); ok {
		rows := m.transcript(m.known.of(d.ID), width)
		if len(rows) == 0 {
			rows = []string{styled(faint, plain.Cut(" nothing was said yet", width))}
		}
		return strings.TrimSuffix(called(d.Chat)+" · "+cost(d), " · "), rows[max(0, len(rows)-max(4, m.height/3)):]
	}
	if c, ok := m.known.over(id); ok {
		rows := m.transcript(m.known.of(c.ID), width)
		if len(rows) == 0 {
			rows = []string{styled(faint, plain.Cut(" intercom log "+c.ID.Short()+" has what was said", width))}
		}
		return called(c), rows[max(0, len(rows)-max(4, m.height/3)):]
	}
	p, ok := m.peer(id)
	if !ok {
		return "", nil
	}
	rows := indented(fmt.Sprintf("%s in %s, %s", cmp.Or(p.Agent, string(p.Program.Name)), cmp.Or(p.Window, "no pane"), peerState(p)), 1, width)
	switch {
	case elsewhere(p):
		rows = indented(fmt.Sprintf("%s on %s", p.Agent, p.Computer), 1, width)
	case !p.Adopted:
		rows = append(rows, indented("a chat, or a question to it, adopts it; until then it is neither read nor typed into", 1, width)...)
	case p.Why != "":
		rows = append(rows, indented("not typed into now: "+p.Why, 1, width)...)
	}
	for _, g := range p.Evidence {
		for _, row := range indented(g.Source+": "+g.Says, 3, width) {
			rows = append(rows, styled(faint, row))
		}
	}
	return cmp.Or(p.Name, p.Agent), rows
}

func (m model) peer(id string) (api.Peer, bool) {
	i := slices.IndexFunc(m.known.peers, func(p api.Peer) bool { return peerID(p) == id })
	if i < 0 {
		return api.Peer{}, false
	}
	return m.known.peers[i], true
}

func (chatsShelf) keys(m model, id string) []string {
	if d, ok := m.known.chat(message.ID(id)); ok {
		return append([]string{"w watch"}, m.chatKeys(d)...)
	}
	if _, ok := m.known.over(id); ok {
		return []string{"a again"}
	}
	p, ok := m.peer(id)
	if !ok {
		return nil
	}
	keys := []string{"g go to pane"}
	if p.Adopted && p.Pane != "" {
		keys = append(keys, "R release")
	}
	if p.Chat != "" {
		keys = append(keys, "m mute")
	}
	return keys
}

// chatKeys returns the keys for a chat. While everything is stopped, no chat can be resumed alone.
func (m model) chatKeys(d api.ChatDetail) []string {
	if d.State == message.ChatOver {
		return nil
	}
	keys := []string{"s say"}
	switch {
	case d.State != message.ChatPaused:
		keys = append(keys, "p pause")
	case !m.known.status.Stopped:
		keys = append(keys, "r resume")
	}
	return append(keys, "m mute", "x end", "e end after answer", "g go to pane")
}

func (chatsShelf) press(m model, id, name string) (model, []effect) {
	if d, ok := m.known.chat(message.ID(id)); ok {
		if name == "enter" || name == "w" {
			m = m.push(watch{ref: id, tail: true})
			return m, m.top().open(m)
		}
		return m.onChat(d, name)
	}
	if c, ok := m.known.over(id); ok {
		if name == "a" {
			m = m.push(again(c))
			return m, m.top().open(m)
		}
		return m, nil
	}
	p, ok := m.peer(id)
	if !ok {
		return m, nil
	}
	switch {
	case (name == "g" || name == "enter") && p.Pane != "":
		return m, []effect{jump(p.Pane, m.popup)}
	case name == "R" && p.Adopted:
		return m, []effect{freeing(p)}
	case name == "m" && p.Chat != "":
		if d, ok := m.known.chat(p.Chat); ok {
			for _, x := range d.Participants {
				if x.Peer == p.Session {
					return m, []effect{mute(d.Chat, x)}
				}
			}
		}
	}
	return m, nil
}

// onChat handles a key for a chat.
func (m model) onChat(d api.ChatDetail, name string) (model, []effect) {
	if d.State == message.ChatOver {
		return m, nil
	}
	switch name {
	case "s":
		return m.push(sayTo(d.Chat)), nil
	case "p":
		return m, []effect{ofChat(api.PauseChat, d.Chat, "paused; r resumes")}
	case "r":
		return m, []effect{resume(api.ChatRef{Chat: string(d.ID)}, called(d.Chat)+": resumed")}
	case "x":
		return m, []effect{ofChat(api.StopChat, d.Chat, howEnded(d))}
	case "e":
		return m, []effect{do(func(e edge) (string, error) {
			_, err := call(e, api.StopChat, api.ChatRef{Chat: string(d.ID), After: true})
			return called(d.Chat) + ": ends after the next answer", err
		})}
	case "m", "g":
		return m.choose(d, name, "")
	}
	return m, nil
}

// howEnded returns the text about a chat that a person ends, with how many waiting messages are lost by that.
func howEnded(d api.ChatDetail) string {
	waits := 0
	for _, w := range d.Waiting {
		if w.State == message.Queued || w.State == message.Held {
			waits++
		}
	}
	if waits == 0 {
		return "ended; nothing more is relayed"
	}
	return fmt.Sprintf("ended; nothing more is relayed, %d that waited are not delivered", waits)
}

// choose lets the person choose a participant of a chat, by its number there. typed are the digits so far. A digit
// chooses at once, unless a longer number begins with it; then Enter chooses, and another digit continues.
func (m model) choose(d api.ChatDetail, name, typed string) (model, []effect) {
	var rows []string
	here := map[string]message.Participant{}
	begun := map[string]int{} // how many numbers begin with these digits
	for _, p := range d.Participants {
		number := itoa(p.Number)
		if p.Left || !strings.HasPrefix(number, typed) {
			continue
		}
		state := ""
		if !p.MaySpeak {
			state = "  muted"
		}
		here[number] = p
		for i := range number {
			begun[number[:i+1]]++
		}
		rows = append(rows, fmt.Sprintf("%d  %s%s", p.Number, p.Name, state))
	}
	title := map[string]string{"m": "mute, or let speak again", "g": "go to the pane of"}[name]
	return m.push(reading{
		title: title,
		text:  func(_ model, width int) []string { return indented(strings.Join(rows, "\n"), 1, width) },
		keys: func(model) []string {
			switch _, ok := here[typed]; {
			case typed == "":
				return []string{"a number chooses"}
			case ok:
				return []string{"Enter chooses " + typed, "a digit continues " + typed}
			}
			return []string{"a digit continues " + typed}
		},
		act: func(m model, pressed string) (model, []effect, bool) {
			number := typed + pressed
			if pressed == "enter" {
				number = typed
			}
			p, ok := here[number]
			if begun[number] == 0 || !ok && pressed == "enter" {
				return m, nil, false
			}
			m = m.pop()
			if pressed != "enter" && (!ok || begun[number] > 1) {
				m, effects := m.choose(d, name, number)
				return m, effects, true
			}
			if name == "m" {
				return m, []effect{mute(d.Chat, p)}, true
			}
			s, ok := m.known.session(p.Peer)
			if !ok || s.Pane == "" {
				return m.tell(p.Name + " is in no pane"), nil, true
			}
			return m, []effect{jump(s.Pane, m.popup)}, true
		},
	}), nil
}

// of returns the events of a chat.
func (k known) of(chat message.ID) (events []message.Event) {
	for _, e := range k.events {
		if e.Chat == chat {
			events = append(events, e)
		}
	}
	return events
}
