package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// longestLine is how many bytes a message may have.
	longestLine = 16 << 20
	// Limits on what a client may have under way: requests that are not answered, answers that it has not read,
	// and the bytes of both. Beyond them nothing more is read from it; otherwise the answers for a client that
	// never reads would pile up here.
	mostOpen      = 200
	mostUnread    = 64
	mostUnderWay  = 8 << 20
	longestReason = 2 << 10 // bytes of an error's text, which may repeat what the client has sent
	// lastAnswers is how long a client that has closed its end is waited for if it reads none of the answers
	// that there are.
	lastAnswers = time.Second
	// lastCalls is how many times as long the calls under way at that moment are waited for, as long as the
	// client reads the answers that there are.
	lastCalls = int(callTimeout / lastAnswers)
)

// lines is MCP over two streams, with one message per line, as the specification has it for standard input and
// output. The SDK's own transport ends at the first line that is not a message. This one answers such a line
// with a JSON-RPC error and goes on.
type lines struct {
	messages chan jsonrpc.Message
	left     context.Context // ends when the client has closed its end
	leave    context.CancelFunc
	ended    chan struct{} // closed when the client's input ends, though not all of it may be taken yet
	over     chan struct{} // closed when no more messages come, and there was time for the answers
	closed   context.Context
	close    context.CancelFunc
	watched  context.Context // ends when nobody watches any more whether the client reads what was written
	unwatch  context.CancelFunc

	patience time.Duration      // with a client that has closed its end
	owes     sync.Mutex         // guards open, writes, bytes and full
	open     map[jsonrpc.ID]int // requests that are not answered, and their lengths
	writes   int                // writes under way
	bytes    int                // of those requests and writes
	full     bool               // nothing is read until there is room
	answered chan struct{}      // an answer was written
	mu       sync.Mutex         // lets one line be written at a time
	out      *outlet
	receipts receipts
}

// newLines begins to read in, and goes on until in ends, because a read from it cannot be interrupted. patience
// is lastAnswers, except in tests.
func newLines(ctx context.Context, in io.Reader, out io.Writer, patience time.Duration) *lines {
	l := &lines{
		patience: patience,
		messages: make(chan jsonrpc.Message), ended: make(chan struct{}), over: make(chan struct{}),
		open: make(map[jsonrpc.ID]int), answered: make(chan struct{}, 1), out: &outlet{Writer: out},
	}
	l.closed, l.close = context.WithCancel(ctx)
	l.watched, l.unwatch = context.WithCancel(ctx)
	l.left, l.leave = context.WithCancel(l.closed)
	go func() {
		defer close(l.over)
		l.take(in)
	}()
	return l
}

// Connect returns l itself. SDK.
func (l *lines) Connect(context.Context) (sdk.Connection, error) { return l, nil }

// SessionID returns "": there is one session. SDK.
func (*lines) SessionID() string { return "" }

// Close ends Read. SDK.
func (l *lines) Close() error {
	l.close()
	return nil
}

// Read returns the next message, and io.EOF at the end. SDK.
func (l *lines) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-l.messages:
		return m, nil
	case <-l.over:
	case <-l.closed.Done():
	}
	return nil, io.EOF
}

// Write writes a message. SDK.
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	answer, ok := m.(*jsonrpc.Response)
	if ok {
		answer.Error = shortened(answer.Error)
	}
	data, err := jsonrpc.EncodeMessage(m)
	var asked jsonrpc.ID
	var awaited *written
	if ok {
		asked = answer.ID
		awaited = l.receipts.of(asked)
	}
	defer l.writing(len(data), asked)()
	var end int64
	if err == nil {
		end, err = l.write(data)
	}
	l.tell(awaited, end, err)
	return err
}

// shortened returns a JSON-RPC error of a length that a client can show. The SDK's errors repeat the name of
// what was called, however long it is.
func shortened(err error) error {
	of, ok := errors.AsType[*jsonrpc.Error](err)
	if err == nil || len(err.Error()) <= longestReason && (!ok || len(of.Data) <= longestReason) {
		return err
	}
	short := jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: cut(err.Error())}
	if ok {
		short.Code = of.Code
	}
	return &short
}

// cut returns a reason, cut to longestReason.
func cut(reason string) string {
	if len(reason) <= longestReason {
		return reason
	}
	return strings.ToValidUTF8(reason[:longestReason], "") + "…"
}

// write writes a line, and returns the place in the output at which it ends.
func (l *lines) write(line []byte) (end int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return l.out.written(), err
}

// tell reports what becomes of an answer that ends at that place, or that was not written whole. awaited is nil
// if nobody wants to know.
func (l *lines) tell(awaited *written, end int64, err error) {
	switch {
	case awaited == nil:
	case err != nil:
		l.receipts.gone(awaited, lost)
	default:
		l.receipts.await(l.watched, awaited, l.out, end)
	}
}

// finish ends the connection, and has everybody told in time what became of the last answers: a client that has
// closed its own end may still read them.
func (l *lines) finish() {
	defer l.unwatch()
	l.close()
	told := make(chan struct{})
	go func() {
		l.receipts.rest()
		close(told)
	}()
	for range 2 {
		select {
		case <-told:
			return
		case <-time.After(l.patience):
			l.unwatch()
		}
	}
}

// writing counts a write of so many bytes until the returned function is called. If it answers a request, the
// request's bytes count as long too, because the SDK keeps the request. The request's id is free at once: the
// client may use it again as soon as it has read the answer.
func (l *lines) writing(bytes int, asked jsonrpc.ID) (wrote func()) {
	l.owes.Lock()
	defer l.owes.Unlock()
	l.writes++
	l.bytes += bytes
	bytes += l.open[asked]
	delete(l.open, asked)
	return func() {
		l.owes.Lock()
		l.writes--
		l.bytes -= bytes
		l.owes.Unlock()
		select {
		case l.answered <- struct{}{}:
		default:
		}
	}
}

