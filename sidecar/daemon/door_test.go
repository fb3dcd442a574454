package daemon_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	system "github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

var update = flag.Bool("update", false, "write the table of the door into docs/security.md")

// doorway is a sidecar with one caller of each kind, and with others about whom they ask.
//
// Ada is an agent, and leads the team of one project, with the teammate Qa. The person leads the team of another,
// with Lea. Ben and Cleo are agents that have nothing to do with either.
type doorway struct {
	*rig
	terminal, person, stranger, agent, mate, lea *asker
	ada, ben, cleo, dan                          *agent // nobody has adopted dan
	allowed, other                               string // programs; init.lua lets agents start the first
	dirs                                         map[string]string
	sent                                         int
}

func newDoorway(t *testing.T) *doorway {
	self, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &doorway{allowed: filepath.Join(dir, "qa"), other: filepath.Join(dir, "other"), dirs: map[string]string{}}
	for _, name := range []string{"ada", "person"} {
		w.dirs[name] = filepath.Join(dir, name)
		require.NoError(t, os.Mkdir(w.dirs[name], 0o700))
	}
	lua := fmt.Sprintf(`intercom.configure { brakes = { own_minute = 1000, own_hour = 1000 }, sessions = { allow = { %q }, roots = { %q } } }`, w.allowed, dir)
	w.rig = newRig(t, launches(t), files("init.lua", lua), func(c *daemon.Config) { c.Talk = talk.Home{Dir: filepath.Join(dir, "talk")} })
	w.ada, w.ben, w.cleo, w.dan = w.adopted("Ada", silent...), w.adopted("Ben", silent...), w.adopted("Cleo", silent...), w.line("Dan", silent...)
	for _, a := range []*agent{w.ada, w.ben} {
		a.do(":say as I said")
		w.waitFor("what "+a.name+" said is known", func() bool {
			_, err := api.Call(t.Context(), w.client.Client, api.LastAnswer, api.LastAnswerQuery{From: a.pane})
			return err == nil
		})
	}
	command, _ := w.worker("Qa")
	tmuxtest.Program(t, w.other, "#!/bin/sh\nexec "+quoted(command)+"\n")
	tmuxtest.Program(t, w.allowed, "#!/bin/sh\nexec "+quoted(command)+"\n")

	w.terminal, w.person = w.asPerson("terminal", true), w.asPerson("person", false)
	w.stranger = w.asker("stranger", func(env, program string) { w.Run("run-shell", "-b", "exec env "+env+" "+program) })
	w.agent = w.asker("agent", func(env, program string) { w.ada.do(":exec sh -c '%s %s &'", env, program) })
	// The programs of teammates have a caller beside them, below the same pane.
	withCaller := func(env string) {
		tmuxtest.Program(t, w.allowed, "#!/bin/sh\n"+env+" "+self+" &\nexec "+quoted(command)+"\n")
	}
	w.mate = w.asker("mate", func(env, _ string) {
		withCaller(env)
		code, body := w.agent.ask(api.SpawnMember.Name, api.SpawnRequest{Dir: w.dirs["ada"], Name: "qa", Role: "dev", Agent: w.allowed, RequirePlan: true}, nil)
		require.Empty(t, code, "%s", body)
	})
	w.lea = w.asker("lea", func(env, _ string) {
		withCaller(env)
		code, body := w.person.ask(api.SpawnMember.Name, api.SpawnRequest{Dir: w.dirs["person"], Name: "lea", Role: "dev", Agent: w.allowed}, nil)
		require.Empty(t, code, "%s", body)
	})
	tmuxtest.Program(t, w.allowed, "#!/bin/sh\nexec "+quoted(command)+"\n")
	return w
}

func (w *doorway) callers() []*asker { return []*asker{w.stranger, w.agent, w.person, w.terminal} }

// probe is how an operation is asked for: about others and, if there is such, about the caller's own.
type probe struct {
	others func(w *doorway, k *asker) any
	own    func(w *doorway, k *asker) any
	mate   func(w *doorway) any // what a teammate asks about its own
	after  func(w *doorway)     // undoes what was carried out
	passes []api.Code           // codes with which it came through the door, and failed behind it
	empty  bool                 // a usage error says that there is nothing for such a caller
}

