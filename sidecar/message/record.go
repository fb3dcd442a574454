package message

import (
	"encoding/json"
	"fmt"
)

// Record is the last state of one thing that a protocol keeps: a handshake, a subscription, a
// cursor. The journal does not interpret its document.
type Record struct {
	Kind string // kind of the thing, and so of its document
	ID   string // unique in its kind
	Open bool   // a starting sidecar gets it; a closed one is kept like an old message
	Doc  json.RawMessage
}

// RecordKind is the kind of records whose documents are Ts. A T that gains fields must still read
// documents without them.
type RecordKind[T any] string

// Record returns v as it is written down with a Step.
func (k RecordKind[T]) Record(id string, open bool, v T) (Record, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return Record{}, fmt.Errorf("record %s %q: %w", k, id, err)
	}
	return Record{Kind: string(k), ID: id, Open: open, Doc: doc}, nil
}

// Values returns the contents of those records that are of this kind, by their ids.
func (k RecordKind[T]) Values(records ...Record) (map[string]T, error) {
	values := make(map[string]T)
	for _, r := range records {
		if r.Kind != string(k) {
			continue
		}
		var v T
		if err := json.Unmarshal(r.Doc, &v); err != nil {
			return nil, fmt.Errorf("record %s %q: %w", k, r.ID, err)
		}
		values[r.ID] = v
	}
	return values, nil
}
