package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// Pane is a pane that a person may pick.
type Pane struct {
	ID     string // as tmux has it: %7
	Name   string // of its session; "": not adopted
	Agent  string // profile of its program; "" if not known
	State  string
	Window string // where it is, in words
	Why    string // why it cannot be picked; "" if it can
	Lines  bool   // its program is unknown: a person may say that it reads lines
}

// called returns what the pane is called in a sentence.
func (p Pane) called() string {
	if p.Name == "" {
		return p.ID
	}
	return p.Name + " (" + p.ID + ")"
}

// Panes lists the panes that a person may pick.
type Panes struct {
	Here   Pane   // the pane where the key was pressed
	Others []Pane // those that can be picked come first
	Last   string // for a question: what the agent of Here said last
}

// Picked is what a person has picked. For a chat, Panes has two or more, the first of which is number 1; for a
// question, it has one.
type Picked struct {
	Panes       []string `json:"panes"`
	Say         string   `json:"say,omitempty"` // a line of the person's own
	Turns       int      `json:"turns,omitempty"`
	OneWay      bool     `json:"one_way,omitempty"`
	IncludeLast bool     `json:"include_last,omitempty"`
}

// Picking lets a person pick panes, and choose what begins among them.
type Picking struct {
	Question bool // a question to one other pane; else a chat
	Find     func(ctx context.Context) (Panes, error)
	// Last returns what the pane of Here said last; for a chat with Picked.IncludeLast.
	Last func(ctx context.Context) (string, error)
	// Begin begins the chat or question, and returns what to tell once the screen has closed. If it fails, the
	// screen stays.
	Begin func(ctx context.Context, p Picked) (told string, err error)
}

// The events of a picker.
type (
	listed struct { // the panes were found
		page  int
		panes Panes
	}
	recalled struct { // what was said last was found
		page int
		text string
	}
	worded struct{ text string } // a line was entered
)

// picker shows the list of panes, and below it what would begin.
type picker struct {
	page    int
	picking Picking
	panes   Panes
	found   bool
	early   []key // keys typed before the list was there
	list    list
	first   *Pane    // first pane of a chat that the presser's own pane is not in
	marked  []string // ids, in the order of marking
	last    string
	picked  Picked
}

func (p picker) number(id int) page { p.page = id; return p }
func (p picker) id() int            { return p.page }

func (p picker) open(model) []effect { return []effect{p.find()} }

func (p picker) find() effect {
	return func(e edge) any {
		panes, err := p.picking.Find(e.ctx)
		if err != nil {
			return leaves{err: err}
		}
		return listed{p.page, panes}
	}
}

// known takes the found panes, and then the keys that were typed meanwhile. It starts on the presser's own pane
// if that is listed: the key that adopts it is what the person probably wants. A pane that can no longer be
// picked loses its mark. If the current pane is gone from the list, the first one becomes current: the next one
// might be one that would be refused.
func (p picker) known(m model, panes Panes) (model, []effect) {
	early := p.early
	p.panes, p.found, p.early = panes, true, nil
	others := p.others()
	p.marked = slices.DeleteFunc(slices.Clone(p.marked), func(id string) bool {
		return !slices.ContainsFunc(others, func(x Pane) bool { return x.ID == id && x.Why == "" })
	})
	begins := ""
	if p.own() {
		begins = panes.Here.ID
	}
	if on := p.on(); on != nil && on.ID != p.list.at {
		p.list = list{at: begins}
	}
	if panes.Last != "" {
		p.last = panes.Last
	}
	m = m.set(p)
	var effects []effect
	for _, k := range early {
		var more []effect
		m, more = m.top().press(m, k)
		effects = append(effects, more...)
	}
	return m, effects
}

// own reports whether the presser's own pane lacks only a person's word that it reads lines.
func (p picker) own() bool {
	return p.panes.Here.Why != "" && p.panes.Here.Lines && !p.picking.Question
}

