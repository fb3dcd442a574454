package api

import (
	"net/http"
	"time"
)

// Op is an operation of the sidecar, as both sides know it: Handle serves it, Call asks for it. Who
// serves is asked from many goroutines at once. An *Error that it returns reaches the client as it
// is; any other error reaches it with the code CodeFailed.
type Op[Q, R any] struct {
	Name string // its place is this, after /v1/
	Door Door   // who may ask for it
	// Check refuses what makes no sense, whatever the state of things. It may be nil.
	Check func(Q) error
	// Whole is a reply with empty lists where it has nothing, since null is no list to those who
	// read JSON. It may be nil.
	Whole func(R) R
	// Reads says that the operation changes nothing: whoever loses the reply asks once more.
	Reads bool
	// Again makes that harmless for one which changes something. It returns what is sent by a
	// client that has been at it for some time. nil: what may have been carried out is not repeated.
	Again func(req Q, spent time.Duration) Q
	// Open says that every version understands the operation, so that an update finds its way out.
	Open bool
}

// Stream is an operation whose reply goes on: Feed serves it, Follow asks for it. Of who
// serves it an error is the last element.
type Stream[Q, E any] struct {
	Name string
	Door Door
}

// None is the request of an operation that takes none, and the reply of one that gives none.
type None struct{}

// route is where an operation is found.
type route struct {
	method, path string
	open         bool
}

// route is a GET for what reads and takes no request: the status has been one since version 1.
func (op Op[Q, R]) route() route {
	r := route{http.MethodPost, "/v1/" + op.Name, op.Open}
	if _, none := any(*new(Q)).(None); none && op.Reads {
		r.method = http.MethodGet
	}
	return r
}

func (op Stream[Q, E]) route() route { return route{method: http.MethodPost, path: "/v1/" + op.Name} }

// list is empty in the place of nothing.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
