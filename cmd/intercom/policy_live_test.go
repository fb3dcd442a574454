package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Before a rollback the person is told which files change, and how old the earlier set is.
func TestL15_rollbackSaysWhatChanges(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	for old, said := range map[time.Duration]string{
		time.Second: "1 second", 59 * time.Second: "59 seconds", time.Minute: "1 minute", 90 * time.Minute: "1 hour",
		47 * time.Hour: "47 hours", 73 * time.Hour: "3 days",
	} {
		s := policy.Status{Generation: "c0ffee", Since: now.Add(-time.Hour), Earlier: &policy.Earlier{
			Kept: policy.Kept{Generation: "files", Set: "decaf", At: now.Add(-1000 * time.Hour), Until: now.Add(-old)}, Changes: []string{"init.lua: changed", "policies/50-\x1b[2J.lua: back"},
		}}
		assert.Equal(t, "In use: policies c0ffee, since 2026-03-01 11:00:00.\n"+
			"Before: decaf, last used "+day(now.Add(-old))+", "+said+" ago.\n"+
			"  init.lua: changed\n  "+plainLine("policies/50-\x1b[2J.lua: back")+"\nGo back to the ones before?", rollbackAsked(s, now))
		s.Earlier.Kept = policy.Kept{Generation: "decaf", At: now.Add(-old)}
		assert.Contains(t, rollbackAsked(s, now), "Before: decaf, put into use "+day(now.Add(-old)), "no more was written down")
		s.Generation, s.Earlier.Generation = "0123456789abcdef", "fedcba9876543210"
		for line := range strings.Lines(rollbackAsked(s, now)) {
			assert.LessOrEqual(t, cellsOf(strings.TrimSuffix(line, "\n")), 80, "a terminal of 80 columns parts no line of it")
		}
		s.Error = "init.lua:3: broken\nmore"
		assert.Contains(t, rollbackAsked(s, now), "Your files as they are now are not in use: init.lua:3: broken\nThe last good ones are in use; this goes back beyond them.\nIn use: ")
		s.Error, s.Earlier.Changes = "", nil
		assert.Contains(t, rollbackAsked(s, now), said+" ago.\n  only settings differ\n")
	}
}

// The mark of a laxer change is explained once below the table. If no change is laxer, there is no column for it.
func TestPolicyDiff_saysWhatItsMarkMeans(t *testing.T) {
	t.Parallel()
	stricter := policy.Change{Message: "01a1ff21-5c0d-7e46-8ed2-22904d0c0001", From: "Ada", To: "Ben", Type: "text", Was: message.VerbDeliver, Is: message.VerbHold, By: "init.lua:1"}
	laxer := policy.Change{Message: "01a1ff21-5c0d-7e46-8ed2-22904d0c0002", From: "Ben", To: "Ada", Type: "text", Was: message.VerbHold, Is: message.VerbDeliver, By: "init.lua:2"}
	shown := func(tr policy.Trial) []string {
		var out strings.Builder
		a := &app{env: env{Stdout: &out}}
		a.showTrial(tr)
		return strings.Split(out.String(), "\n")
	}
	assert.Equal(t, []string{
		"!  MESSAGE   FROM  TO   TYPE  NOW      THEN     BY",
		"-  4d0c0001  Ada   Ben  text  deliver  hold     init.lua:1",
		"!  4d0c0002  Ben   Ada  text  hold     deliver  init.lua:2",
		"! marks a message that would go where it did not go before, or not as far",
		"9 messages tried: 2 changes, 1 of them laxer", "",
	}, shown(policy.Trial{Tried: 9, Changed: []policy.Change{stricter, laxer}, Loosened: []policy.Change{laxer}}))
	assert.Equal(t, []string{
		"MESSAGE   FROM  TO   TYPE  NOW      THEN  BY",
		"4d0c0001  Ada   Ben  text  deliver  hold  init.lua:1",
		"9 messages tried: 1 change, 0 of them laxer", "",
	}, shown(policy.Trial{Tried: 9, Changed: []policy.Change{stricter}}))
}

