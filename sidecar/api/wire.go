// Package api is the boundary of the sidecar. It holds the sidecar's operations as values, one file for each
// family of them, with the types of their requests and replies; an HTTP server over a unix socket, which asks
// the kernel who calls and serves the operations that it is given; and the one client that every command uses.
//
// The server holds no state of its own. It starts one goroutine for each connection, by net/http, and one that
// waits for the end of Serve's context; all have ended when Serve returns. Package service decides what a
// request means (see Handle). A Listener owns the socket and the lock for as long as its process lives. A
// Client owns nothing between two calls.
package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Version is the version of this interface. Every request and every reply carries it in the header
// VersionHeader. It grows only when one side could misunderstand the other; mere additions leave it as it is.
const Version = "2"

// VersionHeader is the header that carries Version.
const VersionHeader = "Intercom-Version"

// ClientHeader is the header of Caller.Client.
const ClientHeader = "Intercom-Client"

// MaxRequest is the most bytes that a request may have: 2 MiB for a body of message.MaxBody in which JSON
// writes every byte as two, and some room for the rest.
const MaxRequest = 2*message.MaxBody + 64<<10

// Gone is the pid of no process. It replaces the pid of a caller whose process has ended, since another process
// may have got that pid and its connection may live on.
const Gone = -1

// Caller says who sent a request, as the kernel reports it.
type Caller struct {
	PID int // of the process that connected: 0 if the system does not tell, Gone if the process has ended
	UID int
	// Client is the tmux client at which a key was pressed, as the caller says. It counts only if tmux confirms
	// it.
	Client string
	// Agent is set if an agent calls through its MCP client: such a caller is never a person.
	Agent *AgentCall
	// Remote is the peer here that stands for a caller on another computer. Such a caller is never a person,
	// and never comes through the socket.
	Remote message.ID
}
