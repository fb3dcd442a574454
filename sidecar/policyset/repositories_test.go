package policyset

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

const strict = "response_policy:\n  response: {auto_respond: true}\n  question: {auto_respond: false}\n"

// A half-written file has no effect yet.
func TestAgentConfigs_whileItIsSaved(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, repository.ConfigFile)
	write := func(text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	meanwhile := func() {}
	var record bytes.Buffer
	var shown []string
	p := &Live{Options: Options{Record: &record, Shown: func(text string) { shown = append(shown, text) }, Now: func() time.Time {
		meanwhile()
		return time.Now()
	}}}
	question := func() aea.Action {
		c, ok := p.agentConfigs(t.Context(), map[message.ID]Workplace{"a": {Repository: dir}, "b": {}, "c": {Repository: dir}})[dir]
		if !ok {
			return ""
		}
		return c.Choose("question", "low", false).Action
	}
	assert.Empty(t, question(), "there is none")
	write(strict)
	assert.Equal(t, aea.Ask, question())

	for _, half := range []string{"", strict[:30], "response_policy:\n  question: {auto"} {
		write(half)
		meanwhile = func() { write(strict) }
		assert.Equal(t, aea.Ask, question(), "%q", half)
		meanwhile = func() {}
	}
	require.NoError(t, os.Remove(file))
	meanwhile = func() { write(strict) }
	assert.Equal(t, aea.Ask, question(), "gone, for an instant")
	meanwhile = func() {}
	assert.Empty(t, shown)
	assert.Empty(t, record.String())

	given := func() any {
		return p.configOf(t.Context(), "question", map[message.ID]Workplace{"a": {Repository: dir}})["aea"]
	}
	was := given()
	assert.Equal(t, was, given())
	write("")
	assert.NotEqual(t, was, given(), "policies are given what it says now")
	assert.Equal(t, aea.Answer, question(), "it says nothing now")
	require.NoError(t, os.Remove(file))
	assert.Empty(t, question())
	write("response_policy: [")
	assert.Equal(t, aea.Answer, question(), "nothing can be read of it, and nothing stood there before")
	assert.Len(t, shown, 1)
}

// A session that works elsewhere than at the last look is looked at anew.
func TestStrange(t *testing.T) {
	q := question("b")
	now := map[message.ID]Workplace{"id-Ada": {Dir: "/p/a", Project: "/p"}, "id-Ben": {Dir: "/r", Repository: "/r"}}
	p := &Live{Options: Options{
		Workplaces: func() map[message.ID]Workplace { return now },
		Dir:        func(s message.Peer) string { return now[s.ID].Dir },
	}}
	assert.True(t, p.strange(concerned(q)))
	assert.True(t, p.look(), "another project")
	assert.False(t, p.strange(concerned(q)))
	now = map[message.ID]Workplace{"id-Ada": {Dir: "/p/a", Project: "/p"}, "id-Ben": {Dir: "/other", Repository: "/other"}}
	assert.True(t, p.strange(concerned(q)), "a target")
	assert.False(t, p.look(), "the same projects: no file of a set is read for it")
	assert.False(t, p.strange(concerned(q)))
	now = map[message.ID]Workplace{"id-Ada": {Dir: "/q", Project: "/q"}, "id-Ben": {Dir: "/other", Repository: "/other"}}
	assert.True(t, p.strange(concerned(q)), "the author")
	assert.True(t, p.look())

	in := inputOf(q, noon, p.places, message.VerbAsk)
	assert.Equal(t, []string{"/q"}, in.Projects)
	assert.Equal(t, "/other", in.Agents[1].Repository)
	assert.Empty(t, in.Agents[0].Repository)
}