// room waits until there is room for another message, and returns false if none can come any more. A message of
// any length has room if it is alone. A client that has closed its end is no longer waited for once it has read
// no answer for a while.
func (l *lines) room() bool {
	var late <-chan time.Time
	ended := l.ended
	for {
		l.owes.Lock()
		l.full = len(l.open) >= mostOpen || l.writes >= mostUnread || l.bytes >= mostUnderWay
		full := l.full
		l.owes.Unlock()
		if !full {
			return true
		}
		select {
		case <-l.answered:
			if late != nil {
				late = time.After(l.patience)
			}
		case <-ended:
			ended, late = nil, time.After(l.patience)
		case <-late:
			return false
		case <-l.closed.Done():
			return false
		}
	}
}

// take reads messages to the end, and then waits for the answers to them, as long as answers come. Calls that
// take longer are given up.
func (l *lines) take(in io.Reader) {
	ahead, copied := io.Pipe() // so that the end of in is seen while there is no room
	defer ahead.Close()
	go func() {
		_, err := io.Copy(copied, in)
		close(l.ended)
		_ = copied.CloseWithError(err)
	}()
	r := bufio.NewReaderSize(ahead, 64<<10)
	for l.room() {
		line, err := readLine(r)
		if errors.Is(err, errLongLine) {
			err = l.refuse("null", jsonrpc.CodeInvalidRequest, err.Error())
		} else if err == nil {
			err = l.accept(line)
		}
		if err != nil {
			break
		}
	}
	l.leave()
	late := time.NewTimer(l.patience)
	defer late.Stop()
	for waited := 1; l.owing(); waited++ {
		select {
		case <-l.answered:
			late.Reset(l.patience)
			waited = 0
		case <-late.C:
			if waited == lastCalls || !l.working() {
				return
			}
			late.Reset(l.patience)
		case <-l.closed.Done():
			return
		}
	}
}

// working reports whether requests are still being worked on, and the client has taken all answers so far.
func (l *lines) working() bool {
	l.owes.Lock()
	defer l.owes.Unlock()
	return len(l.open) > 0 && l.writes == 0
}

// owing reports whether something is still to be answered or written.
func (l *lines) owing() bool {
	l.owes.Lock()
	defer l.owes.Unlock()
	return len(l.open) > 0 || l.writes > 0
}

// asks notes a request of so many bytes, and reports whether a request with its id is already under way.
func (l *lines) asks(id jsonrpc.ID, bytes int) (again bool) {
	l.owes.Lock()
	defer l.owes.Unlock()
	if _, again = l.open[id]; !again {
		l.open[id] = bytes
		l.bytes += bytes
	}
	return again
}

// isOpen reports whether a request is not answered yet.
func (l *lines) isOpen(id jsonrpc.ID) bool {
	l.owes.Lock()
	defer l.owes.Unlock()
	_, is := l.open[id]
	return is
}

// accept passes on the message of a line, or answers what is wrong with it.
func (l *lines) accept(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var whole map[string]json.RawMessage
	if wrong := json.Unmarshal(line, &whole); wrong != nil {
		switch {
		case !json.Valid(line):
			return l.refuse("null", jsonrpc.CodeParseError, "not JSON: "+wrong.Error())
		case line[0] == '[':
			return l.refuse("null", jsonrpc.CodeInvalidRequest, "a batch: send each message in a line of its own")
		}
		return l.refuse("null", jsonrpc.CodeInvalidRequest, "not a JSON object")
	}
	id := "null"
	if given := whole["id"]; len(given) > 0 && (given[0] == '"' || given[0] == '-' || '0' <= given[0] && given[0] <= '9') {
		id = string(given)
	}
	if !utf8.Valid(line) {
		return l.refuse(id, jsonrpc.CodeParseError, "not UTF-8")
	}
	m, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		if whole["method"] == nil && (whole["result"] != nil || whole["error"] != nil) {
			return nil // a response, which is never answered
		}
		return l.refuse(id, jsonrpc.CodeInvalidRequest, err.Error())
	}
	if id[0] != '"' && id != "null" {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || max(n, -n) > 1<<53 {
			return l.refuse(id, jsonrpc.CodeInvalidRequest, "the id is neither a string nor an integer that JavaScript has") // the SDK would answer with another id
		}
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.Method == "notifications/cancelled" {
		var of struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(req.Params, &of) == nil && of.ID != nil {
			if id, err := jsonrpc.MakeID(of.ID); err == nil {
				l.receipts.cancelled(id, l.isOpen(id))
			}
		}
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() {
		if l.asks(req.ID, len(line)) {
			return l.refuse("null", jsonrpc.CodeInvalidRequest, "the id "+id+" is that of a request under way") // its answer is recognised by that id
		}
		l.receipts.begins(req.ID)
		m = marked(req)
	}
	select {
	case l.messages <- m:
		return nil
	case <-l.closed.Done():
		return io.EOF
	}
}

// refuse answers a line that is not a message, without waiting until the answer is read. id is JSON.
func (l *lines) refuse(id string, code int64, why string) error {
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", json.RawMessage(id), jsonrpc.Error{Code: code, Message: cut(why)}})
	if err != nil {
		return err
	}
	wrote := l.writing(len(line), jsonrpc.ID{})
	go func() {
		defer wrote()
		_, _ = l.write(line) // the next write reports the error
	}()
	return nil
}

var errLongLine = errors.New("the line is longer than 16 MiB")

// readLine reads a whole line, or returns errLongLine after a line that is too long. Text after the last line
// feed is a line too.
func readLine(r *bufio.Reader) (line []byte, _ error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > longestLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}
