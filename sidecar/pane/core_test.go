package pane

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// nameOf returns the name of a stage or an act, as the table in the package comment has it.
func nameOf(s any) string { return strings.TrimPrefix(fmt.Sprintf("%T", s), "pane.") }

// tableOfEdges returns the edges of that table.
func tableOfEdges(t require.TestingT) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	_, table, found := strings.Cut(file.Doc.Text(), "from        to          when\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	edges := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\s*(\w+)\s+(\w+)\s+\S`).FindAllStringSubmatch(table, -1) {
		edges[row[1]+" → "+row[2]] = true
	}
	require.NotEmpty(t, edges)
	return edges
}

// said returns an act as the tables below write it.
func said(a act) string {
	reason := func(what string, why message.Reason, says string) string {
		return strings.TrimSuffix(what+": "+strings.TrimPrefix(string(why)+", "+says, ", "), ", ")
	}
	switch a := a.(type) {
	case ask:
		return "ask: " + a.says
	case hold:
		return reason("hold", a.why, a.says)
	case receipt:
		return reason(string(a.state), a.why, a.says)
	default:
		return nameOf(a)
	}
}

const (
	ready    = "ask: composer live and empty"
	rendered = "ask: rendered: the composer shows our text and only it"
)

// line is what is found at a line program that rests at its empty prompt. agentic is the same for an
// agent that tells of itself, and unknown for an unknown full-screen program.
func line(change ...func(*found)) found {
	f := found{settled: true, prepared: true, fitting: func(text string) (string, bool) { return text, true }, enough: func(string) string { return "" }}
	f.reading = screen.Reading{State: message.Idle, MayType: true, Composer: screen.Composer{Live: true, Empty: true}}
	f.frontOK, f.front.Asleep = true, true
	f.wrote = noon.Add(-time.Hour)
	for _, c := range change {
		c(&f)
	}
	return f
}

func agentic(change ...func(*found)) found {
	return line(append([]func(*found){func(f *found) { f.tells, f.told, f.bound, f.read = true, true, true, true }}, change...)...)
}

func unknown(change ...func(*found)) found {
	return line(append([]func(*found){func(f *found) { f.framed = true }}, change...)...)
}

// What may be found of our text, and of the composer.
func whole(f *found) {
	f.own = screen.Whole
	f.reading = screen.Reading{State: message.Draft, Composer: screen.Composer{Live: true, Text: "ours"}}
	f.may = message.InComposer
}

func gathered(is taking) func(*found) { return func(f *found) { f.line = is } }

func among(f *found) {
	whole(f)
	f.own = screen.Among
}

func draft(f *found) {
	whole(f)
	f.own = screen.Absent
}

func echoed(f *found) { f.echo = screen.Whole }

func mingled(f *found) { f.echo = screen.Among }

func working(f *found) {
	f.reading = screen.Reading{State: message.Working, Why: message.AgentWorking}
	f.may = message.AgentWorking
}

func unrecognised(f *found) {
	f.reading = screen.Reading{State: message.Unknown, Why: message.UnknownScreen}
	f.may = message.UnknownScreen
}

func dialog(f *found) {
	f.reading = screen.Reading{State: message.Blocked, Why: screen.DialogOpen}
	f.may = screen.DialogOpen
}

func barred(why message.Reason) func(*found) { return func(f *found) { f.bar, f.may = why, why } }

func marked(mark string) func(*found) { return func(f *found) { f.look.Facts.Mark = mark } }

func keyed(ago time.Duration) func(*found) {
	return func(f *found) { f.look.Keys = tmux.Keys{Last: noon.Add(-ago)} }
}

// deliveryOf returns a delivery to be typed.
func deliveryOf(id string) message.Delivery {
	return message.Delivery{ID: message.ID(id), Message: message.Envelope{ID: message.ID("msg-" + id), Body: id}}
}

func plainly(d message.Delivery) (part, bool) {
	return part{d: d, text: "text of " + string(d.ID)}, d.Message.Body != ""
}

// coreOf returns a core in which these deliveries wait.
func coreOf(ids ...string) *core {
	c := &core{name: "Ada (%1)", prof: profile.Line(), compose: plainly}
	for _, id := range ids {
		c.queue = append(c.queue, waiting{Delivery: deliveryOf(id)})
	}
	return c
}

// These are the stages of a paste of the delivery "a", as they were reached at noon.
func ours() *batch {
	one, _ := plainly(deliveryOf("a"))
	return &batch{parts: []part{one}, text: one.text, typedAt: noon}
}

func seen() *batch {
	b := ours()
	b.rendered = true
	return b
}

