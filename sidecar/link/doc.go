// Package link reaches the intercom of other computers over NATS with JetStream, which keeps messages while a computer
// is away, and passes them on once and in order.
//
//	relay ──Deliver──► outbox (one a computer) ──parcel──► stream of that computer ──► its intake ──Receive──► its relay
//	  ▲                                                                                                         │
//	  └──────Report─────────────────── fates: what became of a parcel's message there ◄────────────receipts─────┘
//
// A parcel must arrive: the server keeps it until the other computer has it in its journal. Its id is that of the
// delivery, so a parcel that comes twice counts once. Fates are told as they happen and also asked for, since neither
// side is always there. A question (to start a session, to read one) is answered at once or not at all.
//
// The computer that says something signs it (identity.go), whatever the server lets pass. The first key that is seen
// with a name is the one that counts. What comes from another computer has that computer's trust, and is never a
// person's word, whatever it says of itself.
//
// One sidecar of a person's computer holds the link, by a claim. It runs a goroutine for each of: the intake, the
// presence, the outbox, the questions about fates, the telling of fates, and the file of known computers.
package link
