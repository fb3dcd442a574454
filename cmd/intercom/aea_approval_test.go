package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A message that waits for a person's yes has its marker, and is listed as what it is, with the command.
func TestAEA_listSaysWhatAwaitsApproval(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two")
	k.runsIn(all[0], "aea", "send", "--to", "claude-two", "--type", "handoff", "--subject", "S", "--message", "B")
	k.runs("up")
	var id string
	until(t, func() bool {
		var waiting []aeaApproval
		require.NoError(t, json.Unmarshal([]byte(k.runs("aea", "approvals")), &waiting))
		if len(waiting) == 1 {
			id = waiting[0].ID.Short()
			assert.False(t, waiting[0].Processed, "a person has not said yes")
		}
		return id != ""
	})
	until(t, func() bool { return k.listed(all[1], "list")[0].Processed })
	one := k.listed(all[1], "list")[0]
	assert.Equal(t, id, one.Approval)
	for _, words := range [][]string{{"list"}, {"show", one.File}, {"thread", one.ID}} {
		cmd := k.command(thisProgram(), append([]string{"aea"}, words...)...)
		cmd.Dir = all[1]
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		shown, _ := io.ReadAll(terminal) // ends with an error when the program does
		_ = cmd.Wait()
		require.NoError(t, terminal.Close())
		assert.Contains(t, string(shown), "Waits for approval: ", "%v", words)
		assert.Contains(t, string(shown), "intercom aea approve "+id, "%v", words)
		assert.NotContains(t, string(shown), "Processed: ", "%v", words)
	}
}

// A path is meant as it is from where the command runs, and what is written names it whole.
func TestAEA_relativePath(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two")
	inside := filepath.Join(all[0], "src")
	require.NoError(t, os.Mkdir(inside, 0o700))
	for dir, path := range map[string]string{all[0]: "../two", inside: "../../two"} {
		var sent aeaSent
		text := k.runsIn(dir, "aea", "send", "--to", "claude-two", "--to-path", path, "--type", "update", "--subject", "S", "--message", "B")
		require.NoError(t, json.Unmarshal([]byte(text), &sent))
		assert.Equal(t, all[1], sent.To.Path)
		assert.True(t, strings.HasPrefix(sent.File, all[1]+"/.aea/message-"), sent.File)
	}
	cmd := k.command(thisProgram(), "aea", "send", "--to", "x", "--to-path", "../nothing", "--type", "update", "--subject", "S", "--message", "B")
	cmd.Dir = all[0]
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), filepath.Join(k.env["HOME"], "nothing"))
}
