package policyset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// repositories are the agent-config.yaml of the repositories in which sessions work. They are
// read with each message that they may concern, or once for those that are asked about at once, so that what is saved holds
// for the next ones.
type repositories struct {
	mu    sync.Mutex // held while one is read
	known map[string]*agentConfig

	said  map[string]aea.Config // what policies were given last
	value map[string]any        // as they see it
}

// agentConfig is the file of one repository.
type agentConfig struct {
	now  repository.Config // as it was read last
	why  string            // it could not be
	good repository.Config // the last one without an error
	told string            // the last that a person was told of

	holds   aea.Config // what holds of it, as was worked out last
	holdsAs string     // the text of which that was, and whether it was trusted
}

// configOf is what ctx.config has for a message. Other protocols have no use for it.
func (p *Live) configOf(ctx context.Context, kind string, workplaces map[message.ID]Workplace) map[string]any {
	if !slices.Contains(aea.Types(), kind) {
		return nil
	}
	said := p.agentConfigs(ctx, workplaces)
	r := &p.repositories
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.value == nil || !reflect.DeepEqual(said, r.said) {
		r.said, r.value = said, map[string]any{"aea": aea.Value(said)}
	}
	return r.value
}

// agentConfigs are what holds of all those files now, by the paths of their repositories.
func (p *Live) agentConfigs(ctx context.Context, workplaces map[message.ID]Workplace) map[string]aea.Config {
	p.repositories.mu.Lock()
	defer p.repositories.mu.Unlock()
	before := p.repositories.known
	p.repositories.known = map[string]*agentConfig{}
	all := map[string]aea.Config{}
	for _, dir := range directories(workplaces, Workplace.repository) {
		c := before[dir]
		if c == nil {
			c = &agentConfig{}
			c.read(dir)
		} else if c.read(dir) {
			c.settle(ctx, dir, p)
		}
		p.repositories.known[dir] = c
		if holds, ok := p.holds(dir, c); ok {
			all[dir] = holds
		}
	}
	return all
}

// read reads the file, and reports whether it says something else than before.
func (c *agentConfig) read(dir string) bool {
	was, why := c.now.Hash, c.why
	var err error
	c.now, err = c.now.Again(dir)
	c.why = ""
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.why = err.Error()
	}
	return c.now.Hash != was || c.why != why
}

// settle reads a file that is being saved until it is twice the same.
func (c *agentConfig) settle(ctx context.Context, dir string, p *Live) {
	for until := p.Now().Add(patience); p.Now().Before(until) && sleep(ctx, quiet) && c.read(dir); {
	}
}

// holds is what holds of a file: of one with an error, what it said before. It tells a person
// of an error, and of what does not hold until they trust the file, once for each text.
func (p *Live) holds(dir string, c *agentConfig) (aea.Config, bool) {
	file := filepath.Join(dir, repository.ConfigFile)
	used := c.now
	problem, broken := c.now.Problem()
	switch {
	case c.why != "":
		p.tellOf(c, c.why, "its previous content applies, or else the protocol's table")
		used = c.good
	case c.now.Hash == "":
		c.good, c.told = c.now, ""
	case broken:
		p.tellOf(c, place(file, problem), "its previous content applies, or else what can be read of it")
		if c.good.Hash != "" {
			used = c.good
		}
	default:
		c.good = c.now
	}
	if used.Hash == "" {
		return aea.Config{}, false
	}
	trusted := p.trusted(repository.ConfigFile, used.Hash)
	as := fmt.Sprint(used.Hash, trusted, c.why, broken)
	if c.holdsAs == as {
		return c.holds, true
	}
	if !trusted && c.why == "" && !broken {
		if withheld := used.Said.Withheld(); len(withheld) > 0 && withheld[0].Line > 0 { // of its rules
			p.tellOf(c, place(file, withheld[0]), "intercom policy trust "+dir)
		}
	}
	c.holds, c.holdsAs = used.Holds(trusted), as
	return c.holds, true
}

// place is a problem with file and line.
func place(file string, of aea.Problem) string {
	return policy.Problem{File: file, Line: of.Line, Text: of.Text}.String()
}

// tellOf tells a person of something in a file, once for each text that it has.
func (p *Live) tellOf(c *agentConfig, text, and string) {
	if once := c.now.Hash + text; c.told != once {
		c.told = once
		text = fmt.Sprintf("%s; %s", text, and)
		p.record(policy.Entry{Event: "agent-config", Error: text})
		p.Shown("policy: " + text)
	}
}
