package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// opening are the functions that open a path, by package, with the index of the path among their arguments. A function that takes
// an fs.FS opens none: os.DirFS and os.OpenRoot make one.
var opening = map[string]map[string]int{
	"os": {
		"Open": 0, "OpenFile": 0, "ReadFile": 0, "ReadDir": 0, "Create": 0, "WriteFile": 0, "CreateTemp": 0, "MkdirTemp": 0, "Truncate": 0,
		"DirFS": 0, "CopyFS": 0, "OpenRoot": 0, "OpenInRoot": 0,
	},
	"path/filepath":         {"Walk": 0, "WalkDir": 0, "Glob": 0},
	"io/ioutil":             {"ReadFile": 0, "ReadDir": 0, "WriteFile": 0, "TempFile": 0, "TempDir": 0},
	"syscall":               {"Open": 0, "Openat": 1, "Truncate": 0},
	"golang.org/x/sys/unix": {"Open": 0, "Openat": 1, "Openat2": 1, "Truncate": 0},
	"database/sql":          {"Open": 1},
	"modernc.org/sqlite":    {"NewConnector": 0},
	"net":                   {"Dial": 1, "DialTimeout": 1, "DialUnix": 2, "Listen": 1, "ListenUnix": 1, "ListenPacket": 1, "ListenUnixgram": 1},
}

// doors are the packages that open paths for all others, with who may write the files that they open.
var doors = map[string]string{
	"sidecar/foreign": "anybody: it asks what it is before and after, waits for nothing, and bounds what is read",
	"sidecar/own":     "this user alone: it asks the open file",
}

// opened is a call that opens a path.
type opened struct {
	at, call, writer string // empty if the call does not tell who may write
}

// TestPaths_S24_WhoMayWrite lists every call of the program that opens a path, with who may write the file. The call itself has
// to tell that; there is no list of exceptions. The path may be the kernel's, if it begins with a literal that says so; a file
// made by this very call; a socket, which no file can pass for; or the result of one of the doors. Any other path might be a
// FIFO, a device or an endless file that somebody else put there.
func TestPaths_S24_WhoMayWrite(t *testing.T) {
	ofSources(t)
	var all []opened
	for _, p := range listed(t, nil, "-deps", "-json=ImportPath,Dir", "./cmd/intercom") {
		name, own := strings.CutPrefix(p.ImportPath, module)
		if !own {
			continue
		}
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go")) // for all systems and builds
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			all = append(all, opens(set, parsed, name)...)
		}
	}
	require.Greater(t, len(all), 30, "the search finds what is there")
	for _, one := range all {
		t.Logf("%-44s %-26s %s", one.at, one.call, one.writer)
		assert.NotEmpty(t, one.writer, "%s: %s opens a path of which nothing says who may write it: use sidecar/foreign, or sidecar/own where only this user may", one.at, one.call)
	}
}

// The check recognises the shortcuts of a hurried author.
func TestPaths_bites(t *testing.T) {
	for source, writer := range map[string]string{
		`import "os"; func f(p string) { os.ReadFile(p) }`:                                                "",
		`import "os"; func f(p string) { os.Open("/proc/self/cwd/" + p) }`:                                "",
		`import "os"; func f(p string) { os.Open("/proc/" + p + "/root/x") }`:                             "",
		`import "os"; func f(p string) { os.Open("/dev/shm/" + p) }`:                                      "",
		`import "os"; var read = os.ReadFile`:                                                             "",
		`import other "os"; func f(p string) { other.Open(p) }`:                                           "",
		`import "os"; func f(p string) { p = "/proc/" + p; p = "/tmp/x"; os.Open(p) }`:                    "",
		`import "os"; func f(p string) { os.OpenFile(p, os.O_CREATE|os.O_RDWR, 0) }`:                      "",
		`import "os"; func f(p string) { os.OpenFile(p, os.O_CREATE|os.O_EXCL, 0) }`:                      "new",
		`import "os"; func f(p string) { os.CreateTemp(p, "") }`:                                          "new",
		`import "os"; func f(p string) { os.ReadFile("/proc/" + p + "/stat") }`:                           "kernel",
		`import "os"; func f(p string) { d := "/proc/" + p; os.ReadDir(d) }`:                              "kernel",
		`import "os"; func f() { os.OpenFile(os.DevNull, 0, 0) }`:                                         "kernel",
		`import "net"; func f(p string) { net.Dial("unix", p) }`:                                          "socket",
		`import "modernc.org/sqlite"; func f(p string) { sqlite.NewConnector(p) }`:                        "",
		`import "modernc.org/sqlite"; func f(p string) { n, _ := own.SQLite(p); sqlite.NewConnector(n) }`: "own",
	} {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, "x.go", "package x; "+source, parser.SkipObjectResolution)
		require.NoError(t, err, source)
		found := opens(set, parsed, "sidecar/x")
		if assert.Len(t, found, 1, source) {
			assert.True(t, strings.HasPrefix(found[0].writer, writer) && (writer == "") == (found[0].writer == ""), "%s: %q", source, found[0].writer)
		}
	}
}

