package worker

import (
	"slices"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// settingsClass has the settings of intercom.configure.
var settingsClass = &class{
	name: "intercom.Settings", noun: "configure", doc: "What init.lua configures.", table: true,
	members: []member{
		{name: "computer", typ: "string|table<string, string|boolean>", doc: "The name of this machine; or name, nats, creds and insecure: how it reaches others."},
		{name: "computers", typ: "table<string, table<string, string|string[]>>", doc: "What other machines may do here, by name: may, a list of send, answer, chat, start and read (send and answer where nothing is said); key, the public key that one signs with."},
		{name: "attribution", typ: "string", doc: "What stands before a text, with {name} and {number}: \"[{name}] ({number}):\"."},
		{name: "chats", typ: "table<string, string|number|boolean>", doc: "Settings of every new chat, as intercom chat start --set takes them."},
		{name: "brakes", typ: "table<string, string|number|boolean>", doc: "Limits."},
		{name: "health", typ: "table<string, string|number|boolean>", doc: "After how long a turn that took an agent's message is asked about: after = \"10m\", a number of seconds, or false."},
		{name: "profiles", typ: "table<string, table<string, any>>", doc: "Fields of profiles, by the profile."},
		{name: "sessions", typ: "table<string, string[]|integer>", doc: "What agents may start by themselves: allow, profiles and paths of programs; roots, directories below which they may; most, how many of what they have started may run at once (8)."},
		{name: "answer", typ: "string[]", doc: "The program, with its arguments, that answers messages (AEA) for repositories in which no agent works. It reads the message, and its output is the answer."},
		{name: "team", typ: "table<string, string|number|boolean>", doc: "What holds in all teams: require_plan, so that teammates are told to change nothing before the lead has approved a plan, and Claude Code, Gemini CLI and opencode with hooks installed are stopped; timeout, after how long a request expires that has no answer: \"10m\", or a number of seconds."},
		{name: "deliver", typ: "table<string, string[]>", doc: "How messages are typed: bare_slash, a list of commands of your own, { \"/next-work\" }: a message that is nothing but one of them is typed without its header, behind a note of who asks for it, into agents that take it."},
		{name: "notices", typ: "table<string, boolean|string[]>", doc: "How you are told that you are waited for, beside the line in tmux: bell, osc9 and osc777, true or false; command, a program and its arguments, which gets the notice as its last one."},
	},
}

const (
	maxSettings = 256 // of one table
	maxField    = 64  // bytes of a name
	maxSetting  = 1 << 10
	maxTime     = 30 * 24 * time.Hour
)

// configure implements intercom.configure(settings).
func (s *state) configure(L *lua.LState) int {
	s.register(L, "intercom.configure")
	if !s.script.source.Settings {
		L.RaiseError("intercom.configure belongs to init.lua")
	}
	if s.settings != nil {
		L.RaiseError("intercom.configure was called before: one call takes all settings")
	}
	s.settings, s.configured = &policy.Settings{}, line(L, 1)
	s.eachField(L, L.CheckTable(1), settingsClass, func(name string, v lua.LValue) {
		switch name {
		case "computer":
			s.computer(L, name, v)
		case "computers":
			s.settings.Computers = map[string]policy.Computer{}
			s.eachSetting(L, name, v, func(computer string, v lua.LValue) {
				s.settings.Computers[strings.ToLower(computer)] = s.other(L, name+"."+computer, v)
			})
		case "attribution":
			s.settings.Attribution = s.said(L, name, v, maxSetting)
		case "chats":
			s.settings.Chats = s.settingsOf(L, name, v)
		case "brakes":
			s.settings.Brakes = s.settingsOf(L, name, v)
		case "health":
			s.settings.Health = map[string]string{}
			s.eachSetting(L, name, v, func(key string, v lua.LValue) {
				if v == lua.LFalse || v == lua.LString("off") {
					s.settings.Health[key] = "off"
					return
				}
				s.settings.Health[key] = s.time(L, name+"."+key, v).String()
			})
		case "profiles":
			s.settings.Profiles = map[string]map[string]any{}
			s.eachSetting(L, name, v, func(profile string, v lua.LValue) {
				fields := map[string]any{}
				s.eachSetting(L, name+"."+profile, v, func(field string, v lua.LValue) {
					fields[field] = s.field(L, name+"."+profile+"."+field, v)
				})
				s.settings.Profiles[profile] = fields
			})
		case "sessions":
			s.settings.Sessions = s.sessions(L, name, v)
		case "answer":
			list, ok := v.(*lua.LTable)
			if !ok || list.Len() == 0 {
				L.RaiseError("answer must be a list of texts: a program and its arguments")
			}
			for i := 1; i <= min(list.Len(), maxSettings); i++ {
				s.settings.Answer = append(s.settings.Answer, s.said(L, "each of answer", list.RawGetInt(i), maxSetting))
			}
		case "team":
			s.settings.Team = s.team(L, name, v)
		case "deliver":
			s.settings.Deliver = s.deliver(L, name, v)
		case "notices":
			s.settings.Notices = s.notices(L, name, v)
		default:
			panic("setting: " + name)
		}
	})
	return 0
}

// eachSetting calls use for each entry of a table whose keys are names.
func (s *state) eachSetting(L *lua.LState, name string, v lua.LValue, use func(key string, v lua.LValue)) {
	t, ok := v.(*lua.LTable)
	if !ok {
		L.RaiseError("%s must be a table, not a %s", name, v.Type())
	}
	n := 0
	t.ForEach(func(key, v lua.LValue) {
		if n++; n > maxSettings {
			L.RaiseError("%s has more than %d fields", name, maxSettings)
		}
		use(s.said(L, "each key of "+name, key, maxField), v)
	})
}

// settingsOf reads a table of settings. It returns each value in the form that a person gives to a flag.
func (s *state) settingsOf(L *lua.LState, name string, v lua.LValue) map[string]string {
	settings := map[string]string{}
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		switch v := v.(type) {
		case lua.LBool:
			settings[key] = map[bool]string{true: "on", false: "off"}[bool(v)]
		case lua.LNumber:
			settings[key] = strconv.FormatFloat(s.finite(L, name+"."+key, v), 'f', -1, 64)
		default:
			settings[key] = s.said(L, name+"."+key, v, maxSetting)
		}
	})
	return settings
}