// skip stands for a request that a caller does not make.
type skip struct{}

func same(req any) func(*doorway, *asker) any { return func(*doorway, *asker) any { return req } }

// plain is a probe of an operation that takes no request.
var plain = probe{others: same(nil)}

func (w *doorway) stopAll() {
	_, err := api.Call(w.t.Context(), w.client.Client, api.StopChat, api.ChatRef{All: true})
	if err != nil && api.AsError(err).Code != api.CodeNotFound {
		require.NoError(w.t, err)
	}
	_, err = api.Call(w.t.Context(), w.client.Client, api.ResumeChat, api.ChatRef{All: true})
	require.NoError(w.t, err)
}

// chatOf starts a chat about which a caller asks: its own, or one of others.
func (w *doorway) chatOf(agents ...*agent) string {
	w.t.Helper()
	w.stopAll()
	return string(w.chat(agents).ID)
}

func others(ask func(chat string, w *doorway) any) func(*doorway, *asker) any {
	return func(w *doorway, _ *asker) any { return ask(w.chatOf(w.ben, w.cleo), w) }
}

func own(ask func(chat string, w *doorway) any) func(*doorway, *asker) any {
	return func(w *doorway, k *asker) any {
		if k != w.agent {
			return skip{}
		}
		return ask(w.chatOf(w.ada, w.ben), w)
	}
}

func ownOfAda(ask func(w *doorway) any) func(*doorway, *asker) any {
	return func(w *doorway, k *asker) any {
		if k != w.agent {
			return skip{}
		}
		return ask(w)
	}
}

// leads is what the lead of a team asks about its own team, or about the other one.
func leads(ask func(dir, mate string) any, theirs bool) func(*doorway, *asker) any {
	return func(w *doorway, k *asker) any {
		if (k == w.agent) == theirs {
			return ask(w.dirs["person"], "lea")
		}
		return ask(w.dirs["ada"], "qa")
	}
}

// started has a caller start the allowed program, and returns its session.
func (w *doorway) started(k *asker, dir string) string {
	code, body := k.ask(api.StartSession.Name, api.StartSessionRequest{Dir: dir, Agent: w.allowed, Title: "worker"}, nil)
	require.Empty(w.t, code, "%s", body)
	var s api.StartedSession
	require.NoError(w.t, json.Unmarshal(body, &s))
	require.Equal(w.t, api.StartDone, s.Status)
	return string(s.Session.ID)
}

// request has a caller begin a handshake, and returns its id.
func (w *doorway) request(k *asker, op string, req any) string {
	code, body := k.ask(op, req, nil)
	require.Empty(w.t, code, "%s", body)
	var reply api.HandshakeReply
	require.NoError(w.t, json.Unmarshal(body, &reply))
	return reply.RequestID
}

func yes() *bool { b := true; return &b }

func (w *doorway) planOfLea() string {
	return w.request(w.lea, api.SubmitPlan.Name, api.PlanRequest{Plan: "to change it"})
}

func (w *doorway) plan() string {
	return w.request(w.mate, api.SubmitPlan.Name, api.PlanRequest{Plan: "to change it"})
}

// heldStart has Ada start a program that waits for a person's yes, and returns the request.
func (w *doorway) heldStart() string {
	code, body := w.agent.ask(api.StartSession.Name, api.StartSessionRequest{Dir: w.dirs["ada"], Agent: w.other}, nil)
	require.Empty(w.t, code, "%s", body)
	var s api.StartedSession
	require.NoError(w.t, json.Unmarshal(body, &s))
	require.Equal(w.t, api.StartHeld, s.Status)
	return string(s.Request)
}

func (w *doorway) clearInbox() {
	for _, h := range w.held() {
		if h.Start() {
			require.NoError(w.t, w.yes("reject", string(h.Message)))
		}
	}
}

