package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// If a file cannot be written or read for lack of permission, the error names its repository, even another one, and the hint
// holds a command that repairs it when typed as it is.
func TestA50_hintsPutItRight(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "it's two")
	bin := filepath.Join(k.env["HOME"], "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.Symlink(thisProgram(), filepath.Join(bin, "intercom")))
	k.env["PATH"] = bin + ":" + k.env["PATH"]
	run := func(dir string, words ...string) (stderr string, failed bool) {
		cmd := k.command(words[0], words[1:]...)
		if os.Geteuid() == 0 { // root may do everything
			program, err := exec.LookPath("setpriv")
			if err != nil {
				t.Skip("permissions do not hold root back, and there is no setpriv here, which lets it be: install util-linux")
			}
			cmd = k.command(program, append([]string{"--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"}, words...)...)
		}
		cmd.Dir = dir
		text := &strings.Builder{}
		cmd.Stderr = text
		err := cmd.Run()
		return text.String(), err != nil
	}
	message := filepath.Join(all[1], ".aea", "message-20251014T054200Z-from-claude-one.json")
	require.NoError(t, os.WriteFile(message, []byte(`{"message_type":"question","message":{"body":"B"}}`), 0o600))
	for _, one := range []struct {
		mode  os.FileMode
		path  string // in the second repository
		in    string
		words []string
	}{
		{0o500, ".aea", all[0], []string{"send", "--to", "claude-it-s-two", "--to-path", all[1], "--type", "update", "--subject", "S", "--message", "B"}},
		{0o500, ".aea", all[1], []string{"send", "--to", "claude-it-s-two", "--to-path", all[1], "--type", "update", "--subject", "S", "--message", "B"}},
		{0o000, ".aea", all[0], []string{"list", "--repository", all[1]}},
		{0o000, ".aea", all[1], []string{"list"}},
		{0o500, ".aea/.processed", all[0], []string{"done", "--repository", all[1], filepath.Base(message)}},
		{0o500, ".aea", all[0], []string{"archive", "--repository", all[1], "--older-than", "0d"}},
		{0o500, ".aea", all[0], []string{"install", "--repository", all[1]}},
	} {
		if one.words[0] == "install" {
			require.NoError(t, os.Remove(filepath.Join(all[1], ".aea", "README.md")))
		}
		require.NoError(t, os.Chmod(filepath.Join(all[1], one.path), one.mode))
		words := append([]string{"intercom", "aea"}, one.words...)
		stderr, failed := run(one.in, words...)
		assert.True(t, failed, "%v", words)
		assert.Contains(t, stderr, all[1], "%v", words)
		assert.Contains(t, stderr, "permission denied", "%v", words)
		_, hint, ok := strings.Cut(stderr, "intercom: hint: ")
		require.True(t, ok, "%v: %s", words, stderr)
		_, _ = run(one.in, "sh", "-c", hint) // this fails if there is something else to repair
		stderr, failed = run(one.in, words...)
		assert.False(t, failed, "%v, after %s: %s", words, hint, stderr)
	}
}

// A message for a repository that is not enabled here is stored, and the sender is told the command that enables it.
func TestSend_notEnabled(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	asker := k.repositories("asker")[0]
	cloned := filepath.Join(k.env["HOME"], "cloned")
	require.NoError(t, os.MkdirAll(filepath.Join(cloned, ".aea"), 0o700))
	send := func() (said string) {
		cmd := k.command(thisProgram(), "aea", "send", "--to", "claude-cloned", "--to-path", cloned, "--type", "update", "--subject", "S", "--message", "B")
		cmd.Dir = asker
		text := &strings.Builder{}
		cmd.Stderr = text
		require.NoError(t, cmd.Run(), text.String())
		return text.String()
	}
	_, command, found := strings.Cut(strings.TrimSpace(send()), "no sidecar processes the message; intercom ")
	require.True(t, found)
	words, whole := strings.CutSuffix(command, " enables it")
	require.True(t, whole, command)
	k.runsIn(asker, strings.Fields(words)...)
	assert.Empty(t, send())

	// From a directory without a repository no answer can come back, and the message goes to no agent.
	nowhere := k.command(thisProgram(), "aea", "send", "--to", "claude-asker", "--to-path", asker, "--type", "question", "--subject", "S", "--message", "B")
	nowhere.Dir = t.TempDir()
	out, err := nowhere.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "no answer can come there, and a sidecar gives the message to no agent; intercom aea install --repository "+nowhere.Dir+" enables it")

	// In one's own repository only its own agent reads.
	self := k.command(thisProgram(), "aea", "send", "--to", "zzz", "--to-path", asker, "--type", "update", "--subject", "S", "--message", "B")
	self.Dir = asker
	out, err = self.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), `is "claude-asker", not "zzz"`)
	k.runsIn(asker, "aea", "send", "--to", "claude-asker", "--to-path", asker, "--type", "update", "--subject", "S", "--message", "B")

	// If others may write to the directory, the person is warned when enabling it.
	assert.NotContains(t, k.runsIn(asker, "aea", "install", "--json"), "warning")
	require.NoError(t, os.Chmod(filepath.Join(asker, ".aea"), 0o777))
	assert.Contains(t, k.runsIn(asker, "aea", "install", "--json"), "others may write there: -rwxrwxrwx")
}

// repositories makes directories in the person's home and installs AEA in each.
func (k *talker) repositories(names ...string) (all []string) {
	for _, name := range names {
		dir := filepath.Join(k.env["HOME"], name)
		require.NoError(k.t, os.Mkdir(dir, 0o700))
		k.runsIn(dir, "aea", "install")
		all = append(all, dir)
	}
	return all
}

// If an id is one message's whole id and the beginning of another's, it names the first.
func TestAEAShow_wholeIDFirst(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	dirs := k.repositories("asker", "target")
	d, err := repository.Open(dirs[1])
	require.NoError(t, err)
	for i, id := range []string{"plan-10", "plan-1"} {
		uuid := string(message.NewID())
		name, err := d.Put(aea.Message{
			ID: uuid, Thread: "plans", Type: "update", Priority: "normal", Time: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), Subject: "this is " + id, Body: "B",
			From: aea.Agent{ID: "claude-asker", Path: dirs[0]}, To: aea.Agent{ID: "claude-target", Path: dirs[1]},
		}, "")
		require.NoError(t, err)
		text := read(t, d.File(name)) // other programs may choose ids as they like
		require.NoError(t, os.WriteFile(d.File(name), []byte(strings.ReplaceAll(text, uuid, id)), 0o600))
	}
	for word, want := range map[string]string{"plan-1": "plan-1", "plan-10": "plan-10"} {
		assert.Contains(t, k.runsIn(dirs[1], "aea", "show", "--json", word), `"message_id":"`+want+`"`)
	}
}