// computer reads the name of this machine, or a table with its name and how it reaches others.
func (s *state) computer(L *lua.LState, name string, v lua.LValue) {
	if v.Type() != lua.LTTable {
		s.settings.Computer = s.said(L, name, v, maxSetting)
		return
	}
	texts := map[string]*string{"name": &s.settings.Computer, "nats": &s.settings.Link.NATS, "creds": &s.settings.Link.Creds}
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		text := texts[key]
		switch {
		case text != nil:
			*text = s.said(L, name+"."+key, v, maxSetting)
		case key != "insecure":
			L.RaiseError("computer: no setting %q; there are name, nats, creds and insecure", key)
		case v.Type() != lua.LTBool:
			L.RaiseError("computer.insecure must be true or false, not a %s", v.Type())
		default:
			s.settings.Link.Insecure = lua.LVAsBool(v)
		}
	})
	if s.settings.Link.NATS != "" && s.settings.Computer == "" {
		L.RaiseError("computer.name is missing: others know this machine by it")
	}
}

// other reads what another machine may do here.
func (s *state) other(L *lua.LState, name string, v lua.LValue) (c policy.Computer) {
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		switch key {
		case "key":
			c.Key = s.said(L, name+"."+key, v, maxSetting)
		case "may":
			list, ok := s.field(L, name+"."+key, v).([]string)
			if !ok {
				L.RaiseError("%s.may must be a list of texts", name)
			}
			for _, word := range list {
				if !slices.Contains(policy.Powers, word) {
					L.RaiseError("%s.may: %q is none of %s", name, word, strings.Join(policy.Powers, ", "))
				}
			}
			c.May = append([]string{}, list...)
		default:
			L.RaiseError("%s: no setting %q; there are may and key", name, key)
		}
	})
	return c
}

