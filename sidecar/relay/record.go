package relay

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// records maps the kind of a record to the function that takes over what an earlier run left of it.
// It runs when the peers are known and before any of them ends.
var records = map[string]func(*tx, ...message.Record) error{
	string(handshakes):    (*tx).restoreHandshakes,
	string(seats):         (*tx).restoreSeats,
	string(subscriptions): (*tx).restoreSubscriptions,
	string(startOrders):   (*tx).restoreOrders,
	string(links):         (*tx).restoreLinks,
	string(spending):      (*tx).restoreSpent,
}

// restoreRecords takes over the records of an earlier run. A record that cannot be read is of a
// later version: a person is told, and it stays on disk as it is.
func (tx *tx) restoreRecords(all []message.Record) {
	for _, one := range all {
		restore := records[one.Kind]
		if restore == nil {
			continue
		}
		if err := restore(tx, one); err != nil {
			tx.notice("", fmt.Sprintf("a journal record cannot be read and is left unchanged: %v", err))
		}
	}
}

// record notes that a thing is to be written down as it is now.
func record[T any](tx *tx, kind message.RecordKind[T], id string, open bool, v T) {
	one, err := kind.Record(id, open, v)
	if err != nil {
		panic(err) // a T of ours that JSON cannot write
	}
	for i, have := range tx.step.Records {
		if have.Kind == one.Kind && have.ID == one.ID {
			tx.step.Records[i] = one
			return
		}
	}
	tx.step.Records = append(tx.step.Records, one)
}
