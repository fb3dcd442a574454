package agent

import "path/filepath"

// Desk is a directory whose files the agent reads without asking its person, whatever its
// working directory: one of its own, so that nothing comes to stand in anybody's project.
// "" where it has none yet, or none is known. It may not exist. t is the transcript that it writes to, if
// that is known.
//
// Where that is, was found out by trying. Claude Code asks for every directory but its
// working directory and that of its transcripts; Gemini CLI refuses all but these two;
// opencode asks, but not for the one in which it keeps long answers of tools, from which it
// removes what is older than a week; Codex reads everywhere.
func (a Agent) Desk(t *Transcript) string { return a.Kind.format().desk(a, t) }

// deskName is the name of a desk that is nobody's but ours.
const deskName = "intercom"

// OwnDesk reports whether a desk is a directory that was made for our files alone.
func OwnDesk(dir string) bool { return filepath.Base(dir) == deskName }
