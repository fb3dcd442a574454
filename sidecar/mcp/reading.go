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

// reading is what is known of an answer that was written to a client.
type reading uint8

const (
	unread  reading = iota // not read yet
	read                   // all of it
	lost                   // it will not be read any more
	unknown                // nothing tells, now or later
)

// outlet is where answers are written.
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

// receipts are the answers of which somebody is to be told whether the client has read them.
type receipts struct {
	mu     sync.Mutex
	wanted map[jsonrpc.ID]func(reading)
	unread map[jsonrpc.ID]context.CancelCauseFunc // being written, or written and awaited
	vain   map[jsonrpc.ID]bool                    // calls that were cancelled, and are not answered yet
	due    sync.WaitGroup
}

// errCancelled is why an answer is not awaited any more: a client ignores that of a call which it has cancelled.
var errCancelled = errors.New("its client has cancelled the call")

// cancelled takes in that the client cancels a call. What it has not read of its answer by now it does not heed.
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
	case open: // it may be wanted in a moment
		set(&r.vain, id, true)
	}
}

// begins takes in that there is a call of that id: what was of an earlier one is over.
func (r *receipts) begins(id jsonrpc.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vain, id)
}

// set is m[id] = v of a map that may not be there yet.
func set[V any](m *map[jsonrpc.ID]V, id jsonrpc.ID, v V) {
	if *m == nil {
		*m = map[jsonrpc.ID]V{}
	}
	(*m)[id] = v
}

// written is an answer of which somebody is to be told what becomes of it.
type written struct {
	id      jsonrpc.ID
	told    func(reading)
	dropped context.Context // ends when its call is cancelled
}

// of is the answer to a call, if somebody wants to be told of it: that is told once, by await or gone.
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

// gone tells what became of an answer, which is awaited no more.
func (r *receipts) gone(w *written, now reading) {
	r.mu.Lock()
	if end, ok := r.unread[w.id]; ok {
		end(nil)
		delete(r.unread, w.id)
	}
	r.mu.Unlock()
	w.told(now)
}

// await has it told what becomes of an answer that ends at that place.
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

// want has told be called once it is known whether the answer to a request was read, in a goroutine of its own.
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

// later does something beside the answers, for which rest waits too.
func (r *receipts) later(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due.Go(do)
}

// rest tells of the answers that were never written, and waits until all are told.
func (r *receipts) rest() {
	r.mu.Lock()
	for id, told := range r.wanted {
		delete(r.wanted, id)
		told(lost)
	}
	r.mu.Unlock()
	r.due.Wait()
}

// requestMark is where a call has the id of its request: the SDK does not tell it to the handler of a tool.
const requestMark = "io.github.tmux-intercom/request"

// requestOf is the id that marked has left among the metadata of a call, and takes it out.
func requestOf(meta map[string]any) (id jsonrpc.ID, ok bool) {
	value, ok := meta[requestMark]
	delete(meta, requestMark)
	if !ok {
		return id, false
	}
	id, err := jsonrpc.MakeID(value)
	return id, err == nil
}

// marked is a call of a tool with the id of its request among its metadata.
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
