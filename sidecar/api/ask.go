package api

import (
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Ask starts a chat that is one question, and ends by itself with its answers.
var Ask = Op[AskRequest, message.Chat]{Name: "ask", Door: proven("ask a session in another's name", Own, "an agent asks in its own name"), Whole: wholeChat, Check: func(req AskRequest) error {
	if strings.TrimSpace(req.To) == "" {
		return Errorf(CodeUsage, "name the pane that is to answer")
	}
	return checkTurns(req.Turns, "one")
}}

// AwaitAnswers returns when a question has reached what the query waits for, when that cannot be
// reached any more, or when its time has passed: with how far it has come, and no error.
var AwaitAnswers = Op[AskedQuery, Asked]{Name: "asked", Door: everybody("wait for the answers to a question", ""), Reads: true, Check: func(q AskedQuery) error {
	switch {
	case q.Chat == "":
		return Errorf(CodeUsage, "name a chat")
	case q.Timeout < 0:
		return Errorf(CodeUsage, "timeout %v: less than none", q.Timeout)
	}
	return nil
}, Whole: func(a Asked) Asked {
	a.Chat, a.Answers = wholeChat(a.Chat), list(a.Answers)
	return a
}}

// AskRequest is a question: what one pane said last, and a line of one's own, to another one,
// whose answers come back.
type AskRequest struct {
	From  string            `json:"from,omitempty"` // by pane, name or id; "": the session in whose pane the caller runs
	To    string            `json:"to"`
	Say   string            `json:"say,omitempty"`
	Turns int               `json:"turns,omitempty"` // answers; 0 is one
	Set   map[string]string `json:"set,omitempty"`   // see Settings
}

// LastAnswer tells what an ask from a pane would take along, or what stands against one. It adopts
// nothing.
var LastAnswer = Op[LastAnswerQuery, Words]{Name: "last-answer", Door: proven("see what a session said last", Own, ""), Reads: true}

// LastAnswerQuery names a pane as AskRequest.From does.
type LastAnswerQuery struct {
	From string `json:"from,omitempty"`
}

// Words are what somebody said.
type Words struct {
	Text string `json:"text"`
}

// AskedQuery asks how far a question has come.
type AskedQuery struct {
	Chat message.ID `json:"chat"`
	// Wait is the state to wait for: taken by the one who is asked, answered as often as was
	// asked for, or, with WaitEnded, answered and the answers taken by the one who asked.
	Wait    Wait          `json:"wait,omitempty"`
	Timeout time.Duration `json:"timeout_ns,omitempty"` // 0 waits for nothing
}

// Asked is how far a question has come.
type Asked struct {
	Chat    message.Chat       `json:"chat"`             // as it is now
	Own     bool               `json:"own,omitempty"`    // the caller is the one who asked: the answers come into its own pane
	Receipt message.Receipt    `json:"receipt"`          // the last one of the question; of several parts, of the one that has come least far
	Behind  message.Reason     `json:"behind,omitempty"` // as of Sent
	Answers []message.Envelope `json:"answers"`          // so far, in their order
	Back    *message.Receipt   `json:"back,omitempty"`   // the last one of the newest answer, on its way to the one who asked
}
