package profile

import (
	"bytes"
	"encoding/json"
)

// VimKeys is where an agent's settings tell whether its composer has vim keys. An agent that
// shows its mode at all times has no such files. Claude Code shows INSERT, and nothing in NORMAL
// mode.
type VimKeys struct {
	// Files are JSON objects, the one that counts most first: from the root, from the person's
	// home (~/), from the agent's own (@/), or else from the directory in which it works.
	Files []string
	Key   string // the field that tells
	On    string // and what it says where there are vim keys
}

// Tells reports whether a file may say something about vim keys.
func (k VimKeys) Tells(file []byte) bool { return bytes.Contains(file, []byte(`"`+k.Key+`"`)) }

// Set tells from the contents of Files, in their order and nil where there is none, whether the
// composer has vim keys. A file that cannot be read says nothing: the agent cannot read it
// either.
func (k VimKeys) Set(files ...[]byte) bool {
	for _, file := range files {
		var fields map[string]json.RawMessage
		var mode *string
		if json.Unmarshal(file, &fields) == nil && json.Unmarshal(fields[k.Key], &mode) == nil && mode != nil {
			return *mode == k.On
		}
	}
	return false
}