var probes = map[string]probe{
	"status": plain, "sessions": plain, "policy": plain, "inbox": plain, "waits/list": plain, "peers": plain, "session/list": plain, "computers": plain,
	"events":  {others: same(api.EventsQuery{})},
	"log":     {others: same(api.LogQuery{})},
	"may-end": plain, "may-change": {others: same(api.MayChangeRequest{What: "change it"})}, "may-release": {others: same(api.MayReleaseRequest{})},
	"down": {others: same(api.None{}), after: func(w *doorway) {
		require.NoError(w.t, w.wait())
		w.start()
	}},
	"adopt": {
		others: func(w *doorway, _ *asker) any { return api.AdoptRequest{Pane: w.dan.pane, As: "line"} },
		after: func(w *doorway) {
			_, err := w.client.Release(w.t.Context(), api.ReleaseRequest{Pane: w.dan.pane})
			require.NoError(w.t, err)
		},
	},
	"release": {
		others: func(w *doorway, _ *asker) any {
			w.adoptDan()
			return api.ReleaseRequest{Pane: w.dan.pane}
		},
		own: ownOfAda(func(w *doorway) any { return api.ReleaseRequest{Pane: w.ada.pane} }),
	},
	"name": {
		others: func(w *doorway, k *asker) any { return api.RenameRequest{Pane: w.ben.pane, Name: "Ben-" + k.name} },
		own:    ownOfAda(func(w *doorway) any { return api.RenameRequest{Pane: w.ada.pane, Name: "Ada-2"} }),
	},
	"explain": {
		others: func(w *doorway, _ *asker) any { return api.ExplainRequest{Pane: w.ben.pane} },
		own:    ownOfAda(func(w *doorway) any { return api.ExplainRequest{Pane: w.ada.pane} }),
	},
	"record": {
		others: func(w *doorway, _ *asker) any { return api.ExplainRequest{Pane: w.ben.pane} },
		own:    ownOfAda(func(w *doorway) any { return api.ExplainRequest{Pane: w.ada.pane} }),
	},
	"hook":      {others: same(api.HookRequest{Hook: message.Hook{Agent: "claude", Event: "Stop", Thread: "none"}})},
	"introduce": {others: same(api.None{})},
	"refused":   {others: same(api.RefusedRequest{What: "x", Why: "y"})},
	"pressed":   {others: same(api.PressedRequest{Menu: true})},
	"caller/whois": {others: func(w *doorway, _ *asker) any {
		start, _ := system.Start(os.Getpid())
		return api.WhoIsRequest{PID: os.Getpid(), Start: start}
	}},
	"send": {others: func(w *doorway, k *asker) any {
		w.sent++
		return api.SendRequest{ID: message.NewID(), To: w.ben.pane, Text: fmt.Sprintf("message %d", w.sent)}
	}},
	"messages/check": {
		others: func(w *doorway, k *asker) any {
			if k == w.agent {
				return skip{}
			}
			return api.CheckRequest{}
		},
		own: ownOfAda(func(*doorway) any { return api.CheckRequest{} }), empty: true,
	},
	"messages/read": {
		others: func(w *doorway, k *asker) any {
			if k == w.agent {
				return skip{}
			}
			return api.ReadRequest{Batch: message.NewID(), Became: api.WereRead}
		},
		own: ownOfAda(func(*doorway) any { return api.ReadRequest{Batch: message.NewID(), Became: api.WereRead} }), empty: true,
	},
	"notices/stop": {
		others: func(w *doorway, _ *asker) any {
			w.cleo.sends(w.ben, "tell me")
			return api.StopNoticesRequest{Session: w.ben.pane, Caller: w.cleo.pane}
		},
		own: ownOfAda(func(w *doorway) any {
			w.ada.sends(w.ben, "tell me")
			return api.StopNoticesRequest{Session: w.ben.pane}
		}),
	},
	"ask": {
		others: func(w *doorway, _ *asker) any { return api.AskRequest{From: w.ben.pane, To: w.cleo.pane, Say: "well?"} },
		own:    ownOfAda(func(w *doorway) any { return api.AskRequest{To: w.cleo.pane, Say: "well?"} }),
		after:  (*doorway).stopAll,
	},
	"asked": {others: func(w *doorway, _ *asker) any { return api.AskedQuery{Chat: message.ID(w.chatOf(w.ben, w.cleo))} }},
	"last-answer": {
		others: func(w *doorway, _ *asker) any { return api.LastAnswerQuery{From: w.ben.pane} },
		own:    ownOfAda(func(w *doorway) any { return api.LastAnswerQuery{} }),
	},
	"chats": {others: same(api.ChatsQuery{})},
	"chats/start": {
		others: func(w *doorway, _ *asker) any {
			w.stopAll()
			return api.StartChatRequest{Panes: []string{w.ben.pane, w.cleo.pane}}
		},
		own: ownOfAda(func(w *doorway) any {
			w.stopAll()
			return api.StartChatRequest{Panes: []string{w.ada.pane, w.cleo.pane}}
		}),
	},
	"chats/show":  {others: others(func(chat string, _ *doorway) any { return api.ChatQuery{Chat: chat} })},
	"chats/stats": {others: others(func(chat string, _ *doorway) any { return api.ChatQuery{Chat: chat} })},
	"chats/stop": {
		others: others(func(chat string, _ *doorway) any { return api.ChatRef{Chat: chat} }),
		own:    own(func(chat string, _ *doorway) any { return api.ChatRef{Chat: chat} }),
	},
	"chats/pause": {
		others: others(func(chat string, _ *doorway) any { return api.ChatRef{Chat: chat} }),
		own:    own(func(chat string, _ *doorway) any { return api.ChatRef{Chat: chat} }),
	},
	"chats/resume": {
		others: others(func(chat string, w *doorway) any { return w.paused(chat) }),
		own:    own(func(chat string, w *doorway) any { return w.paused(chat) }),
	},
	"chats/say": {
		others: others(func(chat string, _ *doorway) any { return api.SayRequest{Chat: chat, Text: "as the person"} }),
		own:    own(func(chat string, _ *doorway) any { return api.SayRequest{Chat: chat, Text: "as the person"} }),
	},
	"chats/add": {
		others: others(func(chat string, w *doorway) any { return api.MemberRequest{Chat: chat, Pane: w.ada.pane} }),
		own:    own(func(chat string, w *doorway) any { return api.MemberRequest{Chat: chat, Pane: w.cleo.pane} }),
	},
	"chats/remove": {
		others: others(func(chat string, w *doorway) any { return api.MemberRequest{Chat: chat, Pane: w.ben.pane} }),
		own:    own(func(chat string, w *doorway) any { return api.MemberRequest{Chat: chat, Pane: w.ada.pane} }),
	},
	"chats/mute": {
		others: others(func(chat string, w *doorway) any { return api.MemberRequest{Chat: chat, Pane: w.ben.pane} }),
		own:    own(func(chat string, w *doorway) any { return api.MemberRequest{Chat: chat, Pane: w.ada.pane} }),
	},
	"inbox/decide": {
		others: func(w *doorway, _ *asker) any {
			w.clearInbox()
			return api.DecideRequest{ID: w.heldStart(), Choice: api.ChoiceReject, Say: "no", Sure: true}
		},
		own: ownOfAda(func(w *doorway) any {
			w.clearInbox()
			return api.DecideRequest{ID: w.heldStart(), Choice: api.ChoiceApprove, Sure: true}
		}),
		after: (*doorway).clearInbox,
	},
	"inbox/vouch": {others: same(api.VouchRequest{ID: "nothing", Sure: true}), passes: []api.Code{api.CodeNotFound}},
	"session/start": {
		others: func(w *doorway, _ *asker) any { return api.StartSessionRequest{Dir: w.dirs["ada"], Agent: w.other} },
		own:    ownOfAda(func(w *doorway) any { return api.StartSessionRequest{Dir: w.dirs["ada"], Agent: w.allowed} }),
		after:  (*doorway).clearInbox,
	},
	"session/end": {
		others: func(w *doorway, k *asker) any {
			return api.EndSessionRequest{Session: w.started(w.person, w.dirs["person"]), Force: true, Grace: time.Second}
		},
		own: ownOfAda(func(w *doorway) any {
			return api.EndSessionRequest{Session: w.started(w.agent, w.dirs["ada"]), Force: true, Grace: time.Second}
		}),
	},
	"session/end-asks": {others: func(w *doorway, _ *asker) any { return api.EndSessionRequest{Session: w.ben.pane} }},
	"session/data": {
		others: func(w *doorway, _ *asker) any { w.stopAll(); return api.SessionDataQuery{Session: w.ben.pane} },
		own:    own(func(_ string, w *doorway) any { return api.SessionDataQuery{Session: w.ben.pane} }),
	},
	"team/spawn": {
		others: leads(func(dir, _ string) any {
			program := filepath.Join(filepath.Dir(dir), "other")
			return api.SpawnRequest{Dir: dir, Name: "n" + string(message.NewID())[30:], Role: "dev", Agent: program}
		}, false),
		after: (*doorway).clearInbox,
	},
	"team/send": {
		others: leads(func(dir, mate string) any {
			return api.TeamMessage{Dir: dir, To: mate, From: "lead", Type: "message", Content: "x"}
		}, true),
		own: ownOfAda(func(w *doorway) any {
			return api.TeamMessage{Dir: w.dirs["ada"], To: "qa", From: "lead", Type: "message", Content: "x"}
		}),
	},
	"team/inbox": {
		others: leads(func(dir, mate string) any { return api.InboxRequest{Dir: dir, Name: mate, Peek: true} }, true),
		own:    ownOfAda(func(w *doorway) any { return api.InboxRequest{Dir: w.dirs["ada"]} }),
	},
	"team/shutdown/request": {
		others: leads(func(dir, mate string) any { return api.ShutdownRequest{Dir: dir, Teammate: mate} }, true),
		own:    leads(func(dir, mate string) any { return api.ShutdownRequest{Dir: dir, Teammate: mate} }, false),
	},
	"team/shutdown/status": {others: same(api.HandshakeQuery{RequestID: "none"})},
	"team/plan/await": {others: func(w *doorway, _ *asker) any {
		return api.PlanQuery{HandshakeQuery: api.HandshakeQuery{RequestID: w.plan()}}
	}},
	"team/plan/gate": {others: same(api.None{})},
	"team/plan/submit": {
		others: func(w *doorway, k *asker) any { return api.PlanRequest{Dir: w.dirs["ada"], Plan: "mine"} },
		mate:   func(w *doorway) any { return api.PlanRequest{Plan: "mine"} },
	},
	"team/plan/review": {
		others: func(w *doorway, k *asker) any {
			if k == w.agent {
				return api.PlanReview{RequestID: w.planOfLea(), Approve: yes()}
			}
			return api.PlanReview{RequestID: w.plan(), Approve: yes()}
		},
		own: func(w *doorway, k *asker) any {
			if k == w.agent {
				return api.PlanReview{RequestID: w.plan(), Approve: yes()}
			}
			return api.PlanReview{RequestID: w.planOfLea(), Approve: yes()}
		},
	},
	"team/shutdown/answer": {
		others: func(w *doorway, _ *asker) any {
			return api.ShutdownAnswer{RequestID: w.request(w.person, api.RequestShutdown.Name, api.ShutdownRequest{Dir: w.dirs["person"], Teammate: "lea"}), Approve: yes()}
		},
		mate: func(w *doorway) any {
			no := false
			return api.ShutdownAnswer{RequestID: w.request(w.agent, api.RequestShutdown.Name, api.ShutdownRequest{Dir: w.dirs["ada"], Teammate: "qa"}), Approve: &no}
		},
	},
	"policy/rollback": {others: same(api.RollbackPolicyRequest{}), passes: []api.Code{api.CodeNotFound}},
	"policy/diff": {
		others: func(w *doorway, _ *asker) any { return api.DiffPolicyRequest{Dir: w.dirs["ada"]} },
		own:    func(w *doorway, _ *asker) any { return api.DiffPolicyRequest{Dir: w.cfg.Paths.Config} },
	},
	"policy/explain": {others: func(w *doorway, _ *asker) any {
		return api.ExplainPolicyRequest{ID: string(w.post(w.ben, "x"))}
	}},
	"computers/forget": {others: same(api.ForgetComputerRequest{Name: "nobody"}), passes: []api.Code{api.CodeNotFound}},
	"talk/look":        {others: func(w *doorway, _ *asker) any { return api.PortsRequest{Home: w.cfg.Talk.Dir} }},
}

