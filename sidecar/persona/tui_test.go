package persona

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTUI_answers(t *testing.T) {
	t.Parallel()
	for _, screen := range []string{"--alt", "--alt=false"} {
		t.Run(screen, func(t *testing.T) {
			p := startInTmux(t, 60, 16, "tui", screen, "--name", "A", "--spinner", "700ms", "--lines", "2")
			assert.Equal(t, map[string]string{"--alt": "1", "--alt=false": "0"}[screen], p.format("#{alternate_on}"))
			p.paste("two lines\nof 日本語")
			p.contains("│ ❯ two lines  ")
			p.contains("│   of 日本語  ")
			assert.Equal(t, "13,13", p.format("#{cursor_x},#{cursor_y}"))
			p.keys("Enter")
			p.contains("Working… (0s")
			p.contains("│ ❯            ")
			p.contains("● A-1: " + words("A", 1, 1))
			p.contains("  A-1.2: " + words("A", 1, 2))
			p.contains("? for shortcuts")
			assert.Equal(t, []string{"two lines\nof 日本語"}, p.texts(EventReceived))
			assert.Equal(t, []string{"two lines\rof 日本語"}, p.texts(EventPaste))
			assert.NotContains(t, strings.Join(p.screen(), "\n"), "Working")
		})
	}
}

func TestTUI_queuesWhatIsTypedWhileItWorks(t *testing.T) {
	t.Parallel()
	p := startInTmux(t, 60, 16, "tui", "--name", "A", "--spinner", "200ms")
	p.keys("one", "Enter", "two", "Enter", "draft")
	p.wait(EventSaid, 2)
	assert.Equal(t, []string{"one", "two"}, p.texts(EventReceived))
	p.contains("│ ❯ draft ")
	p.keys("C-u", "three", "Enter", "Escape")
	p.contains("Interrupted")
	p.keys("four", "Enter")
	p.wait(EventSaid, 3)
	assert.Len(t, p.texts(EventSaid), 3)
}

func TestTUI_dialog(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		keys     []string
		choice   int
		approved bool
	}{
		{"Enter approves", []string{"Enter"}, 1, true},
		{"a digit chooses", []string{"2"}, 2, true},
		{"down, down, Enter declines", []string{"Down", "Down", "Enter"}, 3, false},
		{"Esc declines", []string{"Escape"}, 3, false},
		{"words do nothing, Enter approves", []string{"words", "Enter"}, 1, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := startInTmux(t, 60, 16, "tui", "--name", "A", "--dialog-after", "1", "--dialog-command", "touch approved")
			p.keys("go", "Enter")
			p.contains("❯ 1. Yes")
			assert.Equal(t, "0", p.format("#{cursor_flag}"))
			p.keys(tt.keys...)
			assert.Equal(t, tt.choice, p.wait(EventAnswer, 1).N)
			_, err := os.Stat(filepath.Join(filepath.Dir(p.log), "approved"))
			if tt.approved {
				assert.Zero(t, p.wait(EventApproved, 1).N)
				p.wait(EventSaid, 1)
				assert.FileExists(t, filepath.Join(filepath.Dir(p.log), "approved"))
			} else {
				p.wait(EventReady, 2)
				assert.ErrorIs(t, err, os.ErrNotExist)
				assert.Empty(t, p.texts(EventSaid))
			}
			p.contains("│ ❯   ")
			assert.Equal(t, "1", p.format("#{cursor_flag}"))
		})
	}
}

func TestTUI_dialogOnPasteCoversTheComposer(t *testing.T) {
	p := startInTmux(t, 60, 16, "tui", "--dialog-on-paste", "--dialog-command", "touch approved")
	p.paste("some text")
	p.contains("Do you want to run this command?")
	p.keys("Escape")
	p.contains("│ ❯ some text")
	assert.Empty(t, p.texts(EventReceived))
	assert.NoFileExists(t, filepath.Join(filepath.Dir(p.log), "approved"))
}

func TestTUI_commands(t *testing.T) {
	p := startInTmux(t, 60, 16, "tui", "--stuck")
	p.keys("draft", "Enter")
	p.wait(EventEnter, 1)
	p.obey(":say unasked words")
	p.contains("● unasked words")
	p.obey(":draft ed")
	p.contains("│ ❯ drafted")
	p.obey(":prompt » ")
	p.contains("│ » drafted")
	p.obey(":alt on")
	eventually(t, "alternate", func() bool { return p.format("#{alternate_on}") == "1" })
	p.tmux("resize-window", "-x", "30", "-y", "8")
	p.contains("│ » drafted                  │")
	p.obey(":clear")
	p.obey(":dialog")
	p.contains("❯ 1. Yes")
	p.obey(":exit")
	p.wait(EventEnd, 1)
}
