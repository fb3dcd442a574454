package pane

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// A command of an agent's own begins with a slash. A composer whose text begins with one opens a list, in
// which Enter takes the marked entry. A blank or words behind the name close the list, if the agent knows
// the command (measured: docs/agents.md). Then the proof before Enter is the same as for any text: our
// text alone, the cursor behind it, nothing over it. So a command is typed bare if
//
//   - the relay permits that: the agent's person has named the command, and the author is known (relay/command.go);
//   - the agent took, by its own record and in this life, the note that says who asks for the command;
//   - the command's file is there, so that the agent knows it;
//   - nothing in the command has to be changed for this agent.
//
// Otherwise it is a text like any other, below its head.

// mostTook is how many of the sidecar's own notices are remembered, among which a note may be.
const mostTook = 32

// tookOwn remembers the sidecar's own notices in a batch, once the agent's transcript or hook has told that it took them.
// An emptied composer is not enough: Gemini CLI queues what is entered while it starts, and makes one prompt of it all.
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

// bares reports whether a command that the relay permits to go bare is to be typed bare.
func (c *core) bares(d message.Delivery) bool {
	return c.command != nil && slices.Contains(c.took, d.Note) && c.command(bareText(d))
}

// bareText returns a command as it is typed: the blank behind it closes the list.
func bareText(d message.Delivery) string {
	_, line, _ := message.CommandLine(render.Words(d.Form, d.Message))
	return line + " "
}

// commanded reports whether the agent has the command of a line now, and would take nothing else in the
// line for more than words.
func (p *Pane) commanded(text string) bool {
	name, _, ok := message.CommandLine(text)
	if !ok || p.account == nil || p.account.setup == nil {
		return false
	}
	h := p.account.setup.now(p.clock.now())
	clean, changed := sanitise.Text(text, p.active())
	return h != nil && h.commands[name] && clean == text && changed == 0
}

// How much of an agent's commands is looked at.
const (
	mostCommands    = 500 // in a directory
	mostCommandHead = 4 << 10
)

// lookForCommands finds the commands for which it is certain what the agent runs by that name. It leaves out
//
//   - a command whose file asks for a hint of its words: the composer shows the hint behind it;
//   - a file of another user: it is not the person's own;
//   - a name that two files have, or that a skill has, too: a project's command may stand in the place of the person's.
//
// A directory that cannot be read to its end may have a command of any name, so then it finds none.
func (s *setup) lookForCommands(h *habits) {
	h.commands = map[string]bool{}
	known := map[string]fs.FileInfo{}
	for _, dir := range s.prof.Commands.Dirs {
		dir, ok := s.place(dir)
		if !ok {
			continue
		}
		files, err := foreign.List(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || len(files) > mostCommands {
			h.commands = map[string]bool{}
			return
		}
		for _, file := range files {
			base, is := strings.CutSuffix(file.Name(), s.prof.Commands.End)
			name := "/" + base
			if !is || message.CheckCommand(name) != nil {
				continue
			}
			info, certain := s.isOwn(filepath.Join(dir, file.Name()))
			before, twice := known[name]
			same := twice && info != nil && before != nil && os.SameFile(info, before) // the agent works in its home
			known[name], h.commands[name] = info, certain && (!twice || same && h.commands[name]) && !s.hasSkill(base)
		}
	}
}

// isOwn looks at the file of a command, and reports whether it is the person's own and has no hint, so that the composer
// shows only what is typed.
func (s *setup) isOwn(path string) (fs.FileInfo, bool) {
	head, err := foreign.Head(path, mostCommandHead)
	if err != nil || s.prof.Commands.Hint != "" && bytes.Contains(head, []byte(s.prof.Commands.Hint)) {
		return nil, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info, !ok || int(stat.Uid) == os.Geteuid()
}

// hasSkill reports whether there may be a skill of that name, which the agent prefers to the command.
func (s *setup) hasSkill(name string) bool {
	return slices.ContainsFunc(s.prof.Commands.Skills, func(dir string) bool {
		dir, ok := s.place(dir)
		if !ok {
			return false
		}
		_, err := os.Lstat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist)
	})
}
