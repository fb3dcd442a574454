package profile

import (
	"bytes"
	"encoding/json"
)

// VimKeys says where an agent's settings reveal whether its composer has vim keys. An agent that always shows its
// mode needs no such files. Claude Code shows INSERT, but nothing in NORMAL mode.
type VimKeys struct {
	// Files are JSON files, the one with the highest priority first. A path is absolute, below the person's home
	// (~/), below the agent's own directory (@/), or otherwise below the agent's working directory.
	Files []string
	Key   string // the field with the setting
	On    string // its value with vim keys
}

// Tells reports whether a file may contain the setting.
func (k VimKeys) Tells(file []byte) bool { return bytes.Contains(file, []byte(`"`+k.Key+`"`)) }

// Set reports whether the composer has vim keys, given the contents of Files in order, nil for a missing one. A
// file that cannot be read has no say; the agent cannot read it either.
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
