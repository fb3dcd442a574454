package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// A process can clear its environment, and so ask no sidecar, or another one than that of its pane; or none runs. Its parents
// and the session of its terminal it keeps. What runs in the panes of teammates is therefore written down with the team.

// programs writes down what runs in the panes of teammates, where that has changed, or somebody has changed what was written: a
// teammate that took itself out would be known for one no more. A person is told once a team.
func (s *Teams) programs(ctx context.Context, p relay.Protocols) {
	numbers, err := process.OurNumbers()
	if err != nil {
		s.warn(err, "processes of teammates")
		return
	}
	now, peers := make(map[string][]team.Program), s.Relay.Snapshot()
	for _, seat := range p.Seats {
		if seat.Name == team.Lead {
			continue
		}
		all := now[seat.Dir]
		if one, ok := peers.Peer(seat.Holder.Peer); ok && !seat.Gone && one.PaneProc.PID > 0 {
			all = append(all, team.Program{Name: seat.Name, PID: one.PaneProc.PID, Start: one.PaneProc.Start, Boot: numbers.Boot, Space: numbers.Space})
		}
		now[seat.Dir] = all
	}
	for dir := range s.keeper.programs {
		if _, seats := now[dir]; !seats {
			delete(s.keeper.programs, dir) // all of them had ended when they left
		}
	}
	for dir, all := range now {
		d := team.Dir{Path: dir}
		have, known := s.keeper.programs[dir]
		changed := known && !writtenDown(d, have)
		if known && !changed && slices.Equal(have, all) {
			continue
		}
		err := d.SetPrograms(all)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the team was removed, or is only about to be made
		}
		s.warn(err, "processes of teammates", "team", dir)
		if err != nil {
			continue
		}
		s.keeper.programs[dir] = all
		if changed && !s.keeper.forged[dir] {
			s.keeper.forged[dir] = true
			_ = s.Relay.NotifyOf(ctx, "", fmt.Sprintf("team %s: somebody changed or removed %s, which says which program is whose; it is written again, "+
				"and a program that was started meanwhile may have written as another teammate", dir, team.ProgramsName))
		}
	}
}

// writtenDown reports whether a team's file still says what was written there.
func writtenDown(d team.Dir, all []team.Program) bool {
	there, err := d.Programs()
	return err == nil && slices.Equal(there, all)
}

// Mate is which teammate a process belongs to.
type Mate struct {
	Own    string   // "": to none
	Others []string // teammates besides whose programs run
}

// UntoldError says that nothing tells whether a process belongs to a teammate.
type UntoldError struct{ cause error }

func (e *UntoldError) Error() string {
	return "whose session this is cannot be told: " + e.cause.Error()
}

func (e *UntoldError) Unwrap() error { return e.cause }

var (
	errOtherNumbers = errors.New("its processes have other numbers than those of the teammates")
	errParents      = errors.New("not all of its parents can be read")
)

// MateOf is which teammate a process of ours belongs to: the one from whose program it descends, or who leads the session of its
// terminal, also where it has lost its parents. The error of one that may belong to any is an *UntoldError. What began a session
// of its own and lost its parents belongs to nobody: a person may have started it as well.
func MateOf(d team.Dir, pid int) (m Mate, err error) {
	all, err := d.Programs()
	if err != nil {
		return m, &UntoldError{err}
	}
	if len(all) == 0 {
		return m, nil
	}
	numbers, err := process.OurNumbers()
	if err != nil {
		return m, &UntoldError{err}
	}
	all = slices.DeleteFunc(all, func(p team.Program) bool {
		return p.Boot != numbers.Boot || p.Space == numbers.Space && !process.Lives(p.PID, p.Start)
	})
	here := slices.DeleteFunc(slices.Clone(all), func(p team.Program) bool { return p.Space != numbers.Space })
	var kin []process.Relative
	if len(here) > 0 {
		kin, err = kinOf(pid)
	}
	for _, p := range here { // whoever leads a session that has members keeps its number from being another's
		if m.Own == "" && slices.ContainsFunc(kin, func(r process.Relative) bool { return r.PID == p.PID || r.Leader == p.PID }) {
			m.Own = p.Name
		}
	}
	for _, p := range all {
		if p.Name != m.Own {
			m.Others = append(m.Others, p.Name)
		}
	}
	switch {
	case m.Own != "":
		return m, nil
	case err == nil && len(here) < len(all):
		err = errOtherNumbers
	}
	if err != nil {
		return m, &UntoldError{err}
	}
	return m, nil
}

// kinTries is how often parents are read, which may end meanwhile.
const kinTries = 5

// kinOf are a process and its parents, and those of their sessions' leaders, none where they show nothing of whose it is. The
// error is why it may be anybody's.
func kinOf(pid int) (kin []process.Relative, err error) {
	for range kinTries {
		if kin, err = process.Lineage(pid, 0); len(kin) == 0 {
			return nil, err
		}
		top := kin[len(kin)-1]
		if err = nil; top.Parent > 0 && !process.OfAnother(top.Parent) { // a login's, which only hides
			err = errParents
			continue
		}
		break
	}
	if i := slices.IndexFunc(kin, func(r process.Relative) bool { return agent.Background(r.PID, r.Name) }); i >= 0 {
		return nil, fmt.Errorf("the background process of %s has started it, which serves several panes", kin[i].Name)
	}
	for i := 0; i < len(kin); i++ { // it grows
		leader := kin[i].Leader
		if !slices.ContainsFunc(kin, func(r process.Relative) bool { return r.PID == leader }) {
			line, _ := process.Lineage(leader, 0) // it may have ended, and tells nothing then
			kin = append(kin, line...)
		}
	}
	return kin, err
}
