package worker

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// check reports what is wrong with a file as far as that is visible without running it: undefined names, and known
// misunderstandings. It follows the values of this package through locals, and leaves what it cannot follow to the
// machine.
func check(source policy.Source, chunk []ast.Stmt, globals map[string][]string) []policy.Problem {
	c := &checker{file: source.Name, globals: globals, assigned: map[string]bool{}}
	for _, s := range chunk {
		c.assignments(s)
	}
	c.block(chunk)
	return c.problems
}

const maxProblems = 100

type checker struct {
	file     string
	globals  map[string][]string // the names in each library; none for a function
	problems []policy.Problem
	scopes   []map[string]local
	assigned map[string]bool // names that are assigned to anywhere: their class is not known
	function int             // how many functions enclose the code
	hook     policy.Hook     // of the current function
}

// local is what is known about a local.
type local struct {
	class    *class // nil: not known
	function int    // how many functions enclose its declaration
}

// libraries returns the globals of a machine of a policy.
var libraries = sync.OnceValue(func() map[string][]string { return globalsOf((*state).install) })

// globalsOf returns the globals of a machine after install, with the names in each library.
func globalsOf(install func(*state)) map[string][]string {
	s := &state{machine: lua.NewState(lua.Options{SkipOpenLibs: true}), objects: map[string]*lua.LTable{}}
	s.openLibraries()
	install(s)
	globals := map[string][]string{}
	s.machine.G.Global.ForEach(func(key, v lua.LValue) {
		names := []string{}
		if t, ok := v.(*lua.LTable); ok {
			t.ForEach(func(key, _ lua.LValue) { names = append(names, key.String()) })
		}
		globals[key.String()] = names
	})
	return globals
}

func (c *checker) say(node ast.PositionHolder, warning bool, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, policy.Problem{File: c.file, Line: node.Line(), Text: printable(fmt.Sprintf(format, args...), 500), Warning: warning})
	}
}

// assignments records the names that are assigned to.
func (c *checker) assignments(node ast.PositionHolder) {
	var to []ast.Expr
	switch n := node.(type) {
	case *ast.AssignStmt:
		to = n.Lhs
	case *ast.FuncDefStmt:
		to = []ast.Expr{n.Name.Func}
	}
	for _, e := range to {
		if name, ok := e.(*ast.IdentExpr); ok {
			c.assigned[name.Value] = true
		}
	}
	children(node, c.assignments)
}

func (c *checker) declare(name string, of *class) {
	if c.assigned[name] {
		of = nil
	}
	c.scopes[len(c.scopes)-1][name] = local{class: of, function: c.function}
}

func (c *checker) find(name string) (local, bool) {
	for _, scope := range slices.Backward(c.scopes) {
		if l, ok := scope[name]; ok {
			return l, true
		}
	}
	return local{}, false
}

// block checks statements in a scope of their own, in which some names are already declared.
func (c *checker) block(stmts []ast.Stmt, declared ...string) {
	c.scopes = append(c.scopes, map[string]local{})
	for _, name := range declared {
		c.declare(name, nil)
	}
	for _, s := range stmts {
		c.stmt(s)
	}
	c.scopes = c.scopes[:len(c.scopes)-1]
}

func (c *checker) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.LocalAssignStmt:
		c.local(s)
	case *ast.AssignStmt:
		c.exprs(s.Rhs)
		for _, to := range s.Lhs {
			c.assign(to)
		}
	case *ast.FuncDefStmt:
		if s.Name.Receiver != nil { // function t:name()
			c.expr(s.Name.Receiver)
			c.body(s.Func, nil, "self")
			return
		}
		c.assign(s.Name.Func)
		c.body(s.Func, nil)
	case *ast.DoBlockStmt:
		c.block(s.Stmts)
	case *ast.WhileStmt:
		c.expr(s.Condition)
		c.block(s.Stmts)
	case *ast.RepeatStmt:
		// The condition sees the locals of the block.
		c.block(append(slices.Clone(s.Stmts), &ast.ReturnStmt{Exprs: []ast.Expr{s.Condition}}))
	case *ast.IfStmt:
		c.expr(s.Condition)
		c.block(s.Then)
		c.block(s.Else)
	case *ast.NumberForStmt:
		c.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
		c.block(s.Stmts, s.Name)
	case *ast.GenericForStmt:
		c.exprs(s.Exprs)
		c.block(s.Stmts, s.Names...)
	case *ast.ReturnStmt:
		c.returns(s)
		c.exprs(s.Exprs)
	case *ast.FuncCallStmt:
		c.expr(s.Expr)
	}
}

