// Package policyset manages the set of policies in use. It reads the files of the person and of projects, tries a new
// set aside before it replaces the old one, asks it about each message, and goes back to an earlier set when it fails.
//
// A new set comes into use in the steps below. At every step, the old set stays in use:
//
//	files ── read, twice alike ──► compiled in a worker of its own ──► settings checked, tests run
//	  ▲                                   │                                │
//	  └──── saved anew                    └──────────► refused ◄───────────┤
//	                                        (status, log, one notice)      ▼
//	in use ◄── its verdicts on the last messages are compared with those of the old one
//
// Only the person's own files are kept, refused and gone back to. The files of projects are read anew for each set,
// with the trust that they have then; an error in one of them affects that file alone.
//
// Whoever holds the one token may exchange sets: the goroutine of Live.Run, a person's request, or Decide when it meets
// a project that the set in use does not know. What Decide reads about the set is guarded by a lock that nobody holds
// while a script runs.
package policyset
