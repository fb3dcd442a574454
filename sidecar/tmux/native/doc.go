// Package native speaks the protocol between the tmux program and its server, so that a command
// needs no process.
//
// Messages are those of OpenBSD's imsg over a stream socket, in version 8 of the protocol, as
// defined by client.c, server-client.c, file.c and tmux-protocol.h of tmux 3.2 to 3.8. A tmux up to
// 3.5 trusts its own client: the server crashes, with all its sessions, on a message of the wrong
// size, a message at the wrong time, or a second answer to a question. So
//
//   - the package writes to a connection only what the functions of encode.go return, and those
//     can make no such message from any argument;
//   - one goroutine owns a connection. It identifies itself and sends its request in one write, then
//     answers each question of the server once, and writes nothing more after any surprise;
//   - a connection carries one command line, and is closed when the server says that the command
//     has ended. No connection stays open unless its command waits;
//   - the server's process is checked before the first byte is written.
package native
