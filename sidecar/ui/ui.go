// Package ui is the terminal program for a person. It shows what waits for them, the chats, what is held, and
// what happened, with a key for every action. Like the commands, it only uses the api.
//
// The model is pure: it takes an event, and returns a changed model and effects (model.go). Effects call the
// api and return events; they run in goroutines of Bubble Tea. One more goroutine follows the sidecar's events.
// All of them end with Run. Text that others wrote is shown only through package plain.
package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Host is what the surrounding program does for a screen.
type Host struct {
	Client *api.Client // required
	// In and Out are the terminal. Both are required.
	In, Out *os.File
	Environ []string

	// Pane is the pane from which a popup was opened, "" if this is no popup: then jumping to a pane leaves the
	// screen open.
	Pane string
	// Jump shows a pane at the person's client.
	Jump func(ctx context.Context, pane string) error
	// Edit lets the person change a text in their editor, at the terminal.
	Edit func(ctx context.Context, text string) (string, error)
	// Keep saves a person's text that was not used, and returns where; nil: nothing is saved.
	Keep func(text string) (string, error)
	// Hint replaces commands in a text with keys, where there are some.
	Hint func(text string) string
	// Unsent returns a line for each composer in which a text of ours stands without its Enter, for the chats
	// that which has just stopped or paused; Left returns one for a session that was just released, "" for
	// none. nil: not known.
	Unsent func(ctx context.Context, which api.ChatRef, chats []message.Chat) []string
	Left   func(ctx context.Context, session message.Peer, deliveries []message.ID) string
}

// Run shows a screen until the person leaves it. It returns what to tell once the screen has closed, "" for
// nothing.
func Run(ctx context.Context, h Host, s Start) (told string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	first := program{m: begin(s, h.Pane != "", time.Now()), edge: edge{Host: h, ctx: ctx}}
	p := tea.NewProgram(first, tea.WithContext(ctx), tea.WithInput(h.In), tea.WithOutput(h.Out), tea.WithEnvironment(h.Environ), tea.WithoutSignalHandler())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		if !first.m.alone {
			first.edge.follow(func(ev any) { p.Send(ev) })
		}
	}()
	last, err := p.Run()
	cancel()
	<-followed
	if done, ok := last.(program); ok && done.m.leaving {
		return done.m.farewell, done.m.failure
	}
	if errors.Is(err, tea.ErrProgramKilled) && context.Cause(ctx) != nil {
		return "", nil // the popup was closed
	}
	return "", err
}

// edge gives effects access to the outside.
type edge struct {
	Host
	ctx context.Context
}

const (
	quick     = 5 * time.Second // for calls that wait for nobody
	begins    = 15 * time.Second
	pollEvery = 2 * time.Second // the states of panes change without an event
	tryAgain  = time.Second     // when the sidecar is gone
)

// call makes a call that waits for nobody.
func call[Q, R any](e edge, op api.Op[Q, R], req Q) (R, error) {
	ctx, cancel := context.WithTimeout(e.ctx, quick)
	defer cancel()
	return api.Call(ctx, e.Client, op, req)
}

// follow sends an event whenever something happens, also in the sidecar that comes after this one.
func (e edge) follow(send func(any)) {
	for e.ctx.Err() == nil {
		for _, err := range api.Follow(e.ctx, &api.Client{Socket: e.Client.Socket, Key: e.Client.Key}, api.Events, api.EventsQuery{Since: -1}) {
			if err != nil {
				break
			}
			send(happened{})
		}
		select {
		case <-e.ctx.Done():
		case <-time.After(tryAgain):
		}
	}
}

// program is the model as Bubble Tea runs it.
type program struct {
	m    model
	edge edge
}

// Init loads the first state.
func (p program) Init() tea.Cmd {
	var cmds []tea.Cmd
	if !p.m.alone {
		cmds = append(cmds, p.cmd(load(0)), p.cmd(computers), p.tick())
	}
	for _, ef := range p.m.top().open(p.m) {
		cmds = append(cmds, p.cmd(ef))
	}
	return tea.Batch(cmds...)
}

func (p program) tick() tea.Cmd {
	return tea.Tick(pollEvery, func(time.Time) tea.Msg { return ticked{} })
}

// Update passes an event to the model, and runs the effects.
func (p program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var ev any = msg
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		ev = resized{msg.Width, msg.Height}
	case tea.KeyPressMsg:
		ev = key{msg.String(), msg.Text}
	case tea.PasteMsg:
		ev = pasted{msg.Content}
	}
	var effects []effect
	p.m, effects = p.m.update(time.Now(), ev)
	var cmds []tea.Cmd
	for _, ef := range effects {
		cmds = append(cmds, p.cmd(ef))
	}
	if _, ok := ev.(ticked); ok {
		cmds = append(cmds, p.tick())
	}
	if p.m.leaving {
		cmds = append(cmds, tea.Quit)
	}
	return p, tea.Batch(cmds...)
}

func (p program) cmd(ef effect) tea.Cmd {
	return func() tea.Msg {
		ev := ef(p.edge)
		if change, ok := ev.(edits); ok {
			x := &editor{edge: p.edge, change: change}
			return tea.Exec(x, func(error) tea.Msg { return change.then(x.text, x.err)(p.edge) })()
		}
		return ev
	}
}

// editor runs the person's editor while the screen is away.
type editor struct {
	edge   edge
	change edits
	text   string
	err    error
}

// Run waits for the end of the editor.
func (x *editor) Run() error {
	x.text, x.err = x.edge.Edit(x.edge.ctx, x.change.text)
	return nil
}

// SetStdin does nothing, like the two below: the editor takes the terminal itself.
func (x *editor) SetStdin(io.Reader) {}

// SetStdout does nothing.
func (x *editor) SetStdout(io.Writer) {}

// SetStderr does nothing.
func (x *editor) SetStderr(io.Writer) {}

// View returns the frame of the model.
func (p program) View() tea.View {
	lines, cursor := p.m.frame()
	v := tea.NewView(lines)
	v.AltScreen = true
	if cursor != nil {
		v.Cursor = tea.NewCursor(cursor.x, cursor.y)
	}
	return v
}
