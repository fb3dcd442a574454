// Package link reaches the intercom of other computers over NATS with JetStream: an engine of others, which keeps what
// is sent while a computer is away, and passes it on once and in order.
//
//	relay ──Deliver──► outbox (one a computer) ──parcel──► stream of that computer ──► its intake ──Receive──► its relay
//	  ▲                                                                                                         │
//	  └──────Report─────────────────── fates: what became of a parcel's message there ◄────────────receipts─────┘
//
// A parcel must arrive: it is kept by the server until the other computer has it in its journal, and its id is that of
// the delivery, so that one which comes twice counts once. Fates are told as they happen and asked for besides, since
// neither side is always there. What is asked (to start a session, to read one) is answered at once or not at all.
//
// Everything is signed by the computer that says it (identity.go), whatever the server lets pass: the first key that is
// seen of a name is the one that counts. What comes from another computer has that computer's trust, and is never a person's
// word, whatever it says of itself.
//
// One sidecar of a person's computer holds the link, by a claim. It runs a goroutine for each of: the intake, the
// presence, what is heard, and the outbox of each computer.
package link
