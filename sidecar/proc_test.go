package sidecar_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only package process reads what the system tells about processes. Other packages name only programs there, which they
// start or hand to package process.
func TestProc_isReadByOnePackage(t *testing.T) {
	programs := map[string]bool{"/proc/self/exe": true, "/proc/%d/exe": true}
	apart := map[string]bool{
		"../scripting/worker": true, // measures itself, and is a program that contains no code of ours
		"../sidecar/process":  true,
	}
	files := 0
	for _, root := range []string{"../sidecar", "../cmd", "../scripting"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if dir := filepath.Dir(path); apart[dir] || strings.HasSuffix(dir, "test") || strings.Contains(dir, "testdata") {
				return nil // test rigs look from outside
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					value := strings.Trim(text.Value, "\"`")
					if value == "/proc" || strings.HasPrefix(value, "/proc/") {
						assert.True(t, programs[value], "%s reads %s: package process does that", path, value)
					}
				}
				return true
			})
			return nil
		}))
	}
	assert.Greater(t, files, 200)
}
