// Package sidecar holds no code. This comment is the architecture of what lies below it: a
// daemon, one for each tmux server, that carries what one program says in its pane to the
// programs in other panes.
//
// # The flow
//
// Data goes one way round, and every type that crosses from one package to another lives
// in message:
//
//	                      ┌────────────── tmux: the only door ──────────────┐
//	     edge: look now ──┤                                                 │
//	                      ▼                                                 │
//	facts and rows of one instant                                           │
//	  │            │                                                        │
//	  ▼            ▼                                                        │
//	screen       delta                                                      │
//	idle, with   what is new,   agent: its own transcript                   │
//	evidence     less what      and status, its hooks                       │
//	  │          we typed         │                                         │
//	  ▼            ▼              ▼                                         │
//	pane: may     pane: a turn ──Spoke──► relay ──Commit──► journal         │
//	we type?                               │  ▲                             │
//	  ▲                           Decide,  │  │ receipts                    │
//	  │                           route    ▼  │ (leave to type)             │
//	  └────────────────── Deliver ◄────────┘  └── pane: sanitise, paste, ───┘
//	                                              see it, Enter, see it go
//	commands ──► api ──► service ──► relay ──► api ──► commands, and whoever watches
//
// An edge (a write to the pane's terminal, a notice from tmux, the clock) carries no
// content: it only says that a look may be worth while. Content always comes from a look,
// which takes the facts of a pane and its screen in one instant of the server.
//
// A line program's words are what is new on its screen. A coding agent's words, the ends of
// its turns, and the proof that it took a text, come from what it writes down itself; its
// screen says only whether it is safe to type, and is never believed against the agent's own
// word (pane, account.go and fuse.go).
//
// Whatever enters is in the journal before anything is decided about it, and whatever
// leaves is in the journal before it leaves: received, decided, verdict and deliveries
// together, then the effect, then its receipt. One step of the relay is one transaction.
//
// # Who owns what
//
// Each piece of state has one owner, which is one goroutine; all others learn of it by
// events and immutable values. There is no mutex around anything that the relay decides.
//
//   - relay: one goroutine owns sessions, chats, deliveries under way, depths and rates.
//     Its Step is a pure function of state, time and event, so that a journal can be
//     played back and a test can put any events in any order. The policy, if there is one, is
//     asked by others, a goroutine for each question; its verdicts come back as events.
//   - pane: one goroutine for each adopted pane owns what was seen there, what we typed
//     there, and the one paste that is under way. It asks the relay for leave before the
//     first byte and again before Enter, and types nothing without it.
//   - agent: one goroutine for each adopted agent follows its transcript and tells what it
//     reads; the pane's goroutine makes turns of it.
//   - tmux: the connection, the batch of looks under way, the watches. What it asks is made of
//     a table in tmux/command, and of nothing else. No other package runs programs, and text enters a pane by compare-and-type alone: the server compares
//     what was seen with what is, and pastes, in one step.
//   - policyset: the policies in use, which one goroutine exchanges for others; the relay
//     asks them. The scripts run in a process of their own (package
//     scripting), which a Lua that does not end, or takes all memory, cannot leave.
//   - journal: the database, which nobody else opens.
//   - api: the socket and the lock of this server's sidecar, held for the life of the
//     process; the client by which every command reaches it.
//   - service: what each operation of the api means, and who may ask for it; comeback: what
//     was told of agents that are back in their panes.
//   - daemon: puts all of it together from struct literals, ends it in order, and begins it
//     anew when a part breaks down.
//
// # After an end
//
// Whatever ended the sidecar, the next one goes on where it was. The journal says what was
// accepted, and to whom what had been typed; the tmux server itself says what of it was
// truly typed, by a mark that is set in the same step (tmux, Typing.Mark; pane, resume.go).
// What the panes show by then is old, but for what can be proven to answer a delivery that was
// submitted before (pane, late.go). While the journal cannot be written, the relay is stuck at a
// step that nobody has seen, and everything waits behind it (relay, stuck.go).
//
// # Layers
//
// Imports go downwards only, and a test holds this (cmd/intercom/layers_test.go):
//
//	6  daemon                                                          puts it together
//	5  service                                                         what the operations mean
//	   comeback                                                        agents that return
//	   policyset                                                       what the relay asks
//	4  api                                                             the boundary
//	3  pane  tmux  agent  journal  persona  repository                 adapters, which do I/O
//	   foreign  own  atomicfile                                        the ways to open a path
//	2  relay                                                           the loop
//	1  profile  shown  delta  screen  sanitise  registry  render  route  hooks  brakes  spelling  aea  pure
//	0  message                                                         the words of it all
//
// A path is opened by package foreign where somebody else may write what stands there, and by
// package own where nobody but this user may; `make lint` refuses any other way
// (cmd/intercom/paths_test.go).
//
// Layers 0 and 1 import neither os nor net, nor a logger, a lock or a clock: time is
// passed in. Nothing in layer 3 imports layer 2, and of its own layer only pane does: tmux
// and agent. pane and journal fit the interfaces that their users declare. persona holds the scripted programs of the tests and the demo, and
// imports nothing from here but own. labtest and naivetest are for tests alone.
package sidecar
