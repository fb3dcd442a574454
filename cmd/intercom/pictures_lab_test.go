package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/picturetest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The pictures of the documentation, and the texts that they show.
const (
	picturesDir = "../../docs/pictures"
	momentsFile = picturesDir + "/moments.txt"
)

// camera records what a person's terminal shows.
type camera struct {
	*seat
	frames  []picturetest.Frame
	moments strings.Builder
}

const pictureColumns, pictureRows = 116, 30

// take takes a frame of the current screen, to be shown for that long.
func (c *camera) take(moment string, shown time.Duration) picturetest.Frame {
	c.t.Helper()
	f := picturetest.Frame{
		Screen:  c.outer.Run("capture-pane", "-e", "-p", "-t", c.pane),
		Columns: pictureColumns, Rows: pictureRows, For: shown,
	}
	c.moments.WriteString("== " + moment + "\n")
	if moment == "log" || moment == "a prompt" { // what these show varies with timing
		return f
	}
	for line := range strings.Lines(c.screen()) {
		for part := range strings.SplitSeq(line, "│") {
			part = strings.TrimSpace(lasting(part))
			if inPicture.MatchString(part) && !strings.Contains(part, "DIR") {
				c.moments.WriteString(part + "\n")
			}
		}
	}
	return f
}

func (c *camera) frame(moment string, shown time.Duration) {
	c.t.Helper()
	c.frames = append(c.frames, c.take(moment, shown))
}

// inPicture selects the lines of a moment to compare: the dialogue, and our own words. The rest of an agent's screen changes from
// day to day.
var inPicture = regexp.MustCompile(`\[(claude|codex)\]|claude|codex|Plan a cache|Key by user|grow without|Agreed|waits|inbox`)

// lasting is a text without the parts that differ from run to run.
func lasting(text string) string {
	for _, v := range []struct{ what, with string }{
		{`(\d+:)?\d\d:\d\d`, "TIME"},
		{`\b\d+ ?(ms|s|min|m)\b`, "AGE"},
		{`\b[0-9a-f]{8,}\b`, "ID"},
		{`/tmp/\S+`, "DIR"},
		{`stopped by \S+`, "stopped by PERSON"},
		{`[\s\x{a0}]+`, " "},
	} {
		text = regexp.MustCompile(v.what).ReplaceAllString(text, v.with)
	}
	return text
}

// TestLab_U27_pictures takes the pictures of README and docs with two real agents and a person who presses keys. It fails if the
// texts differ from those of the pictures in the documentation; `make pictures` takes the pictures again.
func TestLab_U27_pictures(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	lab := labtest.New(t, labtest.Claude, labtest.Codex)
	st := &labStage{newStage(t, all[len(all)-1]), lab}
	st.load()
	claude, codex := st.start(labtest.Claude), st.start(labtest.Codex)
	st.Run("join-pane", "-d", "-h", "-s", codex.Pane, "-t", claude.Pane, ";", "select-window", "-t", claude.Pane, ";", "select-pane", "-t", claude.Pane)
	c := &camera{seat: st.sit("base")}
	st.Run("rename-window", "-t", claude.Pane, "agents", ";", "set-option", "-g", "status-right", "#{@intercom-status} ", ";", "set-option", "-g", "status-left", "")
	c.resize(116, 30)
	claude.WaitForIdle()
	codex.WaitForIdle()

	// What the agents say: a plan, an objection to it, and an agreement.
	const prompt = "Plan a cache for user profiles, in one line."
	const plan = "Key by user id, expire after 5 minutes, count hits."
	const review = "It can grow without limit. Cap it at 64 MiB and evict the oldest."
	const agreed = "Agreed: 64 MiB, oldest first. I write it now."
	st.lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		said := strings.Join(x.User, "\n")
		switch {
		case x.Side != "":
		case strings.Contains(said, agreed):
			return labtest.Reply{Text: "Good.", Stall: true}, true
		case strings.Contains(said, review):
			return labtest.Reply{Text: agreed, Stall: true}, true
		case strings.Contains(said, plan):
			return labtest.Reply{Text: review, Stall: true}, true
		case strings.Contains(said, prompt):
			return labtest.Reply{Text: plan}, true
		}
		return labtest.Reply{}, false
	})
	c.frame("two agents", 2*time.Second)
	c.press("C-b", st.chatKey)
	c.sees("claude (1) ↔ codex (2): on")
	c.frame("prefix + @", 3*time.Second)
	c.types(prompt)
	claude.WaitForStill(labtest.Stillness)
	c.sees(prompt)
	c.frame("a prompt", 2*time.Second)
	for end := time.Now().Add(time.Minute); len(claude.Received()) == 0 && time.Now().Before(end); {
		c.press("Enter") // while the composer still draws what was typed, Enter does nothing
		claude.WaitForStill(labtest.Stillness)
	}
	st.until("Codex hears the plan", func() bool { return len(codex.Received()) > 0 })
	c.sees("[claude] (1):")
	c.frame("the plan is typed into the other", 3*time.Second)
	st.lab.Model.Release(codex.Name)
	st.until("Claude Code hears the review", func() bool { return len(claude.Received()) > 1 })
	c.sees("[codex] (2):")
	c.frame("the review comes back", 3*time.Second)
	st.lab.Model.Release(claude.Name)
	st.until("Codex hears that it was agreed", func() bool { return len(codex.Received()) > 1 })
	c.frame("they have talked", 4*time.Second)
	c.menu("x")
	c.sees("claude (1) ↔ codex (2): ended")
	c.frame("prefix + B, x", 3*time.Second)
	st.lab.Model.Release(codex.Name)
	codex.WaitForIdle()

	// What waits for the person, in each tab.
	out, code := st.intercom("chat", "start", claude.Pane, codex.Pane, "--name", "cache", "--set", "approve=yes")
	require.Equal(t, 0, code, "%s", out)
	claude.says(prompt)
	st.until("the plan waits for a yes", func() bool { return len(st.held()) > 0 })
	claude.WaitForIdle()
	const notice = "awaits your approval: prefix"
	c.sees(notice)
	st.Run("new-window", thisProgram()+" ui waits")
	pictures := map[string][]byte{"chat.svg": picturetest.SVG(c.frames...)}
	for i, text := range []string{"your yes, since", " tokens", "e edit", "awaits your approval:"} {
		tab := []string{"waits", "chats", "inbox", "log"}[i]
		c.press(string(rune('1' + i)))
		c.sees(text)
		st.until("its notice to go", func() bool { return !strings.Contains(c.screen(), notice) })
		pictures[tab+".svg"] = picturetest.SVG(c.take(tab, 0))
	}
	if os.Getenv("INTERCOM_PICTURES") != "" {
		require.NoError(t, os.MkdirAll(picturesDir, 0o755))
		for name, picture := range pictures {
			require.NoError(t, os.WriteFile(filepath.Join(picturesDir, name), picture, 0o644))
		}
		require.NoError(t, os.WriteFile(momentsFile, []byte(c.moments.String()), 0o644))
		return
	}
	want, err := os.ReadFile(momentsFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), c.moments.String(), "what the pictures show; make pictures takes them again")
}