// A sidecar tells what its policies decided, what they would decide now, and what other files would change, and rolls back.
func TestL11_ofASidecar(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	config := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
	write := func(dir, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "policies"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "policies", "50-quiet-hours.lua"), []byte(text), 0o600))
	}
	require.NoError(t, os.MkdirAll(config, 0o700))
	pane := st.NewPane(personatest.Program(t), "line", "--name", "Ada", "--prompt", "ada> ", "--reply", "none")
	run := func(args ...string) string {
		t.Helper()
		out, code := st.intercom(args...)
		require.Zero(t, code, "%s: %s", args, out)
		return out
	}
	tmuxtest.WaitFor(t, "it is adopted", func() bool {
		_, code := st.intercom("adopt", pane, "--as", "line")
		return code == 0
	})
	id := strings.Fields(run("send", pane, "please deploy", "--wait", "submitted"))[0]
	var log []policy.Entry
	require.NoError(t, json.Unmarshal([]byte(run("policy", "log", "--json")), &log))
	require.NotEmpty(t, log)
	last := log[len(log)-1]
	assert.Equal(t, "decided", last.Event)
	assert.True(t, last.Message.Is(id))
	assert.Contains(t, last.By, "shipped/99-last-word.lua:")

	other := t.TempDir()
	write(other, `intercom.rule("deploying", { body = "deploy" }, intercom.hold { reason = "not today" })`)
	out := run("policy", "diff", other)
	assert.Contains(t, out, "1 message tried: 1 change, 0 of them laxer")
	assert.NotContains(t, out, "settings")
	words := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(words, "init.lua"), []byte(`intercom.configure { attribution = "From {name}: " }`), 0o600))
	out = run("policy", "diff", words)
	assert.Contains(t, out, "0 changes")
	assert.Contains(t, out, "settings that differ, and were not tried: attribution\n")

	write(config, `intercom.rule("deploying", { body = "deploy" }, intercom.ask { reason = "deploys" })`)
	tmuxtest.WaitFor(t, "it is in use", func() bool {
		return strings.Contains(run("policy", "explain", id), "ask (deploys), by policies/50-quiet-hours.lua:1")
	})
	told := run("policy", "explain", id)
	assert.Contains(t, told, "deliver by shipped/99-last-word.lua:", "what was decided then")
	out = run("policy", "diff")
	assert.Contains(t, out, "1 message tried: 0 changes")
	assert.Contains(t, out, "your files are in use as they are")

	write(config, "x(")
	tmuxtest.WaitFor(t, "it is refused", func() bool { return strings.Contains(run("policy", "log"), "refused: policies/50-quiet-hours.lua:1:") })
	out, code := st.intercom("policy", "diff")
	assert.Equal(t, 1, code)
	assert.Contains(t, out, "policies/50-quiet-hours.lua:1:")
	assert.Regexp(t, `(?m)^quiet-hours +yes `, run("policy", "use"))
	shell := st.shell()
	st.Run("send-keys", "-t", shell, "-l", thisProgram()+" policy rollback --server="+st.Socket)
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "Go back to the ones before? [y/N]")
	asked := st.Run("capture-pane", "-pJ", "-t", shell)
	sets := regexp.MustCompile(`In use: policies (\S+), since \d{4}-.*\nBefore: (\S+), last used \d{4}-.* ago\.\n  policies/50-quiet-hours\.lua: gone\n`).FindStringSubmatch(asked)
	require.NotNil(t, sets, asked)
	st.Run("send-keys", "-t", shell, "y")
	st.WaitForText(shell, "your files are not used until you change one")
	assert.Contains(t, st.Run("capture-pane", "-pJ", "-t", shell), "in use: "+sets[2]+", with 0 files beside those that come with intercom", "it is called what it was called, and ours are not the person's")
	assert.Contains(t, run("policy", "log"), sets[2])
	tmuxtest.WaitFor(t, "it is as before", func() bool { return !strings.Contains(run("policy", "explain", id), "50-quiet-hours.lua") })
	assert.Contains(t, run("policy", "log"), "rolled back")
	const earlier = `^earlier policies are in use since \d{4}-.*; your files are not used until you change one`
	used := run("policy", "use")
	assert.Regexp(t, earlier+`\n`, used)
	assert.Regexp(t, `(?m)^quiet-hours +- `, used, "the file is there, and not in force")
	out, _ = st.intercom("policy", "explain", "--type", "query")
	assert.Regexp(t, earlier+`: this is what they would do\n`, out)
	assert.Contains(t, run("status"), "policy: earlier policies are in use", "the status says that the files are not in use")
	out, _ = st.intercom("doctor")
	assert.Contains(t, out, "any change to one of your files, a comment too, has them used")

	require.NoError(t, os.Remove(filepath.Join(config, "policies", "50-quiet-hours.lua")))
	tmuxtest.WaitFor(t, "the files are what is in use", func() bool { return !strings.Contains(run("status"), "policy:") })

	// `policy check` adds a note if files without errors are not in use.
	assert.NotContains(t, run("policy", "check"), "note:")
	before := askOf(st, api.Policy).Generation
	require.NoError(t, os.WriteFile(filepath.Join(config, "init.lua"), []byte("return { brakes = { depth = 7 } }\n"), 0o600))
	tmuxtest.WaitFor(t, "they are in use", func() bool { return askOf(st, api.Policy).Generation != before })
	shell = st.shell()
	st.Run("send-keys", "-t", shell, "-l", thisProgram()+" policy rollback --server="+st.Socket)
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "Go back to the ones before? [y/N]")
	st.Run("send-keys", "-t", shell, "y")
	st.WaitForText(shell, "your files are not used until you change one")
	assert.Regexp(t, `no problems\nintercom: note: earlier policies are in use since \d{4}-.*; your files are not used until you change one\n$`, run("policy", "check"))
}
