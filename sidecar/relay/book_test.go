package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// restored is what another run, at that server, reads from the journal: test helper.
func restored(b *journaltest.Book, server message.Process) Restored {
	was := b.Restored()
	r := Restored{Server: server, Stopped: was.Stopped, Undecided: was.Undecided, Records: was.Records}
	for _, s := range was.Sessions {
		r.Peers = append(r.Peers, SavedPeer{Peer: s, Last: was.Depths[s.ID].Last, Cause: was.Depths[s.ID].Cause})
	}
	for _, c := range was.Chats {
		r.Chats = append(r.Chats, SavedChat{Chat: c, Taken: was.Taken[c.ID]})
	}
	for _, c := range b.Ended(was) {
		r.Chats = append(r.Chats, SavedChat{Chat: c})
	}
	for _, p := range was.Pending {
		r.Deliveries = append(r.Deliveries, SavedDelivery(p))
	}
	for _, s := range was.Submitted {
		r.Submitted = append(r.Submitted, s.Delivery)
	}
	return r
}
