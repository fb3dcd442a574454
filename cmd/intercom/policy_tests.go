package main

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// testsReply is what `policy test` prints with --json.
type testsReply struct {
	OK     bool            `json:"ok"`
	Passed int             `json:"passed"`
	Failed int             `json:"failed"`
	Files  []policy.Tested `json:"files"`
}

func (a *app) policyTest() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:   "test [FILE…]",
		Short: "Run the tests that lie beside policies",
		Long: `Run the tests of your policies, or the FILEs that you name. Those of
policies/50-x.lua are in policies/50-x_test.lua, which says of messages what the
policy has to answer:

  local msg = fixture { type = "handoff", from = "Planner" }
  cases("who may hand off", "decide", {
    { msg, "deliver" },
    { msg { from = "Eve" }, { verb = "ask", reason = "a handoff" } },
    { msg { type = "turn" }, nothing },
  })
  test("the fourth in a minute waits", function(t)
    for i = 1, 3 do t.expect("guard", msg, nothing) end
    t.expect("guard", msg, "ask")
    t.advance(61)
    t.expect("guard", msg, nothing)
  end)

The second argument is a hook, or "verdict" for what becomes of the message in
the end. Each message has the limits that it has in earnest. Lines that no test
has run are listed, and rules that never decided. The exit code is 1 if a test
failed.`,
		Example: `  intercom policy test
  intercom policy test --run 'hand off'`,
		Args: between(0, -1, "files"),
		RunE: withCode(func(cmd *cobra.Command, args []string) (code int, err error) {
			err = do(a, func(cmd *cobra.Command, args []string) (testsReply, error) {
				pattern, err := regexp.Compile(only)
				if err != nil {
					return testsReply{}, api.Errorf(api.CodeUsage, "--run: %w", err).WithHint("regular expressions are those of RE2")
				}
				r, err := a.test(cmd.Context(), args, pattern)
				if err == nil && !r.OK {
					code = api.CodeFailed.Exit()
				}
				return r, err
			}, a.showTests)(cmd, args)
			return code, err
		}),
	}
	cmd.Flags().StringVar(&only, "run", "", "tell only of tests whose title matches `REGEXP`")
	return cmd
}

// test runs tests, and keeps the results of those whose titles match.
func (a *app) test(ctx context.Context, named []string, only *regexp.Regexp) (testsReply, error) {
	r := testsReply{OK: true, Files: []policy.Tested{}}
	all, err := a.tests(named)
	if err != nil {
		return r, err
	}
	engine := scripting.New(scripting.Options{})
	for _, b := range all {
		t, err := engine.Test(ctx, b, nil)
		if err != nil {
			return r, err
		}
		t.Cases = slices.DeleteFunc(t.Cases, func(c policy.Case) bool { return !only.MatchString(c.Title) })
		for _, c := range t.Cases {
			if c.Failed == nil {
				r.Passed++
			} else {
				r.Failed++
			}
		}
		r.OK = r.OK && t.Passed()
		r.Files = append(r.Files, t)
	}
	return r, nil
}

// tests reads the tests of a person's set, or only those that are named, by themselves or by their policies.
func (a *app) tests(named []string) ([]scripting.Beside, error) {
	if len(named) == 0 {
		config, err := a.configDir()
		if err != nil {
			return nil, err
		}
		all, err := scripting.ReadTests(config)
		if err != nil {
			return nil, api.Errorf(api.CodeFailed, "%w", err).WithHint("beside policies/x_test.lua is policies/x.lua, in %s", config)
		}
		return all, nil
	}
	var all []scripting.Beside
	for _, path := range named {
		path = filepath.Clean(path)
		if !scripting.IsTests(path) {
			path = strings.TrimSuffix(path, ".lua") + "_test.lua"
		}
		b, err := scripting.ReadBeside(path, path)
		if err != nil {
			return nil, api.Errorf(api.CodeUsage, "%w", err).WithHint("the tests of x.lua are in x_test.lua beside it")
		}
		all = append(all, b)
	}
	return all, nil
}

func (a *app) showTests(r testsReply) {
	for _, f := range r.Files {
		for _, p := range f.Problems {
			a.say("%s", plainLine(problemLine(p)))
		}
		failed := 0
		for _, c := range f.Cases {
			if c.Failed != nil {
				failed++
				a.showFailedCase(f, c)
			}
		}
		a.say("%s: %d passed, %d failed", plainLine(f.File), len(f.Cases)-failed, failed)
		if missed := lineRanges(f.Coverage.Unrun); missed != "" {
			a.say("  %s: lines never run: %s", plainLine(f.Of), missed)
		}
		for _, rule := range f.Coverage.Unheld {
			a.say("  %s: never decided", plainLine(rule))
		}
	}
	if len(r.Files) == 0 {
		a.say("there are no tests: those of policies/x.lua are in policies/x_test.lua; intercom policy test --help shows some")
	}
}

func (a *app) showFailedCase(f policy.Tested, c policy.Case) {
	a.say("FAIL %s:%d %s: %s", plainLine(f.File), c.Line, plainLine(c.Title), plainLine(c.Failed.Text))
	for _, of := range []struct{ what, text string }{
		{"message", c.Failed.Message},
		{"hook", c.Failed.Hook},
		{"want", c.Failed.Want},
		{"got", c.Failed.Got},
		{"by", c.Failed.By},
		{"reason", c.Failed.Reason},
		{"printed", c.Failed.Log},
	} {
		if of.text != "" {
			a.say("  %-8s %s", of.what, plainLine(of.text))
		}
	}
}

// lineRanges formats a sorted list of numbers as people write it: 3, 7-9.
func lineRanges(lines []int) string {
	var parts []string
	for i := 0; i < len(lines); {
		last := i
		for last+1 < len(lines) && lines[last+1] == lines[last]+1 {
			last++
		}
		part := strconv.Itoa(lines[i])
		if last > i {
			part += "-" + strconv.Itoa(lines[last])
		}
		parts = append(parts, part)
		i = last + 1
	}
	return strings.Join(parts, ", ")
}
