package pane

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// A command of an agent's own begins with a slash, and a composer that begins with one opens a list, in
// which Enter takes what is marked. With a blank behind the name, or words, the list closes over a
// command that the agent knows (measured: docs/agents.md), and the proof before Enter is the same as of
// any text: ours alone, the cursor behind it, nothing over it. So a command is typed bare if
//
//   - the relay lets it: its person has named it, and the author is known (relay/command.go);
//   - the note that says who asks for it was taken, as the agent's own record has it, in this life of ours;
//   - its file is there, so that the agent knows it;
//   - nothing in it has to be changed for this agent.
//
// Else it is a text like any other, below its head.

// mostTook is how many messages are remembered that a note may be among.
const mostTook = 32

// tookOwn remembers what the sidecar itself has said, now that the agent's own record has it. That the composer was emptied
// is not enough: Gemini CLI queues what is entered while it starts, and makes one prompt of that.
func (c *core) tookOwn(b *batch) {
	if b.witness != "transcript" && b.witness != "hook" {
		return
	}
	for _, one := range b.parts {
		if one.d.Message.Type == message.KindNotice {
			c.took = append(c.took, one.d.Message.ID)
		}
	}
	c.took = slices.Clone(c.took[max(0, len(c.took)-mostTook):])
}

// mayBare reports whether a command waits that may be typed bare.
func (c *core) mayBare() bool {
	return slices.ContainsFunc(c.queue, func(w waiting) bool { return w.Bare && !w.Typed })
}

// bares reports whether a command that the relay lets go bare is to be typed so.
func (c *core) bares(d message.Delivery) bool {
	return c.command != nil && slices.Contains(c.took, d.Note) && c.command(bareText(d))
}

// bareText is a command as it is typed: the blank behind it closes the list.
func bareText(d message.Delivery) string {
	_, line, _ := message.CommandLine(render.Words(d.Form, d.Message))
	return line + " "
}

// commanded reports whether the agent has the command of a line now, and the line as it stands is nothing
// more to it.
func (p *Pane) commanded(text string) bool {
	name, _, ok := message.CommandLine(text)
	if !ok || p.account == nil || p.account.setup == nil {
		return false
	}
	h := p.account.setup.now(p.clock.now())
	clean, changed := sanitise.Text(text, p.active())
	return h != nil && h.commands[name] && clean == text && changed == 0
}

// What is looked at of an agent's commands.
const (
	mostCommands    = 500 // in a directory
	mostCommandHead = 4 << 10
)

// lookForCommands finds those that are there. One whose file asks for a hint of its words is left out: the
// composer shows the hint behind it.
func (s *setup) lookForCommands(h *habits) {
	h.commands = map[string]bool{}
	hints := map[string]bool{}
	for _, dir := range s.prof.Commands.Dirs {
		dir, ok := s.place(dir)
		if !ok {
			continue
		}
		files, err := foreign.List(dir)
		if err != nil {
			continue // there are none
		}
		for _, file := range files[:min(len(files), mostCommands)] {
			base, is := strings.CutSuffix(file.Name(), s.prof.Commands.End)
			if !is || message.CheckCommand("/"+base) != nil {
				continue
			}
			head, err := foreign.Head(filepath.Join(dir, file.Name()), mostCommandHead)
			hints["/"+base] = hints["/"+base] || err != nil || s.prof.Commands.Hint != "" && bytes.Contains(head, []byte(s.prof.Commands.Hint))
			h.commands["/"+base] = !hints["/"+base]
		}
	}
}
