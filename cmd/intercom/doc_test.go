package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxLines is the longest that a file may be for a reader to keep it in mind.
const maxLines = 700

func TestDoc_everyPackageSaysWhatItIs(t *testing.T) {
	ofSources(t)
	for _, p := range listed(t, nil, "-json=ImportPath,Name,Doc", "./...") {
		assert.NotEmpty(t, p.Doc, "%s has no package comment", p.ImportPath)
		if p.Name != "main" {
			assert.True(t, strings.HasPrefix(p.Doc, "Package "+p.Name+" "), "%s: its comment begins otherwise than Package %s: %q", p.ImportPath, p.Name, p.Doc)
		}
	}
}

func TestDoc_filesStayShort(t *testing.T) {
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	seen := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && (name == "testdata" || len(name) > 2 && name[0] == '.') {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		seen++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := strings.Count(string(text), "\n")
		assert.True(t, lines <= maxLines || generated.Match(text), "%s has %d lines: two concepts in one file?", path, lines)
		return nil
	})
	require.NoError(t, err)
	assert.Greater(t, seen, 50, "the whole repository is looked at")

	text, err := os.ReadFile("main.go")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 40, "main.go only begins and ends the program")
}