func (c *checker) local(s *ast.LocalAssignStmt) {
	// A local function may call itself.
	if len(s.Names) == 1 && len(s.Exprs) == 1 {
		if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			c.declare(s.Names[0], nil)
		}
	}
	c.exprs(s.Exprs)
	for i, name := range s.Names {
		var of *class
		if i < len(s.Exprs) {
			of = c.class(s.Exprs[i])
		}
		c.declare(name, of)
	}
}

// assign checks the target of an assignment.
func (c *checker) assign(to ast.Expr) {
	name, ok := to.(*ast.IdentExpr)
	if !ok {
		c.expr(to)
		return
	}
	switch l, ok := c.find(name.Value); {
	case !ok:
		c.say(name, false, "%s", unset(name.Value))
	case l.function == 0 && c.function > 0:
		c.say(name, true, "%s is reset for every message; use ctx.set to remember a value", name.Value)
	}
}

func (c *checker) exprs(list []ast.Expr) {
	for _, e := range list {
		if e != nil {
			c.expr(e)
		}
	}
}

func (c *checker) expr(e ast.Expr) {
	switch e := e.(type) {
	case nil:
	case *ast.IdentExpr:
		if _, ok := c.find(e.Value); !ok {
			if _, ok := c.globals[e.Value]; !ok {
				c.say(e, false, "undefined global %q%s", e.Value, meant(e.Value, append(sortedKeys(c.globals), c.locals()...)))
			}
		}
	case *ast.FunctionExpr:
		c.body(e, nil)
	case *ast.AttrGetExpr:
		c.expr(e.Object)
		c.expr(e.Key)
		c.field(e)
	case *ast.FuncCallExpr:
		c.call(e)
	default:
		children(e, func(child ast.PositionHolder) {
			if child, ok := child.(ast.Expr); ok {
				c.expr(child)
			}
		})
	}
}

// locals returns the names of all visible locals.
func (c *checker) locals() []string {
	var names []string
	for _, scope := range c.scopes {
		names = append(names, sortedKeys(scope)...)
	}
	return names
}

// body checks a function whose first parameters have known classes.
func (c *checker) body(f *ast.FunctionExpr, of []*class, more ...string) {
	c.function++
	c.scopes = append(c.scopes, map[string]local{})
	for _, name := range more {
		c.declare(name, nil)
	}
	for i, name := range f.ParList.Names {
		var known *class
		if i < len(of) {
			known = of[i]
		}
		c.declare(name, known)
	}
	if f.ParList.HasVargs {
		c.declare("arg", nil)
	}
	hook := c.hook
	if of == nil {
		c.hook = ""
	}
	c.block(f.Stmts)
	c.hook = hook
	c.scopes = c.scopes[:len(c.scopes)-1]
	c.function--
}

// field checks access to a field of a known value.
func (c *checker) field(e *ast.AttrGetExpr) {
	key, ok := e.Key.(*ast.StringExpr)
	if !ok {
		return
	}
	if of := c.class(e.Object); of != nil && of.find(key.Value) == nil {
		c.say(e, false, "%s", of.unknown(key.Value))
	}
	if library, ok := e.Object.(*ast.IdentExpr); ok {
		_, shadowed := c.find(library.Value)
		if names := c.globals[library.Value]; !shadowed && len(names) > 0 && !slices.Contains(names, key.Value) {
			c.say(e, false, "%s has no function %q%s", library.Value, key.Value, meant(key.Value, names))
		}
	}
}

