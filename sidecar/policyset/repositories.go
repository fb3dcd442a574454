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

// repositories has the agent-config.yaml files of the repositories in which sessions work. They are read for each
// message that they may concern, or once for messages that are asked about together, so that a saved change applies to
// the next message.
type repositories struct {
	mu    sync.Mutex // held while one is read
	known map[string]*agentConfig

	said  map[string]aea.Config // the configs that policies were given last
	value map[string]any        // the same as policies see it
}

// agentConfig is the file of one repository.
type agentConfig struct {
	now  repository.Config // as it was read last
	why  string            // why it could not be read
	good repository.Config // the last one without an error
	told string            // the last text that a person was told

	holds   aea.Config // the part of it that applies, when last computed
	holdsAs string     // the content, trust and errors from which holds was computed
}

// configOf returns ctx.config for a message. Only AEA's messages have one.
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

// agentConfigs returns the applicable part of each of those files, by the path of the repository.
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

// read reads the file, and reports whether its content or its error has changed.
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

// settle reads a file that is being saved until two readings are equal.
func (c *agentConfig) settle(ctx context.Context, dir string, p *Live) {
	for until := p.Now().Add(patience); p.Now().Before(until) && sleep(ctx, quiet) && c.read(dir); {
	}
}

// holds returns the applicable part of a file. For a broken file this is its previous content. It tells a person about
// an error, and about parts that do not apply until they trust the file, once for each text.
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
		if withheld := used.Said.Withheld(); len(withheld) > 0 && withheld[0].Line > 0 { // withheld because it is not trusted
			p.tellOf(c, place(file, withheld[0]), "intercom policy trust "+dir)
		}
	}
	c.holds, c.holdsAs = used.Holds(trusted), as
	return c.holds, true
}

// place returns a problem with file and line.
func place(file string, of aea.Problem) string {
	return policy.Problem{File: file, Line: of.Line, Text: of.Text}.String()
}

// tellOf tells a person of something in a file, once for each content of the file.
func (p *Live) tellOf(c *agentConfig, text, and string) {
	if once := c.now.Hash + text; c.told != once {
		c.told = once
		text = fmt.Sprintf("%s; %s", text, and)
		p.record(policy.Entry{Event: "agent-config", Error: text})
		p.Shown("policy: " + text)
	}
}
