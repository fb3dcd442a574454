package persona

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// inbox is the socket at which Claude Code receives messages from other sessions. The stand-in records them on command;
// the real one records them when it reads them.
type inbox struct {
	path string
	log  recorder

	mu   sync.Mutex
	all  []brought // received, and not recorded yet
	last brought   // the last one received
}

// brought is one received message.
type brought struct {
	Type    string `json:"type"`
	ID      string `json:"msg_id"`
	From    string `json:"from"`
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
}

// minds executes a command for the inbox: open begins to listen, record writes down the received messages, "say STATUS"
// reports a status to the sender of the last message, "reply WORDS" answers it.
func (l *claude) minds(rest string) error {
	switch what, words, _ := strings.Cut(rest, " "); what {
	case "say":
		return l.inbox.sends(func(to brought) string {
			return record(`{"type":"control","action":"peer_message_status","status":%s,"from":%s,"orig_msg_id":%s,"msgV":1,"msg_id":%s}`,
				words, "uds:"+l.inbox.path, to.ID, newID())
		})
	case "reply":
		return l.inbox.sends(func(brought) string {
			from := "uds:" + l.inbox.path
			content := fmt.Sprintf("<cross-session-message from=%q from-name=\"work\" from-mode=\"prompting\">\n%s\n</cross-session-message>", from, words)
			return record(`{"type":"user","msgV":1,"msg_id":%s,"from":%s,"message":{"role":"user","content":%s}}`, newID(), from, content)
		})
	case "open":
		return l.listens()
	case "record":
		l.inbox.mu.Lock()
		all := l.inbox.all
		l.inbox.all = nil
		l.inbox.mu.Unlock()
		for _, m := range all {
			parent, own := l.link()
			l.write(record(`{"parentUuid":%s,"isSidechain":false,"promptId":%s,"type":"user","isMeta":true,"message":{"role":"user","content":%s},"uuid":%s,"timestamp":%s,`+
				`"origin":{"kind":"peer","from":%s,"body":%s,"msg_id":%s},"promptSource":"system","turnOrigin":"peer",`,
				parent, newID(), "Another Claude session sent a message:\n"+m.Message.Content, own, stamp(wall()), m.From, m.Message.Content, m.ID) + l.tail())
			l.spoke("I have it")
			l.ended("")
		}
		return nil
	}
	return fmt.Errorf("%q: its inbox does open, record, say or reply", rest)
}

// sends writes a line to the sender's address in the last message.
func (b *inbox) sends(line func(to brought) string) error {
	b.mu.Lock()
	to := b.last
	b.mu.Unlock()
	conn, err := net.Dial("unix", strings.TrimPrefix(to.From, "uds:"))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(line(to) + "\n"))
	return err
}

// listens opens the socket in a new directory that only this user can access, and writes its key beside the status
// file.
func (l *claude) listens() error {
	dir, err := os.MkdirTemp("", "cc") // short: the path of a socket is at most 103 bytes
	if err != nil {
		return err
	}
	l.inbox = &inbox{path: filepath.Join(dir, "s"), log: l.log}
	listener, err := net.Listen("unix", l.inbox.path)
	if err != nil {
		return err
	}
	if err := os.Chmod(l.inbox.path, 0o600); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(l.inbox.path))
	key := filepath.Join(l.home, "sessions", fmt.Sprintf("%d.%s.key", os.Getpid(), hex.EncodeToString(sum[:])))
	if err := replace(key, `{"peerToken":"00112233445566778899aabbccddeeff"}`); err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go l.inbox.hears(conn)
		}
	}()
	l.state("", "")
	return nil
}

// hears receives the messages of one connection.
func (b *inbox) hears(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m brought
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Type == "user" {
			b.mu.Lock()
			b.all, b.last = append(b.all, m), m
			b.mu.Unlock()
			b.log.add(Record{Event: EventInbox, Text: m.Message.Content})
		}
	}
}

// place returns the field of the status file that names the inbox, "" if there is none.
func (b *inbox) place() string {
	if b == nil {
		return ""
	}
	return record(`,"messagingSocketPath":%s`, b.path)
}
