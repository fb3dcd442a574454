package pane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// tooMuch returns a delivery whose text does not fit into one that is typed into Claude Code.
func tooMuch() message.Delivery {
	d := deliveryOf("a")
	d.Form = message.Form{Head: "[Ada] (1):", Separator: "\n\n"}
	d.Message.Body = strings.Repeat("x", profile.Claude().InlineMax+1)
	return d
}

// withDesk gives the pane's agent a place for files in a temporary directory, and returns it.
func (p *Pane) withDesk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	p.account.bound = &agent.Transcript{Path: filepath.Join(dir, "t.jsonl"), Thread: thread}
	return dir
}

// spoken returns what acts say, joined as in the tables of core_test.go.
func spoken(acts []act) string {
	var all []string
	for _, a := range acts {
		all = append(all, said(a))
	}
	return strings.Join(all, " | ")
}

// While the file system owes an answer to an earlier question, nobody knows where a long text may lie. It waits,
// and so does what an earlier life may have typed of it. Nothing fails.
func TestAttach_whileTheFileSystemOwesAnAnswer(t *testing.T) {
	t.Parallel()
	p, _, _ := atRest()
	dir := p.withDesk(t)
	c := &core{name: "Ada (%1)", prof: p.prof, compose: p.compose, queue: []waiting{{Delivery: tooMuch()}}}
	p.errands <- struct{}{}
	assert.Equal(t, "notify | hold: "+string(message.FileUnwritten), spoken(c.step(noon, sighted{agentic()})))
	require.Len(t, c.queue, 1)
	assert.Empty(t, c.step(noon.Add(time.Minute), sighted{agentic()}), "it is said once")
	assert.Equal(t, "resting", nameOf(c.stage()))

	c.queue[0].Typed = true
	one := part{d: c.queue[0].Delivery}
	pasted := agentic(marked(markOf(true, []part{one}, tmux.Facts{}, noon)))
	assert.Empty(t, c.step(noon, sighted{pasted}))
	assert.Equal(t, "resting", nameOf(c.stage()))
	require.Len(t, c.queue, 1)

	<-p.errands
	assert.Equal(t, "recall", spoken(c.step(noon, sighted{pasted})))
	assert.Contains(t, c.at.(recalling).batch.text, dir, "the line that was typed names the file")

	c.at, c.marked, c.queue = nil, nil, []waiting{{Delivery: tooMuch()}}
	assert.Equal(t, "lay", spoken(c.step(noon, sighted{agentic()})))
	assert.Equal(t, dir, filepath.Dir(c.at.(filing).parts[0].file.path))
}

// The answer to a long text of an earlier life is recognised once it is known where its file lies.
func TestLate_theAnswerToALongText(t *testing.T) {
	d := tooMuch()
	p, l := again(profile.Claude(), d)
	p.withDesk(t)
	typed, ok := p.compose(d)
	require.True(t, ok)
	require.NotEmpty(t, typed.file.path)
	bound := p.account.bound
	p.account.bound = nil
	p.errands <- struct{}{}
	p.tells(t, true, agent.Event{Text: typed.text, By: agent.ByKeys}, "the answer")
	p.hear(t.Context(), agent.Update{Bound: bound})
	p.overdueAnswers(t.Context(), noon.Add(lateFor+time.Second))
	require.Empty(t, l.turns)
	require.Empty(t, l.told)
	<-p.errands
	p.overdueAnswers(t.Context(), noon.Add(lateFor+time.Second))
	require.Len(t, l.turns, 1)
	assert.Equal(t, []message.ID{"a"}, l.turns[0].Answers)
	assert.Empty(t, l.told)
}

// Files that cannot be removed, since the file system owes an answer, are removed later.
func TestSweep_onceTheFileSystemAnswers(t *testing.T) {
	t.Parallel()
	p, _, _ := atRest()
	file := filepath.Join(p.withDesk(t), p.attachmentsOf()+"a"+attachmentEnd)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	p.littered = true
	p.errands <- struct{}{}
	p.sweep()
	require.FileExists(t, file)
	<-p.errands
	p.sweep()
	assert.NoFileExists(t, file)
	assert.False(t, p.littered)
}

// A file that was being written when the sidecar was killed has a temporary name. It is removed like the one that
// it would have become.
func TestRemoveAttachments_thoseHalfWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const of = attachmentName + "mine-"
	for name, old := range map[string]bool{
		of + "a.txt": false, "." + of + "a.txt.123456": false, ".intercom-other-a.txt.123456": true,
		".intercom-other-b.txt.123456": false, "intercom-other-b.txt": false, "." + of + "a.md": false, of + "a.txt.123456": false,
		"." + of + "a.txt": false, ".somebody.txt.123456": true,
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		if old {
			require.NoError(t, os.Chtimes(path, noon, noon.Add(-attachmentKept)))
		} else {
			require.NoError(t, os.Chtimes(path, noon, noon))
		}
	}
	require.NoError(t, removeAttachments(dir, of, noon))
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	var left []string
	for _, one := range all {
		left = append(left, one.Name())
	}
	assert.Equal(t, []string{
		".intercom-mine-a.md", ".intercom-mine-a.txt", ".intercom-other-b.txt.123456", ".somebody.txt.123456",
		"intercom-mine-a.txt.123456", "intercom-other-b.txt",
	}, left)
}
