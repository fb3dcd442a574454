package talk

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// Beyond the document: if a port has a server.json and our listener, the sender begins with a frame
//
//	hello v=1 ack=1 key=<key of server.json>
//
// Each frame after it is an envelope, a JSON object. The answer is a frame with the same id once the envelope is
// stored, or with the code of an error:
//
//	{"id":"…","from":9001,"message":"…","type":"json","thread":"…","receipt":true}
//	{"ack":"…"}    {"ack":"…","error_code":"INBOX_FULL","error_message":"…"}
//
// Without the hello a frame is text, whatever it looks like, and nothing is ever answered. The key is a secret of this
// user. A frame with a wrong key is no hello.

// maxEnvelope is the most bytes of an envelope: a message in which every byte is escaped, and the other fields.
const maxEnvelope = 6*MaxMessage + 64<<10

// mostID is the greatest length of a peer's ids and threads, in bytes.
const mostID = 128

// server is the content of server.json.
type server struct {
	Version int    `json:"version"`
	PID     int    `json:"pid"`
	Started string `json:"started"`
	Key     string `json:"key"`
	Name    string `json:"name,omitempty"`
	File    string `json:"message_file,omitempty"`    // "" if an older version wrote it
	Keeps   int    `json:"max_inbox,omitempty"`       // messages that the inbox may hold now; 0 if an older version wrote it
	Cert    []byte `json:"tls_certificate,omitempty"` // of an encrypted port, in DER
}

// advertised returns what the listener that has the port now says of itself; false if the listener is not ours.
func (p Port) advertised() (s server, ours bool) {
	if !claim.Held(p.claim()) || readJSON(p.server(), &s) != nil {
		return s, false
	}
	return s, s.Version == 1 && s.Key != ""
}

// announced is advertised for a port that a listener of ours may be about to serve. If the claim is held but
// server.json does not say so yet, it waits: the listener is about to write it, or writes it again within a
// second.
func (p Port) announced(ctx context.Context) (s server, ours bool, err error) {
	for {
		if s, ours = p.advertised(); ours || !claim.Held(p.claim()) {
			return s, ours, nil
		}
		select {
		case <-ctx.Done():
			return s, false, Errorf(ConnectionTimeout, p.Number, "Listener on port %d is being started, and does not take messages yet", p.Number)
		case <-time.After(announcePause):
		}
	}
}

const announcePause = 5 * time.Millisecond

const keySize = 18

func newKey() string {
	var b [keySize]byte
	_, _ = rand.Read(b[:]) // never fails, as documented
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func hello(key string) []byte { return fmt.Appendf(nil, "hello v=1 ack=1 key=%s", key) }

func isHello(frame []byte, key string) bool {
	return subtle.ConstantTimeCompare(frame, hello(key)) == 1
}

// looksHello reports whether a frame has the form of a hello, perhaps to another listener.
func looksHello(frame []byte) bool {
	key, ok := bytes.CutPrefix(frame, hello(""))
	return ok && len(key) == base64.RawURLEncoding.EncodedLen(keySize)
}

// envelope is a message between programs of ours.
type envelope struct {
	ID      string `json:"id"`
	From    int    `json:"from"`
	Text    string `json:"message"` // base64 if binary
	Type    string `json:"type,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Receipt bool   `json:"receipt,omitempty"`
}

// ack answers an envelope.
type ack struct {
	ID   string `json:"ack"`
	Code Code   `json:"error_code,omitempty"`
	Text string `json:"error_message,omitempty"`
}

// marshal is json.Marshal, but leaves < > & as they are.
func marshal(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // strings, numbers, booleans
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// parseEnvelope reads an envelope. The error is a violation, after which nothing more is read.
func parseEnvelope(frame []byte) (e envelope, err error) {
	if !utf8.Valid(frame) {
		return e, Errorf(InvalidMessage, 0, "envelope is not valid UTF-8")
	}
	if err := json.Unmarshal(frame, &e); err != nil {
		return e, Errorf(InvalidMessage, 0, "envelope: %w", err)
	}
	switch {
	case e.ID == "" || len(e.ID) > mostID || len(e.Thread) > mostID:
		return e, Errorf(InvalidMessage, 0, "envelope: its id or thread is missing or too long")
	case e.From != 0 && CheckPort(e.From) != nil:
		return e, Errorf(InvalidMessage, 0, "envelope: from %d is no port", e.From)
	}
	body := []byte(e.Text)
	if e.Type == TypeBinary {
		if body, err = base64.StdEncoding.DecodeString(e.Text); err != nil {
			return e, Errorf(InvalidMessage, 0, "envelope: %w", err)
		}
	}
	return e, CheckBody(e.Type, body)
}

// stored returns the message of an envelope as the inbox has it.
func (e envelope) stored(now string) Message {
	m := Message{Timestamp: now, Sender: e.From, Text: e.Text, Type: e.Type, Thread: e.Thread}
	if e.Receipt {
		m.Receipt = e.ID
	}
	return m
}

// serves reports whether the listener that has the port does what is wanted. One that listens for another file
// is about to end.
func (p Port) serves(w Wish) bool {
	var s server
	return readJSON(p.server(), &s) != nil || s.File == "" || s.File == w.MessageFile && (len(s.Cert) > 0) == w.TLS
}

// saysSo reports whether the files of the port still say what announce wrote.
func (p Port) saysSo(s server) bool {
	var there server
	var pid int
	return readJSON(p.server(), &there) == nil && there.Key == s.Key && there.Keeps == s.Keeps && readJSON(p.PIDFile(), &pid) == nil && pid == os.Getpid()
}

// announce writes down what this listener understands, and after that, that it listens.
func (p Port) announce(s server) error {
	s.Version, s.PID = 1, os.Getpid()
	if err := writeJSON(p.server(), s); err != nil {
		return err
	}
	return writeJSON(p.PIDFile(), s.PID)
}

// withdraw removes what announce wrote, if this process wrote it.
func (p Port) withdraw() {
	var pid int
	if readJSON(p.PIDFile(), &pid) == nil && pid == os.Getpid() {
		for _, path := range slices.Backward([]string{p.server(), p.PIDFile()}) {
			_ = os.Remove(path)
		}
	}
}
