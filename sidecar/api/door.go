package api

import "fmt"

// May says what happens to an operation that a caller asks for.
type May uint8

// The values of May. The zero value means that nobody decided: such an operation is not served.
const (
	Unsaid  May = iota
	No          // it is refused, and logged
	Yes         // it is carried out
	Own         // it is carried out on what belongs to the caller, and refused otherwise
	Asks        // it waits for a person's yes, except for what an agent may start by default or by init.lua
	Nothing     // it is answered, with nothing in it for this caller
)

// String returns m as the documentation writes it.
func (m May) String() string {
	if int(m) >= len(mays) {
		return fmt.Sprintf("May(%d)", uint8(m))
	}
	return mays[m]
}

var mays = [...]string{Unsaid: "?", No: "no", Yes: "yes", Own: "own", Asks: "asks", Nothing: "–"}

// Door says who may ask for an operation. The code that carries out the operation enforces it; a test with real
// callers of each kind shows that it does.
type Door struct {
	Does     string // what the operation does, as it reads after "may"
	Terminal May    // a person whose process has a terminal
	Person   May    // a person's process without one
	Agent    May    // an agent with a session, by its pane or its MCP client
	Stranger May    // a process not proven to be a person's or an agent's, and an MCP client that is in no adopted pane
	// Power is the power that another computer needs, one of those that init.lua can give it; "" if no other
	// computer may ask for the operation.
	Power string
	Note  string // what the columns leave out
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

// Said reports whether d decides about each kind of caller.
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

// Operations returns all operations that a sidecar serves, in the order of the documentation.
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
