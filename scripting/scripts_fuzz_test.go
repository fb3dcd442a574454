package scripting

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// hangs is far more than the scripts of one message may take in all, even on a busy machine.
const hangs = 20 * time.Second

// Whatever a script does, the sidecar gets an answer for the recipient within its time, and no script can override the
// guard of another one: what that holds is never delivered.
func FuzzScripts(f *testing.F) {
	seeds := 6
	if os.Getenv("INTERCOM_LONG") != "" {
		seeds = 24
	}
	for n := range seeds {
		seed := []byte{byte(n)}
		for i := range 90 {
			seed = append(seed, byte(i*i*7+n*31+i))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 400 {
			return
		}
		text := (&scribbler{data: data}).script()
		engine := New(Options{})
		defer engine.Close()
		ctx, cancel := context.WithTimeout(t.Context(), hangs)
		defer cancel()
		set, err := engine.Compile(ctx, files(text, `intercom.on("guard", function() return intercom.hold { reason = "guarded" } end)`))
		if err != nil {
			if _, told := errors.AsType[ProblemsError](err); !told || ctx.Err() != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			return
		}
		engine.Use(set)
		for range 2 {
			v, err := engine.Evaluate(ctx, said("hello"))
			if ctx.Err() != nil {
				t.Fatalf("no answer in time:\n%s", text)
			}
			if len(v.Outcomes) == 0 {
				t.Fatalf("the message is lost: %+v %v:\n%s", v, err, text)
			}
			for _, one := range v.Outcomes {
				if one.Verb == message.VerbDeliver || one.Verb == message.VerbAck || one.Verb == "" {
					t.Fatalf("%s, past a guard: %+v:\n%s", one.Verb, v, text)
				}
			}
		}
	})
}

// scribbler writes a small script, chosen by the fuzzer from everything that there is.
type scribbler struct {
	data []byte
	deep int
}

func (s *scribbler) pick(n int) int {
	if len(s.data) == 0 {
		return 0
	}
	c := s.data[0]
	s.data = s.data[1:]
	return int(c) % n
}

func (s *scribbler) of(all ...string) string { return all[s.pick(len(all))] }

func (s *scribbler) script() string {
	hook := s.of("decide", "filter", "route", "guard", "format", "decide")
	var before, body string
	if s.pick(3) == 0 {
		before = s.statements()
	}
	body = s.statements()
	result := s.value()
	return fmt.Sprintf("local a, b, c, d = 1, \"x\", {}, nil\n%s\nintercom.on(%q, function(msg, ctx)\n%s\nreturn %s\nend)\n", before, hook, body, result)
}

func (s *scribbler) statements() string {
	var all []string
	for range 1 + s.pick(5) {
		if len(s.data) == 0 || s.deep > 6 {
			break
		}
		all = append(all, s.statement())
	}
	return strings.Join(all, "\n")
}

func (s *scribbler) variable() string { return s.of("a", "b", "c", "d") }

func (s *scribbler) function() string {
	return "function(x, ...) " + s.inner(s.statements) + " return " + s.inner(s.value) + " end"
}

// inner writes what is within something else; there is a limit to that.
func (s *scribbler) inner(write func() string) string {
	s.deep++
	defer func() { s.deep-- }()
	return write()
}