// others returns the panes that may be picked now. They include the presser's own if own reports true.
func (p picker) others() []Pane {
	all := p.panes.Others
	if p.own() {
		all = append(slices.Clip(all), p.panes.Here)
	}
	return slices.DeleteFunc(slices.Clone(all), func(x Pane) bool { return p.first != nil && x.ID == p.first.ID })
}

// from returns the pane on whose behalf others are picked, nil if that has to be picked first.
func (p picker) from() *Pane {
	if p.first != nil {
		return p.first
	}
	if p.panes.Here.Why == "" {
		return &p.panes.Here
	}
	return nil
}

// direct is how many panes have a digit as their key.
const direct = 9

func (p picker) items() (all []item) {
	parted := false
	for i, x := range p.others() {
		if x.Why != "" && !parted {
			parted = true
			all = append(all, item{head: true, cells: []string{""}}, item{head: true, cells: []string{"These would be refused:"}})
		}
		mark := ""
		if x.Why == "" && i < direct {
			mark = itoa(i + 1)
		}
		if slices.Contains(p.marked, x.ID) {
			mark = "*"
		}
		one := item{id: x.ID, cells: []string{mark, x.ID, cmp.Or(x.Name, "-"), x.Agent, x.State, x.Window}}
		if x.Why != "" {
			one.style, one.cells = faint, []string{mark, x.ID, "", "", "", cmp.Or(x.Window, "-") + ": " + x.Why}
		}
		all = append(all, one)
	}
	return all
}

// window is the column with a pane's place.
const window = 5

// on returns the current pane, nil in an empty list.
func (p picker) on() *Pane {
	items := p.items()
	i := p.list.chosen(items)
	if i < 0 {
		return nil
	}
	for _, x := range p.others() {
		if x.ID == items[i].id {
			return &x
		}
	}
	return nil
}

func (p picker) press(m model, k key) (model, []effect) {
	if k.name == "q" || k.name == "esc" {
		return m.pop(), nil
	}
	if !p.found {
		p.early = append(slices.Clip(p.early), k)
		return m.set(p), nil
	}
	items, on := p.items(), p.on()
	by, moves := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "home": -len(items), "end": len(items)}[k.name]
	switch others := p.others(); {
	case moves:
		p.list = p.list.move(items, by)
	case on == nil:
	case len(k.name) == 1 && k.name >= "1" && k.name <= "9":
		if i := int(k.name[0] - '1'); i < len(others) && others[i].Why == "" { // panes that would be refused have no number
			if len(p.marked) == 0 || slices.Contains(p.marked, others[i].ID) {
				return p.choose(m, others[i])
			}
			with := p // for this chat alone: if it does not begin, the pane is not marked
			with.marked = append(slices.Clip(p.marked), others[i].ID)
			p.list.at = others[i].ID
			return m.set(p), []effect{p.begin(with.chosen(others[i]))}
		}
	case k.name == "enter":
		return p.choose(m, *p.meant())
	case k.name == "l" && on.Lines:
		return p.adopt(m, *on)
	default:
		return p.option(m, k.name, *on)
	}
	return m.set(p), nil
}

// meant returns the pane that Enter picks: the current one, or, if that would be refused, one of the marked. It
// is nil in an empty list.
func (p picker) meant() *Pane {
	on := p.on()
	if on == nil || on.Why == "" {
		return on
	}
	for _, x := range p.others() {
		if x.Why == "" && slices.Contains(p.marked, x.ID) {
			return &x
		}
	}
	return on
}

