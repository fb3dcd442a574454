// Package talk implements the ai-talk protocol: programs of one person send text to each other over TCP on
// 127.0.0.1, and read what came from a file. It follows the document "AI Talk Skill Design". The wire, the files
// below ~/.ai-talk and the JSON of the commands are the document's, byte for byte.
//
// On the wire a message is a frame, <length>:<bytes>, of UTF-8. Between programs of ours the first frame may be a
// hello. Envelopes follow it, which also say who sends, and are acknowledged once they are on disk (hello.go). A
// sender does so only with a port whose server.json says so, and only if our listener has the port now.
//
// A port's directory, ~/.ai-talk/<port>:
//
//	inbox.jsonl     what came, a JSON object a line; at most 100 by default (inbox.go)
//	callback        is there while the inbox, or a message file instead of it, has a message
//	listener.pid    the process that listens
//	outbox.jsonl    what was sent from here, if that is to be logged
//	receipts.jsonl  what became of messages sent with a receipt (receipts.go)
//	listen.json     ours: somebody wants the port to be listened on (wish.go)
//	files.json      ours: message files other than the inbox, which may hold messages (earlier.go)
//	server.json     ours: what the listener understands beyond the document (hello.go)
//	tls.pem         ours: key and certificate of a port that is encrypted
//
// Each sidecar has a Keeper, which serves the ports that are wanted and whose claim it gets. A Listener is one port,
// with a goroutine for each connection and one for its files. Everything else is plain functions on files, which
// commands call without any sidecar: Check reads even while the listener is stopped.
//
// Peers makes the ports of this directory peers of the relay: a message to such a peer goes out to the port's
// listener, and what a port sends to us becomes a message.
//
// All input is untrusted. It is stored as it came.
package talk
