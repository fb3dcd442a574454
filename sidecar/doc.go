// Package sidecar holds no code. This comment describes the architecture of the packages below it: a daemon, one for
// each tmux server, that carries messages between peers. Types that cross from one package to another live in message.
//
//	commands ─► api ─► service ─┐            ┌─► policyset ─► a Lua worker: routes, holds, rewrites
//	                            ▼            │
//	source ──Received/Spoke──► relay: one pure loop ──Commit──► journal
//	  ▲                         │  ▲
//	  │       Deliver, Cancel   ▼  │ Report: typed = may I write now · submitted · answered
//	  └─── of its peer ──────── sink
//
//	pane, which is both:
//	  tmux: rows and facts of one instant ─► screen: idle, with evidence ─► gate ─► paste ─► seen ─► Enter ─► gone
//	  agent: its transcript, status, hooks ─► a turn          delta: what is new on a line program's screen ─► a turn
//
// An edge (a write to the pane's terminal, a notice from tmux, the clock) carries no content: it only says that a look
// may be worth while. An agent's words, the ends of its turns, and the proof that it took a text come from the agent's
// own records. Its screen shows only whether it is safe to type, and never outweighs the agent's own word
// (pane/account.go).
//
// Whatever enters is stored in the journal before anything is decided about it, and whatever leaves is stored in the
// journal before it leaves. One step of the relay is one transaction; a step that cannot be written has not happened
// (relay/stuck.go).
//
// # Who owns what
//
// Each piece of state belongs to one goroutine. All others learn of it by events and immutable values.
//
//   - relay: peers, chats, deliveries under way, depths and rates. Step is a function of state, time and event, so that a
//     journal can be replayed. Policies run beside it; their verdicts come back as events.
//   - pane: one goroutine per pane owns what was seen and typed there. It asks the relay for permission before the first
//     byte and again before Enter.
//   - agent: one goroutine per agent follows its transcript.
//   - tmux: the connection, the batch of looks, the watches. Text enters a pane only by compare-and-paste, in one step of
//     the server; tmux/command makes every command from a table.
//   - repository: one goroutine per enabled repository owns its watch, its ledger, and the work under way there. The
//     sidecar that processes a repository holds a claim: repositories are the person's, and outlive a tmux server.
//   - policyset: the policies in use. The scripts run in a process of their own (scripting), which can be killed.
//   - journal: the database. api: the socket and the lock. daemon: the order of start and end; it restarts what fails.
//
// After an end the journal says what was accepted and to whom it was typed. The tmux server itself says which of it was
// typed, by a mark set in the same step (pane/resume.go). What panes show by then is old, except for answers
// (pane/late.go).
//
// # Layers
//
// Imports go downwards only; cmd/intercom/layers_test.go holds the table. Layers 0 and 1 use no files, network, locks
// or clock. Only foreign and own open paths (cmd/intercom/paths_test.go).
//
//	6  daemon                                     puts it together
//	   mcp  ui                                    operations as the tools of an agent; as a board for people
//	5  service  comeback  policyset  launch       what operations mean; agents that return; the policies in use; starts and ends
//	4  api                                        operations as values, server, client
//	   hub                                        the files of a server between computers
//	3  pane  talk  repository  link               sources and sinks; pane is on top of agent, door and tmux
//	   team                                       the files of a team
//	   tunnel                                     ssh to the server between computers
//	   journal  agent  door  tmux                 adapters, which import neither each other nor relay
//	   process                                    what the system tells of processes, for whoever asks
//	   foreign  own  atomicfile  inherited        the ways to open a file
//	   claim                                      who serves what is the person's, not a tmux server's
//	2  relay                                      the loop
//	1  profile  shown  plain  delta  screen  sanitise  secret  registry  render  route  hooks  brakes  waits  spelling  manpage  aea  handshake
//	0  message                                    the words of it all
//	   gate                                       what can be switched off to show that a test misses it
//
// persona, and the packages whose names end in test, are for tests alone.
package sidecar
