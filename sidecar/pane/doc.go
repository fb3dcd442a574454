// Package pane owns the panes that a person adopted: it reads what their programs say and
// types what is delivered to them, one paste at a time. core.go is the place to begin.
//
// Each adopted pane has one goroutine (Pane.Serve) that owns its tracker of new text, its
// queue of deliveries and the paste that is under way; nothing else touches them. It talks
// to tmux and to the relay by calls that block, since it has nothing else to do meanwhile;
// a frozen pane therefore holds up nobody but itself. A supervisor runs these goroutines:
// a panic in one is logged, and it begins anew like a sidecar that was started again. One
// more goroutine (Panes.Run) owns the set of panes, hands triggers on to them, and reads the
// list of panes once a second, which is the truth about who exists.
//
// What is typed, and when, a core decides that has no clock, no terminal and no relay (core.go):
//
//	a look ──found──► core.step ──acts──► perform: asks the relay, types if nothing has changed
//	                      ▲                   │
//	                      └──what came of it──┘
//
// It is in one stage at a time, which one look after another moves on:
//
//	from        to          when
//	resting     recalling   the server's mark, or the journal, names what waits as typed already
//	resting     filing      something waits, and the composer is proven live and empty
//	resting     asking      something waits that may go through the agent's own door (door.go)
//	resting     passed      an earlier life of ours handed it over there, or was about to
//	recalling   resting     nothing was typed, or it cannot be told yet, or what became of it is known
//	recalling   pasted      it was pasted and has not shown yet
//	recalling   composed    it was pasted and stands in the composer
//	recalling   permitting  the same, and Enter may follow at once
//	recalling   entered     Enter was pressed, too
//	filing      resting     no file could be written
//	filing      asking      all that is needed is written
//	asking      resting     the relay does not permit it, or the agent has begun to work
//	asking      pasting     the relay permits it
//	asking      passing     the relay permits it, through the agent's own door
//	passing     resting     nothing was written: it may be typed
//	passing     passed      it was handed over, or nobody can tell
//	passed      resting     its transcript has it (submitted), it said no (failed) or let time run out (expired), or it cannot be told in time (uncertain)
//	pasting     resting     tmux refused: the pane is not as it was judged
//	pasting     pasted      tmux has pasted it, or nobody can tell
//	pasted      composed    the composer holds our text
//	pasted      permitting  the same, and Enter may follow at once
//	pasted      entered     the same, and an order of an earlier life has pressed Enter
//	pasted      resting     the text never showed (uncertain: closed), the agent took it, or the pane has gone
//	composed    permitting  the composer holds our text and nothing else, and nothing is in the way
//	composed    entered     an order of an earlier life has pressed Enter
//	composed    resting     the text left without our Enter (uncertain, or a person sent it), or the pane has gone
//	permitting  composed    not now
//	permitting  entering    the relay permits it
//	permitting  resting     never (uncertain), or the agent has just taken it
//	entering    composed    tmux refused: the pane is not as it was judged
//	entering    entered     tmux has pressed Enter, or nobody can tell
//	entering    resting     tmux refused for too long (uncertain)
//	entered     composed    Enter became a line break, or did nothing
//	entered     resting     the text was taken (submitted), or it cannot be told in time (uncertain)
//
// In any stage that has a text, the agent may tell that it took it (submitted), and the pane may
// be released or go (uncertain): resting. What went through a door and was uncertain is submitted if the agent
// writes down late that it took it (recorded, in batch.go). All that waits for a moment is held, with a reason.
//
// What goes through an agent's own door is never typed, and the other way round: permission is written
// down with the way, and a door gets the text only while the agent's own signals have it at rest, in
// which no draft, mode or menu is in the way. That it was taken, its transcript says, with our id, and nothing else.
//
// What can go wrong on the way: the pane changes between the look and the paste (tmux
// refuses, or a last look at the processes does: nothing was typed, tried again, ever more
// seldom); tmux does not answer (unknown: never repeated, the screen decides); the text is
// drawn slowly (waited for while there is more of it at each look) or drawn anew after Enter
// (not gone while it is); the text never shows (uncertain, and the pane is closed until it does,
// or somebody clears the composer, for it may wait in the terminal: lost.go); somebody presses keys there, which their program draws late
// (held for a moment, typist.go); the file for a long text cannot be written (held,
// attachment.go); something opens between paste and Enter, or a person types there (held, our
// text stands, Enter follows when the composer again holds our text and nothing else); our text
// is gone without our Enter (uncertain, and closed, for it may wait unseen, until its terminal
// has been read: ownline.go); the agent ends (uncertain, or not typed at all); we end (recall.go).
// Permission is asked of the relay before the paste and again before Enter; it is given only
// after the journal has written it down.
package pane
