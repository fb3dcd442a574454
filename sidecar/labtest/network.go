package labtest

import "net"

// network is the network of a lab's agents. It has the models and, if the system permits it, nothing else.
type network struct {
	listener net.Listener
	// enter is the beginning of a command line that runs a command inside; empty if it is the machine's own network.
	enter []string
	// open says why the agents are in the machine's own network; empty if they are not.
	open  string
	close func()
}

// openNetwork returns the machine's own network, for systems that permit nothing better.
func openNetwork(why string) (network, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	return network{listener: l, open: why, close: func() {}}, err
}
