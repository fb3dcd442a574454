package talk

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// maxReceipts is how many bytes of receipts a port keeps. Beyond it the older half is dropped.
const maxReceipts = 256 << 10

// Receipt is what is known about a message that was sent with a receipt.
type Receipt struct {
	ID     string `json:"id"`
	To     int    `json:"to_port"`
	Stored string `json:"stored"`         // when
	Read   string `json:"read,omitempty"` // when; "" if not yet
}

// receiptLine is a line of receipts.jsonl: a message was stored at a port, or read there.
type receiptLine struct {
	ID    string `json:"id"`
	Port  int    `json:"port"`
	State string `json:"state"`
	At    string `json:"timestamp"`
}

// Receipts returns the receipts of the messages that were sent from the port, oldest first.
func (p Port) Receipts() (all []Receipt, _ error) {
	text, err := own.Read(p.receipts(), 2*maxReceipts)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, Errorf(FileError, p.Number, "%w", err)
	}
	for line := range bytes.Lines(text) {
		var r receiptLine
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		i := slices.IndexFunc(all, func(one Receipt) bool { return one.ID == r.ID && one.To == r.Port })
		switch {
		case i < 0 && r.State == "stored":
			all = append(all, Receipt{ID: r.ID, To: r.Port, Stored: r.At})
		case i >= 0 && r.State == "read" && all[i].Read == "":
			all[i].Read = r.At
		}
	}
	return all, nil
}

// note appends a line to the receipts.
func (p Port) note(r receiptLine) error {
	if err := p.make(); err != nil {
		return err
	}
	f, err := openLocked(p.receipts(), os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	defer own.Unlock(f)
	if info, err := f.Stat(); err == nil && info.Size() > maxReceipts {
		text := make([]byte, info.Size())
		n, _ := f.ReadAt(text, 0)
		_, half, _ := bytes.Cut(text[n/2:n], []byte{'\n'})
		if err := f.Truncate(0); err != nil {
			return err
		}
		if _, err := f.Write(half); err != nil {
			return err
		}
	}
	_, err = f.Write(append(marshal(r), '\n'))
	return err
}

// wasRead tells the senders of messages, in their own files, that the messages were read here. It does so only
// for messages that the sender has recorded as stored.
func (p Port) wasRead(all []Message) {
	for _, m := range all {
		if m.Receipt == "" || CheckPort(m.Sender) != nil {
			continue
		}
		sender := p.Port(m.Sender)
		sent, err := sender.Receipts()
		if err == nil && slices.ContainsFunc(sent, func(r Receipt) bool { return r.ID == m.Receipt && r.To == p.Number && r.Read == "" }) {
			_ = sender.note(receiptLine{m.Receipt, p.Number, "read", Stamp(time.Now())})
		}
	}
}
