package api

import (
	"net/http"
	"time"
)

// Op is an operation of the sidecar, as both sides know it: Handle serves it, Call asks for it. The function
// that serves it is called from many goroutines at once. If it returns an *Error, the client gets that error as
// it is; any other error reaches the client with CodeFailed.
type Op[Q, R any] struct {
	Name string // the path after /v1/
	Door Door   // who may ask for it
	// Check refuses a request that makes no sense in any state. It may be nil.
	Check func(Q) error
	// Whole returns a reply with empty lists in place of nil ones, since readers of JSON do not take null for a
	// list. It may be nil.
	Whole func(R) R
	// Reads says that the operation changes nothing: a client that loses the reply asks once more.
	Reads bool
	// Again makes a repetition harmless for an operation that changes something. It returns the request that a
	// client sends after it has spent some time on the call. If it is nil, a request that may have been carried
	// out is not repeated.
	Again func(req Q, spent time.Duration) Q
	// Open says that clients of every version may ask for the operation, so that an update can end the old
	// sidecar.
	Open bool
}

// Stream is an operation whose reply goes on: Feed serves it, Follow asks for it. If serving fails, the error
// is the last element.
type Stream[Q, E any] struct {
	Name string
	Door Door
}

// None is the request of an operation without a request, and the reply of one without a reply.
type None struct{}

// route is the method and path of an operation.
type route struct {
	method, path string
	open         bool
}

// route returns a GET for an operation that reads and takes no request: the status has been a GET since version
// 1.
func (op Op[Q, R]) route() route {
	r := route{http.MethodPost, "/v1/" + op.Name, op.Open}
	if _, none := any(*new(Q)).(None); none && op.Reads {
		r.method = http.MethodGet
	}
	return r
}

func (op Stream[Q, E]) route() route { return route{method: http.MethodPost, path: "/v1/" + op.Name} }

// list returns items, or an empty list if items is nil.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
