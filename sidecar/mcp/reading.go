package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// reading is what is known about an answer that was written to a client.
type reading uint8

const (
	unread  reading = iota // not read yet
	read                   // all of it was read
	lost                   // it will never be read
	unknown                // nothing tells, neither now nor later
)

// outlet is the writer for answers. It counts the bytes.
type outlet struct {
	io.Writer
	mu    sync.Mutex // guards total
	total int64      // bytes written
}

func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.total += int64(n)
	return n, err
}

func (o *outlet) written() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

const (
	firstLook = time.Millisecond
	laterLook = 100 * time.Millisecond
)

// await waits until it is known what became of the bytes before that place, or until ctx ends.
func (o *outlet) await(ctx context.Context, place int64) reading {
	for pause := firstLook; ; pause = min(2*pause, laterLook) {
		total := o.written()
		if now := left(o.Writer, total-place); now != unread {
			return now
		}
		select {
		case <-ctx.Done():
			return left(o.Writer, total-place)
		case <-time.After(pause):
		}
	}
}

// receipts has the answers for which somebody wants to know whether the client has read them.
type receipts struct {
	mu     sync.Mutex
	wanted map[jsonrpc.ID]func(reading)
	unread map[jsonrpc.ID]context.CancelCauseFunc // being written, or written and awaited
	vain   map[jsonrpc.ID]bool                    // calls that were cancelled and are not answered yet
	due    sync.WaitGroup
}

// errCancelled ends the waiting for an answer: a client ignores the answer to a call that it has cancelled.
var errCancelled = errors.New("its client has cancelled the call")

// cancelled handles the cancellation of a call by the client. If the client has not read the answer by now, it
// will not heed it.
func (r *receipts) cancelled(id jsonrpc.ID, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told, wanted := r.wanted[id]
	end, written := r.unread[id]
	switch {
	case wanted:
		delete(r.wanted, id)
		told(lost)
	case written:
		end(errCancelled)
	case open: // want may be called in a moment
		set(&r.vain, id, true)
	}
}

// begins notes that a new call has that id. An earlier call with the same id is over.
func (r *receipts) begins(id jsonrpc.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vain, id)
}

// set does m[id] = v, and makes the map if it is nil.
func set[V any](m *map[jsonrpc.ID]V, id jsonrpc.ID, v V) {
	if *m == nil {
		*m = map[jsonrpc.ID]V{}
	}
	(*m)[id] = v
}

// written is an answer whose fate somebody wants to know.
type written struct {
	id      jsonrpc.ID
	told    func(reading)
	dropped context.Context // ends when its call is cancelled
}

// of returns the answer to a call if somebody wants to know what becomes of it, otherwise nil. await or gone
// tells that once.
func (r *receipts) of(id jsonrpc.ID) *written {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vain, id)
	told, ok := r.wanted[id]
	if !ok {
		return nil
	}
	delete(r.wanted, id)
	w := &written{id: id, told: told}
	var end context.CancelCauseFunc
	w.dropped, end = context.WithCancelCause(context.Background())
	set(&r.unread, id, end)
	return w
}

// gone tells what became of an answer, and ends the waiting for it.
func (r *receipts) gone(w *written, now reading) {
	r.mu.Lock()
	if end, ok := r.unread[w.id]; ok {
		end(nil)
		delete(r.unread, w.id)
	}
	r.mu.Unlock()
	w.told(now)
}

// await waits in a goroutine for what becomes of an answer that ends at that place, and has it told.
func (r *receipts) await(ctx context.Context, w *written, out *outlet, end int64) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(w.dropped, cancel)
	go func() {
		defer stop()
		defer cancel()
		now := out.await(ctx, end)
		if now == unread && errors.Is(context.Cause(w.dropped), errCancelled) {
			now = lost
		}
		r.gone(w, now)
	}()
}

// want has told called, in a goroutine of its own, once it is known whether the answer to a request was read.
func (r *receipts) want(id jsonrpc.ID, told func(reading)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due.Add(1)
	apart := func(now reading) {
		go func() {
			defer r.due.Done()
			told(now)
		}()
	}
	if r.vain[id] {
		apart(lost)
		return
	}
	set(&r.wanted, id, apart)
}

// later runs a function beside the answers. rest waits for it too.
func (r *receipts) later(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due.Go(do)
}

// rest reports the answers that were never written as lost, and waits until everything is told.
func (r *receipts) rest() {
	r.mu.Lock()
	for id, told := range r.wanted {
		delete(r.wanted, id)
		told(lost)
	}
	r.mu.Unlock()
	r.due.Wait()
}

// requestMark is the key under which a call carries the id of its request: the SDK does not pass the id to the
// handler of a tool.
const requestMark = "io.github.tmux-intercom/request"

// requestOf returns the id that marked has put into the metadata of a call, and removes it there.
func requestOf(meta map[string]any) (id jsonrpc.ID, ok bool) {
	value, ok := meta[requestMark]
	delete(meta, requestMark)
	if !ok {
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// marked returns a call of a tool with the id of its request in its metadata.
func marked(req *jsonrpc.Request) *jsonrpc.Request {
	var params, meta map[string]json.RawMessage
	if req.Method != "tools/call" || json.Unmarshal(req.Params, &params) != nil || params == nil {
		return req
	}
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	id, err := json.Marshal(req.ID.Raw())
	if err != nil {
		return req
	}
	meta[requestMark] = id
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return req
	}
	with := *req
	if with.Params, err = json.Marshal(params); err != nil {
		return req
	}
	return &with
}
