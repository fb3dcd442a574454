package ui

// scroll is the position in a text that may be longer than the screen.
type scroll struct{ top int }

// press moves the text, which has that many rows, in a window of that height; moved is false for any other key.
func (s scroll) press(name string, rows, height int) (_ scroll, moved bool) {
	last := max(0, rows-height)
	switch name {
	case "up", "k":
		s.top--
	case "down", "j":
		s.top++
	case "pgup", "b":
		s.top -= height
	case "pgdown", "space":
		s.top += height
	case "home":
		s.top = 0
	case "end":
		s.top = last
	default:
		return s, false
	}
	s.top = min(max(0, s.top), last)
	return s, true
}

// window returns the visible rows.
func (s scroll) window(rows []string, height int) []string {
	height = max(0, height)
	from := min(max(0, s.top), max(0, len(rows)-height))
	return rows[from:min(len(rows), from+height)]
}

// place says which part of a text is visible, "" if all of it is.
func (s scroll) place(rows, height int) string {
	if rows <= height {
		return ""
	}
	return "space b scroll (" + itoa(min(rows, s.top+height)) + " of " + itoa(rows) + ")"
}

// reading shows a whole text.
type reading struct {
	scroll
	title string
	text  func(m model, width int) []string
	keys  func(m model) []string                             // besides those that scroll; nil: none
	act   func(m model, name string) (model, []effect, bool) // nil: nothing
}

// titleRows is the number of rows above the text: its title and a blank row.
const titleRows = 2

func (r reading) open(model) []effect { return nil }

func (r reading) height(m model) int { return max(1, m.height-len(m.foot())-titleRows) }

func (r reading) press(m model, k key) (model, []effect) {
	rows := r.text(m, m.width)
	if s, moved := r.scroll.press(k.name, len(rows), r.height(m)); moved {
		r.scroll = s
		return m.set(r), nil
	}
	if r.act != nil {
		if next, effects, did := r.act(m, k.name); did {
			return next, effects
		}
	}
	switch k.name {
	case "q", "esc", "enter":
		return m.pop(), nil
	}
	return m, nil
}

func (r reading) view(m model, width, height int) []string {
	return append([]string{rule(r.title, width), ""}, r.window(r.text(m, width), height-titleRows)...)
}

func (r reading) help(m model) (keys []string) {
	if r.keys != nil {
		keys = r.keys(m)
	}
	if p := r.place(len(r.text(m, max(1, m.width))), max(1, m.height-titleRows-2)); p != "" {
		keys = append(keys, p)
	}
	return append(keys, "q back")
}