func (w *doorway) adoptDan() {
	_, err := w.client.Adopt(w.t.Context(), api.AdoptRequest{Pane: w.dan.pane, As: "line"})
	if err != nil && !strings.Contains(err.Error(), "already") {
		require.NoError(w.t, err)
	}
}

func (w *doorway) paused(chat string) any {
	_, err := w.client.PauseChat(w.t.Context(), api.ChatRef{Chat: chat})
	require.NoError(w.t, err)
	return api.ChatRef{Chat: chat}
}

// The tables of docs/security.md are made from the operations, and from the origin and trust that the relay gives to
// peers. -update writes them.
func TestDoor_theTableIsInTheDocs(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "security.md")
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	const begin, end = "<!-- made by go test ./sidecar/daemon -run TestDoor -update -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := before + begin + doorTable() + end + after
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(page), "go test ./sidecar/daemon -run TestDoor -update")
}

func doorTable() string {
	var b strings.Builder
	b.WriteString("| may | you, at a terminal | your program without one | agent | unverified | other computer | |\n|---|---|---|---|---|---|---|\n")
	for _, op := range api.Operations() {
		d := op.Door
		power := api.No.String()
		if d.Power != "" {
			power = "with `" + d.Power + "`"
		}
		fmt.Fprintf(&b, "| %s (`%s`) | %s | %s | %s | %s | %s | %s |\n", d.Does, op.Name, d.Terminal, d.Person, d.Agent, d.Stranger, power, d.Note)
	}
	b.WriteString("\nWhat comes by no request is taken for this, whatever it says of itself:\n\n| from | origin | trust |\n|---|---|---|\n")
	for _, one := range relay.TakenFor() {
		var trust []string
		for _, t := range one.Trust {
			trust = append(trust, "`"+string(t)+"`")
		}
		fmt.Fprintf(&b, "| a %s | `%s` | %s |\n", one.Kind, one.Origin, strings.Join(trust, " or "))
	}
	return b.String()
}

