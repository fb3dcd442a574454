package talk

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// SendTimeout is how long a sender waits if nobody says otherwise.
const SendTimeout = 10 * time.Second

// closing is how long a listener that acknowledges nothing has to close or reset the connection. After that the
// written message counts as sent.
const closing = time.Second

// Sending is a message to a port.
type Sending struct {
	To, From int
	Body     []byte
	Type     string // "" is text
	Thread   string
	Receipt  bool // the sender wants to know when it was read
	TLS      bool
	Timeout  time.Duration // for everything together; 0 means SendTimeout

	listener *string // the name of the only listener that may get it; nil: whichever listens
}

// Sent is a message that was sent.
type Sent struct {
	ID     string // "" if the listener is not ours
	Stored bool   // the listener has said that it is on disk
	At     time.Time
}

// Send sends a message. If the claim of the port shows that its listener is ours, Send returns nil once the
// message is stored there. Otherwise it returns nil once all of the message was written and the listener has
// not broken off the connection. The error is an *Error.
func (h Home) Send(ctx context.Context, s Sending) (Sent, error) {
	if s.Timeout <= 0 {
		s.Timeout = SendTimeout
	}
	if err := s.check(); err != nil {
		return Sent{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	to := h.Port(s.To)
	for {
		said, ours, err := to.announced(ctx)
		if err != nil {
			e, _ := errors.AsType[*Error](err)
			return Sent{}, e.With("timeout", seconds(s.Timeout))
		}
		if to.another(s.listener) { // one that comes later does not take what is meant for said
			return Sent{}, Errorf(ConnectionRefused, s.To, "Another listener has taken port %d over", s.To)
		}
		sent, err := s.send(ctx, said, ours)
		// If another listener has taken the port over meanwhile, the hello was not for it and nothing was
		// stored.
		if e, ok := errors.AsType[*Error](err); ok && e.Code == ConnectionClosed && ours && ctx.Err() == nil {
			if now, still := to.advertised(); still && now.Key != said.Key {
				continue
			}
		}
		if err == nil && s.Receipt {
			err = h.Port(s.From).note(receiptLine{sent.ID, s.To, "stored", Stamp(sent.At)})
		}
		return sent, err
	}
}

func (s Sending) check() error {
	if err := CheckPort(s.To); err != nil {
		return err
	}
	if err := CheckPort(s.From); err != nil {
		return err
	}
	if len(s.Thread) > mostID {
		return Errorf(InvalidMessage, s.To, "Thread of %d bytes exceeds the limit of %d bytes", len(s.Thread), mostID)
	}
	if err, ok := errors.AsType[*Error](CheckBody(s.Type, s.Body)); ok {
		return err.With("port", s.To)
	}
	return nil
}

// send sends the message to a listener. If the listener is ours, said is what it understands.
func (s Sending) send(ctx context.Context, said server, ours bool) (Sent, error) {
	var refused error
	switch {
	case ours && said.Cert != nil && !s.TLS:
		refused = Errorf(TLSRequired, s.To, "Port %d takes encrypted connections only", s.To)
	case s.TLS && (!ours || said.Cert == nil):
		refused = Errorf(NotSupported, s.To, "Port %d does not offer encryption", s.To)
	case !ours && (s.Thread != "" || s.Receipt || s.Type == TypeBinary || s.Type == TypeJSON):
		refused = Errorf(NotSupported, s.To, "The listener on port %d takes plain text only", s.To)
	}
	if refused != nil && ours {
		return Sent{}, refused
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address(s.To))
	if err != nil {
		return Sent{}, s.unconnected(err)
	}
	defer c.Close()
	if refused != nil { // only now, since a missing listener is another error
		return Sent{}, refused
	}
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	plain := c
	if s.TLS {
		secret := tls.Client(c, pinned(said.Cert))
		if err := secret.HandshakeContext(ctx); err != nil {
			return Sent{}, s.broken("before it was encrypted", err)
		}
		c = secret
	}
	if ours {
		return s.acknowledged(c, said)
	}
	if _, err := c.Write(AppendFrame(nil, s.Body)); err != nil {
		return Sent{}, s.broken("while the message was sent", err)
	}
	sent := Sent{At: time.Now()}
	_ = plain.(*net.TCPConn).CloseWrite()
	_ = c.SetReadDeadline(earlier(deadline, sent.At.Add(closing)))
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return Sent{}, s.broken("before the message was taken", err)
	}
	return sent, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// acknowledged sends an envelope and waits until it is stored.
func (s Sending) acknowledged(c net.Conn, said server) (Sent, error) {
	e := envelope{ID: string(message.NewID()), From: s.From, Text: string(s.Body), Type: s.Type, Thread: s.Thread, Receipt: s.Receipt}
	switch e.Type {
	case TypeText:
		e.Type = ""
	case TypeBinary:
		e.Text = base64.StdEncoding.EncodeToString(s.Body)
	}
	if _, err := c.Write(AppendFrame(AppendFrame(nil, hello(said.Key)), marshal(e))); err != nil {
		return Sent{}, s.broken("while the message was sent", err)
	}
	answer, err := (&frames{r: bufio.NewReader(c)}).next(maxSmallFile)
	if err != nil {
		return Sent{}, s.broken("before the message was acknowledged", err)
	}
	var a ack
	switch err := json.Unmarshal(answer, &a); {
	case err != nil || a.ID != e.ID:
		return Sent{}, s.broken("without an acknowledgement", fmt.Errorf("unexpected answer %q", answer[:min(len(answer), 80)]))
	case a.Code != "":
		return Sent{}, Errorf(a.Code, s.To, "%s", a.Text)
	}
	return Sent{ID: e.ID, Stored: true, At: time.Now()}, nil
}

// seconds returns a duration as the commands print it: as an integer if it is whole.
func seconds(d time.Duration) any {
	if s := d.Seconds(); s != math.Trunc(s) {
		return s
	}
	return int(d.Seconds())
}

// unconnected returns the error of a connection that could not be made, in the document's words.
func (s Sending) unconnected(err error) error {
	code, why := ConnectionFailed, err.Error()
	switch {
	case errors.Is(err, syscall.ECONNRESET): // it was accepted, and dropped before anybody looked
		return s.broken("before the message was sent", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		code, why = ConnectionRefused, "Connection refused"
	case timedOut(err):
		code, why = ConnectionTimeout, "Connection timed out"
	}
	return Errorf(code, s.To, "Could not connect to port %d: %s", s.To, why).With("timeout", seconds(s.Timeout))
}

// broken returns the error of a connection that ended too early.
func (s Sending) broken(when string, err error) error {
	code, what := ConnectionClosed, "closed the connection"
	switch {
	case timedOut(err):
		code, what = ConnectionTimeout, "did not answer in time"
	case errors.Is(err, errOtherCert):
		code, what = ConnectionFailed, "has another certificate"
	}
	return Errorf(code, s.To, "Listener on port %d %s %s", s.To, what, when).With("timeout", seconds(s.Timeout))
}

func timedOut(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT)
}

// Result is the outcome of a message to one of several ports.
type Result struct {
	To int
	Sent
	Err error
}

// SendAll sends a message to several ports, to each once and never to the sender's own. A failure at one port
// does not affect the others.
func (h Home) SendAll(ctx context.Context, s Sending, to []int) []Result {
	to = slices.DeleteFunc(slices.Clone(to), func(n int) bool { return n == s.From })
	slices.Sort(to)
	to = slices.Compact(to)
	all := make([]Result, len(to))
	var each sync.WaitGroup
	for i, number := range to {
		each.Go(func() {
			one := s
			one.To = number
			all[i].To = number
			all[i].Sent, all[i].Err = h.Send(ctx, one)
		})
	}
	each.Wait()
	return all
}

// LogSent appends a sent message to the outbox of its sender.
func (h Home) LogSent(s Sending, at time.Time) error {
	p := h.Port(s.From)
	if err := p.make(); err != nil {
		return err
	}
	f, err := own.OpenFile(p.Outbox(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return Errorf(FileError, s.From, "%w", err)
	}
	defer f.Close()
	if err := own.Sole(f); err != nil {
		return Errorf(FileError, s.From, "%w", err)
	}
	line := sentLine{Timestamp: Stamp(at), To: s.To, Text: string(s.Body), Type: s.Type, Thread: s.Thread}
	if s.Type == TypeBinary {
		line.Text = base64.StdEncoding.EncodeToString(s.Body)
	}
	if _, err := f.Write(append(marshal(line), '\n')); err != nil {
		return Errorf(FileError, s.From, "%w", err)
	}
	return nil
}

// sentLine is a line of an outbox.
type sentLine struct {
	Timestamp string `json:"timestamp"`
	To        int    `json:"to_port"`
	Text      string `json:"message"`
	Type      string `json:"type,omitempty"`
	Thread    string `json:"thread,omitempty"`
}
