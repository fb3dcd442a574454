// Package door hands messages to agents that listen for them without their terminal, and receives their replies. It
// speaks to the inbox of Claude Code: a socket on which a session takes messages of its user's other programs (seen
// in 2.1.329). The record, key and frames of Qwen Code have the same design, so the differences are a row of
// profile.Inbox.
//
//	Find     the record of a process names its socket, its conversation and its version  ──► Offer
//	Pass     find once more, connect, ask the kernel who listens, write, close           ──► Outcome
//	Heard    frames on a socket of ours, beside the agent's own                          ──► Word
//
// What can go wrong at each step, and what is known then (Nothing, Unknown and Handed are Outcomes):
//
//	no record, or one of another process, namespace or protocol      Nothing
//	a socket, directory or key that others may write, or a link      Nothing
//	the conversation has changed since the offer (/clear)            Nothing; and the frame names it, so that it is dropped
//	nobody listens, or a process that is not the agent's             Nothing
//	we are out of time before the first byte                         Nothing
//	a part was written                                               Unknown
//	all was written                                                  Handed, which proves nothing
//
// The inbox answers nothing on the connection, and silently drops what it rejects. Only the agent's transcript
// proves that a message was taken, by our id; package pane waits for that. Replies come only to a socket in the
// directory of the agent's own socket. So there is one of ours, <our pid>.sock, for as long as we live. It is
// recorded in House.Ledger before it is created, so that the next process removes what a killed one left behind.
// Whoever gives an address must read what arrives there: an answer that the agent sends with its own tool is a
// message of its pane.
//
// The frames never claim a mode of the sender, although an inbox would believe it.
//
// Any goroutine may use a House. One goroutine accepts on each socket, and one reads each connection.
package door
