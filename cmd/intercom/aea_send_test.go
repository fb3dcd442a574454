package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// When many programs send to one repository at once, each message gets a file and an id of its own, a reader never sees half
// of one, and each is processed once.
func TestA7_A54_A56_C12_sentAtOnce(t *testing.T) {
	t.Parallel()
	const senders = 5
	each := 8
	if os.Getenv("INTERCOM_LONG") != "" {
		each = 10_000 / senders
	}
	k := newTalker(t)
	asker, target := filepath.Join(k.env["HOME"], "asker"), filepath.Join(k.env["HOME"], "target")
	for _, dir := range []string{asker, target} {
		require.NoError(t, os.Mkdir(dir, 0o700))
		k.runsIn(dir, "aea", "install")
	}
	var sending, looking sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for i := range each {
				words := []string{"aea", "send", "--to", "claude-target", "--type", "update", "--subject", "S", "--message", strings.Repeat("x", 5000)}
				cmd := k.command(thisProgram(), words...)
				cmd.Dir = asker
				out, err := cmd.CombinedOutput()
				if !assert.NoError(t, err, "%d: %s", i, out) {
					return
				}
			}
		})
	}
	ids := map[string]int{}
	sent, over := func() { // looks once at each file that is there
		paths, err := filepath.Glob(filepath.Join(target, ".aea", "message-*.json"))
		assert.NoError(t, err)
		for _, path := range paths {
			if ids[path] > 0 {
				continue
			}
			ids[path]++
			text, err := os.ReadFile(path)
			assert.NoError(t, err)
			var m struct {
				ID string `json:"message_id"`
			}
			assert.NoError(t, json.Unmarshal(text, &m), "%d bytes of %s", len(text), path)
			assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, m.ID)
			ids[m.ID]++
		}
	}, make(chan struct{})
	looking.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				sent()
			}
		}
	})
	sending.Wait()
	close(over)
	looking.Wait()
	sent()
	assert.Len(t, ids, 2*senders*each, "files, and ids")
	for id, times := range ids {
		assert.Equal(t, 1, times, id)
	}
	assert.Contains(t, k.runsIn(asker, "aea", "check", "--json"), `"unprocessed":0`, "what was sent from there is not its own mail")

	k.runsIn(target, "aea", "monitor", "start")
	logged := func() string {
		text, _ := os.ReadFile(filepath.Join(target, ".aea", "agent.log"))
		return string(text)
	}
	for done := 0; done < senders*each; {
		until(t, func() bool {
			now := strings.Count(logged(), " -> acknowledged\n")
			more := now > done
			done = now
			return more
		})
	}
	lines := map[string]bool{}
	for line := range strings.Lines(logged()) {
		_, what, _ := strings.Cut(line, "] ")
		assert.False(t, lines[what], "%s", fmt.Sprint("twice: ", what))
		lines[what] = true
	}
	assert.Len(t, lines, senders*each)
}

// A name stands for the repository that had it first. Once that one is disabled, the name is ambiguous if several others
// have it, and stands for the only one left if the rest have gone.
func TestAEASend_whoseTheNameIs(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	home := k.env["HOME"]
	var all []string
	for _, dir := range []string{"a", "b", "c"} {
		all = append(all, filepath.Join(home, dir, "one"))
		require.NoError(t, os.MkdirAll(all[len(all)-1], 0o700))
		k.runsIn(all[len(all)-1], "aea", "install")
	}
	sent := func() string {
		var s aeaSent
		require.NoError(t, json.Unmarshal([]byte(k.runsIn(home, "aea", "send", "--to", "claude-one", "--type", "update", "--subject", "S", "--message", "B")), &s))
		return s.To.Path
	}
	assert.Equal(t, all[0], sent())
	k.runsIn(all[0], "aea", "disable")
	cmd := k.command(thisProgram(), "aea", "send", "--to", "claude-one", "--type", "update", "--subject", "S", "--message", "B")
	cmd.Dir = home
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "is that of 2 repositories: "+all[1]+", "+all[2])
	assert.Contains(t, string(out), "--to-path")
	require.NoError(t, os.RemoveAll(all[2]))
	assert.Equal(t, all[1], sent())
}

// Whoever installs a repository whose agent has another one's name is told, and no entry of AEA's registry is lost without
// a word: not that of an agent on another computer, nor that of a repository that is gone or was disabled.
func TestAEAInstall_nameOfAnother(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	home := k.env["HOME"]
	list := filepath.Join(home, ".config", "aea", "agents.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(list), 0o700))
	far := "agents:\n  claude-one:\n    host: desk\n    path: /src/one\n    enabled: true\n"
	require.NoError(t, os.WriteFile(list, []byte(far), 0o600))
	install := func(dir string) (r aeaInstalled) {
		dir = filepath.Join(home, dir)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, json.Unmarshal([]byte(k.runsIn(dir, "aea", "install", "--json")), &r))
		assert.True(t, r.Enabled)
		return r
	}
	assert.Contains(t, install("one").Warning, `agent "claude-one" already belongs to "desk:/src/one"`)
	assert.Equal(t, far, read(t, list))

	assert.Empty(t, install("a/two").Warning)
	assert.Contains(t, install("b/two").Warning, `agent "claude-two" already belongs to "`+filepath.Join(home, "a/two"))
	k.runsIn(filepath.Join(home, "a/two"), "aea", "disable")
	assert.Contains(t, install("b/two").Warning, `agent "claude-two" of AEA's registry was that of "`+filepath.Join(home, "a/two")+`", which is gone or not enabled`)
	assert.Empty(t, install("b/two").Warning)
	assert.Contains(t, install("a/two").Warning, "already belongs to")
}