// TestDoor_eachCellOfTheTable asks for every operation as every caller, and checks that the sidecar does what the
// table says.
func TestDoor_eachCellOfTheTable(t *testing.T) {
	t.Parallel()
	w := newDoorway(t)
	for _, op := range api.Operations() {
		p, ok := probes[op.Name]
		if !assert.True(t, ok, "%s is asked for by nobody", op.Name) {
			continue
		}
		for i, k := range w.callers() {
			want := []api.May{op.Door.Stranger, op.Door.Agent, op.Door.Person, op.Door.Terminal}[i]
			seen, says := w.seen(op, p, k)
			assert.Equal(t, want.String(), seen.String(), "%s, asked for by %s: %s", op.Name, k.name, says)
		}
	}
}

func (w *doorway) seen(op api.Operation, p probe, k *asker) (seen api.May, says string) {
	try := func(make func(*doorway, *asker) any) (may api.May) {
		req := make(w, k)
		if _, none := req.(skip); none {
			return api.No
		}
		code, body := k.ask(op.Name, req, k.headers)
		says += string(body) + " "
		passed := code == ""
		for _, c := range p.passes {
			passed = passed || c == code
		}
		switch {
		case passed && strings.Contains(string(body), `"status":"held"`):
			may = api.Asks
		case passed:
			may = api.Yes
		case p.empty && code == api.CodeUsage:
			return api.Nothing
		case code == api.CodeRefused:
			return api.No
		default:
			return api.Unsaid
		}
		if p.after != nil {
			p.after(w)
		}
		return may
	}
	if seen = try(p.others); seen == api.No && p.own != nil {
		if try(p.own) == api.Yes {
			seen = api.Own
		}
	} else if k == w.agent && seen == api.No && p.mate != nil {
		k = w.mate
		if try(func(w *doorway, _ *asker) any { return p.mate(w) }) == api.Yes {
			seen = api.Own
		}
	}
	return seen, says
}

