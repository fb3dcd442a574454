// Package api is the boundary of the sidecar: its operations as values, a file for each family of
// them, with what goes over the wire; an HTTP server over a unix socket that asks the kernel who
// calls, and serves whatever operations it is given; and the one client that every command uses.
//
// The server holds no state of its own. It starts one goroutine for each connection, by
// net/http, and one that waits for the end of Serve's context; both have ended when Serve
// returns. Whatever a request means is decided by who serves it (Handle), in package service.
// A Listener owns the socket and the lock for as long as its process lives. A Client owns
// nothing between two calls.
package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Version is the version of this interface. It goes with every request and every reply
// in the header VersionHeader, and grows only when one side could misunderstand the
// other; what is merely added leaves it as it is.
const Version = "2"

// VersionHeader is the header that carries Version.
const VersionHeader = "Intercom-Version"

// ClientHeader is the header of Caller.Client.
const ClientHeader = "Intercom-Client"

// MaxRequest is the most bytes that a request may have: 2 MiB for a body of
// message.MaxBody in which JSON writes every byte as two, and room for the rest.
const MaxRequest = 2*message.MaxBody + 64<<10

// Gone is the number of no process. Whoever goes on with the connection of one that has ended
// is nobody, also when somebody else has got its number meanwhile.
const Gone = -1

// Caller is who sent a request, as the kernel tells it.
type Caller struct {
	PID int // of the process that connected: 0 where the system does not tell, Gone once that has ended
	UID int
	// Client is the client of tmux at which a key was pressed, as the caller says: it counts
	// only where tmux says so too.
	Client string
	// Agent is set where an agent calls through its MCP client: never a person then.
	Agent *AgentCall
	// Remote is the peer here that stands for who asks on another computer: never a person either, and nobody who
	// comes by the socket.
	Remote message.ID
}
