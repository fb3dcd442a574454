// Package pane owns the panes that a person adopted: it reads what their programs say and
// types what is delivered to them, one paste at a time. Begin reading at core.go.
//
// Each adopted pane has one goroutine (Pane.Serve). It alone owns the pane's tracker of new text,
// its queue of deliveries and the paste that is under way. Its calls to tmux and to the relay
// block, since it has nothing else to do meanwhile; so a frozen pane holds up only itself. A
// supervisor runs these goroutines: if one panics, the panic is logged and the goroutine begins
// anew, as after a restart of the sidecar. One more goroutine (Panes.Run) owns the set of panes,
// hands triggers on to them, and reads tmux's list of panes once a second. That list is the truth
// about which panes exist.
//
// A core without a clock, a terminal or a relay (core.go) decides what is typed, and when:
//
//	a look ──found──► core.step ──acts──► perform: asks the relay, types if nothing has changed
//	                      ▲                   │
//	                      └──what came of it──┘
//
// The core is in one stage at a time. Each look at the pane may move it on to another:
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
// Three events lead to resting from any stage that has a text: the agent tells that it took the
// text (submitted), the pane is released, or the pane goes (both uncertain). A delivery that went
// through a door and was uncertain becomes submitted if the agent records late that it took it
// (recorded, in batch.go). A delivery that has to wait is held, with a reason.
//
// A text that went through an agent's own door is never typed, and the other way round: permission
// is recorded together with the way. A door gets a text only while the agent's own signals say that
// it rests or, if the delivery may interrupt a turn, that it works; drafts, modes and menus do not
// matter there. Only the agent's transcript, with our id in it, proves that the agent took the text.
//
// What can go wrong on the way, and what happens then:
//
//   - The pane changes between the look and the paste: tmux refuses, or a last look at the processes
//     does. Nothing was typed. It is tried again, ever more seldom.
//   - tmux does not answer: the outcome is unknown. The order is never repeated; the screen decides.
//   - The program draws the text slowly: the pane waits while each look shows more of it. While the
//     program draws the text anew after Enter, the text does not count as gone.
//   - The text never shows: uncertain. It may wait in the terminal, so the pane is closed until the
//     text shows or somebody clears the composer (lost.go).
//   - Somebody presses keys there that their program draws late: held for a moment (typist.go).
//   - The file for a long text cannot be written: held (attachment.go).
//   - Something opens between paste and Enter, or a person types there: held. Our text stands, and
//     Enter follows when the composer again holds our text and nothing else.
//   - Our text disappears without our Enter: uncertain. It may wait unseen, so the pane is closed
//     until its terminal has been read (ownline.go).
//   - The agent ends: uncertain, or not typed at all.
//   - The sidecar ends: see recall.go.
//
// The pane asks the relay for permission before the paste and again before Enter. The relay gives it
// only after the journal has recorded it.
package pane
