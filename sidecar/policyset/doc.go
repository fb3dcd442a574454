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
// Sets are exchanged under one lock, by the goroutine of InUse.Run, by a person's request, and
// by Decide where it meets a session of which it is not known yet where it works. What Decide
// reads of the set in use is behind another, which nobody holds while a script runs.
package policyset
