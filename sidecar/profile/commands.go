package profile

import (
	"slices"
	"strings"
)

// Commands describes the commands that a person keeps in files of an agent, one command per file. It is only set
// for agents that were seen to accept a command pasted with a blank behind it, and to write down who typed it.
type Commands struct {
	Dirs   []string // the directories of the files; paths as in VimKeys.Files
	End    string   // the end of their names
	Skills []string // the directories of skills, each a directory itself: a skill hides a command of its name
	Hint   string   // a command whose file contains this makes the composer show more than was typed
	Own    []string // the agent's own commands, many of which end or change the session
}

// Offered reports whether the agent has such commands.
func (c Commands) Offered() bool { return len(c.Dirs) > 0 }

// Commanded returns the names of the agents that a command may be typed into.
func Commanded() (names []string) {
	for _, a := range known() {
		if a.Commands.Offered() {
			names = append(names, a.Name)
		}
	}
	return names
}

// OwnCommand returns an agent that has the command `/name` built in.
func OwnCommand(command string) (agent Agent, ok bool) {
	i := slices.IndexFunc(known(), func(a Agent) bool { return slices.Contains(a.Commands.Own, strings.TrimPrefix(command, "/")) })
	if i < 0 {
		return Agent{}, false
	}
	return known()[i], true
}

// ownOfClaude and ownOfGemini are the commands of the verified versions, including aliases, and those known from
// other versions.
var (
	ownOfClaude = strings.Fields(`add-dir advisor agents allowed-tools android app artifacts auto-mode-setup autocompact autofix-pr background bashes
		bg branch brief btw bug cd chrome clear cloud-plugins color compact config context continue copy cost daemon desktop diff doctor effort exit export
		extra-usage fast feedback files focus fork goal heapdump help hooks ide import init insights install install-github-app install-slack-app ios
		keybindings list-agents login logout loop marketplace mcp memory migrate-installer mobile model name new output-style passes pause-memory peers
		permissions plan plugin plugins powerup pr-comments privacy-settings project quit radio rate-limit-options rc recap release-notes
		reload-plugins reload-skills remote remote-control remote-env rename reset restart resume review rewind routines sandbox schedule scroll-speed
		security-review session settings setup-bedrock setup-vertex skill-doctor skills stats status statusline stickers stop subtask tag tasks
		team-onboarding teleport terminal-setup theme todos tp tui ultraplan ultrareview undo upgrade usage usage-credits use-case version vim voice
		web-setup wellbeing workflows`)
	ownOfGemini = strings.Fields(`about agents auth background bg bug chat checkpoint clear commands compact compress copy corgi dir directory docs editor exit extensions
		footer help hooks ide init login logout mcp memory model new oncall permissions plan policies privacy profile quit restart restore resume rewind settings
		setup-github shells shortcuts skills stats statusline summarize tasks terminal-setup theme tools upgrade usage vim voice yolo`)
)
