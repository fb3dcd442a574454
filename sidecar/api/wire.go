// Package api is the boundary of the sidecar: the wire types, an HTTP server over a unix
// socket that asks the kernel who calls, and the one client that every command uses.
//
// The server holds no state of its own. It starts one goroutine for each connection, by
// net/http, and one that waits for the end of Serve's context; both have ended when Serve
// returns. Whatever a request means is decided behind Backend, by whoever owns that state.
// A Listener owns the socket and the lock for as long as its process lives. A Client owns
// nothing between two calls.
package api

import (
	"context"
	"iter"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Version is the version of this interface. It goes with every request and every reply
// in the header VersionHeader, and grows only when one side could misunderstand the
// other; what is merely added leaves it as it is.
const Version = "1"

// VersionHeader is the header that carries Version.
const VersionHeader = "Intercom-Version"

// ClientHeader is the header of Caller.Client.
const ClientHeader = "Intercom-Client"

// MaxRequest is the most bytes that a request may have: 2 MiB for a body of
// message.MaxBody in which JSON writes every byte as two, and room for the rest.
const MaxRequest = 2*message.MaxBody + 64<<10

// Gone is the number of no process. Whoever goes on with the connection of one that has ended
// is nobody, also when somebody else has got its number meanwhile.
const Gone = -1

// Caller is who sent a request, as the kernel tells it.
type Caller struct {
	PID int // of the process that connected: 0 where the system does not tell, Gone once that has ended
	UID int
	// Client is the client of tmux at which a key was pressed, as the caller says: it counts
	// only where tmux says so too.
	Client string
}

// Backend is what the server serves. Its methods are called from many goroutines at once.
// An *Error that they return reaches the client as it is; any other error reaches it with
// the code CodeFailed.
type Backend interface {
	Status(ctx context.Context, from Caller) (Status, error)
	// Down asks the sidecar to end. It returns at once; the reply is sent before the end.
	Down(ctx context.Context, from Caller) error

	Adopt(ctx context.Context, from Caller, req AdoptRequest) (message.Session, error)
	Release(ctx context.Context, from Caller, req ReleaseRequest) (message.Session, error)
	// Pressed notes that the caller was started by a key that a person pressed at a client of
	// tmux, if that is so: then it acts for that person.
	Pressed(ctx context.Context, from Caller, req PressedRequest) error
	Rename(ctx context.Context, from Caller, req RenameRequest) (message.Session, error)
	// Sessions lists the sessions that are present, oldest first.
	Sessions(ctx context.Context, from Caller) ([]message.Session, error)
	// Peers lists whoever can be addressed, the adopted ones first, and for a person the panes
	// too in which an agent is recognised.
	Peers(ctx context.Context, from Caller) ([]Peer, error)

	StartChat(ctx context.Context, from Caller, req StartChatRequest) (message.Chat, error)
	// Chats lists the chats that go on, or with ended those that have ended, oldest first.
	Chats(ctx context.Context, from Caller, ended bool) ([]message.Chat, error)
	// StopChat, PauseChat and ResumeChat return the chats that they changed.
	StopChat(ctx context.Context, from Caller, which ChatRef) ([]message.Chat, error)
	PauseChat(ctx context.Context, from Caller, which ChatRef) ([]message.Chat, error)
	ResumeChat(ctx context.Context, from Caller, which ChatRef) ([]message.Chat, error)
	// ShowChat describes one chat, on or ended.
	ShowChat(ctx context.Context, from Caller, chat string) (ChatDetail, error)
	// AddMember, RemoveMember and MuteMember return the chat as it is then.
	AddMember(ctx context.Context, from Caller, req MemberRequest) (message.Chat, error)
	RemoveMember(ctx context.Context, from Caller, req MemberRequest) (message.Chat, error)
	MuteMember(ctx context.Context, from Caller, req MemberRequest) (message.Chat, error)
	Say(ctx context.Context, from Caller, req SayRequest) (Said, error)
	// Ask starts a chat that is one question, and ends by itself with its answers.
	Ask(ctx context.Context, from Caller, req AskRequest) (message.Chat, error)
	// Asked returns when a question has reached q.Wait, when that cannot be reached any more,
	// or when q.Timeout has passed: with how far it has come, and no error.
	Asked(ctx context.Context, from Caller, q AskedQuery) (Asked, error)
	Stats(ctx context.Context, from Caller, chat string) (message.Stats, error)

	// Inbox lists what is under way and not taken yet, oldest first.
	Inbox(ctx context.Context, from Caller) ([]Held, error)
	// Vouch takes a person's word for the screen at which a delivery waits since it is not
	// recognised: it is typed. Only a person at a terminal may.
	Vouch(ctx context.Context, from Caller, req VouchRequest) (Held, error)
	// Decide is a person's decision about a message that waits for one. The first one counts;
	// it given once more changes nothing, and any other is refused. Only a person at a
	// terminal may.
	Decide(ctx context.Context, from Caller, req DecideRequest) (Decided, error)

	// Policy says how the policies are.
	Policy(ctx context.Context, from Caller) (policy.Status, error)
	// RollbackPolicy goes back to the policies that were in use before, until the files are
	// changed. Only a person may.
	RollbackPolicy(ctx context.Context, from Caller, req RollbackPolicyRequest) (policy.Status, error)
	// DiffPolicy says what the files of a directory would change.
	DiffPolicy(ctx context.Context, from Caller, req DiffPolicyRequest) (policy.Trial, error)
	// ExplainPolicy says what policies decided about a message, and what they would decide now.
	ExplainPolicy(ctx context.Context, from Caller, req ExplainPolicyRequest) (policy.Explained, error)

	// Explain says why the sidecar thinks what it thinks of a pane; it reads one that is not
	// adopted too, since a person names it.
	Explain(ctx context.Context, from Caller, req ExplainRequest) (message.Explanation, error)
	// Record takes all that can be seen of a pane at one instant.
	Record(ctx context.Context, from Caller, req ExplainRequest) (Recording, error)
	// Hook takes in what an agent's own hook tells. It returns at once.
	Hook(ctx context.Context, from Caller, hook HookRequest) error

	// Send hands one message to one peer, and returns when the delivery has reached
	// req.Wait or a final state, or when req.Timeout has passed: then with the receipt
	// reached so far and no error. An error means that nothing was sent.
	Send(ctx context.Context, from Caller, req SendRequest) (Sent, error)
	// Log lists what happened, oldest first.
	Log(ctx context.Context, from Caller, q LogQuery) ([]message.Event, error)
	// Events yields what happened after the event number since and then what happens, as
	// it happens, until ctx ends or the reader stops. A negative since means from now on.
	// It yields an error only as its last element.
	Events(ctx context.Context, from Caller, since int64) iter.Seq2[message.Event, error]
}

// Status is what a sidecar says of itself.
type Status struct {
	PID       int               `json:"pid"`
	Version   string            `json:"version"`          // of the program
	API       string            `json:"api"`              // Version
	Server    string            `json:"server,omitempty"` // the tmux server's socket; "" for headless
	Tmux      string            `json:"tmux,omitempty"`   // version of that server
	TmuxPID   int               `json:"tmux_pid,omitempty"`
	Transport string            `json:"transport,omitempty"` // process or control
	Why       string            `json:"transport_why,omitempty"`
	Trigger   string            `json:"trigger,omitempty"` // inotify, polling or output
	Computer  string            `json:"computer"`          // how the person calls this machine; "local"
	Started   time.Time         `json:"started"`
	Journal   string            `json:"journal,omitempty"` // path of the database
	Log       string            `json:"log,omitempty"`     // path of the log
	Sessions  []message.Session `json:"sessions"`
	Chats     []message.Chat    `json:"chats"`
	Stopped   bool              `json:"stopped"`            // nothing is typed until `intercom chat resume --all`
	Held      int               `json:"held"`               // deliveries that wait for a person or a safe moment
	Needs     []Need            `json:"needs,omitempty"`    // what needs a person, and nobody else
	Degraded  []string          `json:"degraded,omitempty"` // what does not work as it should, in words
	Returned  []Returned        `json:"returned,omitempty"` // what StartChatRequest.Again would take up by now, the latest last
}

// NeedApproval is Need.For of messages that await a decision.
const NeedApproval = "approval"

// Need is something that only a person can do.
type Need struct {
	For  string `json:"for"`            // approval, or what a pane shows: dialog, your draft, copy mode, …
	Name string `json:"name,omitempty"` // of the session that it is about; "" of an approval
	Pane string `json:"pane,omitempty"`
	N    int    `json:"n,omitempty"` // of approvals
}

// Returned is a chat that lost agents which ended, and in whose panes new ones of the same
// kind are. Nobody has adopted those, or they are in no chat.
type Returned struct {
	Chat   message.ID        `json:"chat"`
	Name   string            `json:"name,omitempty"`
	State  message.ChatState `json:"state"` // ended, or it goes on without them
	Agents []ReturnedAgent   `json:"agents"`
	Panes  []string          `json:"panes"` // of all who are in it, or were at its end
	Since  time.Time         `json:"since"` // when the last of them ended
}

// ReturnedAgent is one of them.
type ReturnedAgent struct {
	Name  string `json:"name"`  // of the one that ended
	Agent string `json:"agent"` // name of the profile
	Pane  string `json:"pane"`
}

// AdoptRequest names a pane that may be read and typed into from now on.
type AdoptRequest struct {
	Pane   string `json:"pane"`             // %7
	As     string `json:"as"`               // the profile: claude, codex, line or line-paste; "" recognises an agent
	Name   string `json:"name,omitempty"`   // "" lets the sidecar make one from the program
	Prompt string `json:"prompt,omitempty"` // RE2 of the prompt; "" learns it from the screen
}

// PressedRequest says what a key has begun beside the caller itself.
type PressedRequest struct {
	Menu bool `json:"menu,omitempty"` // a menu, from which something is chosen later
	Heir int  `json:"heir,omitempty"` // pid of a child of the caller that goes on for it
}

// ReleaseRequest names a session, by pane, name or id, whose pane is neither read nor
// typed into any longer.
type ReleaseRequest struct {
	Pane string `json:"pane"`
}

// RenameRequest gives a session, found by pane, name or id, another name.
type RenameRequest struct {
	Pane string `json:"pane"`
	Name string `json:"name"` // [A-Za-z0-9._-]{1,64}
}

// StartChatRequest begins a chat among two or more sessions, each given by pane, name or
// id, which are numbered in this order from 1.
type StartChatRequest struct {
	Panes []string `json:"panes,omitempty"`
	Name  string   `json:"name,omitempty"`
	Say   string   `json:"say,omitempty"`   // the first words of who asks for it, to all but the first
	Turns int      `json:"turns,omitempty"` // the chat ends after so many turns; 0 is no end
	// IncludeLast has what the first pane said last go to all others, before Say.
	IncludeLast bool `json:"include_last,omitempty"`
	// OneWay has what the others say go to the first pane alone, and what that says to nobody.
	// Turns then counts what the others say.
	OneWay bool `json:"one_way,omitempty"`

	Set   map[string]string `json:"set,omitempty"`   // see Settings
	Roles map[string]string `json:"roles,omitempty"` // by the words of Panes
	// Again names an ended chat, by id, its short form or name, whose participants, roles,
	// name and settings are taken; Panes, if given, are the panes of its participants in
	// their order, else each is the session of that id, the agent of its kind that came back
	// into its pane, or the session of that name. What else is set here holds. What was held
	// for an agent that had gone goes to the one that takes its place. A chat that goes on takes
	// in those agents again that are back in their panes; nothing else may be set then.
	Again string `json:"again,omitempty"`
}

// MemberRequest is about one participant of a chat.
type MemberRequest struct {
	Chat string `json:"chat"`           // by id, its short form or name
	Pane string `json:"pane"`           // a session, by pane, name or id
	Role string `json:"role,omitempty"` // of AddMember
	Off  bool   `json:"off,omitempty"`  // of MuteMember: may speak again
}

// ChatDetail is all that there is to know of a chat.
type ChatDetail struct {
	message.Chat
	Sessions []message.Session `json:"sessions"` // of its participants that are present
	Stats    message.Stats     `json:"stats"`
	Waiting  []Waiting         `json:"waiting"` // not typed yet, or typed and not taken yet, oldest first
}

// Waiting is a delivery that is under way.
type Waiting struct {
	Delivery message.ID           `json:"delivery"`
	Message  message.ID           `json:"message"`
	From     string               `json:"from"`
	To       string               `json:"to"` // name of the session
	State    message.ReceiptState `json:"state"`
	Reason   message.Reason       `json:"reason,omitempty"`
	Since    time.Time            `json:"since"` // of that state
}

// Held is a delivery that waits, with all that it says.
type Held struct {
	Waiting
	Chat     message.ID       `json:"chat,omitempty"`
	ChatName string           `json:"chat_name,omitempty"`
	Pane     string           `json:"pane,omitempty"` // of the session; "": it has gone
	Envelope message.Envelope `json:"envelope"`
	// Decision is set where what it waits for is a person's yes or no: intercom inbox approve
	// and reject. Asked is the verdict that wants it.
	Decision bool             `json:"decision,omitempty"`
	Asked    *message.Verdict `json:"asked,omitempty"`
}

// VouchRequest names a delivery, or a message of one delivery, by its id or the end of it.
type VouchRequest struct {
	ID string `json:"id"`
	// Sure is the word itself; without, it is only told whether it would count.
	Sure bool `json:"sure,omitempty"`
}

// ChatRef names one chat, by id, its short form or name, or all that go on.
type ChatRef struct {
	Chat string `json:"chat,omitempty"`
	All  bool   `json:"all,omitempty"`
	Sure bool   `json:"sure,omitempty"` // of ResumeChat: a person has said yes to what stands at a limit
}

// SayRequest is a person's words into a chat.
type SayRequest struct {
	Chat string `json:"chat"`
	Text string `json:"text"`
}

// Said is what became of a SayRequest.
type Said struct {
	Message    message.ID   `json:"message"`
	Deliveries []message.ID `json:"deliveries"`
	// Held is why those wait that are not on their way yet: the chat is paused, or everything
	// is stopped.
	Held message.Reason `json:"held,omitempty"`
	// Braked says that the chat stands at a limit, and goes on at a person's yes alone.
	Braked bool `json:"braked,omitempty"`
}

// AskRequest is a question: what one pane said last, and a line of one's own, to another one,
// whose answers come back.
type AskRequest struct {
	From  string            `json:"from,omitempty"` // by pane, name or id; "": the session in whose pane the caller runs
	To    string            `json:"to"`
	Say   string            `json:"say,omitempty"`
	Turns int               `json:"turns,omitempty"` // answers; 0 is one
	Set   map[string]string `json:"set,omitempty"`   // see Settings

	// Check begins nothing: it only tells what stands against From asking anybody, and To may be
	// "". The chat that comes back is none.
	Check bool `json:"check,omitempty"`
}

// AskedQuery asks how far a question has come.
type AskedQuery struct {
	Chat message.ID
	// Wait is the state to wait for: taken by the one who is asked, answered as often as was
	// asked for, or, with WaitEnded, answered and the answers taken by the one who asked.
	Wait    Wait
	Timeout time.Duration // 0 waits for nothing
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

// Peer is somebody who can be addressed, by any of Aliases.
type Peer struct {
	Name     string            `json:"name,omitempty"` // "" where the pane is not adopted
	Pane     string            `json:"pane"`
	Session  message.ID        `json:"session,omitempty"`
	Aliases  []string          `json:"aliases"` // name, pane, and the id in its short form
	Computer string            `json:"computer"`
	Agent    string            `json:"agent"` // name of the profile
	Adopted  bool              `json:"adopted"`
	Program  message.Process   `json:"program"`
	Title    string            `json:"title,omitempty"`  // of the pane
	Window   string            `json:"window,omitempty"` // session:index and name, as tmux has them
	State    message.PaneState `json:"state,omitempty"`  // "": nobody has looked
	Why      string            `json:"why,omitempty"`    // what stands against typing there now
	Evidence []message.Ground  `json:"evidence"`         // for the state, the weightiest first
	Chat     message.ID        `json:"chat,omitempty"`   // that it is in
	ChatName string            `json:"chat_name,omitempty"`
	Number   int               `json:"number,omitempty"` // of its place there
}

// ExplainRequest names a pane to be explained or recorded.
type ExplainRequest struct {
	Pane  string `json:"pane"`            // a pane's id, or a session by name or id
	Agent string `json:"agent,omitempty"` // judge it as this agent, whatever runs there
}

// Recording is one instant of a pane, whole, and what was made of it.
type Recording struct {
	At            time.Time           `json:"at"`
	Pane          string              `json:"pane"`
	Tmux          string              `json:"tmux"` // version of its server
	Command       string              `json:"command"`
	Title         string              `json:"title"`
	Width         int                 `json:"width"`
	Height        int                 `json:"height"`
	CursorX       int                 `json:"cursor_x"`
	CursorY       int                 `json:"cursor_y"`
	CursorVisible bool                `json:"cursor_visible"`
	Alternate     bool                `json:"alternate"`
	InMode        bool                `json:"in_mode"`
	Dead          bool                `json:"dead"`
	InputOff      bool                `json:"input_off"`
	Synchronised  bool                `json:"synchronised"`
	History       int                 `json:"history"`
	Rows          []string            `json:"rows"` // with escapes
	Explanation   message.Explanation `json:"explanation"`
}

// HookRequest is a hook of an agent, and in which pane its environment says that it runs,
// which only tells where the processes do not.
type HookRequest struct {
	Hook message.Hook `json:"hook"`
	Pane string       `json:"pane,omitempty"` // %7
}

// Wait is the state that the sender of a message waits for.
type Wait string

// What may be waited for.
const (
	WaitSubmitted Wait = "submitted"
	WaitAnswered  Wait = "answered"
	WaitEnded     Wait = "ended" // of a question
)

// SendRequest is one message to one peer.
type SendRequest struct {
	// ID makes a repetition harmless: the second request of the same id is answered with what
	// became of the first. A Client sets it where it is not.
	ID   message.ID `json:"id,omitempty"`
	To   string     `json:"to"`   // a session, by pane, name or id
	Text string     `json:"text"` // at most message.MaxBody bytes of valid UTF-8
	// Type is one of AEA's types, by which policies tell messages apart; "" is message.KindMessage.
	// Priority is low, normal, high or urgent; "" is normal.
	Type             string `json:"type,omitempty"`
	Priority         string `json:"priority,omitempty"`
	RequiresResponse bool   `json:"requires_response,omitempty"`
	// Subject stands above the text; Tags are for policies. Both are limited as in package message.
	Subject string   `json:"subject,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// Wait is the state to wait for; "" is WaitSubmitted. What is held is waited for too: it
	// may be let go in time.
	Wait    Wait          `json:"wait,omitempty"`
	Timeout time.Duration `json:"timeout_ns"` // how long to wait; 0 waits for nothing
}

// Sent is what became of a SendRequest.
type Sent struct {
	Message  message.ID      `json:"message"`
	Delivery message.ID      `json:"delivery"`
	Receipt  message.Receipt `json:"receipt"` // the last one
	// Behind is set where the delivery is queued behind one to the same pane that is held:
	// why that one is.
	Behind message.Reason `json:"behind,omitempty"`
}

// LogQuery chooses among what happened. Each field that is set narrows the choice.
type LogQuery struct {
	ID     string // of a message, delivery or chat, also in its short form
	Chat   string // by id, its short form or name
	Search string // words that stand in a body
	Since  int64  // only what has a greater number
	Limit  int    // at most so many, the latest; 0 lets the sidecar choose: 1000
	Oldest bool   // of more than Limit, the first rather than the latest: with Since, page by page
}
