package soaktest

import (
	"slices"
	"strings"
	"time"
)

// What each kind of fault excuses. A sidecar that was in doubt about everything would always be
// right, so a fault excuses no more than the product must be allowed:
//
//   - While a sidecar is away or its disk is full, a request may be refused or never answered. A fault of the link
//     or the hub excuses only the words that go over them.
//   - The end of a sidecar makes nothing fail. One delivery may be uncertain: the one that it was typing, which was
//     permitted before the kill and has its last receipt since.
//   - The end of a tmux server ends the agents in it. Deliveries to them are failed, kept or uncertain as
//     "agent gone" while that fault lasts, and for no other reason.
//   - A clock that is set, and a chat that is paused, excuse nothing.

// How long before a fault a word may have been sent that was still on its way during it, and how
// long after a fault its consequences may still show.
const (
	inFlight = 15 * time.Second
	settling = 10 * time.Second
)

// in reports whether a moment lies in a span, or shortly after it.
func (s Span) in(t time.Time) bool { return !t.Before(s.From) && t.Before(s.To.Add(settling)) }

// unanswered reports whether a fault excuses that a word was refused or never answered.
func (j *judging) unanswered(w Word) bool {
	return slices.ContainsFunc(j.h.Made, func(s Span) bool {
		switch s.Kind {
		case Kill, Tmux, Disk:
			if s.On != "" && s.On != w.From && w.Way != "link" {
				return false
			}
		case Link, Hub:
			if w.Way != "link" {
				return false
			}
		default:
			return false
		}
		return w.Begun.Before(s.To.Add(settling)) && !w.Told.Before(s.From)
	})
}

// excused reports whether a fault excuses that a delivery failed, is kept or is uncertain.
func (j *judging) excused(d Delivery) bool {
	return slices.ContainsFunc(j.h.Made, func(s Span) bool {
		switch s.Kind {
		case Kill:
			return d.State == Uncertain && !d.Typed.IsZero() && d.Typed.After(s.From.Add(-inFlight)) && !d.Typed.After(s.From.Add(accuracy)) && !d.Ended.Before(s.From.Add(-accuracy))
		case Tmux:
			return gone(d) && s.in(d.Ended)
		}
		return false
	})
}

// accuracy is how far the time of an entry and that of a fault may differ: an entry has the time at
// which its transaction began.
const accuracy = time.Second

// gone reports whether a delivery says that there is no agent any more.
func gone(d Delivery) bool {
	return strings.HasSuffix(d.Why, "agent gone") || strings.HasSuffix(d.Why, "no agent")
}

// disturbed reports whether a word may have been on its way while something that has to read it was
// away.
func (j *judging) disturbed(w Word) bool {
	return slices.ContainsFunc(j.h.Made, func(s Span) bool {
		return s.Kind != Clock && s.Kind != Pause && w.Begun.After(s.From.Add(-inFlight)) && w.Begun.Before(s.To.Add(settling))
	})
}

// unheard reports whether nobody could hear at that moment.
func (j *judging) unheard(at time.Time) bool {
	return slices.ContainsFunc(j.h.Deaf, func(s Span) bool { return !at.Before(s.From) && !at.After(s.To) })
}
