// Package tmux is the only code that talks to a tmux server or runs programs at all. It looks at
// panes, tells when a look is worth while, and types into a pane only by compare-and-type. The
// server belongs to somebody else: the package never starts one by accident (every call carries
// -N), changes no focus, size, environment or hook, and attaches no control client to a server that
// one could crash (before 3.8).
//
// Commands travel by one of three transports. Short processes each run a batch of commands
// atomically. Control mode keeps one client attached over a pty. tmux's own protocol (package
// native) does the same as a process without starting one, and is used only on request. Text for a
// pane needs a standard input, the only way by which tmux takes every byte, and control mode has
// none. Whatever a transport cannot do at the moment goes by short processes.
//
// Ownership: a Client is safe for use by many goroutines. One goroutine groups looks (look.go) and
// owns the batch under way; one waits for the end of the server (gone.go); one forwards edges and
// owns the set of those not yet taken (edges.go), which the triggers fill: a reader of inotify
// (inotify.go), a poller (polling.go), or the readers of control clients with output (output.go). A
// control connection (control.go) has a reader goroutine that owns the parser, and a keeper that
// attaches again. Close ends all of them and returns when they have ended.
//
// Package command makes the commands that go to tmux, and text.go puts them together; parse.go
// reads the replies.
package tmux