// call checks a call and the tables of options in it.
func (c *checker) call(e *ast.FuncCallExpr) {
	if e.Receiver != nil {
		c.expr(e.Receiver)
		if of := c.class(e.Receiver); of != nil {
			switch m := of.find(e.Method); {
			case m == nil:
				c.say(e, false, "%s", of.unknown(e.Method))
			case m.function() && !m.method:
				c.say(e, false, "%s is called with a dot: %s.%s(…)", e.Method, of.noun, e.Method)
			}
		}
		if slices.Contains([]string{"find", "match", "gmatch", "gsub"}, e.Method) && c.class(e.Receiver) == nil && len(e.Args) > 0 {
			c.pattern(e.Args[0])
		}
		c.exprs(e.Args)
		return
	}
	c.expr(e.Func)
	of, name := c.member(e.Func)
	switch {
	case of == intercom && name == "on" && len(e.Args) == 2:
		if f, ok := e.Args[1].(*ast.FunctionExpr); ok {
			c.expr(e.Args[0])
			before := c.hook
			if hook, ok := e.Args[0].(*ast.StringExpr); ok {
				c.hook = policy.Hook(hook.Value)
			}
			c.body(f, []*class{messages, contexts})
			c.hook = before
			return
		}
	case of == intercom && name == "rule" && len(e.Args) > 1:
		c.keys(e.Args[1], matches)
	case of == intercom && policy.Rank(message.Verb(name)) >= 0 && len(e.Args) > 0:
		c.keys(e.Args[0], options)
	case of == intercom && name == "configure" && len(e.Args) > 0:
		c.keys(e.Args[0], settingsClass)
	case of != nil && of.find(name) != nil && of.find(name).method:
		c.say(e, false, "%s is called with a colon: %s:%s(…)", name, of.noun, name)
	}
	if get, ok := e.Func.(*ast.AttrGetExpr); ok && of == nil {
		if library, ok := get.Object.(*ast.IdentExpr); ok && library.Value == "string" && len(e.Args) > 1 {
			c.pattern(e.Args[1])
		}
	}
	c.exprs(e.Args)
}

// pattern warns of a Lua pattern that does not do what the Lua manual says.
func (c *checker) pattern(e ast.Expr) {
	if p, ok := e.(*ast.StringExpr); ok && strings.Contains(p.Value, "%f") {
		c.say(e, true, `%%f does not work here; intercom.re has \b`)
	}
}

// keys checks the keys of a table that is written in place.
func (c *checker) keys(e ast.Expr, of *class) {
	t, ok := e.(*ast.TableExpr)
	if !ok {
		return
	}
	for _, f := range t.Fields {
		if key, ok := f.Key.(*ast.StringExpr); ok && of.find(key.Value) == nil {
			at := ast.PositionHolder(key)
			if key.Line() == 0 {
				at = f.Value
			}
			if at.Line() == 0 {
				at = t
			}
			c.say(at, false, "%s", of.unknown(key.Value))
		}
	}
}

// returns checks what a filter returns.
func (c *checker) returns(s *ast.ReturnStmt) {
	if c.hook == policy.Filter && len(s.Exprs) > 0 {
		c.keys(s.Exprs[0], patches)
	}
}

// member returns the class and the name of a member that an expression accesses.
func (c *checker) member(e ast.Expr) (*class, string) {
	get, ok := e.(*ast.AttrGetExpr)
	if !ok {
		return nil, ""
	}
	key, ok := get.Key.(*ast.StringExpr)
	if !ok {
		return nil, ""
	}
	return c.class(get.Object), key.Value
}

// class returns the class of an expression, or nil if it is not known.
func (c *checker) class(e ast.Expr) *class {
	switch e := e.(type) {
	case *ast.IdentExpr:
		if l, ok := c.find(e.Value); ok {
			return l.class
		}
		if e.Value == intercom.name {
			return intercom
		}
	case *ast.AttrGetExpr:
		if of, name := c.member(e); of != nil {
			if m := of.find(name); m != nil && !m.function() {
				return classOf(m.typ)
			}
		}
	case *ast.FuncCallExpr:
		if e.Receiver != nil {
			return nil
		}
		if of, name := c.member(e.Func); of != nil {
			if m := of.find(name); m != nil {
				return classOf(m.returns)
			}
		}
	}
	return nil
}

// classOf returns the class that a type of the annotations names. It returns nil for classes that are written as
// tables.
func classOf(typ string) *class {
	typ = strings.TrimSuffix(typ, "|nil")
	i := slices.IndexFunc(classes, func(c *class) bool { return c.name == typ && !c.table })
	if i < 0 || len(classes[i].members) == 0 {
		return nil
	}
	return classes[i]
}