func inComposer(change ...func(*composed)) composed {
	s := composed{batch: seen(), spell: spell{since: noon}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func afterEnter(change ...func(*entered)) entered {
	s := entered{batch: seen(), spell: spell{since: noon}}
	s.enters, s.sought = 1, true
	for _, c := range change {
		c(&s)
	}
	return s
}

func planned(f found) plan {
	one, _ := plainly(deliveryOf("a"))
	return plan{parts: []part{one}, found: f}
}

// row is one step of a core, and its expected result.
type row struct {
	name  string
	at    stage
	core  *core         // nil: one in which nothing waits
	after time.Duration // since noon
	e     event
	to    string
	acts  string // joined by a bar between blanks
}

var (
	prof  = profile.Line()
	late  = prof.TakenWithin + time.Second
	quiet = prof.Quiet
)

// One row for each way in which a resting core deals with waiting deliveries.
func rowsAtRest() []row {
	closed := coreOf("a")
	closed.lost = lost{text: "another", id: "z"}
	held := coreOf("a")
	held.queue[0].held = message.CopyMode
	nothing := coreOf("a")
	nothing.queue[0].Message.Body = ""
	nothing.queue = append(nothing.queue, waiting{Delivery: deliveryOf("b")})
	long := coreOf("a")
	long.compose = func(d message.Delivery) (part, bool) {
		return part{d: d, text: strings.Repeat("x", prof.InlineMax)}, true
	}
	wide := coreOf("a")
	wide.compose = func(d message.Delivery) (part, bool) { return part{d: d, text: "\u1112\u1161"}, true }
	refused := coreOf("a")
	refused.again.refused(noon, time.Minute)
	written := coreOf("a")
	written.restless = noon
	given := func() *core {
		c := coreOf("a", "b")
		c.word = word{"a", noon}
		return c
	}
	unbracketed := given()
	unbracketed.prof = profile.Gemini().Profile
	sighted := func(f found) event { return sighted{f} }
	return []row{
		{"nothing waits", resting{}, nil, 0, sighted(line()), "resting", ""},
		{"the composer is live and empty", resting{}, coreOf("a"), 0, sighted(line()), "filing", "lay"},
		{"the pane is in a mode", resting{}, coreOf("a"), 0, sighted(line(barred(message.CopyMode))), "resting", "hold: " + string(message.CopyMode)},
		{"the same is said once", resting{}, held, 0, sighted(line(barred(message.CopyMode))), "resting", ""},
		{"its window is synchronised", resting{}, coreOf("a"), 0, sighted(line(barred(message.Synchronised))), "resting", "failed: " + string(message.Synchronised)},
		{"a person's draft", resting{}, coreOf("a"), 0, sighted(line(draft)), "resting", "hold: " + string(message.InComposer)},
		{"a dialog", resting{}, coreOf("a"), 0, sighted(agentic(dialog)), "resting", "hold: " + string(screen.DialogOpen)},
		{"it starts", resting{}, coreOf("a"), 0, sighted(agentic(func(f *found) { f.starting = true })), "resting", ""},
		{"it works", resting{}, coreOf("a"), 0, sighted(agentic(working)), "resting", "hold: " + string(message.AgentWorking)},
		{"it is not recognised", resting{}, coreOf("a"), 0, sighted(agentic(unrecognised)), "resting", "hold: " + string(message.UnknownScreen)},
		{"a text of ours is lost", resting{}, closed, 0, sighted(line()), "resting", "hold: " + string(message.OursInComposer)},
		{"its transcript was not looked for", resting{}, coreOf("a"), 0, sighted(agentic(func(f *found) { f.told = false })), "resting", "hold: " + string(message.TranscriptUnread)},
		{"its settings are being read", resting{}, coreOf("a"), 0, sighted(agentic(func(f *found) { f.prepared = false })), "resting", ""},
		{"they cannot be", resting{}, coreOf("a"), 0, sighted(agentic(func(f *found) { f.prepared, f.unreadable = false, true })), "resting", "hold: " + string(message.SettingsUnread)},
		{"its words come first", resting{}, coreOf("a"), 0, sighted(line(func(f *found) { f.settled = false })), "resting", ""},
		{"it writes on for long", resting{}, written, restlessFor + 1, sighted(unknown(func(f *found) { f.settled = false })), "resting", "hold: " + string(message.AgentWorking)},
		{"tmux has just refused", resting{}, refused, time.Second, sighted(line()), "resting", ""},
		{"the pane is too small", resting{}, coreOf("a"), 0, sighted(line(func(f *found) {
			f.fitting = func(s string) (string, bool) { return s, false }
			f.enough = func(string) string { return "90 columns are enough" }
		})), "resting", "hold: " + string(message.PaneTooNarrow) + ", 90 columns are enough"},
		{"a key was pressed that does not show", resting{}, coreOf("a"), 0, sighted(line(func(f *found) { f.pending = true })), "resting", "hold: " + string(message.NotEmpty) + ", " + pendingKey},
		{"a line was begun that does not show", resting{}, coreOf("a"), 0, sighted(line(func(f *found) { f.half = true })), "resting", "hold: " + string(message.NotEmpty)},
		{"we end", resting{}, coreOf("a"), 0, sighted(line(func(f *found) { f.ending = true })), "resting", ""},
		{"somebody has pressed a key", resting{}, coreOf("a"), 0, sighted(line(keyed(time.Second))), "resting", "hold: " + string(message.SomebodyTypes)},
		{"some time ago", resting{}, coreOf("a"), 0, sighted(line(keyed(2 * time.Second))), "filing", "lay"},
		{"keys wait that it has not read", resting{}, coreOf("a"), 0, sighted(line(func(f *found) { f.front.Unread = 1 })), "resting", "hold: " + string(message.SomebodyTypes)},
		{"nothing is left of it", resting{}, nothing, 0, sighted(line()), "filing", "failed: " + string(message.NothingToType) + " | lay"},
		{"it is too long", resting{}, long, 0, sighted(line()), "resting", "failed: " + string(message.BodyTooLong)},
		{"its width is disputed", resting{}, wide, 0, sighted(unknown()), "resting", "hold: " + string(message.WidthDisputed)},
		{"a person gave their word", resting{}, given(), 0, sighted(agentic(unrecognised, func(f *found) { f.rests = true })), "filing", "lay"},
		{"some time ago", resting{}, given(), wordFor, sighted(agentic(unrecognised, func(f *found) { f.rests = true })), "resting", "hold: " + string(message.UnknownScreen)},
		{"and it writes", resting{}, given(), 0, sighted(agentic(unrecognised, func(f *found) { f.rests, f.wrote = true, noon })), "resting", "hold: " + string(message.UnknownScreen)},
		{"and it takes no pastes", resting{}, unbracketed, 0, sighted(agentic(unrecognised, func(f *found) { f.rests, f.look.Facts.Unbracketed = true, true })), "resting", "hold: " + string(message.UnknownScreen)},
		{"and the agent does not say that it rests", resting{}, given(), 0, sighted(agentic(unrecognised)), "resting", "hold: " + string(message.UnknownScreen)},
	}
}

// One row for each way from a plan to the paste.
func rowsOfThePaste() []row {
	typedA := coreOf("a")
	typedA.queue[0].Typed = true
	one, _ := plainly(deliveryOf("a"))
	askingA := asking{plan: planned(line())}
	listening := asking{plan: planned(line()), granted: []part{one}, next: 1}
	return []row{
		{"its file is written", filing{planned(line())}, coreOf("a"), 0, filed{parts: []part{one}}, "asking", ready},
		{"it cannot be", filing{planned(line())}, coreOf("a"), 0, filed{err: errors.New("disk full")}, "resting", "notify | hold: " + string(message.FileUnwritten)},
		{"permitted", askingA, coreOf("a"), 0, permitted{}, "asking", "listen"},
		{"refused", askingA, coreOf("a"), 0, permitted{err: message.ErrEnded}, "resting", ""},
		{"it cannot be written down", askingA, coreOf("a"), 0, permitted{err: &message.UnwritableError{}}, "resting", ""},
		{"it has begun to work", listening, typedA, 0, heard{busy: message.AgentWorking}, "resting", "hold: " + string(message.TmuxRefused)},
		{"keys have come", listening, typedA, 0, heard{keys: true}, "resting", "hold: " + string(message.TmuxRefused)},
		{"nothing has changed", listening, coreOf("a"), 0, heard{}, "pasting", "paste"},
		{"tmux has pasted it", pasting{ours()}, coreOf("a"), 0, typed{tmux.Typed}, "pasted", ""},
		{"nobody can tell", pasting{ours()}, coreOf("a"), 0, typed{tmux.Unknown}, "pasted", ""},
		{"a hook of tmux took it", pasting{ours()}, coreOf("a"), 0, typed{tmux.Robbed}, "resting", "retract | hold: " + string(message.TmuxLost)},
		{"tmux refused", pasting{ours()}, coreOf("a"), 0, typed{tmux.Refused}, "resting", "retract | hold: " + string(message.TmuxRefused)},
	}
}

// One row for each way from the paste to Enter.
func rowsBeforeEnter() []row {
	sighted := func(f found) event { return sighted{f} }
	waitsForSettle := coreOf()
	waitsForSettle.prof.Settle = time.Second
	vouched := inComposer(func(s *composed) { s.vouched = true })
	disturbed := inComposer(func(s *composed) { s.disturbed, s.placeholder = true, "[Pasted]" })
	gone := inComposer(func(s *composed) { s.absent = noon })
	parked := inComposer(func(s *composed) { s.parked = true })
	atRest := inComposer(func(s *composed) { s.rested = 1 })
	shaking := inComposer(func(s *composed) { s.unclear = noon })
	stood := inComposer(func(s *composed) { s.held = message.CopyMode })
	refusedOften := entering{inComposer(func(s *composed) { s.again.n = refusals }), line(whole)}
	permittingA := permitting{composed: inComposer(), found: line(whole)}
	held := "held: %s, our text stands in the composer"
	pressed := marked(markOf(true, ours().parts, line().look.Facts, noon))
	return []row{
		{"not seen yet", pasted{batch: ours(), spell: spell{since: noon}}, nil, prof.SeenWithin, sighted(line()), "pasted", ""},
		{"seen", pasted{batch: ours(), spell: spell{since: noon}}, nil, 0, sighted(line(whole)), "permitting", rendered},
		{"seen, and an order of an earlier life has pressed Enter", pasted{batch: ours(), spell: spell{since: noon}}, nil, 0, sighted(line(whole, pressed)), "entered", ""},
		{"the same, a look later: it waits in the terminal, and another would come behind it", inComposer(), nil, 0, sighted(line(whole, pressed)), "entered", ""},
		{"the same, and it was taken", inComposer(), nil, 0, sighted(line(echoed, pressed)), "resting", "await | submitted: tmux: Enter was typed; echo: the text was taken | settle"},
		{"our own Enter, which has become a line break", inComposer(func(s *composed) { s.enters = 1 }), nil, 0, sighted(line(whole, pressed)), "permitting", rendered},
		{"seen, and Enter is not safe yet", pasted{batch: ours(), spell: spell{since: noon}}, waitsForSettle, 0, sighted(line(whole)), "composed", ""},
		{"seen, and something is in the way", pasted{batch: ours(), spell: spell{since: noon}}, nil, 0, sighted(line(whole, barred(message.CopyMode))), "composed", fmt.Sprintf(held, message.CopyMode)},
		{"covered", pasted{batch: ours(), spell: spell{since: noon}}, nil, late, sighted(line(barred(message.CopyMode))), "pasted", fmt.Sprintf(held, message.CopyMode)},
		{"somebody typed beside it", pasted{batch: ours(), spell: spell{since: noon}}, nil, 0, sighted(line(among)), "composed", fmt.Sprintf(held, message.InComposer) + " | notify"},
		{"never seen", pasted{batch: ours(), spell: spell{since: noon}}, nil, prof.SeenWithin + 1, sighted(line()), "resting", "announce | uncertain: " + string(message.NotSeen) + " | settle"},
		{"drawn slowly", pasted{batch: ours(), spell: spell{since: noon}}, nil, prof.SeenWithin + 1, sighted(line(func(f *found) { f.unfinished = 5 })), "pasted", ""},
		{"for too long", pasted{batch: ours(), spell: spell{since: noon}}, nil, slowest + 1, sighted(line(func(f *found) { f.unfinished = 5 })), "resting", "announce | uncertain: " + string(message.NotSeen) + " | settle"},
		{"a long paste is shown in one line", pasted{batch: ours(), spell: spell{since: noon}}, nil, 0, sighted(agentic(whole, func(f *found) { f.placeholder = "[Pasted #1]" })), "permitting", rendered},

		{"it stands", inComposer(), nil, 0, sighted(line(whole)), "permitting", rendered},
		{"somebody has pressed a key", inComposer(), nil, 0, sighted(line(whole, keyed(0))), "composed", fmt.Sprintf(held, message.SomebodyTypes)},
		{"keys wait that it has not read, or the end of our paste", inComposer(), nil, 0, sighted(line(whole, func(f *found) { f.front.Unread = 1 })), "composed", ""},
		{"for long", inComposer(), nil, worksFor, sighted(line(whole, func(f *found) { f.front.Unread = 1 })), "composed", fmt.Sprintf(held, message.SomebodyTypes)},
		{"we end", inComposer(), nil, 0, sighted(line(whole, func(f *found) { f.ending = true })), "composed", ""},
		{"it is parked", parked, nil, 0, sighted(line(whole)), "composed", ""},
		{"until the relay hands it out again", parked, nil, 0, delivered{[]message.Delivery{deliveryOf("a")}}, "composed", ""},
		{"words beside it", inComposer(), nil, 0, sighted(line(among)), "composed", fmt.Sprintf(held, message.InComposer) + " | notify"},
		{"something is in the way, as before", stood, nil, 0, sighted(line(whole, barred(message.CopyMode))), "composed", ""},
		{"a dialog opens", inComposer(), nil, 0, sighted(agentic(dialog)), "composed", fmt.Sprintf(held, screen.DialogOpen)},
		{"the agent says that it works", inComposer(), nil, 0, sighted(agentic(whole, func(f *found) { f.busy = message.AgentWorking })), "composed", fmt.Sprintf(held, message.AgentWorking)},
		{"its screen is being drawn", inComposer(), nil, 0, sighted(agentic(unrecognised)), "composed", ""},
		{"for long", shaking, nil, shaken, sighted(agentic(unrecognised)), "composed", fmt.Sprintf(held, message.UnknownScreen)},
		{"a program that nobody knows still works on it", atRest, nil, 0, sighted(unknown(whole, func(f *found) { f.front.Asleep = false })), "composed", ""},
		{"or has not read all of it", atRest, nil, 0, sighted(unknown(whole, func(f *found) { f.front.Unread = 1 })), "composed", ""},
		{"for long", inComposer(), nil, worksFor, sighted(unknown(whole, func(f *found) { f.front.Asleep = false })), "permitting", rendered},
		{"it rests, and may have drawn since the look", inComposer(), nil, 0, sighted(unknown(whole)), "composed", ""},
		{"it rested before the look", atRest, nil, 0, sighted(unknown(whole)), "permitting", rendered},
		{"a question appears above it", inComposer(), nil, 0, sighted(unknown(whole, func(f *found) { f.covered = screen.DialogOpen })), "composed", fmt.Sprintf(held, screen.DialogOpen)},
		{"another long paste", disturbed, nil, 0, sighted(agentic(whole, func(f *found) { f.placeholder = "[Pasted]" })), "composed", fmt.Sprintf(held, message.InComposer) + " | notify"},
		{"a person's word, and it stands before the cursor", vouched, nil, 0, sighted(agentic(unrecognised, func(f *found) { f.before = true })), "permitting", rendered},
		{"a person's word, and it does not", vouched, nil, 0, sighted(agentic(unrecognised)), "composed", ""},
		{"a person pressed Enter, or it asks something below", inComposer(), nil, 0, sighted(line(echoed, working)), "resting", "uncertain: " + string(message.NotTaken) + ", the text left the composer without our Enter | settle"},
		{"or took it away", inComposer(), nil, 0, sighted(line(echoed)), "resting", "announce | uncertain: " + string(message.NotTaken) + ", the text left the composer without our Enter | settle"},
		{"it is gone", inComposer(), nil, prof.TakenWithin, sighted(agentic()), "composed", ""},
		{"it stays gone", inComposer(), nil, late, sighted(agentic()), "resting", "uncertain: " + string(message.NotTaken) + " | settle"},
		{"a person took it away, and writes on", gone, nil, late, sighted(agentic(draft)), "composed", fmt.Sprintf(held, message.InComposer) + " | notify"},
		{"the agent took it", inComposer(), nil, 0, prompted{agent.Prompt{Text: "text of a", By: agent.ByKeys}, "transcript"}, "resting", "await | submitted: consumed: the agent took the text as a prompt | settle"},
		{"the agent took it, and more", inComposer(), nil, 0, prompted{agent.Prompt{Text: "text of a, and more", By: agent.ByKeys}, "transcript"}, "resting", "await | submitted: consumed: the agent took the text, and more with it | settle"},
		{"the agent took another", inComposer(), nil, 0, prompted{agent.Prompt{Text: "another", By: agent.ByKeys}, "transcript"}, "composed", ""},
		{"the agent took the same before", inComposer(), nil, 0, prompted{agent.Prompt{Text: "text of a", By: agent.ByKeys, At: noon.Add(-time.Second)}, "transcript"}, "composed", ""},
		{"the pane has gone", inComposer(), nil, 0, goneAs(message.PaneMissing), "resting", "uncertain: " + string(message.AgentGone) + ", " + string(message.PaneMissing)},
		{"the pane is released, our text was seen", inComposer(), nil, 0, released{}, "resting", "uncertain: " + string(message.ReleasedPane) + " | settle"},
		{"the pane is released, and it was not", pasted{batch: ours(), spell: spell{since: noon}}, nil, 0, released{}, "resting", "announce | uncertain: " + string(message.ReleasedPane) + " | settle"},

		{"Enter is permitted", permittingA, nil, 0, permitted{}, "permitting", "listen"},
		{"the chat is paused", permittingA, nil, 0, permitted{err: message.ErrPaused}, "composed", ""},
		{"it cannot be written down", permittingA, nil, 0, permitted{err: &message.UnwritableError{}}, "composed", ""},
		{"we end meanwhile", permittingA, nil, 0, permitted{err: errors.New("closed"), ending: true}, "composed", ""},
		{"the chat has ended", permittingA, nil, 0, permitted{err: message.ErrEnded}, "resting", "uncertain: " + string(message.ChatEnded) + ", our text stands in the composer, and gets no Enter | settle"},
		{"the agent took it meanwhile", permittingA, nil, 0, prompted{agent.Prompt{Text: "text of a"}, "transcript"}, "resting", "await | submitted: consumed: the agent took the text as a prompt | settle"},
		{"and what was permitted is not done", resting{}, nil, 0, heard{}, "resting", ""},
		{"the agent has begun to work", permittingA, nil, 0, heard{busy: message.AgentWorking}, "composed", ""},
		{"keys have come", permittingA, nil, 0, heard{keys: true}, "composed", ""},
		{"nothing has changed", permittingA, nil, 0, heard{}, "entering", "press"},
		{"tmux has pressed Enter", entering{inComposer(), line(whole)}, nil, 0, typed{tmux.Typed}, "entered", ""},
		{"nobody can tell", entering{inComposer(), line(whole)}, nil, 0, typed{tmux.Unknown}, "entered", ""},
		{"tmux refused", entering{inComposer(), line(whole)}, nil, 0, typed{tmux.Refused}, "composed", ""},
		{"tmux refused for long", refusedOften, nil, 0, typed{tmux.Refused}, "resting", "uncertain: " + string(message.TmuxRefused) + ", our text stands in the composer, and tmux refuses Enter | settle"},
	}
}

// Only the look just before counts, and no earlier one, since it is not known what happened after that.
func TestCore_restedBeforeTheLook(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]found{
		"it works":       unknown(whole, func(f *found) { f.front.Asleep = false }),
		"it was covered": unknown(whole, barred(message.CopyMode), func(f *found) { f.front.Asleep = false }),
		"it was away":    unknown(unrecognised),
	} {
		c := &core{name: "Ada (%1)", prof: profile.TUI(), compose: plainly, at: inComposer(func(s *composed) { s.rested = 1 })}
		c.step(noon, sighted{between})
		require.Zero(t, c.at.(composed).rested, name)
		c.step(noon, sighted{unknown(whole)})
		require.IsType(t, composed{}, c.at, name)
		c.step(noon, sighted{unknown(whole)})
		require.IsType(t, permitting{}, c.at, name)
	}
}

func goneAs(why message.Reason) event { return gone{why} }

// One row for each way in which a text leaves the composer after Enter, or does not.
func rowsAfterEnter() []row {
	sighted := func(f found) event { return sighted{f} }
	cleared := afterEnter(func(s *entered) { s.cleared = noon })
	doubted := afterEnter(func(s *entered) { s.cleared, s.doubted = noon, true })
	once := afterEnter(func(s *entered) { s.left = true })
	twice := afterEnter(func(s *entered) { s.repeated = true })
	three := afterEnter(func(s *entered) { s.enters = enters })
	unsought := afterEnter(func(s *entered) { s.sought = false })
	stands := agentic(whole)
	emptied := func(f *found) { f.emptied = true }
	broke := func(f *found) { f.breaks = 1 }
	kept := func(f *found) { f.front.Canonical, f.front.Unread = true, 7 }
	gone := "await | submitted: %s | settle"
	uncertain := "uncertain: " + string(message.NotTaken) + " | settle"
	return []row{
		{"it still stands", afterEnter(), nil, 0, sighted(line(whole)), "entered", ""},
		{"for too long", afterEnter(), nil, late, sighted(line(whole)), "resting", uncertain},
		{"it is echoed", afterEnter(), nil, 0, sighted(line(echoed)), "resting", fmt.Sprintf(gone, "echo: the text was taken")},
		{"with a person's words, which nobody had seen", afterEnter(), nil, 0, sighted(line(mingled)), "resting", "uncertain: " + string(message.TakenTogether) + ", echo: the text was taken, and more with it | settle"},
		{"and it has left", cleared, nil, quiet, sighted(line(emptied, mingled)), "resting", "uncertain: " + string(message.TakenTogether) + ", echo: the text was taken, and more with it | settle"},
		{"and nobody has read the terminal since", afterEnter(), nil, 0, sighted(line(echoed, gathered(lineStands))), "entered", ""},
		{"nor with a person's words", afterEnter(), nil, 0, sighted(line(mingled, gathered(lineStands))), "entered", ""},
		{"it is echoed by the terminal alone", afterEnter(), nil, 0, sighted(line(echoed, kept)), "entered", ""},
		{"and nobody reads it", cleared, nil, late, sighted(line(echoed, emptied, kept)), "resting", uncertain},
		{"what was echoed stands there again", afterEnter(), nil, 0, sighted(line(echoed, whole)), "entered", ""},
		{"it has just left", afterEnter(), nil, 0, sighted(line(emptied)), "entered", ""},
		{"it has left", cleared, nil, quiet, sighted(line(emptied)), "resting", fmt.Sprintf(gone, "emptied: the composer no longer holds the text")},
		{"it has left, and Enter may not have come", doubted, nil, quiet, sighted(line(emptied)), "entered", ""},
		{"for long", doubted, nil, late, sighted(line(emptied)), "resting", uncertain},
		{"it has left, and the server's mark says that Enter came", doubted, nil, quiet, sighted(line(emptied, marked("entered.5.1.a"))), "resting", fmt.Sprintf(gone, "emptied: the composer no longer holds the text")},
		{"it has left, and the mark is of an Enter before", afterEnter(func(s *entered) { s.cleared, s.doubted, s.before = noon, true, "entered.5.1.a" }), nil, quiet, sighted(line(emptied, marked("entered.5.1.a"))), "entered", ""},
		{"it is being drawn", cleared, nil, quiet, sighted(line()), "entered", ""},
		{"covered, whatever shows", cleared, nil, late, sighted(line(emptied, barred(message.CopyMode))), "entered", ""},
		{"no composer shows", cleared, nil, late, sighted(unknown(emptied, func(f *found) { f.hidden = true })), "entered", ""},
		{"it has left, and nothing tells more", cleared, nil, late, sighted(agentic(func(f *found) { f.reading.Composer.Text = "other" })), "resting", uncertain},
		{"the agent took it before we came", afterEnter(), nil, 0, sighted(agentic(func(f *found) { f.consumed = true })), "resting", fmt.Sprintf(gone, "consumed: the agent took the text as a prompt")},
		{"the agent works", cleared, nil, transcriptGrace, sighted(agentic(working)), "resting", fmt.Sprintf(gone, "emptied: the composer no longer holds the text, and the agent works")},
		{"the agent works, and its transcript may tell", cleared, nil, transcriptGrace - 1, sighted(agentic(working)), "entered", ""},
		{"the agent shows it as its last prompt", cleared, nil, transcriptGrace, sighted(agentic(func(f *found) { f.prompt = true })), "resting", fmt.Sprintf(gone, "echo: the agent shows the text as its last prompt")},
		{"Enter became a line break", afterEnter(), nil, 0, sighted(agentic(whole, broke)), "composed", ""},
		{"three times", three, nil, 0, sighted(agentic(whole, broke)), "entered", ""},
		{"Enter did nothing", afterEnter(), nil, strandedFor, sighted(stands), "composed", ""},
		{"it may yet", afterEnter(), nil, strandedFor - 1, sighted(stands), "entered", ""},
		{"the text was gone, and is back", once, nil, strandedFor, sighted(stands), "entered", ""},
		{"Enter was pressed again already", twice, nil, strandedFor, sighted(stands), "entered", ""},
		{"bytes wait in the terminal", afterEnter(), nil, strandedFor, sighted(agentic(whole, func(f *found) { f.front.Unread = 1 })), "entered", ""},
		{"it runs", afterEnter(), nil, strandedFor, sighted(agentic(whole, func(f *found) { f.front.Asleep = false })), "entered", ""},
		{"it has drawn since", afterEnter(), nil, strandedFor, sighted(agentic(whole, func(f *found) { f.wrote = noon.Add(strandedEcho + 1) })), "entered", ""},
		{"it does not tell what it takes", afterEnter(), nil, strandedFor, sighted(agentic(whole, func(f *found) { f.read = false })), "entered", ""},
		{"it says that it works", afterEnter(), nil, strandedFor, sighted(agentic(whole, func(f *found) { f.busy = message.AgentWorking })), "entered", ""},
		{"nor is it entered again, however long it stands", afterEnter(), nil, late, sighted(agentic(whole, func(f *found) { f.read = false })), "resting", uncertain},
		{"it has not read it yet", afterEnter(), nil, late, sighted(agentic(whole, func(f *found) { f.front.Unread = 1 })), "entered", ""},
		{"nor has it got to it", afterEnter(), nil, late, sighted(agentic(whole, func(f *found) { f.front.Asleep = false })), "entered", ""},
		{"it got to it a moment ago", afterEnter(func(s *entered) { s.lagged = noon.Add(10 * time.Second) }), nil, late, sighted(agentic(whole, func(f *found) { f.read = false })), "entered", ""},
		{"it never gets to it", afterEnter(), nil, lagsFor + 1, sighted(agentic(whole, func(f *found) { f.front.Asleep = false })), "resting", uncertain},
		{"a dialog has opened on it", afterEnter(), nil, strandedFor, sighted(agentic(dialog)), "entered", ""},
		{"for long", cleared, nil, late, sighted(agentic(dialog)), "resting", uncertain},
		{"nor does a line program", afterEnter(), nil, strandedFor, sighted(line(whole)), "entered", ""},
		{"its transcripts are searched", unsought, nil, seekAfter, sighted(stands), "entered", "seek"},
		{"the agent took it", afterEnter(), nil, 0, prompted{agent.Prompt{Text: "text of a"}, "hook"}, "resting", fmt.Sprintf(gone, "consumed: the agent took the text as a prompt")},
	}
}

// One row for each way in which a text that an earlier life left goes on.
func rowsOfAnEarlierLife() []row {
	sighted := func(f found) event { return sighted{f} }
	left := func() *core {
		c := coreOf("a", "b")
		c.queue[0].Typed = true
		return c
	}
	unwritten := left()
	unwritten.queue[0].unwritten = true
	names := func(entered bool) string {
		one, _ := plainly(deliveryOf("a"))
		return markOf(entered, []part{one}, tmux.Facts{}, noon)
	}
	spotOf := func(entered bool) spot { return readMark(names(entered)) }
	one, _ := plainly(deliveryOf("a"))
	again := func(entered bool) recalling {
		b := ours()
		b.marked, b.rendered = "tmux: so it was", entered
		return recalling{found: line(), was: spotOf(entered), since: noon, batch: b}
	}
	disclaiming := recalling{found: line()}
	uncertain := "uncertain: " + string(message.NotTaken) + ", %s | settle"
	return []row{
		{"the mark does not name it", resting{}, left(), 0, sighted(line()), "recalling", "hold: " + string(message.TmuxRefused) + ", tmux did not paste it"},
		{"nor could that be written down", resting{}, unwritten, 0, sighted(line()), "recalling", "hold: " + string(message.Unwritable) + ", nothing was typed: it could not be written down"},
		{"which is noted", disclaiming, left(), 0, noted{id: "a"}, "resting", ""},
		{"which cannot be noted", disclaiming, left(), 0, noted{"a", &message.UnwritableError{}}, "resting", ""},
		{"which is not ours any more", disclaiming, left(), 0, noted{"a", message.ErrEnded}, "resting", ""},
		{"the mark names it", resting{}, left(), 0, sighted(line(marked(names(false)))), "recalling", "recall"},
		{"the mark names what was reported as refused", resting{}, coreOf("a"), 0, sighted(line(marked(names(false)))), "recalling", "ask: tmux has pasted it"},
		{"which is written down", recalling{found: line(), was: spotOf(false), asked: one}, coreOf("a"), 0, permitted{}, "recalling", "recall"},
		{"which is not to be", recalling{found: line(), was: spotOf(false), asked: one}, coreOf("a"), 0, permitted{err: message.ErrEnded}, "resting", ""},
		{"the composer is covered", resting{}, left(), 0, sighted(line(marked(names(false)), barred(message.CopyMode))), "resting", "hold: " + string(message.CopyMode)},
		{"its transcript is being read", resting{}, left(), 0, sighted(agentic(marked(names(false)), func(f *found) { f.told = false })), "resting", ""},
		{"its skills are being read", resting{}, left(), 0, sighted(agentic(marked(names(false)), func(f *found) { f.prepared = false })), "resting", ""},
		{"they cannot be", resting{}, left(), 0, sighted(agentic(marked(names(false)), func(f *found) { f.prepared, f.unreadable = false, true })), "recalling", "recall"},
		{"it was pasted, and has not shown", again(false), nil, 0, recalled{found: line()}, "pasted", ""},
		{"it stands", again(false), nil, 0, recalled{found: line(whole)}, "permitting", rendered},
		{"it stands, covered", again(false), nil, 0, recalled{found: line(whole, barred(message.CopyMode))}, "composed", "held: " + string(message.CopyMode) + ", our text stands in the composer"},
		{"Enter came, too", again(true), nil, 0, recalled{found: line(whole)}, "entered", ""},
		{"Enter came, and it is echoed", again(true), nil, 0, recalled{found: line(echoed)}, "resting", "await | submitted: tmux: so it was; echo: the text was taken | settle"},
		{"the agent has taken it", again(true), nil, 0, recalled{found: agentic(), fate: answered}, "resting", "await | submitted: tmux: so it was; consumed: the agent has taken the text as a prompt | settle"},
		{"it was taken, and stands there once more", again(false), nil, 0, recalled{found: line(whole), fate: stale}, "resting", fmt.Sprintf(uncertain, "the text was taken, and stands in the composer once more")},
		{"it was shown, and is gone", again(false), nil, 0, recalled{found: line(), fate: sent}, "resting", "announce | " + fmt.Sprintf(uncertain, "the text left the composer without our Enter")},
	}
}

// Each stage with each event that matters there: where it leads, and what is done. Together the rows
// take all edges in the package comment, and no others.
func TestCore_stages(t *testing.T) {
	edges, taken := tableOfEdges(t), map[string]bool{}
	for name, rows := range map[string][]row{
		"at rest": rowsAtRest(), "paste": rowsOfThePaste(), "before Enter": rowsBeforeEnter(), "after Enter": rowsAfterEnter(),
		"an earlier life": rowsOfAnEarlierLife(), "a door": rowsOfTheDoor(),
	} {
		for i, r := range rows {
			t.Run(fmt.Sprintf("%s/%d %s", name, i, r.name), func(t *testing.T) {
				c := r.core
				if c == nil {
					c = coreOf()
				}
				c.at = r.at
				var acts []string
				for _, a := range c.step(noon.Add(r.after), r.e) {
					acts = append(acts, said(a))
				}
				assert.Equal(t, r.to, nameOf(c.at))
				assert.Equal(t, r.acts, strings.Join(acts, " | "))
				if from, to := nameOf(r.at), nameOf(c.at); from != to {
					taken[from+" → "+to] = true
				}
			})
		}
	}
	assert.Equal(t, edges, taken)
}

// A goroutine that panics in the midst of a paste begins anew like another life: what was typed counts
// as possibly typed.
func TestCore_revive(t *testing.T) {
	for _, at := range []stage{
		pasted{batch: ours()}, inComposer(), permitting{composed: inComposer()}, entering{composed: inComposer()}, afterEnter(), recalling{batch: ours()}, passed{batch: through()},
	} {
		c := coreOf("b")
		c.at = at
		c.revive()
		assert.Equal(t, "resting", nameOf(c.stage()))
		if assert.Len(t, c.queue, 2, nameOf(at)) {
			assert.Equal(t, message.ID("a"), c.queue[0].ID)
			assert.True(t, c.queue[0].Typed)
		}
	}
}

// A person takes our text away with their own and writes on without a rest. However often looks show
// their words in between, a receipt tells of our text, no Enter was pressed, and the next delivery is
// typed.
func TestCore_takenAwayAndWrittenOn(t *testing.T) {
	c := coreOf("b")
	c.at = inComposer()
	var acts []string
	for at := time.Duration(0); nameOf(c.at) == "composed"; at += time.Second {
		require.LessOrEqual(t, at, 2*late, "never told of")
		for _, f := range []found{agentic(draft), agentic()} {
			for _, a := range c.step(noon.Add(at), sighted{f}) {
				acts = append(acts, said(a))
			}
		}
	}
	all := strings.Join(acts, " | ")
	assert.Contains(t, all, "uncertain: "+string(message.NotTaken)+" | settle")
	assert.NotContains(t, all, "rendered")
	assert.Zero(t, c.lost, "the pane is not closed by it")
	c.step(noon.Add(2*late), sighted{agentic()})
	assert.Equal(t, "filing", nameOf(c.at), "the next one")
}

// What follows from a text that is not known to have been taken: one that was never seen, or that left
// without our Enter, closes the pane; one that was seen keeps others away by itself.
func TestCore_whatClosesThePane(t *testing.T) {
	notSeen := pasted{batch: ours(), spell: spell{since: noon}}
	for _, tt := range []struct {
		name string
		at   stage
		e    event
		want lost
	}{
		{"never seen", notSeen, sighted{line()}, lost{text: "text of a", id: "a"}},
		{"it left without our Enter", inComposer(), sighted{line(echoed)}, lost{text: unknownText, id: "a"}},
		{"it left, and somebody has read it", inComposer(), sighted{line(echoed, gathered(lineRead))}, lost{}},
		{"it left while its program prints, and nobody has read it", inComposer(), sighted{line(echoed, working, gathered(lineStands))}, lost{text: unknownText, id: "a"}},
		{"or nobody can tell", inComposer(), sighted{line(echoed, working, gathered(lineMayStand))}, lost{text: unknownText, id: "a"}},
		{"its program has erased it", inComposer(), sighted{line(gathered(lineStands))}, lost{text: unknownText, id: "a"}},
		{"a person has", inComposer(), sighted{line(gathered(lineWiped))}, lost{}},
		{"by C-c, which stands behind it", inComposer(), sighted{line(mingled, gathered(lineWiped))}, lost{}},
		{"a program that nobody knows hides it", inComposer(func(s *composed) { s.read = 7 }), sighted{unknown(func(f *found) { f.reads = reads{7, 7} })}, lost{text: unknownText, id: "a"}},
		{"of which nobody tells", inComposer(), sighted{unknown()}, lost{text: unknownText, id: "a"}},
		{"or somebody's key does", inComposer(func(s *composed) { s.read = 7 }), sighted{unknown(func(f *found) { f.reads = reads{8, 8} })}, lost{text: unknownText, id: "a"}},
		{"our Enter never came", afterEnter(), sighted{line(echoed, gathered(lineStands))}, lost{text: unknownText, id: "a"}},
		{"it left before we came", recalling{batch: ours()}, recalled{found: line(), fate: sent}, lost{text: unknownText, id: "a"}},
		{"it stands", afterEnter(), sighted{line(whole)}, lost{}},
		{"it was taken", afterEnter(), sighted{line(echoed)}, lost{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := coreOf()
			c.at = tt.at
			c.step(noon.Add(late), tt.e)
			assert.Equal(t, "resting", nameOf(c.stage()))
			assert.Equal(t, tt.want, c.lost)
		})
	}
	c := coreOf()
	c.lost = lost{text: "text of a", id: "a"}
	c.step(noon, prompted{agent.Prompt{Text: "more", By: agent.BySystem}, "transcript"})
	assert.NotZero(t, c.lost, "nobody typed that")
	c.step(noon, surfaced{stands: true})
	assert.Equal(t, lost{text: unknownText, id: "a"}, c.lost, "it came, and waits for a reader")
	c.step(noon, prompted{agent.Prompt{Text: "more", By: agent.ByKeys}, "transcript"})
	assert.Zero(t, c.lost, "it has read all that came before")
}

// Once somebody has written beside our text after Enter, it is not entered again, not even when it
// stands there alone as before.
func TestCore_besideItAfterEnter(t *testing.T) {
	for _, between := range []found{agentic(among), agentic(draft), agentic()} {
		c := &core{prof: profile.Line(), at: afterEnter()}
		assert.Empty(t, c.step(noon, sighted{between}))
		assert.Empty(t, c.step(noon.Add(strandedFor), sighted{agentic(whole)}))
		assert.Equal(t, "entered", nameOf(c.at))
		assert.True(t, c.at.(entered).left)
	}
}

// If tmux refuses again and again, since the screen never holds still, it is tried ever more seldom, and
// reported once.
func TestCore_refusalsAreSpacedOut(t *testing.T) {
	c := coreOf("a")
	var tries []time.Duration
	said := 0
	for after := time.Duration(0); after < 20*time.Second; after += 10 * time.Millisecond {
		now := noon.Add(after)
		c.step(now, sighted{line()})
		if nameOf(c.stage()) == "resting" {
			continue
		}
		tries = append(tries, after)
		one, _ := plainly(deliveryOf("a"))
		c.step(now, filed{parts: []part{one}})
		c.step(now, permitted{})
		c.step(now, heard{})
		require.Equal(t, "pasting", nameOf(c.at))
		for _, a := range c.step(now, typed{tmux.Refused}) {
			if _, ok := a.(hold); ok {
				said++
				c.step(now, noted{id: "a"})
			}
		}
	}
	for i := 2; i < len(tries); i++ {
		before := tries[i-1] - tries[i-2]
		assert.InDelta(t, min(2*before, longestBackoff), tries[i]-tries[i-1], float64(20*time.Millisecond), "%v", tries)
	}
	assert.Len(t, tries, 11, "%v", tries)
	assert.Equal(t, len(tries), said)
}

// What the mark says of an earlier Enter tells nothing of one that tmux did not answer.
func TestCore_markOfAnEnterBefore(t *testing.T) {
	old := marked("entered.5.1.a")
	c := &core{prof: profile.Line(), at: entering{inComposer(), line(whole, old)}}
	c.step(noon, typed{tmux.Unknown})
	for i := range 4 {
		acts := c.step(noon.Add(time.Duration(i+1)*time.Second), sighted{line(func(f *found) { f.emptied = true }, old)})
		for _, a := range acts {
			assert.NotContains(t, said(a), string(message.Submitted))
		}
	}
}

// A paste that comes after its delivery was taken back may not have been read yet: nothing is typed
// behind it.
func TestCore_strayOfAnEarlierLife(t *testing.T) {
	for name, test := range map[string]struct {
		known []message.ID
		mark  string
		want  lost
	}{
		"a stray":             {nil, "pasted.5.1.gone", lost{text: unknownText, id: "gone"}},
		"what was found":      {[]message.ID{"gone"}, "pasted.5.1.gone", lost{}},
		"Enter came, too":     {nil, "entered.5.1.gone", lost{}},
		"no mark":             {nil, "", lost{}},
		"that of another one": {[]message.ID{"old"}, "pasted.5.1.gone", lost{text: unknownText, id: "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := coreOf("a")
			c.marked = test.known
			c.step(noon, sighted{line(marked(test.mark))})
			assert.Equal(t, test.want, c.lost)
			assert.Equal(t, test.want.text == "", c.reaching(), "it goes on")
		})
	}
}
