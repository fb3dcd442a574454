// Package link reaches the intercom of other computers over NATS with JetStream. It carries messages and
// their receipts, which wait at the server while a computer is away and arrive once and in order, and
// questions that are answered at once or not at all.
//
// One sidecar of a computer holds the link, as claims have it; what else the link needs of the relay it
// declares itself. What comes from another computer has that computer's trust, whatever it says of itself.
package link
