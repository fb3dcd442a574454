package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Tab is a page of the screen.
type Tab string

// The tabs, in their order.
const (
	Waits Tab = "waits"
	Chats Tab = "chats"
	Inbox Tab = "inbox"
	Log   Tab = "log"
	// Computers is shown once this computer is linked with another one.
	Computers Tab = "computers"
)

// Tabs lists all tabs, in their order.
var Tabs = []Tab{Waits, Chats, Inbox, Log, Computers}

// Start says what a screen shows first.
type Start struct {
	Tab Tab // "" is the first one
	// Watch is a chat that is shown alone, by id, its short form or name; leaving it closes the screen.
	Watch string
	// One of these is shown alone, instead of the tabs; leaving it closes the screen.
	Pick  *Picking
	Sheet *Sheet
	Say   func(ctx context.Context) (message.Chat, error) // asks for a line, for the chat that the function finds
	About string                                          // for Say: who hears it
}

// alone reports whether the tabs are not needed.
func (s Start) alone() bool { return s.Pick != nil || s.Sheet != nil || s.Say != nil }

// The events of a screen. It ignores all other messages of Bubble Tea.
type (
	resized  struct{ width, height int }
	key      struct{ name, text string } // the key as Bubble Tea names it, and the text that it types
	pasted   struct{ text string }
	ticked   struct{}                     // time has passed
	loaded   struct{ known }              // the current state
	broken   struct{ err error }          // loading failed
	linked   struct{ all []api.Computer } // this computer and the others, with their current answers
	happened struct{}                     // something happened: the state has to be loaded again
	found    struct {                     // by a search
		sought string
		events []message.Event
	}
	told    struct{ text string } // the outcome of an action
	toldAnd struct {              // told, with an effect that finds out more
		text string
		also effect
	}
	adds   struct{ behind, text string } // more about an outcome, to be shown after it
	failed struct{ err error }           // why an action failed
	taken  struct {
		page int
		text string
	} // what a page asked for was done: the page closes
	refused struct {
		page int
		err  error
	} // it failed, and the page stays
	opened struct{ page page } // another page asks or shows something
	armed  struct{ page int }  // the question of a page has been shown long enough
	leaves struct {
		told string
		err  error
	} // the screen closes
	edits struct { // the person's editor is to change a text
		text string
		then func(text string, err error) effect
	}
)

// effect runs outside the model. It returns an event for the model, nil for none.
type effect func(e edge) any

// model is the state of a screen, as a value.
type model struct {
	now           time.Time
	width, height int
	popup         bool
	tab           Tab
	known         known
	trouble       string // why the data may be out of date
	lists         map[Tab]list
	pages         []page // on top of one another; the tabs are at the bottom
	serial        int    // number of the latest page
	says          string // outcome of the last action
	bad           bool   // the last action failed
	loading       bool
	stale         bool // something happened during the load
	alone         bool // nothing is loaded: the page shown needs no data

	leaving  bool
	farewell string
	failure  error
}

// page receives the keys. It is a value: a change makes another page.
type page interface {
	open(m model) []effect
	press(m model, k key) (model, []effect)
	view(m model, width, height int) []string
	help(m model) []string
}

// begin returns a screen without a size.
func begin(s Start, popup bool, now time.Time) model {
	m := model{now: now, popup: popup, tab: s.Tab, lists: map[Tab]list{}, pages: []page{tabs{}}, loading: true}
	if m.tab == "" {
		m.tab = Tabs[0]
	}
	var only page
	switch {
	case s.Watch != "":
		only = watch{ref: s.Watch, tail: true}
	case s.Pick != nil:
		only = picker{picking: *s.Pick}
	case s.Sheet != nil:
		only = paper{sheet: *s.Sheet, title: s.Sheet.Title}
	case s.Say != nil:
		only = sayInto(s.Say, s.About)
	default:
		return m
	}
	m.pages, m.alone = nil, s.alone()
	return m.push(only)
}

func (m model) top() page { return m.pages[len(m.pages)-1] }

// push opens a page on top of the others.
func (m model) push(p page) model {
	m.serial++
	if x, ok := p.(numbered); ok {
		p = x.number(m.serial)
	}
	m.pages = append(slices.Clip(m.pages), p)
	return m
}

// numbered is a page to which effects send results.
type numbered interface {
	page
	number(id int) page
	id() int
}

// set replaces the page on top.
func (m model) set(p page) model {
	m.pages = slices.Clone(m.pages)
	m.pages[len(m.pages)-1] = p
	return m
}

// pop closes the page on top. When it closes the last page, the screen closes.
func (m model) pop() model {
	if m.pages = m.pages[:len(m.pages)-1]; len(m.pages) == 0 {
		m.leaving = true
		m.pages = []page{tabs{}}
	}
	return m
}

// isTop reports whether the page with that number is on top.
func (m model) isTop(id int) bool {
	x, ok := m.top().(numbered)
	return ok && x.id() == id
}

