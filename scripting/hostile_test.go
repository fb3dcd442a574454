package scripting

import "strings"

// hostile is a script that tries to hang, crash or bloat the worker, or to reach something outside.
type hostile struct {
	class, name string
	body        string // of a decide hook
	slow        bool   // needs much time or memory: short runs try only one of them
	ends        ending
}

// ending is how a script ends: most are stopped or fail.
type ending int

const (
	stopped  ending = iota
	byItself        // it does no harm, and the next script is asked
	refused         // it is not even loaded
)

// hostiles are the classes of scripts that a deadline alone does not stop, and mistakes of people who mean no harm.
var hostiles = []hostile{
	{class: "loop", name: "while", body: `while true do end`},
	{class: "loop", name: "repeat", body: `repeat local x = 1 until false`},
	{class: "loop", name: "goto", body: `::again:: goto again`},
	{class: "loop", name: "for", body: `for i = 1, 1/0 do end`},
	{class: "loop", name: "pcall of a loop, again and again", body: `while true do pcall(function() while true do end end) end`},
	{class: "loop", name: "pcall swallows, then loops", body: `pcall(function() while true do end end) while true do end`},
	{class: "loop", name: "pcall swallows, then answers", body: `pcall(function() while true do end end) return intercom.deliver()`},
	{class: "loop", name: "xpcall whose handler loops", body: `xpcall(function() error("x") end, function() while true do end end)`},
	{class: "loop", name: "xpcall whose handler fails", body: `local function h() error("again") end xpcall(function() error("x") end, h) while true do end`},

	{class: "recursion", name: "plain", body: `local function f() return 1 + f() end f()`},
	{class: "recursion", name: "tail calls", body: `local function f() return f() end f()`},
	{class: "recursion", name: "through pcall", body: `local function f() pcall(f) end f()`, ends: byItself},
	{class: "recursion", name: "__index that asks itself", body: `local t = {} setmetatable(t, { __index = function(t, k) return t[k] end }) return t.x`},
	{class: "recursion", name: "__newindex that sets itself", body: `local t = setmetatable({}, { __newindex = function(t, k, v) t[k] = v end }) t.x = 1`},
	{class: "recursion", name: "__eq", body: `local m = {} m.__eq = function(a, b) return a == b end local a, b = setmetatable({}, m), setmetatable({}, m) return a == b`},
	{class: "recursion", name: "__tostring", body: `local t = setmetatable({}, {}) getmetatable(t).__tostring = function(x) return tostring(x) end print(t)`},
	{class: "recursion", name: "__index chain", body: `local t = {} setmetatable(t, { __index = t }) return t.x`},
	{class: "recursion", name: "error with an object that fails", body: `error(setmetatable({}, { __tostring = function(x) error(x) end }))`},
	{class: "recursion", name: "gsub that calls itself", body: `local function f(s) return (s:gsub(".", f)) end f("aaaa")`},
	{class: "recursion", name: "varargs that grow", body: `local function f(...) return f(1, ...) end f()`, slow: true},
	{class: "recursion", name: "varargs that grow, by select", body: `local function f(...) if select("#", ...) > 1e9 then return end return f(1, 2, 3, ...) end f()`, slow: true},

	{class: "coroutine", name: "nest", body: `local function f() return coroutine.wrap(f)() end f()`, ends: refused},
	{class: "coroutine", name: "loop", body: `coroutine.wrap(function() while true do end end)()`, ends: refused},
	{class: "coroutine", name: "leak", body: `for i = 1, 1e6 do coroutine.create(function() end) end`, ends: refused},

	{class: "strings", name: "rep 1e9", body: `local s = ("x"):rep(1e9) return #s`},
	{class: "strings", name: "rep 1e12", body: `local s = ("x"):rep(1e12) return #s`},
	{class: "strings", name: "rep 1e18", body: `local s = ("xx"):rep(1e18) return #s`},
	{class: "strings", name: "rep that are kept", body: `local t = {} for i = 1, 1e6 do t[i] = ("x"):rep(1e6) end`, slow: true},
	{class: "strings", name: "doubling", body: `local s = "x" while true do s = s .. s end`, slow: true},
	{class: "strings", name: "concat of a table that doubles", body: `local s = ("x"):rep(1000) while true do local t = {} for i = 1, 1000 do t[i] = s end s = table.concat(t) end`},
	{class: "strings", name: "garbage", body: `local s = ("x"):rep(1e6) while true do local t = s .. "y" end`, slow: true},
	{class: "strings", name: "upper, again and again", body: `local s = ("x"):rep(1e6) while true do s = s:upper() end`, slow: true},
	{class: "strings", name: "reverse as a key", body: `local s, t = ("x"):rep(1e6), {} for i = 1, 1e6 do s = s:reverse() t[s .. i] = i end`, slow: true},
	{class: "strings", name: "long comparisons", body: `local a, b = ("x"):rep(1e6), ("x"):rep(1e6) while a == b do end`, slow: true},
	{class: "strings", name: "less than", body: `local a, b = ("x"):rep(1e6) .. "a", ("x"):rep(1e6) .. "b" while a < b do end`, slow: true},
	{class: "strings", name: "a long chain", body: `local s = "" for i = 1, 1e6 do s = s .. "0123456789" .. i end`, slow: true},
	{class: "strings", name: "tonumber of much", body: `local s = ("9"):rep(1e6) while true do tonumber(s) end`, slow: true},
	{class: "strings", name: "all bytes", body: `local s = ("x"):rep(1e6) local t = { s:byte(1, -1) } return #t`},
	{class: "strings", name: "a wide format", body: `return ("%999999999d"):format(1)`},
	{class: "strings", name: "many formats", body: `local f = ("%99d"):rep(10000) while true do f:format(1) end`},
	{class: "strings", name: "char of many", body: `while true do string.char(("x"):rep(7000):byte(1, -1)) end`, slow: true},

	{class: "patterns", name: "backtracking", body: `local s = ("a"):rep(40) return s:find(("a*"):rep(20) .. "b")`, slow: true},
	{class: "patterns", name: "star upon star", body: `return (("a"):rep(3000) .. "c"):find(".-.-.-.-b")`, slow: true},
	{class: "patterns", name: "deep, one megabyte", body: `return ("a"):rep(1e6):find(".*b")`, slow: true},
	{class: "patterns", name: "deep, lazily", body: `return ("a"):rep(1e6):find(".-b")`, slow: true},
	{class: "patterns", name: "gsub of each letter of a megabyte", body: `local n = 0 while n < 100 do ("a"):rep(1e6):gsub("a", "b") n = n + 1 end`, slow: true},
	{class: "patterns", name: "gmatch of a megabyte", body: `for w in ("a "):rep(5e5):gmatch("%a") do end`, slow: true},
	{class: "patterns", name: "gmatch of nothing", body: `for w in ("a"):rep(1e6):gmatch("") do end`, slow: true},
	{class: "patterns", name: "many captures", body: `return ("a"):rep(1e4):find(("(a)"):rep(40))`},
	{class: "patterns", name: "optional, a million times", body: `return ("a"):rep(1e5):find(("a?"):rep(1e5) .. ("a"):rep(1e5))`, slow: true},
	{class: "patterns", name: "balance", body: `return ("("):rep(1e6):find("%b()")`, slow: true},
	{class: "patterns", name: "gsub whose function fails", body: `return (("abc"):gsub(".", function() error("x") end))`},

	{class: "tables", name: "append", body: `local t = {} while true do t[#t + 1] = 1 end`},
	{class: "tables", name: "a hole of 67 million", body: `local t = {} t[67108863] = 1 return #t`},
	{class: "tables", name: "ten holes", body: `for i = 1, 10 do local t = {} t[67108863 - i] = 1 end while true do end`},
	{class: "tables", name: "insert in front", body: `local t = {} for i = 1, 1e6 do table.insert(t, 1, i) end`, slow: true},
	{class: "tables", name: "sort", body: `local t = {} for i = 1, 60000 do t[i] = (i * 7919) % 60013 end while true do table.sort(t) table.sort(t, function(a, b) return a > b end) end`},
	{class: "tables", name: "sort by a liar", body: `local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end) while true do end`},
	{class: "tables", name: "unpack 1e9", body: `return unpack({}, 1, 1e9)`},
	{class: "tables", name: "unpack below nothing", body: `return unpack({}, -1e9, 1e9)`},
	{class: "tables", name: "nests", body: `local t = {} while true do t = { t, t } end`},
	{class: "tables", name: "maxn of hashes", body: `local t = {} for i = 1, 10000 do t[i * 1.5] = i end while true do table.maxn(t) end`},
	{class: "tables", name: "pairs while it grows", body: `local t = { 1 } for k in pairs(t) do t[k .. "x"] = 1 end`, slow: true},
	{class: "tables", name: "many keys", body: `local t = {} for i = 1, 1e9 do t["k" .. i] = i end`},

	{class: "reach", name: "os.execute", body: `os.execute("touch /tmp/intercom-was-here")`, ends: refused},
	{class: "reach", name: "io.open", body: `io.open("/etc/passwd"):read("*a")`, ends: refused},
	{class: "reach", name: "require", body: `require("os")`},
	{class: "reach", name: "load", body: `load("while true do end")()`, ends: refused},
	{class: "reach", name: "loadstring", body: `loadstring("while true do end")()`, ends: refused},
	{class: "reach", name: "dofile", body: `dofile("/etc/passwd")`, ends: refused},
	{class: "reach", name: "debug", body: `debug.getregistry()`, ends: refused},
	{class: "reach", name: "package", body: `package.loadlib("libc.so.6", "system")`, ends: refused},
	{class: "reach", name: "channel", body: `channel.make():receive()`, ends: refused},
	{class: "reach", name: "setfenv", body: `setfenv(1, {})`, ends: refused},
	{class: "reach", name: "rawset of a message", body: `rawset(msg, "body", "x")`, ends: refused},
	{class: "reach", name: "a message that is changed", body: `msg.body = "x"`},
	{class: "reach", name: "the metatable of a message", body: `getmetatable(msg).__index = function() return "x" end`},
	{class: "reach", name: "setmetatable of a message", body: `setmetatable(msg, {})`},
	{class: "reach", name: "a userdata in a format", body: `error(("%d"):format(msg))`},
	{class: "reach", name: "a verb of another language", body: `error(("%#v"):format(ctx))`},
	{class: "reach", name: "a function of ours on another object", body: `local test = intercom.deliver return test(ctx)`},
	{class: "reach", name: "the metatable of strings", body: `getmetatable("").__index = function() while true do end end return ("x"):upper()`},
	{class: "reach", name: "ctx.set without end", body: `for i = 1, 1e6 do ctx.set("k" .. i, ("x"):rep(60000)) end`},
	{class: "reach", name: "ctx.count without end", body: `for i = 1, 1e6 do ctx.count("k" .. i, 86400) end`},
	{class: "reach", name: "print without end", body: `while true do print(("x"):rep(1e6)) end`, slow: true},
	{class: "reach", name: "decisions without end", body: `while true do intercom.deliver { text = ("x"):rep(4000) } end`},
	{class: "reach", name: "agents without end", body: `while true do ctx.agent("Ada") end`},
}

