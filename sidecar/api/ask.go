package api

import (
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Ask starts a chat that consists of one question. The chat ends by itself when its answers have come.
var Ask = Op[AskRequest, message.Chat]{Name: "ask", Door: proven("ask a session in another's name", Own, "an agent asks in its own name"), Whole: wholeChat, Check: func(req AskRequest) error {
	if strings.TrimSpace(req.To) == "" {
		return Errorf(CodeUsage, "name the pane that is to answer")
	}
	return checkTurns(req.Turns, "one")
}}

// AwaitAnswers returns when a question has reached the state that the query waits for, when it can no longer
// reach it, or when the query's timeout is over. It returns how far the question has come, and no error.
var AwaitAnswers = Op[AskedQuery, Asked]{Name: "asked", Door: everybody("wait for the answers to a question", ""), Reads: true, Check: func(q AskedQuery) error {
	switch {
	case q.Chat == "":
		return Errorf(CodeUsage, "name a chat")
	case q.Timeout < 0:
		return Errorf(CodeUsage, "timeout %v: must not be negative", q.Timeout)
	}
	return nil
}, Whole: func(a Asked) Asked {
	a.Chat, a.Answers = wholeChat(a.Chat), list(a.Answers)
	return a
}}

// AskRequest is a question to another pane: what one pane said last, and a line of the person's or agent's own.
// The answers come back to the pane that asks.
type AskRequest struct {
	From  string            `json:"from,omitempty"` // by pane, name or id; "" is the session in whose pane the caller runs
	To    string            `json:"to"`
	Say   string            `json:"say,omitempty"`
	Turns int               `json:"turns,omitempty"` // answers; 0 is one
	Set   map[string]string `json:"set,omitempty"`   // see Settings
}

// LastAnswer returns the words that an ask from a pane would take along, or the reason why it could not. It
// leaves no pane adopted.
var LastAnswer = Op[LastAnswerQuery, Words]{Name: "last-answer", Door: proven("see what a session said last", Own, ""), Reads: true}

// LastAnswerQuery names a pane as AskRequest.From does.
type LastAnswerQuery struct {
	From string `json:"from,omitempty"`
}

// Words are the words that a session said.
type Words struct {
	Text string `json:"text"`
}

// AskedQuery asks how far a question has come.
type AskedQuery struct {
	Chat message.ID `json:"chat"`
	// Wait is the state to wait for: submitted to the session that is asked; answered as many times as
	// requested; or, with WaitEnded, answered and the answers taken by the session that asked.
	Wait    Wait          `json:"wait,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0 waits for nothing
}

// Asked says how far a question has come.
type Asked struct {
	Chat    message.Chat       `json:"chat"`             // as it is now
	Own     bool               `json:"own,omitempty"`    // the caller is the session that asked: the answers come into its own pane
	Receipt message.Receipt    `json:"receipt"`          // the question's last receipt; of several parts, that of the part that has come least far
	Behind  message.Reason     `json:"behind,omitempty"` // as of Sent
	Answers []message.Envelope `json:"answers"`          // so far, in order
	Back    *message.Receipt   `json:"back,omitempty"`   // the last receipt of the newest answer, on its way to the session that asked
}
