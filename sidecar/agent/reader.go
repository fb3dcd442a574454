package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// maxRecord is the longest record that is read, in bytes: transcripts also contain pictures. A longer one is
// skipped and counted.
const maxRecord = 32 << 20

// noRecord is how long a line may be, in bytes, if its beginning is not that of a record.
const noRecord = 1 << 20

// Reader makes events from the bytes of one transcript, given in pieces of any size. It never panics and returns no
// error; it counts what it does not understand.
type Reader struct {
	Kind Kind

	health Health
	parser parser
	torn   []byte // a line whose end is still to come
	skip   bool   // that line is too long; its rest is thrown away
	at     int64  // where torn begins in the file
	fork   fork   // only for a rollout of Codex
	total  string // the last total usage of the conversation that Codex reported
}

// Health counts what a Reader has met so far.
type Health struct {
	Records int            // lines
	Known   int            // those of a known type, whether we use it or not
	Bad     int            // no JSON, too long, or of a known type but another shape
	Unknown map[string]int // by type; at most 32 types are distinguished, the rest is ""
	Version string         // of the agent, as last recorded
	Thread  string         // the conversation
	Dir     string         // the first working directory that it names
	Side    bool           // the whole transcript belongs to a sub-agent
	Prompts int
	Words   int
	Ends    int // turns that ended well
}

// NewReader returns a Reader for a transcript of an agent of that kind. offset is a position in its file at which a
// record begins, usually 0.
func NewReader(kind Kind, offset int64) *Reader {
	r := &Reader{Kind: kind, at: offset, parser: kind.format().parser()}
	r.health.Unknown = map[string]int{}
	return r
}

// Health returns what the Reader has met so far.
func (r *Reader) Health() Health {
	h := r.health
	h.Unknown = make(map[string]int, len(r.health.Unknown))
	for k, v := range r.health.Unknown {
		h.Unknown[k] = v
	}
	return h
}

// torso returns the error for bytes read last that are not a record and whose end has not arrived. The hole of a
// sparse file reads like that.
func (r *Reader) torso() error {
	if r.skip {
		return fmt.Errorf("the data at byte %d is not a record of an agent", r.at)
	}
	return nil
}

// Offset returns the end of the last whole record. Whatever follows is incomplete or not there yet.
func (r *Reader) Offset() int64 { return r.at }

// Feed takes the next bytes and returns the events that they complete.
func (r *Reader) Feed(data []byte) []Event {
	var events []Event
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			r.keep(data)
			break
		}
		line, size := data[:end], int64(end+1)
		data = data[end+1:]
		if r.skip {
			r.at += size
			r.skip = false
			r.health.Records++
			r.health.Bad++
			continue
		}
		if len(r.torn) > 0 {
			size += int64(len(r.torn))
			line = append(r.torn, line...)
			r.torn = nil
		}
		r.at += size
		events = append(events, r.record(line)...)
	}
	return events
}

// row reads one event of a database.
func (r *Reader) row(one row) []Event {
	r.at = one.seq + 1
	return r.record(one.line())
}

func (r *Reader) keep(data []byte) {
	switch {
	case r.skip:
		r.at += int64(len(data))
	case len(r.torn)+len(data) > maxRecord || bytes.IndexByte(data, 0) >= 0 || len(r.torn) > noRecord && r.torn[0] != '{': // no JSON
		r.at += int64(len(r.torn) + len(data))
		r.torn, r.skip = nil, true
	default:
		r.torn = append(r.torn, data...)
	}
}

func (r *Reader) record(line []byte) []Event {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	r.health.Records++
	events := r.parser.record(line, r)
	for i := range events {
		e := &events[i]
		e.End, e.Thread = r.at, r.health.Thread
		switch e.Kind {
		case Prompted:
			r.health.Prompts++
		case Spoke:
			r.health.Words++
		case TurnEnded:
			r.health.Ends++
		}
	}
	return events
}

// decode fills a record. It leaves out a field of an unexpected shape and counts the record as bad. It only rejects
// what is not JSON at all.
func (r *Reader) decode(line []byte, into any) bool {
	err := json.Unmarshal(line, into)
	var shape *json.UnmarshalTypeError
	switch {
	case err == nil:
		return true
	case errors.As(err, &shape):
		r.health.Bad++
		return true
	}
	r.health.Bad++
	return false
}

func (r *Reader) unknown(kind string) {
	if _, ok := r.health.Unknown[kind]; !ok && len(r.health.Unknown) >= 32 {
		kind = ""
	}
	r.health.Unknown[kind]++
}

// unknownRecord reads a record of an agent of an unknown kind.
func unknownRecord(_ []byte, r *Reader) []Event {
	r.unknown(string(r.Kind))
	return nil
}

// Unreadable returns why the transcript cannot be relied upon, or "" if it can.
func (h Health) Unreadable() string {
	switch {
	case h.Records >= 8 && h.Known == 0:
		return fmt.Sprintf("none of its %d records is of a known type", h.Records)
	case h.Bad >= 8 && 2*h.Bad > h.Records:
		return fmt.Sprintf("%d of its %d records have another shape", h.Bad, h.Records)
	case h.Ends >= 2 && h.Prompts == 0 && h.Words == 0:
		return fmt.Sprintf("%d turns ended in it and neither a prompt nor words were found", h.Ends)
	}
	return ""
}

// timeOf parses the time of a record. It returns the zero time for an invalid one.
func timeOf(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

// textOf reads a content that is either a text or a list of blocks, some of which are text. plain reports that it
// is a text.
func textOf(content json.RawMessage) (text string, plain bool) {
	if json.Unmarshal(content, &text) == nil {
		return text, true
	}
	var blocks []json.RawMessage
	if json.Unmarshal(content, &blocks) != nil {
		return "", false
	}
	first := true
	for _, raw := range blocks {
		var b struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text", "Text", "input_text", "output_text":
			if !first {
				text += "\n"
			}
			text, first = text+b.Text, false
		}
	}
	return text, false
}