// bombs are files that hurt their compiler. Each is as long as a file may be.
func bombs() map[string]string {
	fill := func(before, each, after string) string {
		n := (64<<10 - len(before) - len(after)) / len(each)
		return before + strings.Repeat(each, n) + after
	}
	nest := func(before, open, middle, close string) string {
		n := (64<<10 - len(before) - len(middle)) / (len(open) + len(close))
		return before + strings.Repeat(open, n) + middle + strings.Repeat(close, n)
	}
	constants := func(each func(n int) string) string {
		var b strings.Builder
		b.WriteString("local t = {}\n")
		for n := 0; b.Len() < 60<<10; n++ {
			b.WriteString(each(n))
		}
		return b.String()
	}
	digits := func(n int) string {
		text := ""
		for ; n > 0 || text == ""; n /= 10 {
			text = string(rune('0'+n%10)) + text
		}
		return text
	}
	return map[string]string{
		"a sum":                    fill("local a = 1 return a", "+a", ""),
		"a sum of numbers":         fill("return 1", "+1", ""),
		"a power":                  fill("local a = 1 return a", "^a", ""),
		"a power of numbers":       fill("return 1", "^1", ""),
		"minus":                    fill("local a = 1 return ", "- ", "a"),
		"not":                      fill("return ", "not ", "nil"),
		"length":                   fill("return ", "#", "''"),
		"a concatenation":          fill("local a = '' return a", "..a", ""),
		"and":                      fill("local a = 1 return a", " and a", ""),
		"comparisons":              fill("local a = 1 return a", "==a", ""),
		"brackets":                 nest("return ", "(", "1", ")"),
		"tables":                   nest("return ", "{", "", "}"),
		"calls":                    fill("local f = print return f", "()", ""),
		"calls in calls":           nest("local f = print return ", "f(", "1", ")"),
		"fields of fields":         fill("local a = {} return a", ".a", ""),
		"indices in indices":       nest("local a = {} return ", "a[", "1", "]"),
		"functions in functions":   nest("return ", "function() return ", "1", " end"),
		"if in if":                 nest("", "if 1 then ", "", " end"),
		"elseif":                   fill("if 1 then ", "elseif 1 then ", "end"),
		"while in while":           nest("", "while 1 do ", "", " end"),
		"for in for":               nest("", "for i=1,2 do ", "", " end"),
		"do in do":                 nest("", "do ", "", " end"),
		"distinct numbers":         constants(func(n int) string { return "t[1]=" + digits(n) + "\n" }),
		"distinct strings":         constants(func(n int) string { return "t['" + digits(n) + "']=1\n" }),
		"locals":                   constants(func(n int) string { return "local l" + digits(n) + "\n" }),
		"assignments":              constants(func(int) string { return "t=t " }),
		"fields of one table":      constants(func(n int) string { return "t={a" + digits(n) + "=1}" }),
		"one long table":           fill("return {", "1,", "}"),
		"labels":                   constants(func(n int) string { return "::l" + digits(n) + "::" }),
		"gotos to nowhere":         constants(func(n int) string { return "goto l" + digits(n) + " " }),
		"functions":                constants(func(n int) string { return "local function f() return t end " }),
		"one long string":          fill("return '", "x", "'"),
		"one long comment":         fill("--[[", "x", "]]"),
		"a string that never ends": fill("return '", "x", ""),
		"zeros":                    strings.Repeat("\x00", 1000),
		"compiled Lua":             "\x1bLua" + strings.Repeat("x", 1000),
		"a loop at the top":        "while true do end",
		"much memory at the top":   "local s = 'x' while true do s = s .. s end",
		"hooks without end":        "while true do intercom.on('guard', function() end) end",
		"patterns without end":     "for i = 1, 1e6 do intercom.re(('(a{1,9}){1,9}'):rep(10) .. i) end",
		"a pattern that is large":  "intercom.re('((((a{1,100}){1,10}){1,10}){1,10}){1,10}')",
	}
}
