package agent

import "path/filepath"

// Desk returns a directory whose files the agent reads without asking its person, whatever its working directory
// is. It is one of the agent's own directories, so that nothing is put into anybody's project. It may not exist.
// Desk returns "" if the agent has none yet or none is known. t is the transcript that the agent writes to, if
// known.
//
// The places were found by experiment. Claude Code asks for every directory except its working directory and the
// one of its transcripts. Gemini CLI refuses all but these two. opencode asks, except for the directory in which it
// keeps long answers of tools, and it removes from there whatever is older than a week. Codex reads everywhere.
func (a Agent) Desk(t *Transcript) string { return a.Kind.format().desk(a, t) }

// deskName is the name of a desk that only the intercom uses.
const deskName = "intercom"

// OwnDesk reports whether a desk is a directory made only for the intercom's files.
func OwnDesk(dir string) bool { return filepath.Base(dir) == deskName }