// A program's claims about itself open nothing: neither the key of a tmux client, nor what an MCP client says. A
// caller over MCP is an agent or a stranger, even below a person's shell. Claims are read in one place, before the
// operation is. So without INTERCOM_LONG the caller with all claims asks for each operation, and the others take
// turns.
func TestDoor_claimsOpenNothing(t *testing.T) {
	t.Parallel()
	w := newDoorway(t)
	claim, err := json.Marshal(api.AgentCall{Client: "claude-code", From: "human", Pane: w.ben.pane, Thread: string(w.ben.session.ID)})
	require.NoError(t, err)
	key := w.Run("display-message", "-p", "#{client_name}")
	for i, op := range api.Operations() {
		p := probes[op.Name]
		for who, c := range map[string]struct {
			turn    int // of three; -1: each time
			asker   *asker
			headers map[string]string
			want    api.May
		}{
			"a person's MCP client": {0, w.terminal, map[string]string{api.AgentHeader: "{}"}, op.Door.Stranger},
			"one with claims":       {-1, w.terminal, map[string]string{api.AgentHeader: string(claim)}, op.Door.Stranger},
			"one that is broken":    {1, w.person, map[string]string{api.AgentHeader: "{"}, op.Door.Stranger},
			"an agent's":            {2, w.agent, map[string]string{api.AgentHeader: string(claim)}, op.Door.Agent},
			"a stranger":            {0, w.stranger, map[string]string{api.ClientHeader: key}, op.Door.Stranger},
		} {
			if !longTest() && c.turn >= 0 && i%3 != c.turn {
				continue
			}
			c.asker.headers = c.headers
			w.mate.headers = nil
			seen, says := w.seen(op, p, c.asker)
			c.asker.headers = nil
			assert.Equal(t, c.want.String(), seen.String(), "%s, asked for by %s: %s", op.Name, who, says)
		}
	}
}