func (s *scribbler) statement() string {
	switch s.pick(20) {
	case 0:
		return "while " + s.of("true", "a ~= b", "#c < 1e6", s.value()) + " do " + s.inner(s.statements) + " end"
	case 1:
		return "for i = 1, " + s.of("10", "1e6", "1/0", "0/0", "#b") + " do " + s.inner(s.statements) + " end"
	case 2:
		return "for k, v in pairs(" + s.value() + ") do " + s.inner(s.statements) + " end"
	case 3:
		return "while true do pcall(" + s.function() + ") end"
	case 4:
		return "pcall(" + s.function() + ", " + s.value() + ")"
	case 5:
		return "xpcall(" + s.function() + ", " + s.function() + ")"
	case 6:
		return s.variable() + " = setmetatable(" + s.of("{}", "c", "intercom", "msg", "ctx", "string", s.value()) + ", { " +
			s.of("__index", "__newindex", "__call", "__eq", "__lt", "__concat", "__tostring", "__metatable", "__gc", "__len", "__mode") + " = " + s.value() + " })"
	case 7:
		return s.variable() + " = (" + s.of("b", `"x"`, `"\255\0"`, `"%b()"`) + "):rep(" + s.of("10", "1e3", "1e6", "1e9", "-1") + ")"
	case 8:
		return "b = b .. b"
	case 9:
		return "c[#c + 1] = " + s.value()
	case 10:
		return s.of("c", "msg", "ctx", "intercom", "string", "_G", "ctx.chat", "table") + "." + s.of("x", "body", "on", "hold", "rep", "count", "floor") + " = " + s.value()
	case 11:
		return "if " + s.value() + " then " + s.inner(s.statements) + " end"
	case 12:
		return "do return " + s.value() + " end"
	case 13:
		return "error(" + s.value() + ")"
	case 14:
		return "ctx." + s.of("set", "log", "count", "get", "agent") + "(" + s.value() + ", " + s.value() + ")"
	case 15:
		return "if ctx.chat then ctx.chat:floor(" + s.value() + ") end"
	case 16:
		return "string." + s.of("rep", "gsub", "find", "format", "upper", "byte") + " = " + s.function()
	case 17:
		return "getmetatable(" + s.of(`""`, "c", "msg", "intercom") + ").__index = " + s.value()
	case 18:
		return "intercom." + s.of("on", "rule", "configure") + "(" + s.value() + ", " + s.value() + ", " + s.value() + ")"
	}
	return s.variable() + " = " + s.value()
}

func (s *scribbler) value() string {
	if len(s.data) == 0 || s.deep > 6 {
		return "a"
	}
	s.deep++
	defer func() { s.deep-- }()
	switch s.pick(22) {
	case 0:
		return s.of("nil", "true", "false", "0", "-1", "1e308", "0/0", "1/0", "2^53")
	case 1:
		return s.of(`""`, `"x"`, `"\0\255\27[31m"`, `"Ben"`, `"all"`, `"hold"`, `"不"`)
	case 2:
		return "{ " + s.value() + ", " + s.of("reason", "body", "text", "expires", "after", "tags", "notify", "meta", "prompt", "x") + " = " + s.value() + " }"
	case 3:
		return "(" + s.function() + ")"
	case 4, 5, 6:
		return "intercom." + s.of("deliver", "ack", "ask", "hold", "bounce", "drop") + "(" + s.of("", "{ reason = "+s.value()+" }", s.value()) + ")"
	case 7:
		return "msg." + s.of("body", "from", "to", "tags", "meta", "depth", "recipients", "created", "nothing")
	case 8:
		return "ctx." + s.of("now", "chat", "config", "thread")
	case 9:
		return "ctx." + s.of("count", "get", "agent") + "(" + s.value() + ", 60)"
	case 10:
		return `intercom.re(` + s.of(`"a*"`, `"(a|b)+"`, `"("`, `"(?i)x{1000}"`, s.value()) + `):` + s.of("test", "replace", "find", "match") + "(" + s.value() + ", " + s.value() + ")"
	case 11:
		return "intercom.shown(" + s.value() + ")"
	case 12:
		return "(" + s.value() + ")(" + s.value() + ")"
	case 13:
		return "(" + s.value() + s.of(" .. ", " + ", " == ", " < ", " and ", " or ", " % ") + s.value() + ")"
	case 14:
		return "tostring(" + s.value() + ")"
	case 15:
		return "string." + s.of("rep", "gsub", "find", "format", "upper", "byte", "char", "gmatch") + "(" + s.value() + ", " + s.value() + ", " + s.value() + ")"
	case 16:
		return "table." + s.of("concat", "sort", "insert", "remove", "unpack") + "(" + s.value() + ", " + s.value() + ")"
	case 17:
		return "select(" + s.of(`"#"`, "1", "-1", "1e9") + ", " + s.value() + ", " + s.value() + ")"
	case 18:
		return s.of("pcall", "xpcall", "type", "next", "ipairs", "rawget", "tonumber", "getmetatable", "require", "load", "coroutine.wrap", "unpack", "print") + "(" + s.value() + ", " + s.value() + ")"
	case 19:
		return "#" + "(" + s.value() + ")"
	case 20:
		return "c[" + s.value() + "]"
	}
	return s.variable()
}
