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
	unread map[jsonrpc.ID]context.CancelCauseFunc // written, and awaited
	due    sync.WaitGroup
}

// errCancelled is why an answer is not awaited any more: a client ignores that of a call which it has cancelled.
var errCancelled = errors.New("its client has cancelled the call")

// cancelled takes in that the client cancels a call. What it has not read of its answer by now it does not heed.
func (r *receipts) cancelled(id jsonrpc.ID) {
	if told := r.of(id); told != nil {
		told(lost)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if end, ok := r.unread[id]; ok {
		end(errCancelled)
	}
}

// await has it told what becomes of an answer that ends at that place.
func (r *receipts) await(ctx context.Context, id jsonrpc.ID, out *outlet, end int64, told func(reading)) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	if r.unread == nil {
		r.unread = map[jsonrpc.ID]context.CancelCauseFunc{}
	}
	r.unread[id] = cancel
	r.mu.Unlock()
	go func() {
		defer cancel(nil)
		now := out.await(ctx, end)
		if now == unread && errors.Is(context.Cause(ctx), errCancelled) {
			now = lost
		}
		r.mu.Lock()
		delete(r.unread, id)
		r.mu.Unlock()
		told(now)
	}()
}

// want has told be called once it is known whether the answer to a request was read, in a goroutine of its own.
func (r *receipts) want(id jsonrpc.ID, told func(reading)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wanted == nil {
		r.wanted = map[jsonrpc.ID]func(reading){}
	}
	r.due.Add(1)
	r.wanted[id] = func(now reading) {
		go func() {
			defer r.due.Done()
			told(now)
		}()
	}
}

// later does something beside the answers, for which rest waits too.
func (r *receipts) later(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due.Go(do)
}

// of is who wants to be told of an answer, nil for nobody; they are told once.
func (r *receipts) of(id jsonrpc.ID) func(reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.wanted[id]
	delete(r.wanted, id)
	return told
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
