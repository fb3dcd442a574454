package worker

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// settingLines returns the lines of the settings in the call of intercom.configure at a line of a file. A file may
// contain several such calls, of which one runs. Settings that are computed at run time have no line.
func settingLines(source policy.Source, at int) policy.Lines {
	chunk, err := parse.Parse(strings.NewReader(source.Text), source.Name)
	if err != nil {
		return nil // a syntax error was reported before
	}
	lines := policy.Lines{}
	var visit func(node ast.PositionHolder)
	visit = func(node ast.PositionHolder) {
		if call, ok := node.(*ast.FuncCallExpr); ok && call.Line() == at && configures(call) {
			lines[""] = call.Line()
			if len(call.Args) == 1 {
				fieldLines(lines, "", call.Args[0])
			}
		}
		children(node, visit)
	}
	for _, s := range chunk {
		visit(s)
	}
	return lines
}

// configures reports whether a call is a call of intercom.configure.
func configures(call *ast.FuncCallExpr) bool {
	get, ok := call.Func.(*ast.AttrGetExpr)
	if !ok {
		return false
	}
	of, named := get.Object.(*ast.IdentExpr)
	key, constant := get.Key.(*ast.StringExpr)
	return named && constant && of.Value == "intercom" && key.Value == "configure"
}

// fieldLines adds the lines of the fields of a table and of the tables in it.
func fieldLines(lines policy.Lines, above string, e ast.Expr) {
	table, ok := e.(*ast.TableExpr)
	if !ok {
		return
	}
	for _, field := range table.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok || len(lines) >= maxSettings {
			continue
		}
		name := above + key.Value
		lines[name] = key.Line()
		fieldLines(lines, name+".", field.Value)
	}
}
