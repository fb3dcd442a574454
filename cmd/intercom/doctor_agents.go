package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/hooks"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// agentVersions checks for each adopted agent whether its screens were tested in the version that runs. In another
// version, messages are held if the screen looks different.
func agentVersions(ctx context.Context, x *patient) (all []finding) {
	const id = "agent_version"
	if x.status == nil {
		return nil
	}
	c := &api.Client{Socket: x.socket}
	doors := map[string]bool{}
	for _, session := range x.status.Sessions {
		asking, cancel := context.WithTimeout(ctx, answerTimeout)
		e, err := api.Call(asking, c, api.Explain, api.ExplainRequest{Pane: session.Pane})
		cancel()
		if err != nil || e.Verified == "" {
			continue // nothing depends on the version of a line program
		}
		who := fmt.Sprintf("%s in %s (%s)", e.Agent, session.Pane, session.Name)
		if e.Door != "" && !doors[e.Agent+e.Version] { // the door is in the same state in all panes with this version
			doors[e.Agent+e.Version] = true
			all = append(all, doorFinding(who, e))
		}
		switch e.Version {
		case e.Verified:
			all = append(all, finding{ID: id, Level: fine, Text: fmt.Sprintf("%s is version %s, which was tested", who, e.Version)})
		case "":
			all = append(all, finding{ID: id, Level: note, Text: fmt.Sprintf("%s does not tell its version; the last one tested is %s", who, e.Verified)})
		default:
			all = append(all, finding{
				ID: id, Level: note, Text: fmt.Sprintf("%s is version %s; the last one tested is %s", who, e.Version, e.Verified),
				Hint: fmt.Sprintf("if its screen is not recognised, messages are held: intercom explain %s", session.Pane),
			})
		}
	}
	return all
}

// doorFinding reports the state of an agent's door.
func doorFinding(who string, e message.Explanation) finding {
	const id = "agent_door"
	if e.DoorShut {
		return finding{
			ID: id, Level: note, Text: fmt.Sprintf("%s: messages are typed, whatever door= says: its %s is shut, since %s", who, e.Door, e.DoorWhy),
			Hint: "intercom down, then intercom up, tries it again",
		}
	}
	return finding{ID: id, Level: fine, Text: fmt.Sprintf("%s: messages are typed (door=type), or go through its %s while it rests, in chats with --set door=auto", who, e.Door)}
}

// agentEntries checks whether the programs exist that our entries in the configurations of agents call.
func agentEntries(_ context.Context, x *patient) (all []finding) {
	for _, one := range []struct {
		what   string
		agents []string
		file   func(agent string) (string, error)
		remove func(agent string, text []byte, program string) ([]byte, error)
	}{
		{"hooks", hooks.Agents(), x.hooksFile, hooks.Uninstall},
		{"mcp", hooks.ServerAgents(), x.serverFile, hooks.UninstallServer},
	} {
		for _, agent := range one.agents {
			file, err := one.file(agent)
			if err != nil {
				continue
			}
			text, err := readWhole(file)
			if err != nil {
				continue // the agent itself complains about a file that cannot be read
			}
			for _, program := range programsIn(text, func(text []byte) ([]byte, error) { return one.remove(agent, text, "") }) {
				all = append(all, x.entry(fmt.Sprintf("intercom %s install %s", one.what, agent), file, program)...)
			}
		}
	}
	return all
}

// agentHooks checks whether our hooks are installed for the agents that run in panes. They do not have to be.
func agentHooks(ctx context.Context, x *patient) (all []finding) {
	if x.status == nil {
		return nil
	}
	peers, err := quickly(ctx, &api.Client{Socket: x.socket}, api.Peers, api.None{})
	if err != nil {
		return nil // another examination reports that the sidecar does not answer
	}
	for _, agent := range hooks.Agents() {
		if !slices.ContainsFunc(peers, func(p api.Peer) bool { return p.Agent == agent && p.Pane != "" }) {
			continue
		}
		file, err := x.hooksFile(agent)
		if err != nil {
			continue
		}
		text, err := readWhole(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // the agent itself complains about a file that cannot be read
		}
		rest, err := hooks.Uninstall(agent, text, "")
		if err != nil || !bytes.Equal(rest, text) {
			continue
		}
		all = append(all, finding{
			ID: "agent_hooks", Level: note, Text: fmt.Sprintf("%s: hooks not installed; its transcript and its screen tell when its turns end, later than hooks do", agent),
			Hint: "intercom hooks install " + agent,
		})
	}
	return all
}

// programNamed matches a path in a configuration that may be one of our programs.
var programNamed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/[^"'\n]*/intercom[A-Za-z0-9._-]*`) })

// programsIn returns the programs that our entries in a configuration call. remove takes these entries out, and takes
// less out where another path replaces the program of such an entry.
func programsIn(text []byte, remove func([]byte) ([]byte, error)) (programs []string) {
	removed := func(text []byte) int {
		rest, err := remove(text)
		if err != nil {
			return 0
		}
		return len(text) - len(rest)
	}
	for _, found := range programNamed().FindAll(text, -1) {
		program := string(found)
		if !slices.Contains(programs, program) && removed(text) != removed(bytes.ReplaceAll(text, found, []byte("/another"))) {
			programs = append(programs, program)
		}
	}
	return programs
}

// entry returns what is wrong with a program that a configuration calls.
func (a *app) entry(again, file, program string) []finding {
	const id = "agent_entry"
	switch _, revision := a.launcherOf(program); {
	case !runnable(program):
		return []finding{{ID: id, Level: problem, Text: fmt.Sprintf("%s calls %s, where no program is", file, program), Hint: again}}
	case revision:
		return []finding{{ID: id, Level: note, Text: fmt.Sprintf("%s calls %s, which an update of the plugin may remove", file, program), Hint: again}}
	}
	return nil
}
