package talk

// Places limits what all ports of a sidecar may use together. Each port has its own limits, but a person may
// have a hundred ports.
type Places struct {
	open  chan struct{} // connections
	large chan struct{} // large frames read and stored at once
}

const (
	allConnections = 4 * maxConnections
	allLarge       = 4 * largeAtOnce
)

// NewPlaces returns the places of a sidecar.
func NewPlaces() *Places { return newPlaces(allConnections, allLarge) }

func newPlaces(open, large int) *Places {
	return &Places{open: make(chan struct{}, open), large: make(chan struct{}, large)}
}

// enter takes the place of a connection if one is free; leave gives it back.
func (p *Places) enter() bool {
	select {
	case p.open <- struct{}{}:
		return true
	default:
		return false
	}
}

func (p *Places) leave() { <-p.open }
