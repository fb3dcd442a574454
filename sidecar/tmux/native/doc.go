// Package native speaks the protocol in which the tmux program talks to its server, so that a
// command costs no process.
//
// Messages are those of OpenBSD's imsg over a stream socket, in the protocol's version 8, as
// client.c, server-client.c, file.c and tmux-protocol.h of tmux 3.2 to 3.8 have it. A tmux up to
// 3.5 trusts its own client: it ends, with all sessions in it, at a message of the wrong size,
// one that comes at the wrong time, or a second answer to a question. So
//
//   - nothing here writes to a connection but what the functions of encode.go return, and those
//     can make no such message of any argument;
//   - one goroutine owns a connection. It identifies itself and asks in one write, then answers
//     each question of the server once, and writes nothing more after any surprise;
//   - a connection carries one command line, and is closed when the server says that it has
//     ended. None stays open unless its command waits;
//   - the server's process is checked before the first byte.
package native
