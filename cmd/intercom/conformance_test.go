package main_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/conformance/README.md")

// TestConformance checks that docs/conformance/README.md is what rows.txt and the names of the tests yield, and that no test
// claims a row that is not in rows.txt.
func TestConformance(t *testing.T) {
	root := os.DirFS("../..")
	sections := readRows(t, root)
	proofs := findProofs(t, root)

	known := map[string]bool{}
	for _, s := range sections {
		for _, r := range s.Rows {
			known[r.ID] = true
		}
	}
	for _, p := range proofs {
		assert.True(t, known[p.Row], "%s: %s names the row %q, which is not in docs/conformance/rows.txt; add the row or rename the test", p.File, p.Name, p.Row)
	}

	const page = "../../docs/conformance/README.md"
	want := conformancePage(sections, proofs)
	if *update && !t.Failed() {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err, "run `make conformance`")
	if string(have) != want {
		// A diff of the whole page would bury the one sentence that helps.
		t.Error("docs/conformance/README.md is stale: run `make conformance` and commit what it changes")
	}
}

// onlyLab are the rows of hostile input that no stand-in can prove: only the real agent shows what it makes of such a text.
// `make lab` proves them, `make test` does not.
var onlyLab = []string{"H4", "H5", "H6", "H7", "H8", "H12", "H19", "H22", "H30", "H73", "H74", "H75", "H76", "H77", "H78"}

// Every row of hostile input has a test, and only the rows of onlyLab have theirs in the lab alone.
func TestD7_everyHostileRowHasATest(t *testing.T) {
	proven, here := map[string]bool{}, map[string]bool{}
	for _, p := range findProofs(t, os.DirFS("../..")) {
		proven[p.Row] = true
		here[p.Row] = here[p.Row] || !strings.HasPrefix(p.Name, "TestLab_")
	}
	var lab []string
	for n := range 78 {
		row := fmt.Sprint("H", n+1)
		assert.True(t, proven[row], "no test is named after %s", row)
		if !here[row] {
			lab = append(lab, row)
		}
	}
	assert.Equal(t, onlyLab, lab, "these rows have a test in the lab alone")
}

func TestConformance_findProofs(t *testing.T) {
	t.Chdir(t.TempDir())
	// The row ids in these files are of a family that does not exist, so that nobody who searches the sources for row ids takes
	// them for proofs.
	writeFiles(t, map[string]string{
		"a/a_test.go": `package a
func TestZ9_Z16_NoEcho(t *testing.T) {
	t.Run("Y4 a shell", nil)
	t.Run("Y7, Y8: modes", nil)
	t.Run("plain Z23", nil)
	t.Run(name, nil)
}
func FuzzY10_Text(f *testing.F) {}
func BenchmarkY9_flood(b *testing.B) {}
func TestStep_late_Z1(t *testing.T) {}
func TestPlain(t *testing.T) {}
func TestUTF8_lower_z9(t *testing.T) {}
func helperZ3_Z4() {}
func (x T) TestZ6_method(t *testing.T) {}
`,
		"a/a.go":                           "package a\nfunc TestZ1_NotATest() {}\n",
		"testdata/script/Z3_Z4_demo.txtar": "exec intercom demo\n",
		"testdata/script/other.txtar":      "exec intercom version\n",
		".hidden/h_test.go":                "package h\nfunc TestZ2_Hidden(t *testing.T) {}\n",
	})
	var got []string
	for _, p := range findProofs(t, os.DirFS(".")) {
		got = append(got, p.Row+" "+p.Name+" "+p.File)
	}
	assert.Equal(t, []string{
		"Y4 TestZ9_Z16_NoEcho/Y4 a shell a/a_test.go",
		"Y7 TestZ9_Z16_NoEcho/Y7, Y8: modes a/a_test.go",
		"Y8 TestZ9_Z16_NoEcho/Y7, Y8: modes a/a_test.go",
		"Y9 BenchmarkY9_flood a/a_test.go",
		"Y10 FuzzY10_Text a/a_test.go",
		"Z1 TestStep_late_Z1 a/a_test.go",
		"Z3 Z3_Z4_demo.txtar testdata/script/Z3_Z4_demo.txtar",
		"Z4 Z3_Z4_demo.txtar testdata/script/Z3_Z4_demo.txtar",
		"Z9 TestZ9_Z16_NoEcho a/a_test.go",
		"Z16 TestZ9_Z16_NoEcho a/a_test.go",
	}, got)
}

func TestConformance_page(t *testing.T) {
	sections := []section{{Title: "A · letters", Rows: []row{
		{ID: "Z1", Demand: "One | two."},
		{ID: "Z2", Demand: "Three."},
	}}}
	page := conformancePage(sections, []proof{{Row: "Z1", Name: "TestZ1_x", File: "p/x_test.go"}, {Row: "Z1", Name: "TestY/Z1 a", File: "p/y_test.go"}, {Row: "Z1", Name: "TestY/Z1 b", File: "p/y_test.go"}})
	assert.Contains(t, page, "1 of 2 rows")
	assert.Contains(t, page, "| Z1 | One \\| two. | [TestZ1_x](../../p/x_test.go), [TestY](../../p/y_test.go) |\n")
	_, open, found := strings.Cut(page, "## Not yet proven\n")
	require.True(t, found)
	assert.Contains(t, open, "- Z2 Three.")
	assert.NotContains(t, open, "Z1")
	assert.NotContains(t, conformancePage(sections[:0], nil), "## Not yet proven")
}

