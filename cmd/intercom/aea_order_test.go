package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listed are the messages that `aea list` or `aea thread` prints when run in a directory.
func (k *talker) listed(dir string, words ...string) (all []letters) {
	k.t.Helper()
	require.NoError(k.t, json.Unmarshal([]byte(k.runsIn(dir, append([]string{"aea"}, words...)...)), &all))
	return all
}

// In each of several repositories messages are listed in the order of the document's own command, whatever their names and
// whether or not they are processed.
func TestA25_C14_listedAsByTheDocumentsCommand(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two", "three")
	begun := time.Now().Add(-time.Hour)
	for i, dir := range all {
		for j := range 8 {
			file := filepath.Join(dir, ".aea", fmt.Sprintf("message-2025101%dT054200Z-from-claude-%d.json", 9-j, (j*5+i)%8))
			require.NoError(t, os.WriteFile(file, []byte(`{"message_type":"question","message":{"body":"B"}}`), 0o600))
			written := begun.Add(time.Duration((j*3+i*5)%8) * 1500 * time.Millisecond)
			require.NoError(t, os.Chtimes(file, written, written))
			if j%3 == 0 {
				k.runsIn(dir, "aea", "done", file)
			}
		}
	}
	for _, dir := range all {
		ls := exec.CommandContext(t.Context(), "bash", "-c", "ls -1t .aea/message-*.json")
		ls.Dir = dir
		out, err := ls.Output()
		require.NoError(t, err)
		want := strings.Fields(string(out))
		require.Len(t, want, 8)
		var here, named []string
		for _, one := range k.listed(dir, "list") {
			here = append(here, one.File)
		}
		for _, one := range k.listed(all[0], "list", "--repository", dir) {
			named = append(named, one.File)
		}
		assert.Equal(t, want, here)
		assert.Equal(t, want, named)
	}
}

// A conversation of three repositories, held within a second or two, is listed in the order in which it was held, from any
// directory. An answer dated before its question, by a clock that was set back, comes after it. Archived messages keep their
// place.
func TestA46_aConversationOfThreeRepositories(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	all := k.repositories("one", "two", "three")
	const thread = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	said := []string{}
	say := func(from, to int, body, reply string) {
		words := []string{"aea", "send", "--to", "claude-" + filepath.Base(all[to]), "--to-path", all[to], "--type", "question", "--subject", "S", "--message", body}
		if reply == "" {
			words = append(words, "--conversation", thread)
		} else {
			words = append(words, "--conversation", thread, "--reply-to", reply)
		}
		var sent aeaSent
		require.NoError(t, json.Unmarshal([]byte(k.runsIn(all[from], words...)), &sent))
		said = append(said, sent.ID)
	}
	say(2, 1, "first", "")
	say(1, 2, "its answer", said[0])
	say(2, 1, "and its answer", said[1])
	for i := range 11 {
		say(2, 1, fmt.Sprint("and another thing ", i), "") // enough of them that file names need numbers
	}
	say(1, 0, "somebody else is asked", "")
	say(0, 1, "who answers", said[len(said)-1])
	say(1, 2, "so that this is answered", said[2])
	k.runsIn(all[0], "aea", "send", "--to", "claude-two", "--to-path", all[1], "--type", "update", "--subject", "S", "--message", "of something else")

	late := "00000000-0000-4000-8000-000000000001"
	file := filepath.Join(all[0], ".aea", "message-20200101T000000Z-from-claude-three.json")
	text := fmt.Sprintf(`{"message_id":%q,"message_type":"question","timestamp":"2020-01-01T00:00:00Z","from":{"agent_id":"claude-three","repo_path":%q},`+
		`"message":{"subject":"S","body":"B"},"metadata":{"conversation_id":%q,"reply_to":%q}}`, late, all[2], thread, said[len(said)-1])
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	said = append(said, late)

	k.runsIn(all[2], "aea", "done", said[1])
	k.runsIn(all[2], "aea", "archive", "--older-than", "0d")
	for _, dir := range append(all, k.env["HOME"]) {
		for _, id := range []string{thread, said[0], said[4]} {
			var ids []string
			for _, one := range k.listed(dir, "thread", id) {
				ids = append(ids, one.ID)
			}
			assert.Equal(t, said, ids, "%s in %s", id, dir)
		}
	}
}
