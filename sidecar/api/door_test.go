package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// Every operation in the package's sources is listed, and has a door.
func TestDoor_everyOperationHasOne(t *testing.T) {
	var inSource []string
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || !isOperation(lit.Type) {
				return true
			}
			for _, e := range lit.Elts {
				if kv := e.(*ast.KeyValueExpr); kv.Key.(*ast.Ident).Name == "Name" {
					name, err := strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
					require.NoError(t, err)
					inSource = append(inSource, name)
				}
			}
			return true
		})
	}
	require.Greater(t, len(inSource), 50)
	var listed []string
	for _, op := range api.Operations() {
		listed = append(listed, op.Name)
		assert.True(t, op.Door.Said(), "%s: somebody has to say who may ask for it", op.Name)
	}
	assert.ElementsMatch(t, inSource, listed)
}

func isOperation(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IndexListExpr:
		name, ok := e.X.(*ast.Ident)
		return ok && (name.Name == "Op" || name.Name == "Stream")
	}
	return false
}
