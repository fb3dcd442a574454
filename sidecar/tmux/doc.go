// Package tmux is the only door to a tmux server, and to running programs at all. It looks
// at panes, tells when a look is worth while, and types into a pane by compare-and-type
// and in no other way. It lives in a server that belongs to somebody else: it never starts
// one by accident (every call carries -N), changes no focus, size, environment or hook,
// and attaches no control client to a server that one could crash (before 3.8).
//
// Commands go by one of three transports. Short processes run a batch of commands each,
// atomically; control mode keeps one client attached over a pty; tmux's own protocol
// (package native) does what a process does without one, and is used where it was asked for.
// Text for a pane needs a standard input, the only way in which tmux takes every byte, which
// control mode has not. Whatever a transport cannot do at the moment goes by short processes.
//
// Who owns what. A Client is safe for use by many goroutines. One goroutine groups looks
// (looks.go) and owns the batch under way; one waits for the end of the server (gone.go);
// one forwards edges and owns the set of those not yet taken (edges.go), which the
// triggers fill: a reader of inotify (inotify.go), a poller (polling.go), or the readers
// of control clients with output (output.go). A control connection (control.go) has a
// reader goroutine that owns the parser, and a keeper that owns attaching again. Close
// ends all of them and returns when they have ended.
//
// What goes to tmux is made in package command and put together in text.go; what comes from
// it is read in parse.go.
package tmux
