package ui

import (
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// tabs shows one of the lists, with details of the current item below it.
type tabs struct{}

// shelf is one of the lists.
type shelf interface {
	items(m model) []item
	flex() int    // the flexible column
	none() string // text of an empty list
	detail(m model, id string, width int) (title string, rows []string)
	keys(m model, id string) []string
	press(m model, id, name string) (model, []effect)
}

func (m model) shelf() shelf { return shelves[m.tab] }

var shelves = map[Tab]shelf{Waits: waitsShelf{}, Chats: chatsShelf{}, Inbox: inboxShelf{}, Log: logShelf{}, Computers: computersShelf{}}

// shown returns the items of the tab that pass the filter, and the current one.
func (m model) shown() (items []item, chosen int, id string) {
	items = m.passing(m.tab)
	if chosen = m.lists[m.tab].chosen(items); chosen >= 0 {
		id = items[chosen].id
	}
	return items, chosen, id
}

// passing returns the items of a tab that pass its filter. What a search has found does, though its row may not show
// the words.
func (m model) passing(tab Tab) []item {
	l, items := m.lists[tab], shelves[tab].items(m)
	if tab == Log && m.known.found != nil && l.filter == m.known.sought {
		return items
	}
	return l.matching(items)
}

// list changes the list of the current tab.
func (m model) list(change func(list) list) model {
	lists := map[Tab]list{}
	for tab, l := range m.lists {
		lists[tab] = l
	}
	lists[m.tab] = change(lists[m.tab])
	m.lists = lists
	return m
}

// stays keeps the current item of each tab while others appear above it: a key that is pressed again is meant
// for the same item. The log stays at the latest event until the person moves.
func (m model) stays() model {
	at := map[Tab]list{}
	for tab := range shelves {
		l := m.lists[tab]
		if tab != Log || l.at != "" {
			items := m.passing(tab)
			if i := l.chosen(items); i >= 0 {
				l.at, l.row = items[i].id, i
			}
		}
		at[tab] = l
	}
	m.lists = at
	return m
}

func (tabs) open(model) []effect { return nil }

func (t tabs) press(m model, k key) (model, []effect) {
	items, _, id := m.shown()
	l := m.lists[m.tab]
	if l.typing {
		return t.filter(m, k)
	}
	page := max(1, m.height/3)
	by, moves := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdown": page, "home": -len(items), "end": len(items)}[k.name]
	switch {
	case moves:
		return m.list(func(l list) list { return l.move(items, by) }), nil
	case k.name == "q":
		return m.pop(), nil
	case k.name == "esc" && l.filter != "":
		if m.tab == Log {
			m.known.found, m.known.sought = nil, ""
		}
		return m.list(func(l list) list { l.filter = ""; return l }), nil
	case k.name == "esc":
		return m.pop(), nil
	case k.name == "/":
		return m.list(func(l list) list { l.typing = true; return l }), nil
	case k.name == "tab", k.name == "right":
		return m.turn(1)
	case k.name == "shift+tab", k.name == "left":
		return m.turn(-1)
	case k.name >= "1" && k.name <= "9" && len(k.name) == 1 && int(k.name[0]-'1') < len(m.tabs()):
		return m.to(m.tabs()[k.name[0]-'1'])
	case k.name == "?":
		return m.push(keysPage()), nil
	case k.name == "P":
		return m, []effect{m.stopAll()}
	}
	return m.shelf().press(m, id, k.name)
}

// stopAll stops everything, or resumes it.
func (m model) stopAll() effect {
	if m.known.status.Stopped {
		return resume(api.ChatRef{All: true}, "messages are typed again")
	}
	return unsending(api.PauseChat, api.ChatRef{All: true}, string(message.Stopped)+": nothing is typed any more; P resumes")
}

// tabs returns the tabs that are shown.
func (m model) tabs() []Tab {
	if len(m.known.computers) > 1 || m.tab == Computers {
		return Tabs
	}
	return Tabs[:len(Tabs)-1]
}

// turn goes to another tab.
func (m model) turn(by int) (model, []effect) {
	all := m.tabs()
	i := slices.Index(all, m.tab)
	return m.to(all[(i+by+len(all))%len(all)])
}

// to goes to that tab.
func (m model) to(tab Tab) (model, []effect) {
	m.tab = tab
	if tab == Computers {
		return m, []effect{computers}
	}
	return m, nil
}

// filter handles keys while the person types a filter.
func (tabs) filter(m model, k key) (model, []effect) {
	var effects []effect
	m = m.list(func(l list) list {
		switch {
		case k.name == "esc":
			l.typing, l.filter = false, ""
		case k.name == "enter":
			l.typing = false
			if m.tab == Log && strings.TrimSpace(l.filter) != "" {
				effects = append(effects, search(l.filter))
			}
		default:
			edit := line{text: []rune(l.filter), at: len([]rune(l.filter))}
			l.filter = string(edit.press(k).text)
		}
		return l
	})
	if filter := m.lists[m.tab].filter; m.tab == Log && (filter == "" || len(effects) > 0) {
		m.known.found, m.known.sought = nil, filter
	}
	return m, effects
}

func (t tabs) help(m model) []string {
	if m.lists[m.tab].typing {
		if m.tab == Log {
			return []string{"type to filter", "Enter search all that was said", "Esc clear"}
		}
		return []string{"type to filter", "Enter keep", "Esc clear"}
	}
	_, _, id := m.shown()
	keys := m.shelf().keys(m, id)
	if m.known.status.Stopped {
		keys = append(keys, "P resume everything")
	}
	return append(keys, "/ filter", "Tab next", "? keys", "q closes")
}

func (t tabs) view(m model, width, height int) []string {
	lines := []string{m.bar(width), ""}
	items, chosen, id := m.shown()
	l := m.lists[m.tab]
	if l.typing || l.filter != "" {
		lines[1] = styled(bold, plain.Cut(" / "+plain.Line(l.filter), width))
	}
	room := height - len(lines)
	if chosen < 0 {
		return append(lines, t.empty(m, width, room)...)
	}
	title, detail := m.shelf().detail(m, id, width)
	if title == "" || room < 8 {
		return append(lines, l.view(items, m.shelf().flex(), width, room)...)
	}
	// The list gets what it needs, up to half of the rows; the rest is for the details.
	upper := min(len(items), max(3, room/2))
	lines = append(lines, l.view(items, m.shelf().flex(), width, upper)...)
	for len(lines) < 2+upper {
		lines = append(lines, "")
	}
	lines = append(lines, "", rule(title, width))
	rest := height - len(lines)
	if len(detail) > rest && rest > 0 {
		detail = append(detail[:rest-1:rest-1], styled(faint, plain.Cut(" … Enter shows all", width)))
	}
	return append(lines, detail...)
}

// empty returns the rows for an empty list.
func (t tabs) empty(m model, width, height int) []string {
	text := m.shelf().none()
	switch {
	case m.lists[m.tab].filter != "":
		text = "nothing here has these words"
	case !m.known.ready && m.trouble != "":
		text = ""
	case !m.known.ready:
		text = "…"
	}
	lines := make([]string, max(0, min(height/3, 5)))
	return append(lines, styled(faint, plain.Cut("   "+text, width)))
}

// bar names the tabs, with the number of items in each, and says what is wrong in general.
func (m model) bar(width int) string {
	counts := map[Tab]int{Waits: len(m.known.waits), Chats: len(m.known.status.Chats), Inbox: len(m.known.held), Computers: max(0, len(m.known.computers)-1)}
	var bar strings.Builder
	used := 0
	for _, tab := range m.tabs() {
		text := " " + string(tab)
		if n := counts[tab]; n > 0 {
			text += " " + itoa(n)
		}
		text += " "
		style := normal
		switch {
		case tab == m.tab:
			style = picked
		case tab == Waits && counts[tab] > 0, tab == Inbox && m.known.decisions() > 0:
			style = urgent
		}
		if used += plain.Width(text) + 1; used > width {
			break
		}
		bar.WriteString(styled(style, text) + " ")
	}
	said, style := "", normal
	switch {
	case m.trouble != "":
		said, style = m.trouble, wrong
	case m.known.status.Stopped:
		said, style = string(message.Stopped), urgent
	case len(m.known.status.Degraded) > 0:
		said, style = m.known.status.Degraded[0], wrong
	}
	if left := width - used - 1; said != "" && left > 8 {
		said = plain.Cut(plain.Line(said), left)
		bar.WriteString(strings.Repeat(" ", left-plain.Width(said)) + styled(style, said))
	}
	return bar.String()
}
