// Package policyset is the set of policies that is in use: it reads the person's files and
// those of projects, tries a new set aside before it takes the place of the old one, asks it
// about each message, and goes back to an earlier one when it fails.
//
// A set comes into use like this; at every step, what was in use before goes on:
//
//	files ── read, twice alike ──► compiled in a worker of its own ──► settings checked, tests run
//	  ▲                                   │                                │
//	  └──── saved anew                    └──────────► refused ◄───────────┤
//	                                        (status, log, one notice)      ▼
//	in use ◄── its verdicts on the last messages are compared with those of the old one
//
// The goroutine of InUse.Run owns the change of sets. Decide runs in the relay's; what both
// touch is behind one lock, which nobody holds while a script runs.
package policyset