// tell shows the outcome of an action, until the next key.
func (m model) tell(text string) model {
	m.says, m.bad = text, false
	return m
}

// update returns the screen after an event, and the effects to run.
func (m model) update(now time.Time, ev any) (model, []effect) {
	m.now = now
	switch ev := ev.(type) {
	case resized:
		m.width, m.height = ev.width, ev.height
		if p, ok := m.top().(paper); ok {
			return p.sized(m)
		}
	case ticked:
		m, effects := m.reload(0)
		if m.tab == Computers {
			effects = append(effects, computers)
		}
		return m, effects
	case happened:
		return m.reload(settles)
	case loaded:
		m = m.stays()
		m.known, m.trouble, m.loading = m.known.renewed(ev.known), "", false
		if x, ok := m.top().(interface {
			arrived(m model) (model, []effect)
		}); ok {
			return x.arrived(m)
		}
		if m.stale {
			return m.reload(settles)
		}
	case linked:
		m.known.computers = ev.all
	case broken:
		m.trouble, m.loading = api.AsError(ev.err).Text, false
	case found:
		switch {
		case ev.sought != m.known.sought: // it answers an earlier search
		case len(ev.events) == 0:
			return m.fail(errors.New("nothing that was said has these words")), nil
		default:
			m.known.found = ev.events
		}
	case told:
		m, effects := m.tell(ev.text).reload(0)
		return m, effects
	case toldAnd:
		m, effects := m.tell(ev.text).reload(0)
		return m, append(effects, ev.also)
	case adds:
		if m.says == ev.behind {
			ev.text = ev.behind + "; " + ev.text
		}
		return m.tell(ev.text), nil
	case failed:
		return m.fail(ev.err), nil
	case taken:
		if m.isTop(ev.page) {
			m = m.pop()
		}
		if m.leaving {
			m.farewell = ev.text
			return m, nil
		}
		return m.tell(ev.text).reload(0)
	case listed:
		if p, ok := m.top().(picker); ok && m.isTop(ev.page) {
			return p.known(m, ev.panes)
		}
	case recalled:
		if p, ok := m.top().(picker); ok && m.isTop(ev.page) {
			p.picked.IncludeLast, p.last = true, ev.text
			m = m.set(p)
		}
	case worded:
		m = m.pop()
		if p, ok := m.top().(picker); ok {
			p.picked.Say = ev.text
			m = m.set(p)
		}
	case rendered:
		if p, ok := m.top().(paper); ok && m.isTop(ev.page) {
			p.title, p.text, p.here, p.scroll = ev.title, ev.text, true, scroll{}
			m = m.set(p)
		}
	case refused:
		if x, ok := m.top().(interface{ refused(err error) page }); ok && m.isTop(ev.page) {
			return m.set(x.refused(ev.err)), nil
		}
		return m.fail(ev.err), nil
	case opened:
		// A question about a typed line leaves the line there until the answer.
		p, line := m.top().(prompt)
		q, asks := ev.page.(question)
		if line {
			p.working = false
			m = m.set(p)
		}
		if line && asks {
			q.from = p.page
			ev.page = q
		}
		m = m.push(ev.page)
		return m, m.top().open(m)
	case armed:
		if q, ok := m.top().(question); ok && m.isTop(ev.page) {
			m = m.set(q.arm(m))
		}
	case leaves:
		m.leaving, m.farewell, m.failure = true, ev.told, ev.err
	case pasted:
		if x, ok := m.top().(interface{ paste(text string) page }); ok {
			return m.set(x.paste(ev.text)), nil
		}
	case key:
		m.says = ""
		if ev.name == "ctrl+c" {
			if q, ok := m.top().(question); ok && q.no != nil {
				return q.refuse(m)
			}
			return m.pop(), nil
		}
		return m.top().press(m, ev)
	}
	return m, nil
}

// fail shows why an action failed.
func (m model) fail(err error) model {
	told := api.AsError(err)
	m.says, m.bad = told.Text, true
	if told.Hint != "" {
		m.says += " → " + told.Hint
	}
	return m
}

// settles is the pause between an event and the load that it causes: more events follow at once.
const settles = 60 * time.Millisecond

// reload loads the current state, one load at a time.
func (m model) reload(after time.Duration) (model, []effect) {
	switch {
	case m.alone:
		return m, nil
	case m.loading:
		m.stale = true
		return m, nil
	}
	m.loading, m.stale = true, false
	since := m.known.last()
	return m, []effect{func(e edge) any {
		select {
		case <-e.ctx.Done():
			return nil
		case <-time.After(after):
		}
		return loadSince(e, since)
	}}
}

// several returns a count with its noun.
func several(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return itoa(n) + " " + strings.TrimSuffix(one, "y") + "ies"
	}
	return itoa(n) + " " + one + "s"
}