// Helpers of the tests.

// row is one demand of docs/conformance/rows.txt; section is a heading there with its rows.
type (
	row     struct{ ID, Demand string }
	section struct {
		Title string
		Rows  []row
	}
)

// proof is a test that claims a row by its name.
type proof struct{ Row, Name, File string }

var (
	rowStart = regexp.MustCompile(`^([A-Z][0-9]+)\s+(\S.*)$`)
	rowID    = regexp.MustCompile(`^[A-Z][0-9]+$`)
	subtest  = regexp.MustCompile(`^(?:[A-Z][0-9]+[ _,:]+)+`)
)

func readRows(t *testing.T, root fs.FS) []section {
	t.Helper()
	const name = "docs/conformance/rows.txt"
	text, err := fs.ReadFile(root, name)
	require.NoError(t, err)

	var sections []section
	seen := map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		switch title, heading := strings.CutPrefix(line, "## "); {
		case heading:
			sections = append(sections, section{Title: title})
		case line == "" || strings.HasPrefix(line, "#"):
		default:
			found := rowStart.FindStringSubmatch(line)
			require.NotNil(t, found, "%s:%d: %q is not a row", name, n+1, line)
			require.NotEmpty(t, sections, "%s:%d: a row before the first heading", name, n+1)
			require.False(t, seen[found[1]], "%s:%d: a second row %s", name, n+1, found[1])
			seen[found[1]] = true
			at := &sections[len(sections)-1]
			at.Rows = append(at.Rows, row{ID: found[1], Demand: found[2]})
		}
	}
	return sections
}

// findProofs collects the names of all tests, fuzz targets, benchmarks, subtests and scripts below root, whatever their build
// tags, and sorts them by row.
func findProofs(t *testing.T, root fs.FS) []proof {
	t.Helper()
	var proofs []proof
	claim := func(file, name string, words []string) {
		for _, w := range words {
			if rowID.MatchString(w) {
				proofs = append(proofs, proof{Row: w, Name: name, File: file})
			}
		}
	}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || file == "bin" || file == "dist"):
			return fs.SkipDir
		case strings.HasSuffix(file, ".txtar"):
			claim(file, path.Base(file), strings.Split(strings.TrimSuffix(path.Base(file), ".txtar"), "_"))
		case strings.HasSuffix(file, "_test.go"):
			source, err := fs.ReadFile(root, file)
			if err != nil {
				return err
			}
			return eachTest(file, source, func(name string, words []string) { claim(file, name, words) })
		}
		return nil
	})
	require.NoError(t, err)
	slices.SortStableFunc(proofs, func(a, b proof) int {
		return cmp.Or(compareRows(a.Row, b.Row), cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(proofs)
}

// eachTest calls found for every test function of a Go file and every subtest with a literal name, with the words of the name
// that may be row ids.
func eachTest(file string, source []byte, found func(name string, words []string)) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil {
			continue
		}
		name := fn.Name.Name
		for _, prefix := range []string{"Test", "Fuzz", "Benchmark"} {
			if rest, ok := strings.CutPrefix(name, prefix); ok {
				found(name, strings.Split(rest, "_"))
			}
		}
		if fn.Body == nil {
			continue
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Run" {
				return true
			}
			literal, ok := call.Args[0].(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if title, err := strconv.Unquote(literal.Value); err == nil {
				found(name+"/"+title, strings.FieldsFunc(subtest.FindString(title), func(r rune) bool { return strings.ContainsRune(" _,:", r) }))
			}
			return true
		})
	}
	return nil
}

func compareRows(a, b string) int {
	if a[0] != b[0] {
		return cmp.Compare(a[0], b[0])
	}
	x, _ := strconv.Atoi(a[1:])
	y, _ := strconv.Atoi(b[1:])
	return cmp.Compare(x, y)
}

// conformancePage is the text of docs/conformance/README.md.
func conformancePage(sections []section, proofs []proof) string {
	by := map[string][]proof{}
	for _, p := range proofs {
		by[p.Row] = append(by[p.Row], p)
	}
	all, proven := 0, 0
	var tables, open strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&tables, "\n## %s\n\n| row | demand | tests |\n|---|---|---|\n", s.Title)
		for _, r := range s.Rows {
			all++
			var tests []string
			for _, p := range by[r.ID] {
				test, _, _ := strings.Cut(p.Name, "/")
				tests = append(tests, fmt.Sprintf("[%s](../../%s)", test, p.File))
			}
			tests = slices.Compact(tests) // subtests of one function share its link
			if len(tests) > 0 {
				proven++
			} else {
				tests = []string{"–"}
				fmt.Fprintf(&open, "- %s %s\n", r.ID, r.Demand)
			}
			fmt.Fprintf(&tables, "| %s | %s | %s |\n", r.ID, cell(r.Demand), cell(strings.Join(tests, ", ")))
		}
	}
	page := "# Conformance\n\n" +
		"<!-- Written by `make conformance` from rows.txt and the names of the tests; a test fails when it is stale. -->\n\n" +
		"What this project demands of itself. A test that proves a row carries its id in its name. A name is a claim: read\n" +
		"the test to see what it checks.\n\n" +
		fmt.Sprintf("%d of %d rows have a test named after them.\n", proven, all) + tables.String()
	if open.Len() > 0 {
		page += "\n## Not yet proven\n\nNo test is named after these rows.\n\n" + open.String()
	}
	return page
}

// cell escapes text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
}
