package waits

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Counted returns a list in the form that a person is told: first a stop of everything, then the
// paused chats as one wait, the other waits in their order, and all requests for approval as one
// wait. Words and Next of a wait that stands for several are about all of them; its other fields
// are those of the first.
func Counted(all []message.Wait) (counted []message.Wait) {
	var paused, others, approve []message.Wait
	for _, w := range all {
		switch {
		case w.Kind == message.WaitPaused && w.Chat == "":
			counted = append(counted, w)
		case w.Kind == message.WaitPaused:
			paused = append(paused, w)
		case w.Kind == message.WaitApprove:
			approve = append(approve, w)
		default:
			others = append(others, w)
		}
	}
	counted = append(counted, asOne(paused, "paused", "intercom chat resume --all")...)
	counted = append(counted, others...)
	return append(counted, asOne(approve, "to approve", "intercom inbox list")...)
}

func asOne(all []message.Wait, words, next string) []message.Wait {
	if len(all) == 0 {
		return nil
	}
	one := all[0]
	one.Words = fmt.Sprintf("%d %s", len(all), words)
	if len(all) > 1 {
		one.Next = next
	}
	return []message.Wait{one}
}