// option changes an option of what is to begin.
func (p picker) option(m model, name string, on Pane) (model, []effect) {
	switch {
	case name == "+" && p.picking.Question: // 0 turns count as one
		p.picked.Turns = min(max(p.picked.Turns, 1)+1, api.MaxCount)
	case name == "+":
		p.picked.Turns = min(p.picked.Turns+1, api.MaxCount)
	case name == "-":
		p.picked.Turns = max(p.picked.Turns-1, 0)
	case p.picking.Question:
	case name == "space" && on.Why == "":
		if i := slices.Index(p.marked, on.ID); i >= 0 {
			p.marked = slices.Delete(slices.Clone(p.marked), i, i+1)
		} else {
			p.marked = append(slices.Clip(p.marked), on.ID)
		}
		p.list = p.list.move(p.items(), 1)
	case name == "w":
		p.picked.OneWay = !p.picked.OneWay
	case name == "s":
		return m.push(prompt{title: "a line of your own, for all but the first", empty: true, does: "keep it: it is sent once a pane is picked", take: func(text string) effect {
			return func(edge) any { return worded{text} }
		}}), nil
	case name == "i" && p.picked.IncludeLast:
		p.picked.IncludeLast = false
	case name == "i" && p.first == nil && p.panes.Here.Why == "":
		return m, []effect{func(e edge) any {
			text, err := p.picking.Last(e.ctx)
			if err != nil {
				return failed{hinted(e, err)}
			}
			return recalled{p.page, text}
		}}
	}
	return m.set(p), nil
}

// adopt asks for a person's word that a program reads lines.
func (p picker) adopt(m model, x Pane) (model, []effect) {
	m = m.push(question{
		text: x.called() + " in " + x.Window + ": " + x.Why + ".\n\nIf it reads a line at a prompt and answers below it, it can be in a chat: this is adopt --as line. " +
			"Never do that with a program that executes what it reads, like a shell or psql.",
		ask: "Adopt it as a line program?",
		yes: func(e edge) any {
			ctx, cancel := context.WithTimeout(e.ctx, begins)
			defer cancel()
			if _, err := api.Call(ctx, e.Client, api.Adopt, api.AdoptRequest{Pane: x.ID, As: "line"}); err != nil {
				return failed{hinted(e, err)}
			}
			return p.find()(e)
		},
	})
	return m, m.top().open(m)
}

// choose picks a pane, or says why it cannot be picked.
func (p picker) choose(m model, x Pane) (model, []effect) {
	p.list.at = x.ID
	m = m.set(p)
	switch from := p.from(); {
	case x.Why != "":
		return m.fail(api.Errorf(api.CodeRefused, "%s cannot be picked: %s", x.ID, x.Why)), nil
	case p.picking.Question:
		return m.push(p.line(x)), nil
	case from != nil:
		return m, []effect{p.begin(p.chosen(x))}
	case len(p.marked) > 1:
		return m, []effect{p.begin(p.chosen(x))}
	default:
		p.first, p.list, p.marked = &x, list{}, nil
		return m.set(p), nil
	}
}

// chosen returns all that is picked if x is the current pane.
func (p picker) chosen(x Pane) Picked {
	picked := p.picked
	picked.Panes = slices.Clone(p.marked)
	if len(picked.Panes) == 0 || p.from() == nil && len(picked.Panes) == 1 && picked.Panes[0] != x.ID {
		picked.Panes = append(picked.Panes, x.ID)
	}
	if from := p.from(); from != nil && !p.picking.Question {
		picked.Panes = append([]string{from.ID}, slices.DeleteFunc(picked.Panes, func(id string) bool { return id == from.ID })...)
	}
	return picked
}

func (p picker) begin(picked Picked) effect {
	return func(e edge) any {
		text, err := p.picking.Begin(e.ctx, picked)
		if err != nil {
			return failed{hinted(e, err)}
		}
		return leaves{told: text}
	}
}

// line asks for the line that goes with a question.
func (p picker) line(x Pane) prompt {
	return prompt{
		title: "for " + p.panes.Here.called() + ", ask " + x.called(),
		about: p.sends(x) + "\n\nadd a line of your own, or leave it empty:", empty: true,
		take: func(text string) effect {
			picked := p.chosen(x)
			picked.Say = text
			return p.begin(picked)
		},
	}
}

const mostShown = 400 // bytes of an answer in a preview

