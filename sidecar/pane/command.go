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

// lookForCommands finds those of which it is certain what the agent runs by that name. Left out is
//
//   - one whose file asks for a hint of its words: the composer shows the hint behind it;
//   - one of another user: it is not its person's own;
//   - one that two files have, or a skill has too: a project's may stand in the place of its person's.
//
// A directory that cannot be read to its end may have any.
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

// isOwn looks at a file of a command, and reports whether it is its person's own and shows nothing but what is typed.
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

// hasSkill reports whether there may be a skill of that name, which goes before the command.
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
