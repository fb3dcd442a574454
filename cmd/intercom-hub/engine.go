package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
)

const (
	// maxPayload has room for a message of 1 MiB with every character escaped.
	maxPayload = 8 << 20
	// maxStore is how much all mailboxes together may reserve. They do not take that much: the disk is the limit.
	maxStore    = 1 << 50
	maxMemory   = 64 << 20
	readyWithin = 30 * time.Second // a store may have much to recover
	doneWithin  = 10 * time.Second
)

// engine is a NATS server that serves what a hub's files say.
type engine struct {
	hub    hub.Hub
	asked  serving
	server *server.Server
	own    nkeys.KeyPair // key with which the hub itself connects, inside the process
	conn   *nats.Conn
	ends   chan struct{}
	lets   letsIn // as the server has it now
}

// letsIn is the part of the server's options that may change while it runs.
type letsIn struct {
	computers []hub.Computer
	cert      [][]byte
}

func begin(h hub.Hub, asked serving, log server.Logger) (*engine, error) {
	e := &engine{hub: h, asked: asked, ends: make(chan struct{})}
	var err error
	if e.own, err = nkeys.CreateUser(); err != nil {
		return nil, err
	}
	options, book, err := e.options(time.Now())
	if err != nil {
		return nil, err
	}
	e.lets = lets(options, book)
	// The server would end the process if it could not listen there.
	probe, err := net.Listen("tcp", asked.listen)
	if err != nil {
		return nil, refuse(1, "another program may listen there: name another address with --listen", "%w", err)
	}
	probe.Close()
	if e.server, err = server.NewServer(options); err != nil {
		return nil, err
	}
	e.server.SetLogger(log, false, false)
	e.server.Start()
	go func() { e.server.WaitForShutdown(); close(e.ends) }()
	if !e.server.ReadyForConnections(readyWithin) {
		e.end()
		return nil, errors.New("the server does not become ready")
	}
	key, err := e.own.PublicKey()
	if err == nil {
		e.conn, err = nats.Connect("", nats.Nkey(key, e.own.Sign), nats.InProcessServer(e.server), nats.MaxReconnects(-1), nats.Name("intercom-hub"))
	}
	if err != nil {
		e.end()
		return nil, fmt.Errorf("connect to the server inside: %w", err)
	}
	return e, nil
}

func (e *engine) ended() <-chan struct{} { return e.ends }

func (e *engine) end() {
	if e.conn != nil {
		e.conn.Close()
	}
	e.server.Shutdown()
	<-e.ends
}

// options returns the options of the server according to the files as they are now, and the computers that they let in.
func (e *engine) options(now time.Time) (*server.Options, hub.Book, error) {
	book, err := e.hub.Book()
	if err != nil {
		return nil, book, err
	}
	host, portText, err := net.SplitHostPort(e.asked.listen)
	if err != nil {
		return nil, book, err
	}
	port, err := net.LookupPort("tcp", portText)
	if err != nil {
		return nil, book, err
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	key, err := e.own.PublicKey()
	if err != nil {
		return nil, book, err
	}
	o := &server.Options{
		ServerName: "intercom-hub", Host: host, Port: port, NoSigs: true, NoLog: true,
		MaxPayload: maxPayload, MaxPending: 4 * maxPayload,
		JetStream: true, StoreDir: e.hub.Store(), JetStreamMaxStore: maxStore, JetStreamMaxMemory: maxMemory,
		SyncAlways: true, // an acknowledgment means: on disk
		Nkeys:      []*server.NkeyUser{{Nkey: key}},
	}
	for _, c := range book.Computers {
		publish, subscribe := link.Grants(c.Name)
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: c.Key, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}})
	}
	if !e.asked.plain {
		cert, err := e.hub.Certificate(hub.Hosts(e.asked.hosts, e.asked.listen), now)
		if err != nil {
			return nil, book, err
		}
		o.TLS, o.TLSTimeout = true, 10
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	return o, book, nil
}

// apply serves what the files say now. A computer that is no longer in them is disconnected; no other computer notices.
func (e *engine) apply(ctx context.Context) error {
	options, book, err := e.options(time.Now())
	if err != nil {
		return err
	}
	said, _, err := e.hub.Serving()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// A reload refuses a computer that is just connecting, which then has to try again: reload only what has changed.
	if now := lets(options, book); !reflect.DeepEqual(now, e.lets) {
		if err := e.server.ReloadOptions(options); err != nil {
			return fmt.Errorf("apply the computers: %w", err)
		}
		e.lets = now
	}
	js, err := jetstream.New(e.conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, doneWithin)
	defer cancel()
	for _, token := range book.Purge {
		if err := js.DeleteStream(ctx, link.StreamOf(token)); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("delete what waits for %s: %w", token, err)
		}
	}
	for _, c := range book.Computers {
		if err := link.RenewMailbox(ctx, js, c.Name); err != nil {
			return fmt.Errorf("mailbox of %s: %w", c.Name, err)
		}
	}
	if len(book.Purge) > 0 {
		if err := e.hub.Purged(book.Purge); err != nil {
			return err
		}
		return e.apply(ctx) // the files may have changed meanwhile
	}
	now := hub.Serving{
		Listen: e.listen(), Hosts: hub.Hosts(e.asked.hosts, e.asked.listen), Named: len(e.asked.hosts) > 0, Plain: e.asked.plain,
		Applied: book.Version, PID: os.Getpid(),
	}
	if reflect.DeepEqual(said, now) {
		return nil
	}
	return e.hub.Say(now)
}

func lets(o *server.Options, book hub.Book) letsIn {
	l := letsIn{computers: book.Computers}
	if o.TLSConfig != nil {
		l.cert = o.TLSConfig.Certificates[0].Certificate
	}
	return l
}

// listen returns the address that the server is bound to, with the port that it got.
func (e *engine) listen() string {
	host, _, _ := net.SplitHostPort(e.asked.listen)
	port := 0
	if addr, ok := e.server.Addr().(*net.TCPAddr); ok {
		port = addr.Port
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}
