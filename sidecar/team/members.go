package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/own"
)

// The statuses, in the order in which they follow each other.
const (
	Working Status = "working" // it was spawned, or is at work
	Idle    Status = "idle"    // it rests, and can be reached
	Ended   Status = "shutdown"
	Killed  Status = "killed" // its session was ended without asking it, which the lesson does not have
)

// MayEnlist returns the error that Enlist would return, and changes nothing.
func (d Dir) MayEnlist(name, role string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := message.CheckRole(role); err != nil {
		return err
	}
	c, err := d.Config()
	if err != nil {
		return err
	}
	if err := twin(name, c.names()); err != nil {
		return err
	}
	for _, m := range c.Members {
		if m.Name == name && m.Status != Idle && m.Status != Ended && m.Status != Killed {
			return busy(name, m.Status)
		}
	}
	return nil
}

// Busy returns the *DocumentError for a member that has a session, whatever it does there.
func (d Dir) Busy(name string) error {
	now := Working
	if c, err := d.Config(); err == nil {
		for _, m := range c.Members {
			if m.Name == name {
				now = m.Status
			}
		}
	}
	return busy(name, now)
}

func busy(name string, status Status) error {
	return &DocumentError{fmt.Sprintf("Error: '%s' is currently %s", name, status), "intercom team shutdown-request " + name + " asks it to end, so that it can be started again"}
}

// Enlist records that a member works in a role: a new member, or one that was idle or had ended. For a member
// that already works, the error is a *DocumentError. Everything else in config.json stays as it is.
func (d Dir) Enlist(name, role string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if err := message.CheckRole(role); err != nil {
		return err
	}
	return d.change(func(members []entry) ([]entry, error) {
		i := slices.IndexFunc(members, called(name))
		if i < 0 {
			if err := twin(name, names(members)); err != nil {
				return nil, err
			}
			i, members = len(members), append(members, entry{})
			members[i].set("name", name)
		} else if now := Status(members[i].text("status")); now != Idle && now != Ended && now != Killed {
			return nil, busy(name, now)
		}
		// In this order if they are new.
		members[i].set("role", role)
		members[i].set("status", string(Working))
		return members, nil
	})
}

// SetStatus records what a member does. If there is no such member, the error is an *UnknownError.
func (d Dir) SetStatus(name string, status Status) error {
	return d.change(func(members []entry) ([]entry, error) {
		i := slices.IndexFunc(members, called(name))
		if i < 0 {
			return nil, &UnknownError{name, names(members)}
		}
		members[i].set("status", string(status))
		return members, nil
	})
}

func called(name string) func(entry) bool {
	return func(m entry) bool { return m.text("name") == name }
}

// names returns the names of all entries that have one.
func names(members []entry) (all []string) {
	for _, m := range members {
		if m.wrong() == "" {
			all = append(all, m.text("name"))
		}
	}
	return all
}

// TwinError says that a new name differs from another one only in case. On some file systems both would have
// the same inbox.
type TwinError struct{ Name, Other string }

func (e *TwinError) Error() string {
	return fmt.Sprintf("%q differs from %q by case alone", e.Name, e.Other)
}

// twin returns an error for a new name that differs only in case from one of others, or from the lead's.
func twin(name string, others []string) error {
	for _, other := range append([]string{Lead}, others...) {
		if other != name && strings.EqualFold(other, name) && !slices.Contains(others, name) {
			return &TwinError{name, other}
		}
	}
	return nil
}

// change changes the members in config.json while no other program of ours does.
func (d Dir) change(how func([]entry) ([]entry, error)) error {
	err := func() error {
		dir, err := foreign.OpenDir(d.at())
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := lock(dir, time.Now().Add(patience)); err != nil {
			return err
		}
		defer own.Unlock(dir)
		text, _, err := d.config()
		if err != nil {
			return errors.Unwrap(err)
		}
		if text == nil {
			text = []byte(`{"team_name": "` + defaultName + `", "members": []}`)
		}
		var all object
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		var members []entry
		if have := all.get("members"); have != nil {
			if err := json.Unmarshal(have, &members); err != nil {
				return err
			}
		}
		if members, err = how(members); err != nil {
			return err
		}
		list := make([][]byte, len(members))
		for i, m := range members {
			list[i] = m.bytes()
		}
		all.put("members", slices.Concat([]byte{'['}, bytes.Join(list, []byte{','}), []byte{']'}))
		if text, err = indented(all); err != nil {
			return err
		}
		return atomicfile.Rewrite(d.at(configName), text, 0o644)
	}()
	if err != nil {
		return fmt.Errorf("config of team %q: %w", d.Path, err)
	}
	return nil
}

// indented returns an object as Python's json.dumps writes it with an indent of 2.
func indented(o object) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, o.bytes(), "", "  "); err != nil {
		return nil, err
	}
	var out []byte
	for _, r := range b.String() {
		if r > '~' { // all such characters are in strings
			quoted := quote(string(r))
			out = append(out, quoted[1:len(quoted)-1]...)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out, nil
}

// entry is one element of the list of members. If it is not an object, it stays as it is.
type entry struct {
	object
	other json.RawMessage
}

// UnmarshalJSON reads an entry of any kind.
func (e *entry) UnmarshalJSON(text []byte) error {
	*e = entry{}
	if e.object.UnmarshalJSON(text) != nil {
		*e = entry{other: bytes.Clone(text)}
	}
	return nil
}

func (e entry) bytes() []byte {
	if e.other != nil {
		return e.other
	}
	return e.object.bytes()
}

// wrong returns why an entry names no teammate, "" if it names one.
func (e entry) wrong() string {
	var name string
	switch text := e.get("name"); {
	case e.other != nil:
		return fmt.Sprintf("%.40s is not an object", e.other)
	case text == nil:
		return "it has no name"
	case string(text) == "null" || json.Unmarshal(text, &name) != nil:
		return fmt.Sprintf("its name, %.40s, is not a text", text)
	}
	if err := CheckName(name); err != nil {
		return err.Error()
	}
	return ""
}

// object is a JSON object that keeps the order of its fields.
type object []struct {
	key   string
	value json.RawMessage
}

func (o object) get(key string) json.RawMessage {
	for _, f := range o {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// text returns a field that is a text, "" for any other.
func (o object) text(key string) (text string) {
	_ = json.Unmarshal(o.get(key), &text)
	return text
}

func (o *object) set(key, text string) { o.put(key, json.RawMessage(quote(text))) }

func (o *object) put(key string, value json.RawMessage) {
	for i := range *o {
		if (*o)[i].key == key {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, struct {
		key   string
		value json.RawMessage
	}{key, value})
}

// UnmarshalJSON reads an object. If several fields have the same name, the last one counts.
func (o *object) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errors.New("it is not an object")
	}
	*o = nil
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		o.put(key.(string), value) // the decoder knows no other keys
	}
	return nil
}

// bytes returns the object as JSON. object is not a json.Marshaler, because its text would then be escaped for
// HTML.
func (o object) bytes() []byte {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = slices.Concat(b, []byte(quote(f.key)), []byte{':'}, f.value)
	}
	return append(b, '}')
}
