package profile

import (
	"slices"
	"strings"
)

// Commands are those of an agent's that a person keeps in files, one a command. They are known only of
// agents that were seen to take one that is pasted with a blank behind it, and to write down who typed it.
type Commands struct {
	Dirs   []string // where they lie, as VimKeys.Files has its paths
	End    string   // of their names
	Skills []string // where skills lie, each a directory: one goes before a command of its name
	Hint   string   // with this in its file, a composer that holds the command shows more than was typed
	Own    []string // the agent's own commands, of which many end or change the session
}

// Offered reports whether the agent has any.
func (c Commands) Offered() bool { return len(c.Dirs) > 0 }

// Commanded are the agents that a command may be typed into, by name.
func Commanded() (names []string) {
	for _, a := range known() {
		if a.Commands.Offered() {
			names = append(names, a.Name)
		}
	}
	return names
}

// OwnCommand names an agent that has this command, `/name`, itself.
func OwnCommand(command string) (agent Agent, ok bool) {
	i := slices.IndexFunc(known(), func(a Agent) bool { return slices.Contains(a.Commands.Own, strings.TrimPrefix(command, "/")) })
	if i < 0 {
		return Agent{}, false
	}
	return known()[i], true
}

// ownOfClaude and ownOfGemini are what those versions have, by other names too, and what others are known to have.
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
