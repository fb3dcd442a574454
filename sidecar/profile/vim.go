package profile

import "encoding/json"

// Settings are the files that tell whether an agent's composer has vim keys, the one that
// counts most first: from the root, from the person's home (~/), or else from the directory
// in which the agent works. An agent that shows its mode at all times has none.
func (a Agent) Settings() []string {
	if a.Name != "claude" {
		return nil
	}
	return []string{
		"/etc/claude-code/managed-settings.json",
		".claude/settings.local.json",
		".claude/settings.json",
		"~/.claude/settings.json",
		"~/.claude.json",
	}
}

// Vim tells from the contents of the files of Settings, in their order and nil where there is
// none, whether the composer has vim keys. A file that cannot be read says nothing: the agent
// cannot read it either. Claude Code shows INSERT then, and nothing in NORMAL mode.
func Vim(settings ...[]byte) bool {
	for _, file := range settings {
		var s struct {
			Mode *string `json:"editorMode"`
		}
		if json.Unmarshal(file, &s) == nil && s.Mode != nil {
			return *s.Mode == "vim"
		}
	}
	return false
}
