package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

var (
	inFences = regexp.MustCompile("(?ms)^```([a-z]*)\\n(.*?)^```$")
	comment  = regexp.MustCompile(`\s{2,}#.*$`)
	mdLink   = regexp.MustCompile(`\]\(([^)#:]+)?(#[^)]+)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// pages are the pages that a user reads, as paths from this package.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	return append([]string{"../../README.md"}, all...)
}

// fails are the lines that fail in TestU27_everyCommandOfThePagesRuns, with the exit codes that they may have.
var fails = map[string][]int{
	// Nothing can be started here, so the started sessions do not exist either.
	"intercom session start --agent codex --title 'Fix the tests' --message 'Run make test, and fix what fails.'":                      {1},
	"intercom session data fix-the-tests --tail 500":                                                                                   {1},
	"intercom session end fix-the-tests":                                                                                               {1},
	"intercom team spawn alice --role 'frontend developer' --agent claude --prompt 'Plan the dashboard in trysamples.'":                {1},
	"intercom team plan-review 1f2e3d4c --approve":                                                                                     {1},
	"intercom team shutdown-request alice":                                                                                             {1},
	"intercom team shutdown-status 9a8b7c6d":                                                                                           {1},
	"intercom aea send --to-path /src/server --to claude-server --type question --subject 'Port?' --message 'Which port does it use?'": {1},
	// The agents have said nothing, and one may not be at rest yet.
	"intercom ask %5 --from %3 --say 'What is wrong with this plan?'": {1},
	"intercom send %5 'The tests are green again.'":                   {0, 5},
	// No such message waits, and no person is at a terminal to approve it.
	"intercom inbox approve 00217fe2": {1},
	// Both panes hold agents here, not line programs.
	"intercom adopt %3 --as line --name Ada":                                       {1},
	"intercom adopt %5 --as line --name Ben":                                       {1},
	"intercom chat start Ada Ben --name first --say 'Introduce yourself, please.'": {1},
	"intercom chat stop first":                                                     {0, 1}, // 0 the first time: the chat exists
}

// TestU27_everyCommandOfThePagesRuns runs each command line of the README and of docs in order, on a server where %3 and %5 are
// two agents, as the pages say. A line may fail only if fails lists it, for something that is missing here.
func TestU27_everyCommandOfThePagesRuns(t *testing.T) {
	t.Parallel()
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
		ran, unmet := 0, maps.Clone(fails)
		for _, page := range pages(t) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			for _, block := range inFences.FindAllStringSubmatch(string(text), -1) {
				if block[1] != "" { // "sh" blocks are for other computers
					continue
				}
				for line := range strings.Lines(block[2]) {
					line = comment.ReplaceAllString(strings.TrimSpace(line), "")
					if !strings.HasPrefix(line, "intercom ") {
						continue
					}
					ran++
					patience := 20 * time.Second
					if strings.HasSuffix(line, " -f") || strings.HasPrefix(line, "intercom persona") {
						patience = time.Second // these run until they are stopped
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+thisProgram()+strings.TrimPrefix(line, "intercom"))
					cmd.Dir = work
					cmd.Env = append(st.environ(), "INTERCOM_SERVER="+st.Socket, "EDITOR=true")
					out, err := cmd.CombinedOutput()
					late := ctx.Err() != nil
					cancel()
					code := 0
					if failed, ok := errors.AsType[*exec.ExitError](err); ok {
						code = failed.ExitCode()
					}
					assert.True(t, late || fails[line] == nil && code == 0 || slices.Contains(fails[line], code), "%s: %s: exit code %d\n%s", page, line, code, out)
					delete(unmet, line)
					assert.False(t, late && patience > time.Second, "%s: %s: does not end", page, line)
				}
			}
		}
		assert.Greater(t, ran, 30, "commands")
		assert.Empty(t, unmet, "lines that are in no page any more")
		// The ports that the pages open stay served without tmux, so every sidecar has to end.
		out, code := st.intercom("down", "--all")
		assert.Zero(t, code, out)
	})
}

// TestU27_everyLinkLeadsSomewhere checks that each link between pages leads to a file and a heading that exist.
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

// TestU27_theREADMEIsShort keeps the README within two screens of a browser; the rest is in docs.
func TestU27_theREADMEIsShort(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 130, "lines")
	assert.LessOrEqual(t, len(strings.Fields(string(text))), 1000, "words")
}

var inline = regexp.MustCompile("`intercom ([^`\n]+)`")

// TestU27_everyCommandNamedInASentenceExists checks that commands in running text exist and have the flags named. It does not run
// them.
func TestU27_everyCommandNamedInASentenceExists(t *testing.T) {
	named := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range inline.FindAllStringSubmatch(string(text), -1) {
			named++
			cmd := (&app{env: env{Getenv: func(string) string { return "" }}}).root()
			for word := range strings.FieldsSeq(strings.ReplaceAll(m[1], `\|`, "|")) {
				word, _, _ = strings.Cut(strings.Trim(word, "[],"), "|") // the first of several alternatives
				name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
				switch {
				case strings.HasPrefix(word, "--"):
					assert.NotNil(t, cmp.Or(cmd.Flag(name), cmd.InheritedFlags().Lookup(name)), "%s: %s: no flag %s", page, m[0], word)
				case strings.HasPrefix(word, "-"), !cmd.HasAvailableSubCommands():
				default:
					i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
					if !assert.GreaterOrEqual(t, i, 0, "%s: %s: no command %s", page, m[0], word) {
						break
					}
					cmd = cmd.Commands()[i]
				}
			}
		}
	}
	assert.Greater(t, named, 100, "commands")
}
