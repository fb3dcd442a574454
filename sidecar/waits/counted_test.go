package waits_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/waits"
)

// A stop comes first, paused chats and approvals are one wait each, and a wait that stands for a
// single one keeps its next step.
func TestCounted(t *testing.T) {
	t.Parallel()
	stop := message.Wait{Kind: message.WaitPaused, Words: "all stopped", Next: "resume"}
	paused := message.Wait{Kind: message.WaitPaused, Chat: "c", Words: "paused", Next: "this one"}
	approve := message.Wait{Kind: message.WaitApprove, Words: "to approve", Next: "that one"}
	dialog := message.Wait{Kind: message.WaitDialog, Words: "dialog", Pane: "%1", Next: "answer it"}
	type told struct{ words, next string }
	for _, c := range []struct {
		all  []message.Wait
		want []told
	}{
		{nil, nil},
		{[]message.Wait{approve, dialog, paused, stop}, []told{{"all stopped", "resume"}, {"1 paused", "this one"}, {"dialog", "answer it"}, {"1 to approve", "that one"}}},
		{[]message.Wait{approve, paused, approve, paused}, []told{{"2 paused", "intercom chat resume --all"}, {"2 to approve", "intercom inbox list"}}},
	} {
		var got []told
		for _, w := range waits.Counted(c.all) {
			got = append(got, told{w.Words, w.Next})
		}
		assert.Equal(t, c.want, got)
	}
}
