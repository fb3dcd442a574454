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
// What is kept, refused and gone back to are the person's own files. Those of projects are read
// anew for each set, as far as they are trusted by then; what is wrong with one is its own matter.
//
// Sets are exchanged by whoever holds the one token for it: the goroutine of Live.Run, a
// person's request, or Decide where it meets a project of which the set in use knows nothing. What
// Decide reads of that set is behind a lock which nobody holds while a script runs.
package policyset