// The person may decide about a message, and sees it unmasked in the inbox. Others see its credentials masked there,
// and the log, asked and policy/explain mask them for everybody.
func TestDoor_credentialsAreShownToThePersonAlone(t *testing.T) {
	t.Parallel()
	w := newDoorway(t)
	const key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	chat := w.chatOf(w.ben, w.cleo)
	_, err := w.client.PauseChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	id := w.post(w.ben, "use "+key)
	waiting, err := w.client.Inbox(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, waiting)
	for _, k := range w.callers() {
		for op, req := range map[string]any{"inbox": nil, "policy/explain": api.ExplainPolicyRequest{ID: string(id)}, "log": api.LogQuery{}, "asked": api.AskedQuery{Chat: message.ID(chat)}} {
			code, body := k.ask(op, req, nil)
			require.Empty(t, code, "%s", body)
			assert.Equal(t, op == "inbox" && (k == w.person || k == w.terminal), strings.Contains(string(body), key), "%s, asked for by %s", op, k.name)
		}
	}
}

// An answer passes the filters before an agent gets it, also if the agent waits for it: its credentials are masked
// for the agent, and not for the person.
func TestDoor_anAnswerThatIsWaitedForIsMasked(t *testing.T) {
	t.Parallel()
	w := newDoorway(t)
	const key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	eve := w.adopted("Eve", "--bracketed", "--reply", "it is "+key)
	code, body := w.agent.ask(api.Ask.Name, api.AskRequest{To: eve.pane, Say: "well?"}, nil)
	require.Empty(t, code, "%s", body)
	var chat message.Chat
	require.NoError(t, json.Unmarshal(body, &chat))
	for _, k := range []*asker{w.agent, w.person, w.terminal} {
		w.sent++
		for op, req := range map[string]any{
			"asked": api.AskedQuery{Chat: chat.ID, Wait: api.WaitAnswered, Timeout: time.Minute},
			"send":  api.SendRequest{ID: message.NewID(), To: eve.pane, Text: fmt.Sprintf("message %d", w.sent), Wait: api.WaitAnswered, Timeout: time.Minute},
		} {
			code, body := k.ask(op, req, nil)
			require.Empty(t, code, "%s", body)
			assert.Contains(t, string(body), "it is ", "%s, asked for by %s", op, k.name)
			assert.Equal(t, k != w.agent, strings.Contains(string(body), key), "%s, asked for by %s", op, k.name)
		}
	}
}
