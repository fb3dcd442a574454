package api

import "fmt"

// May is what becomes of an operation that a caller asks for.
type May uint8

// What may become of it. The zero value is nobody's decision: such an operation is not served.
const (
	Unsaid  May = iota
	No          // it is refused, and logged
	Yes         // it is carried out
	Own         // it is carried out on what is the caller's own, and refused otherwise
	Asks        // it waits for a person's yes, but for what an agent may start by default or by init.lua
	Nothing     // it is answered, and there is nothing in it for this caller
)

// String is May as the documentation writes it.
func (m May) String() string {
	if int(m) >= len(mays) {
		return fmt.Sprintf("May(%d)", uint8(m))
	}
	return mays[m]
}

var mays = [...]string{Unsaid: "?", No: "no", Yes: "yes", Own: "own", Asks: "asks", Nothing: "–"}

// Door is who may ask for an operation. What follows from it is done where the operation is carried out; that
// it is so for each caller, a test shows with real ones.
type Door struct {
	Does     string // what the operation does, as after "may"
	Terminal May    // a person whose process has a terminal
	Person   May    // a person's process without one
	Agent    May    // an agent with a session, by its pane or its MCP client
	Stranger May    // a process of which neither is proven, and an MCP client that is in no adopted pane
	// Power is what another computer needs, among what init.lua lets it do; "" is an operation that no
	// other computer may ask for.
	Power string
	Note  string // what the words leave out
}

// The usual doors.
func everybody(does, note string) Door {
	return Door{Does: does, Terminal: Yes, Person: Yes, Agent: Yes, Stranger: Yes, Note: note}
}

func proven(does string, agent May, note string) Door {
	return Door{Does: does, Terminal: Yes, Person: Yes, Agent: agent, Stranger: No, Note: note}
}

func persons(does, note string) Door {
	return Door{Does: does, Terminal: Yes, Person: Yes, Agent: No, Stranger: No, Note: note}
}

func atTerminal(does, note string) Door {
	return Door{Does: does, Terminal: Yes, Person: No, Agent: No, Stranger: No, Note: note}
}

func (d Door) power(power string) Door {
	d.Power = power
	return d
}

// Said reports whether somebody has decided about each caller.
func (d Door) Said() bool {
	return d.Does != "" && d.Terminal != Unsaid && d.Person != Unsaid && d.Agent != Unsaid && d.Stranger != Unsaid
}

// Operation is an operation without the types of its request and reply.
type Operation struct {
	Name string
	Door Door
}

func (op Op[Q, R]) operation() Operation     { return Operation{op.Name, op.Door} }
func (op Stream[Q, E]) operation() Operation { return Operation(op) }

// Operations are all that a sidecar serves, in the order of the documentation.
func Operations() (all []Operation) {
	for _, op := range []interface{ operation() Operation }{
		ShowStatus,
		Peers, Sessions, Adopt, Release, Rename, Explain, Record,
		Send, CheckMessages, MessagesRead, StopNotices,
		Ask, AwaitAnswers, LastAnswer,
		StartChat, Chats, ShowChat, Stats, StopChat, PauseChat, ResumeChat, Say, AddMember, RemoveMember, MuteMember,
		Inbox, Decide, Vouch, ListWaits, Log, Events,
		ListSessions, StartSession, EndSession, EndAsks, SessionData,
		SpawnMember, SendToTeam, TeamInbox, RequestShutdown, AnswerShutdown, ShutdownStatus, SubmitPlan, ReviewPlan, AwaitPlan, PlanGate,
		Policy, RollbackPolicy, DiffPolicy, ExplainPolicy,
		Computers, ForgetComputer, LookAtPorts,
		Introduce, Refused, Hook, Pressed, WhoIs, Down, MayEnd, MayRelease, MayChange,
	} {
		all = append(all, op.operation())
	}
	return all
}
