package worker

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// maxDepth is how deep a file may be nested: the compiler takes time that grows with the square of the depth, and
// cannot be interrupted.
const maxDepth = 200

// compileSource compiles a file for machines with these globals, and returns the problems of the file.
func compileSource(source policy.Source, globals map[string][]string) (proto *lua.FunctionProto, problems []policy.Problem) {
	defer func() {
		if p := recover(); p != nil {
			proto, problems = nil, []policy.Problem{{File: source.Name, Text: printable(fmt.Sprint(p), 500)}}
		}
	}()
	wrong := func(line int, text string) (*lua.FunctionProto, []policy.Problem) {
		return nil, append(problems, policy.Problem{File: source.Name, Line: line, Text: printable(text, 500)})
	}
	chunk, err := parse.Parse(strings.NewReader(source.Text), source.Name)
	if failed, ok := errors.AsType[*parse.Error](err); ok {
		if failed.Pos.Line == parse.EOF {
			return wrong(strings.Count(source.Text, "\n")+1, "the file ends too early: "+failed.Message)
		}
		return wrong(failed.Pos.Line, fmt.Sprintf("%s near %q", failed.Message, failed.Token))
	}
	if err != nil {
		return wrong(0, err.Error())
	}
	if line := tooDeep(chunk, maxDepth); line > 0 {
		return wrong(line, fmt.Sprintf("nested more than %d deep", maxDepth))
	}
	problems = check(source, chunk, globals)
	if proto, err = lua.Compile(chunk, source.Name); err != nil {
		if failed, ok := errors.AsType[*lua.CompileError](err); ok {
			return wrong(failed.Line, failed.Message)
		}
		return wrong(0, err.Error())
	}
	return proto, problems
}

// tooDeep returns the line of the first node that is nested deeper than most, or 0.
func tooDeep(chunk []ast.Stmt, most int) int {
	line := 0
	var visit func(node ast.PositionHolder, depth int)
	visit = func(node ast.PositionHolder, depth int) {
		if line > 0 {
			return
		}
		if depth > most {
			line = max(node.Line(), 1)
			return
		}
		children(node, func(child ast.PositionHolder) { visit(child, depth+1) })
	}
	for _, s := range chunk {
		visit(s, 1)
	}
	return line
}

// children calls use with each direct child of a node, in the order of the text.
func children(node ast.PositionHolder, use func(ast.PositionHolder)) {
	exprs := func(list ...ast.Expr) {
		for _, e := range list {
			if e != nil {
				use(e)
			}
		}
	}
	stmts := func(list []ast.Stmt) {
		for _, s := range list {
			use(s)
		}
	}
	switch n := node.(type) {
	case *ast.AssignStmt:
		exprs(n.Lhs...)
		exprs(n.Rhs...)
	case *ast.LocalAssignStmt:
		exprs(n.Exprs...)
	case *ast.FuncCallStmt:
		exprs(n.Expr)
	case *ast.DoBlockStmt:
		stmts(n.Stmts)
	case *ast.WhileStmt:
		exprs(n.Condition)
		stmts(n.Stmts)
	case *ast.RepeatStmt:
		stmts(n.Stmts)
		exprs(n.Condition)
	case *ast.IfStmt:
		exprs(n.Condition)
		stmts(n.Then)
		stmts(n.Else)
	case *ast.NumberForStmt:
		exprs(n.Init, n.Limit, n.Step)
		stmts(n.Stmts)
	case *ast.GenericForStmt:
		exprs(n.Exprs...)
		stmts(n.Stmts)
	case *ast.FuncDefStmt:
		exprs(n.Name.Func, n.Name.Receiver, n.Func)
	case *ast.ReturnStmt:
		exprs(n.Exprs...)
	case *ast.AttrGetExpr:
		exprs(n.Object, n.Key)
	case *ast.TableExpr:
		for _, f := range n.Fields {
			exprs(f.Key, f.Value)
		}
	case *ast.FuncCallExpr:
		exprs(n.Func, n.Receiver)
		exprs(n.Args...)
	case *ast.LogicalOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.RelationalOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.StringConcatOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.ArithmeticOpExpr:
		exprs(n.Lhs, n.Rhs)
	case *ast.UnaryMinusOpExpr:
		exprs(n.Expr)
	case *ast.UnaryNotOpExpr:
		exprs(n.Expr)
	case *ast.UnaryLenOpExpr:
		exprs(n.Expr)
	case *ast.FunctionExpr:
		stmts(n.Stmts)
	}
}
