package labtest

import "net"

// network is where the agents of a lab live: with the models, and if the system allows it
// with nothing else.
type network struct {
	listener net.Listener
	// enter is a command line that runs what follows it inside; empty if it is the
	// machine's own network.
	enter []string
	// open says why the agents are in the machine's own network; empty if they are not.
	open  string
	close func()
}

// openNetwork is the machine's own network: what there is where nothing better is.
func openNetwork(why string) (network, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	return network{listener: l, open: why, close: func() {}}, err
}
