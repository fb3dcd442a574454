// Package door hands messages to agents that listen for them beside their terminal, and hears what
// they say to that. It speaks to the inbox of Claude Code: a socket on which a session takes messages
// of other programs of its user (seen in 2.1.329; the record, key and frames of Qwen Code are of the same
// design, so what differs is a row of profile.Inbox).
//
//	Find     the record of a process names its socket, its conversation and its version  ──► Offer
//	Pass     find once more, connect, ask the kernel who listens, write, close           ──► Outcome
//	Heard    frames on a socket of ours, beside the agent's own                          ──► Word
//
// What can go wrong at each step, and what is known then:
//
//	no record, or one of another process, namespace or protocol      Refused: nothing was written
//	a socket, directory or key that others may write, or a link      Refused
//	the conversation has changed since the offer (/clear)            Refused; and the frame names it, so that it is dropped
//	nobody listens, or a process that is not the agent's             Refused
//	we are out of time before the first byte                         Refused
//	a part was written                                               Unknown
//	all was written                                                  Handed, which proves nothing
//
// The inbox answers nothing on the connection, and drops without a word what it does not like. That a
// message was taken stands in the agent's transcript alone, with our id; package pane waits for that. Words
// come back only to a socket in the directory of the agent's own, so there is one of ours for as
// long as we live, <our pid>.sock. It is written down before it is made (House.Ledger), so that what
// a killed process left behind is removed by the next one. Whoever gives an address must read what comes there: an agent's
// answer by its own tool is a message of its pane.
//
// The mode of the sender, which an inbox would believe, is never claimed.
//
// House is used by any goroutine. One goroutine accepts at each socket, one reads each connection.
package door
