package screen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// An agent without recorded screens is never taken for a known one, however similar its values are.
func TestKinds_anUnknownOneIsNoOther(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range corpus(t) {
		known, ok := profile.AgentByName(r.Agent)
		if !ok {
			continue
		}
		text, ours := r.own(t)
		if !ours {
			text = "hello"
		}
		for _, name := range []string{"", "new"} {
			a := known
			a.Name = name
			v := r.view()
			verdict := screen.Judge(v, a)
			assert.False(t, verdict.MayType, "%s as %q", r.What, name)
			if verdict.State != message.History && verdict.State != message.Unknown {
				t.Errorf("%s as %q: %s", r.What, name, verdict.State)
			}
			assert.Equal(t, screen.Absent, screen.JudgeOwn(v, a, text), "%s as %q", r.What, name)
			_, talks := screen.Converse(v, a)
			assert.False(t, talks, "%s as %q", r.What, name)
			assert.Empty(t, screen.Placeholder(v, a)+screen.OwnTail(v, a), "%s as %q", r.What, name)
			assert.Zero(t, screen.Breaks(v, a, text))
		}
		if _, talks := screen.Converse(r.view(), known); talks {
			seen[r.Agent] = true
		}
	}
	for _, a := range profile.Agents() {
		require.True(t, seen[a.Name], "%s was never seen to talk", a.Name)
	}
}
