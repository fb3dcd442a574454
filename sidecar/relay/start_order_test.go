package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A run that ends between a person's yes and the word of what came of it loses nothing: the next run
// tells the agent and the person, once, and does not start it again. A start that was told of, or
// that still waits, is as it was.
func TestStartOrder_ALostStartIsTold(t *testing.T) {
	r := newRig(t)
	asker := r.adopt("asker")[0]
	asks := func(what string) message.ID {
		return r.must(AskStart{By: agent(asker), Order: message.StartOrder{What: what, Dir: project, Program: []string{"/bin/" + what}}}).Message
	}
	waiting := func() (all []string) {
		for _, o := range r.s.protocols().Orders {
			all = append(all, o.What)
		}
		return all
	}
	lost, told, waits := asks("lost"), asks("told"), asks("waits")
	yes := func(id message.ID) message.StartOrder {
		return r.must(DecideStart{By: ada, ID: id, Yes: true, Who: message.Person{Name: "ada"}}).Orders[0]
	}
	yes(lost)
	r.must(TellAsker{By: ada, Order: yes(told), Text: "told was started"})
	assert.Equal(t, []string{"waits"}, waiting())
	for _, id := range []message.ID{lost, told} {
		_, err := r.ask(DecideStart{By: ada, ID: id})
		require.ErrorIs(t, err, ErrDecided)
	}

	heard := func() (n int) {
		for _, d := range r.out {
			if d.Target == asker.ID && d.Message.InReplyTo == lost {
				assert.Contains(t, d.Message.Body, "a person approved your start of lost in "+project)
				n++
			}
		}
		return n
	}
	before := len(r.notices)
	r.restart(0)
	assert.Equal(t, 1, heard())
	assert.Equal(t, []string{"the sidecar ended during the start of lost in " + project + ", for asker: intercom session list says whether it is there"}, r.notices[before:])
	assert.Equal(t, []string{"waits"}, waiting())
	before = len(r.notices)
	r.restart(0)
	assert.Equal(t, []string{"waits"}, waiting())
	assert.Empty(t, r.notices[before:])
	assert.LessOrEqual(t, heard(), 1, "the same notice, handed out again")
	r.must(DecideStart{By: ada, ID: waits, Say: "no"})
	assert.Empty(t, waiting())
}