// team reads the rules for all teams.
func (s *state) team(L *lua.LState, name string, v lua.LValue) (t policy.Team) {
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		switch key {
		case "require_plan":
			yes, ok := v.(lua.LBool)
			if !ok {
				L.RaiseError("team.require_plan must be true or false, not a %s", v.Type())
			}
			t.RequirePlan = bool(yes)
		case "timeout":
			t.Timeout = s.time(L, "team.timeout", v)
		default:
			L.RaiseError("team: no setting %q; there are require_plan and timeout", key)
		}
	})
	return t
}

// sessions reads what agents may start.
func (s *state) sessions(L *lua.LState, name string, v lua.LValue) (of policy.Sessions) {
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		lists := map[string]*[]string{"allow": &of.Allow, "roots": &of.Roots}
		switch value := s.field(L, name+"."+key, v).(type) {
		case []string:
			if into := lists[key]; into != nil {
				*into = value
				return
			}
		case float64:
			if n := int(value); key == "most" && float64(n) == value && n >= 0 {
				of.Most = &n
				return
			}
		}
		switch {
		case lists[key] != nil:
			L.RaiseError("%s.%s must be a list of texts", name, key)
		case key == "most":
			L.RaiseError("%s.most must be a whole number, 0 or more", name)
		}
		L.RaiseError("%s has no field %q: allow, roots and most are its fields", name, key)
	})
	return of
}

// deliver reads how messages are typed.
func (s *state) deliver(L *lua.LState, name string, v lua.LValue) (d policy.Deliver) {
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		list, ok := s.field(L, name+"."+key, v).([]string)
		switch {
		case key != "bare_slash":
			L.RaiseError("deliver: no setting %q; there is bare_slash", key)
		case !ok:
			L.RaiseError("deliver.bare_slash must be a list of commands, like { \"/next-work\" }")
		}
		d.BareSlash = list
	})
	return d
}

// notices reads how a person is told.
func (s *state) notices(L *lua.LState, name string, v lua.LValue) (n policy.Notices) {
	flags := map[string]*bool{"bell": &n.Bell, "osc9": &n.OSC9, "osc777": &n.OSC777}
	s.eachSetting(L, name, v, func(key string, v lua.LValue) {
		if key == "command" {
			list, ok := s.field(L, name+".command", v).([]string)
			if !ok || len(list) == 0 {
				L.RaiseError("notices.command must be a list of texts: a program and its arguments")
			}
			n.Command = list
			return
		}
		flag, yes := flags[key], lua.LVAsBool(v)
		switch {
		case flag == nil:
			L.RaiseError("notices: no setting %q; there are bell, osc9, osc777 and command", key)
		case v.Type() != lua.LTBool:
			L.RaiseError("notices.%s must be true or false, not a %s", key, v.Type())
		}
		*flag = yes
	})
	return n
}

// time reads a duration: a string like "10m", or a number of seconds.
func (s *state) time(L *lua.LState, name string, v lua.LValue) (d time.Duration) {
	switch v := v.(type) {
	case lua.LNumber:
		if v > 0 && v <= lua.LNumber(maxTime/time.Second) {
			d = time.Duration(float64(v) * float64(time.Second))
		}
	case lua.LString:
		d, _ = time.ParseDuration(string(v))
	}
	if d <= 0 || d > maxTime {
		L.RaiseError(`%s must be a time like "10m" or a number of seconds, more than 0 and at most %v`, name, maxTime)
	}
	return d
}

// finite returns a number that JSON can represent.
func (s *state) finite(L *lua.LState, name string, v lua.LNumber) float64 {
	if f := float64(v); f-f == 0 {
		return f
	}
	L.RaiseError("%s must be a finite number", name)
	return 0
}

// field reads the value of a field of a profile.
func (s *state) field(L *lua.LState, name string, v lua.LValue) any {
	switch v := v.(type) {
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return s.finite(L, name, v)
	case *lua.LTable:
		list := []string{}
		for i := 1; i <= min(v.Len(), maxSettings); i++ {
			list = append(list, s.said(L, "each of "+name, v.RawGetInt(i), maxSetting))
		}
		return list
	}
	return s.said(L, name, v, maxSetting)
}
