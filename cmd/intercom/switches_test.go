package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Requests, events, effects, peers, callers and sinks carry their own behaviour or stand in a table, so a new kind is a new file
// and changes no switch.
func TestNoSwitchOverKinds(t *testing.T) {
	for _, dir := range []string{"relay", "api", "daemon", "service"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "sidecar", dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, text, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSwitchStmt:
					assert.Fail(t, "a switch over types", "%s", set.Position(n.Pos()))
				case *ast.SwitchStmt:
					if of, ok := n.Tag.(*ast.SelectorExpr); ok {
						assert.NotContains(t, []string{"Kind", "kind"}, of.Sel.Name, "%s", set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}