// sends says what goes where if x is picked.
func (p picker) sends(x Pane) string {
	from := p.from()
	if from == nil {
		return x.called() + " would be the first of the two"
	}
	names := map[string]string{}
	for _, one := range append([]Pane{p.panes.Here}, p.panes.Others...) {
		names[one.ID] = cmp.Or(one.Name, one.Agent, one.ID)
	}
	first := names[from.ID]
	if p.picking.Question {
		end := "its answer comes back here, and that is all"
		if p.picked.Turns > 1 {
			end = several(p.picked.Turns, "answer") + " come back here, and that is all"
		}
		return fmt.Sprintf("%s gets what %s said last; %s:\n\n%s", names[x.ID], first, end, brief(p.last))
	}
	var others []string
	for _, id := range p.chosen(x).Panes[1:] {
		others = append(others, names[id])
	}
	who := strings.Join(others, ", ")
	lines := []string{first + " ↔ " + strings.Join(others, " ↔ ") + ": what each says next goes to the others"}
	if len(others) == 1 {
		lines[0] = first + " ↔ " + who + ": what each says next goes to the other"
	}
	if p.picked.OneWay {
		lines[0] = first + " ← " + who + ": answers go to " + first + ", and nothing else is passed on"
	}
	if p.picked.Turns > 0 {
		lines[0] += "; it ends after " + several(p.picked.Turns, "turn")
	}
	if p.picked.IncludeLast {
		lines = append(lines, "first, "+who+" get what "+first+" said last:", brief(p.last))
		if len(others) == 1 {
			lines[1] = "first, " + who + " gets what " + first + " said last:"
		}
	}
	if p.picked.Say != "" {
		lines = append(lines, "your line for "+who+": "+p.picked.Say)
	}
	return strings.Join(lines, "\n")
}

// brief returns the beginning of an answer, for a preview.
func brief(text string) string {
	text = strings.Trim(text, "\n")
	if short := opening(text, mostShown); short != text {
		return short
	}
	return text
}

func (p picker) title() string {
	switch from := p.from(); {
	case !p.found:
		return "looking at the panes …"
	case p.picking.Question:
		return "for " + p.panes.Here.called() + ", ask"
	case from == nil:
		return "start a chat between two other panes: pick the first"
	default:
		return "chat " + from.called() + " with"
	}
}

func (p picker) view(_ model, width, height int) []string {
	lines := []string{styled(bold, plain.Cut(" "+plain.Line(p.title()), width))}
	if !p.found {
		return lines
	}
	on := p.meant()
	if on == nil {
		return append(lines, "", styled(faint, plain.Cut("   there is no other pane: prefix + % creates one beside this one", width)))
	}
	items := p.items()
	var below []string
	if height >= 8 {
		text := p.sends(*on)
		if on.Why != "" {
			text = on.ID + " cannot be picked: " + on.Why
		}
		below = append([]string{"", rule("what is sent", width)}, indented(text, 1, width)...)
		if on.Why != "" {
			below[1] = rule(on.called(), width)
		}
		below = below[:min(len(below), height/2)]
	}
	lines = append(lines, p.list.view(items, window, width, max(1, min(len(items), height-1-len(below))))...)
	return append(lines, below...)
}

func (p picker) help(model) []string {
	on := p.meant()
	if !p.found || on == nil {
		return []string{"q closes"}
	}
	keys := []string{"a number or Enter picks"}
	if here := p.on(); here.Lines {
		keys = []string{"l adopt as a line program (--as line)"}
		if on.Why == "" {
			keys = append(keys, "Enter picks what is marked")
		}
		return append(keys, "q closes")
	}
	switch {
	case on.Why != "":
		keys = nil
	case p.picking.Question:
		keys = append(keys, "+ - answers")
	default:
		keys = append(keys, "space marks several", "w one way", "+ - turns", "s a line")
		if p.first == nil && p.panes.Here.Why == "" {
			keys = append(keys, "i last answer too")
		}
	}
	return append(keys, "q closes")
}
