package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestFrontName(t *testing.T) {
	tests := []struct{ text, want string }{
		{"---\nname: alpha\ndescription: x\n---\nname: body\n", "alpha"},
		{"\ufeff---\r\ndescription: x\r\nname:   two  words  # not this\r\n---\r\n", "two words"},
		{"---\nname: \"a\\u0062c\" # not this\n---", "abc"},
		{"---\n\"name\": 'it''s'\n---", "it's"},
		{"---\nname: >-\n  folded\n  name\nother: x\n---", "folded name"},
		{"---\nname:\n  below\n---", "below"},
		{"---\nother: x\n  name: nested\n---", ""},
		{"---\nother: x\n---\nname: body", ""},
		{"# Title\nname: x", ""},
		{"", ""},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, frontName(tt.text), "%q", tt.text)
	}
}

func TestSkills(t *testing.T) {
	top := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(top, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	skill := func(dir, name string) { write(dir+"/SKILL.md", "---\nname: "+name+"\n---\n") }
	skill("home/.codex/skills/a", "user")
	skill("home/.codex/skills/1/2/3/4/5/6", "deep")
	skill("home/.codex/skills/1/2/3/4/5/6/7", "too-deep")
	skill("home/.codex/skills/.system/s", "system")
	skill("home/.codex/skills/.other/s", "hidden")
	skill("home/.codex/plugins/cache/market/plug/1.0/skills/p", "in")
	write("home/.codex/plugins/cache/market/plug/1.0/.codex-plugin/plugin.json", `{"name":"plug"}`)
	skill("home/.agents/skills/b", "personal")
	skill("project/.agents/skills/c", "project")
	skill("project/below/.codex/skills/d", "below")
	skill("project/below/.agents/skills/e", "user")
	skill("elsewhere/f", "linked")
	write("project/.agents/skills/by directory/SKILL.md", "no front matter")
	write("project/.agents/skills/README.md", "---\nname: readme\n---")
	require.NoError(t, os.Symlink(filepath.Join(top, "elsewhere"), filepath.Join(top, "project/.agents/skills/link")))
	require.NoError(t, os.Symlink("..", filepath.Join(top, "elsewhere/round")))
	// A file that would block, has no end or cannot be read is not a skill.
	require.NoError(t, os.MkdirAll(filepath.Join(top, "project/.agents/skills/pipe"), 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(top, "project/.agents/skills/pipe/SKILL.md"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(top, "project/.agents/skills/zero"), 0o755))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(top, "project/.agents/skills/zero/SKILL.md")))

	t.Setenv("HOME", t.TempDir())
	administrators := Agent{Kind: Codex, Process: message.Process{PID: 1 << 30}}.skills() // this machine's
	t.Setenv("HOME", filepath.Join(top, "home"))                                          // used if the process does not tell
	a := Agent{Kind: Codex, Process: message.Process{PID: 1 << 30}, Home: filepath.Join(top, "home/.codex"), Dir: filepath.Join(top, "project/below")}
	all := a.skills()
	all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(administrators, name) })
	assert.Equal(t, []string{"below", "by directory", "deep", "in", "linked", "personal", "plug:in", "project", "system", "user"}, all)

	a.Kind = Claude
	assert.Empty(t, a.skills(), "its skills are commands, and none in the middle of a text")
}

func TestSkills_bounded(t *testing.T) {
	top := t.TempDir()
	t.Setenv("HOME", top)
	for i := range mostSkills + 10 {
		dir := filepath.Join(top, "skills", fmt.Sprint(i))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: "+strings.Repeat("x", 40)+fmt.Sprint(i)), 0o600))
	}
	a := Agent{Kind: Codex, Process: message.Process{PID: 1 << 30}, Home: top}
	assert.Len(t, a.skills(), mostSkills)
}

// The built-in skills of Codex, and those of all places that it searches, as it offers them itself.
func TestLab_skills(t *testing.T) {
	lab := labtest.New(t, labtest.Codex)
	want := map[string]string{"home/.codex/skills/a": "alpha", "home/.agents/skills/b": "beta", "work/.agents/skills/c": "gamma"}
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	codex := lab.Start(server, labtest.Codex, labtest.Configured(func(a *labtest.Agent) {
		for dir, name := range want {
			text := "---\nname: " + name + "\ndescription: Does what " + name + " does.\n---\nBODY-OF-" + name + "\n"
			require.NoError(t, a.WriteFile(filepath.Join(a.Dir, dir, "SKILL.md"), text))
		}
	}))
	prompt := "hello"
	for _, name := range want {
		prompt += " $" + name
	}
	codex.Prompt(prompt + " now") // a name at the end would open a list
	var loaded []string
	tmuxtest.WaitFor(t, "the skills", func() bool {
		loaded = nil
		for _, x := range codex.Conversation() {
			loaded = append(loaded, x.Notes...)
		}
		return len(loaded) >= len(want)
	})
	for _, name := range want {
		assert.Contains(t, strings.Join(loaded, "\n"), "BODY-OF-"+name, "Codex loads it")
	}

	var procs []message.Process
	for _, pid := range codex.Processes() {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil { // a short-lived process of Codex has ended since it was listed
			continue
		}
		procs = append(procs, message.Process{PID: pid, Name: strings.TrimSpace(string(name))})
	}
	a, err := Recognise(procs...)
	require.NoError(t, err)
	assert.Subset(t, a.skills(), []string{"alpha", "beta", "gamma", "imagegen", "skill-creator", "skill-installer"})
	assert.NotContains(t, a.skills(), "a", "its directory's name is not its own")
}

// skills returns the skills that can be read.
func (a Agent) skills() []string {
	names, _ := a.Skills()
	return names
}