// opens are the calls in a file that open a path.
func opens(set *token.FileSet, file *ast.File, pkg string) (all []opened) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		from, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(from)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." && opening[from] != nil {
			all = append(all, opened{at: place(set, spec.Pos(), pkg), call: "import . " + from})
		}
		imports[name] = from
	}
	calls := map[*ast.SelectorExpr]*ast.CallExpr{}
	var scopes []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			scopes = append(scopes, n)
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				calls[s] = n
			}
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if !ok {
				return true
			}
			at, opens := opening[imports[of.Name]][n.Sel.Name]
			if !opens {
				return true
			}
			one := opened{at: place(set, n.Pos(), pkg), call: of.Name + "." + n.Sel.Name}
			call := calls[n]
			var scope ast.Node = file
			for _, f := range scopes {
				if f.Pos() <= n.Pos() && n.End() <= f.End() {
					scope = f
				}
			}
			switch {
			case doors[pkg] != "":
				one.writer = doors[pkg]
			case call == nil || len(call.Args) <= at:
			case strings.Contains(n.Sel.Name, "Temp"), mentions(call, "O_EXCL") && mentions(call, "O_CREATE"):
				one.writer = "new: made by this call"
			case imports[of.Name] == "net" && text(call.Args[0]) == "unix":
				one.writer = "socket: the kernel refuses whatever is none"
			default:
				one.writer = writer(scope, call.Args[at])
			}
			all = append(all, one)
		}
		return true
	})
	return all
}

// writer says who may write a path, as far as the expression tells; "" if it does not tell.
func writer(scope ast.Node, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		from := assigned(scope, e.Name)
		if len(from) != 1 {
			return "" // a parameter, or assigned more than once
		}
		return writer(scope, from[0])
	case *ast.CallExpr:
		s, ok := e.Fun.(*ast.SelectorExpr)
		of, _ := any(nil).(*ast.Ident)
		if ok {
			of, _ = s.X.(*ast.Ident)
		}
		switch {
		case of == nil:
		case of.Name == "foreign" || of.Name == "own":
			return of.Name + ": checked by it"
		case (of.Name == "fmt" || of.Name == "filepath") && len(e.Args) > 0:
			return kernel(text(e.Args[0]), e)
		}
		return ""
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && of.Name == "os" && e.Sel.Name == "DevNull" {
			return "kernel: " + "/dev/null"
		}
		return ""
	}
	first := e
	for {
		b, ok := first.(*ast.BinaryExpr)
		if !ok {
			break
		}
		first = b.X
	}
	return kernel(text(first), e)
}

// kernel says that a path is the kernel's, if it begins like one and does not lead elsewhere.
func kernel(begin string, whole ast.Node) string {
	its := slices.Contains([]string{"/proc", "/dev/tty", "/dev/null", "/dev/fd"}, begin) || strings.HasPrefix(begin, "/proc/")
	ast.Inspect(whole, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok {
			for _, out := range []string{"/cwd", "/root", "/fd/", "/map_files", "/exe", ".."} { // links to elsewhere
				its = its && !strings.Contains(l.Value, out)
			}
		}
		return true
	})
	if !its {
		return ""
	}
	return "kernel: " + begin
}

// assigned are the expressions that a function assigns to a name.
func assigned(scope ast.Node, name string) (all []ast.Expr) {
	ast.Inspect(scope, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && id.Name == name {
					all = append(all, n.Rhs[min(i, len(n.Rhs)-1)])
				}
			}
		case *ast.Field: // a parameter may have any value
			for _, id := range n.Names {
				if id.Name == name {
					all = append(all, nil, nil)
				}
			}
		}
		return true
	})
	return all
}

// mentions reports whether a call contains a name.
func mentions(call *ast.CallExpr, name string) (found bool) {
	ast.Inspect(call, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return true
	})
	return found
}

// text is the value of a literal; "" for anything else.
func text(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(l.Value)
	return s
}

func place(set *token.FileSet, at token.Pos, pkg string) string {
	p := set.Position(at)
	return fmt.Sprintf("%s/%s:%d", pkg, filepath.Base(p.Filename), p.Line)
}
