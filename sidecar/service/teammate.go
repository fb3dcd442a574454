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

// A process can clear its environment, and then ask no sidecar, or another one than that of its pane; or no
// sidecar runs. But it keeps its parents and the session of its terminal. So the programs that run in the panes
// of teammates are recorded with the team.

// programs records the programs in the panes of teammates, whenever they have changed, or somebody has changed
// the record: without its record, a teammate would no longer be recognised as one. It tells a person once per
// team that the record was changed.
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
			delete(s.keeper.programs, dir) // all of its programs had ended when their teammates left
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
			continue // the team was removed, or is about to be made
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

// writtenDown reports whether a team's file still says what was written to it.
func writtenDown(d team.Dir, all []team.Program) bool {
	there, err := d.Programs()
	return err == nil && slices.Equal(there, all)
}

// Mate says which teammate a process belongs to.
type Mate struct {
	Own    string   // "" if it belongs to none
	Others []string // other teammates whose programs run
}

// UntoldError says that nothing shows whether a process belongs to a teammate.
type UntoldError struct{ cause error }

func (e *UntoldError) Error() string {
	return "cannot tell whose session this is: " + e.cause.Error()
}

func (e *UntoldError) Unwrap() error { return e.cause }

var (
	errOtherNumbers = errors.New("its processes have other numbers than those of the teammates")
	errParents      = errors.New("not all of its parents can be read")
)

// MateOf returns which teammate a process of this user belongs to: the one from whose program it descends, or
// whose program leads the session of its terminal, even if the process has lost its parents. If the process may
// belong to any of them, the error is an *UntoldError. A process that began a session of its own and lost its
// parents belongs to nobody: a person may have started it as well.
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
	for _, p := range here { // the pid of a session's leader is not reused while the session has members
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

// kinTries is how often the parents are read: they may end in between.
const kinTries = 5

// kinOf returns a process with its ancestors, and the leaders of their sessions with theirs. It returns none if
// they cannot show whose process it is. The error says why it may be anybody's.
func kinOf(pid int) (kin []process.Relative, err error) {
	for range kinTries {
		if kin, err = process.Lineage(pid, 0); len(kin) == 0 {
			return nil, err
		}
		top := kin[len(kin)-1]
		if err = nil; top.Parent > 0 && !process.OfAnother(top.Parent) { // a parent of another user is a login, which is only hidden
			err = errParents
			continue
		}
		break
	}
	if i := slices.IndexFunc(kin, func(r process.Relative) bool { return agent.Background(r.PID, r.Name) }); i >= 0 {
		return nil, fmt.Errorf("the background process of %s has started it, which serves several panes", kin[i].Name)
	}
	for i := 0; i < len(kin); i++ { // kin grows in the loop
		leader := kin[i].Leader
		if !slices.ContainsFunc(kin, func(r process.Relative) bool { return r.PID == leader }) {
			line, _ := process.Lineage(leader, 0) // if the leader has ended, it tells nothing
			kin = append(kin, line...)
		}
	}
	return kin, err
}
