package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

var (
	inFences = regexp.MustCompile("(?ms)^```\\n(.*?)^```$")
	comment  = regexp.MustCompile(`\s{2,}#.*$`)
	mdLink   = regexp.MustCompile(`\]\(([^)#:]+)?(#[^)]+)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// pages are the pages that a person reads, from the root of the project.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	return append([]string{"../../README.md"}, all...)
}

// TestU27_everyCommandOfThePagesRuns runs each command line of the README and of docs in order, on a server where %3 and %5 are
// two agents as the pages say. What is refused must be refused for what is missing here, never for how it is written.
func TestU27_everyCommandOfThePagesRuns(t *testing.T) {
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		for id := 1; id <= 5; id++ {
			switch id {
			case 3:
				require.Equal(t, "%3", st.agent("claude", "").Pane)
			case 5:
				require.Equal(t, "%5", st.agent("codex", "").Pane)
			default:
				st.Run("new-window", "-d", "cat")
			}
		}
		work := filepath.Join(st.home, "work")
		require.NoError(t, os.Mkdir(work, 0o700))
		ran := 0
		for _, page := range pages(t) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, block := range inFences.FindAllStringSubmatch(string(text), -1) {
				for line := range strings.Lines(block[1]) {
					line = comment.ReplaceAllString(strings.TrimSpace(line), "")
					if !strings.HasPrefix(line, "intercom ") {
						continue
					}
					ran++
					patience := 20 * time.Second
					if strings.HasSuffix(line, " -f") || strings.HasPrefix(line, "intercom persona") {
						patience = time.Second // they end when they are told to
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+thisProgram()+strings.TrimPrefix(line, "intercom"))
					cmd.Dir = work
					cmd.Env = append(st.environ(), "INTERCOM_SERVER="+st.Socket, "EDITOR=true")
					out, err := cmd.CombinedOutput()
					late := ctx.Err() != nil
					cancel()
					if failed, ok := errors.AsType[*exec.ExitError](err); ok && !late {
						assert.NotEqual(t, 2, failed.ExitCode(), "%s: %s\n%s", page, line, out)
						assert.NotEqual(t, 3, failed.ExitCode(), "%s: %s\n%s", page, line, out)
					}
					assert.False(t, late && patience > time.Second, "%s: %s: does not end", page, line)
				}
			}
		}
		assert.Greater(t, ran, 30, "commands")
	})
}

// TestU27_everyLinkLeadsSomewhere looks at links between pages.
func TestU27_everyLinkLeadsSomewhere(t *testing.T) {
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, l := range mdLink.FindAllStringSubmatch(string(text), -1) {
			target := page
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(page), l[1])
			}
			body, err := os.ReadFile(target)
			if info, e := os.Stat(target); e == nil && info.IsDir() {
				continue
			}
			if !assert.NoError(t, err, "%s: %s", page, l[0]) || l[2] == "" {
				continue
			}
			found := false
			for _, h := range heading.FindAllStringSubmatch(string(body), -1) {
				anchor := strings.ReplaceAll(regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
				found = found || "#"+anchor == l[2]
			}
			assert.True(t, found, "%s: %s: no such heading", page, l[0])
		}
	}
}

// TestU27_theREADMEIsShort: within two screens of a browser, the rest is in docs.
func TestU27_theREADMEIsShort(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 130, "lines")
	assert.LessOrEqual(t, len(strings.Fields(string(text))), 1000, "words")
}
