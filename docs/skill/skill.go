// Package skill has the Agent Skill that tells an agent how to use its tools.
package skill

import _ "embed" // for Text

// Name is the skill's, and that of its directory.
const Name = "intercom"

// Text is its SKILL.md, in the format of agentskills.io.
//
//go:embed SKILL.md
var Text string

// Mark stands in each SKILL.md that this program has written, of whatever version.
const Mark = "<!-- tmux-intercom: intercom mcp install --skill wrote this file"
