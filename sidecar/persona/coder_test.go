package persona

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// files are files that a stand-in has written below its home.
func (p *tmuxPane) files(pattern ...string) []string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(append([]string{filepath.Dir(p.socket)}, pattern...)...))
	require.NoError(p.t, err)
	return found
}

func (p *tmuxPane) read(file string) string {
	p.t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(p.t, err)
	return string(data)
}

// jsonLines checks that a file holds one JSON value in each line, and returns the values.
func (p *tmuxPane) jsonLines(file string) (all []map[string]any) {
	p.t.Helper()
	for line := range bytes.Lines([]byte(p.read(file))) {
		var record map[string]any
		require.NoError(p.t, json.Unmarshal(line, &record), "%s", line)
		all = append(all, record)
	}
	return all
}

func TestClaude_takesPromptsAndKeepsItsFiles(t *testing.T) {
	p := startInTmux(t, 80, 24, "claude", "--name", "A")
	p.contains("Claude Code v2.1.329")
	assert.Equal(t, "1 0 2", p.format("#{alternate_on} #{cursor_flag} #{cursor_x}"))
	status := p.files(".claude", "sessions", "*.json")
	require.Len(t, status, 1)
	assert.Contains(t, p.read(status[0]), `"status":"idle"`)
	transcripts := p.files(".claude", "projects", "*", "*.jsonl")
	require.Len(t, transcripts, 1, "it is there from the start")

	p.paste("one\nand\ttwo")
	p.contains("❯\u00a0one")
	p.keys("Enter")
	p.wait(EventSaid, 1)
	p.paste("three\nor\nmore\nlines")
	p.contains("❯\u00a0[Pasted text #2 +3 lines]")
	p.contains("paste again to expand")
	p.keys("Enter")
	p.wait(EventSaid, 2)
	assert.Equal(t, []string{"one\nand    two", "three\nor\nmore\nlines"}, p.texts(EventReceived))
	p.obey(":status busy")
	assert.Contains(t, p.read(status[0]), `"status":"busy"`)
	text := p.read(transcripts[0])
	assert.Contains(t, text, `"content":"one\nand    two"`)
	assert.Regexp(t, `"content":"\\n\\n<pasted_content id=\\"(....)\\">\\nthree\\nor\\nmore\\nlines\\n</pasted_content`, text)
	assert.Equal(t, 2, strings.Count(text, `"subtype":"turn_duration"`))
	for _, record := range p.jsonLines(transcripts[0]) {
		assert.NotEmpty(t, record["sessionId"])
	}

	p.keys("/clear", "Enter")
	eventually(t, "another transcript", func() bool { return len(p.files(".claude", "projects", "*", "*.jsonl")) == 2 })
	p.obey(":exit")
	p.wait(EventEnd, 1)
	assert.Empty(t, p.files(".claude", "sessions", "*.json"))
}

// A wrong clock does not disturb the stand-in's work: its clock is used only for times in its files.
func TestCoder_clockAhead(t *testing.T) {
	clock := filepath.Join(t.TempDir(), "clock")
	require.NoError(t, os.WriteFile(clock, []byte("86400\n"), 0o600))
	t.Setenv("INTERCOM_PERSONA_CLOCK", clock)
	for _, kind := range []string{"claude", "codex"} {
		p := startInTmux(t, 80, 24, kind, "--name", "A", "--think", "300ms")
		p.keys("hello", "Enter")
		p.wait(EventSaid, 1)
	}
}

func TestCodex_takesPromptsAndKeepsItsFiles(t *testing.T) {
	p := startInTmux(t, 80, 24, "codex", "--name", "A")
	p.contains("OpenAI Codex (v0.169.0)")
	p.contains("› Ask Codex to do anything")
	assert.Equal(t, "1 1 2", p.format("#{alternate_on} #{cursor_flag} #{cursor_x}"))
	assert.Empty(t, p.files(".codex", "sessions", "*", "*", "*", "*.jsonl"), "it is made at the first prompt")

	p.paste("one\ntwo")
	p.contains("› one")
	p.keys("Enter")
	p.wait(EventSaid, 1)
	long := strings.TrimSuffix(strings.Repeat("many words\n", 100), "\n")
	p.paste(long)
	p.contains(fmt.Sprintf("› [Pasted Content %d chars]", len(long)))
	p.keys("Enter")
	p.wait(EventSaid, 2)
	assert.Equal(t, []string{"one\ntwo", long}, p.texts(EventReceived))
	p.obey(":ghost ") // flushes pending writes
	first := p.files(".codex", "sessions", "*", "*", "*", "*.jsonl")
	require.Len(t, first, 1)
	records := p.jsonLines(first[0])
	assert.Equal(t, "session_meta", records[0]["type"])
	assert.Equal(t, 2, strings.Count(p.read(first[0]), `"type":"task_complete"`))

	p.keys("/new", "Enter")
	p.keys("three", "Enter")
	p.wait(EventSaid, 3)
	eventually(t, "another transcript", func() bool { return len(p.files(".codex", "sessions", "*", "*", "*", "*.jsonl")) == 2 })
	open := 0
	links, err := filepath.Glob("/proc/" + p.format("#{pane_pid}") + "/fd/*")
	require.NoError(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasSuffix(to, ".jsonl") {
			open++
		}
	}
	if len(links) > 0 {
		assert.Equal(t, 2, open, "both stay open")
	}
}

func TestCoder_dialogs(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		t.Run(kind, func(t *testing.T) {
			p := startInTmux(t, 80, 24, kind, "--reply", "none")
			proof := filepath.Join(filepath.Dir(p.socket), "proof")
			p.obey(":dialog paste touch " + proof)
			p.paste("words that are lost in it, and\nEnter approves")
			p.wait(EventDialog, 1)
			p.contains("1. Yes")
			p.paste("lost")
			p.keys("Enter")
			p.wait(EventApproved, 1)
			assert.FileExists(t, proof)
			p.contains("Enter approves")
			assert.Empty(t, p.texts(EventReceived))
			p.keys("Enter")
			p.wait(EventReady, 2)

			p.obey(":turn ask Which colour? | say thanks")
			p.keys("ask", "Enter")
			p.contains("Which colour?")
			p.contains("2. blue")
			p.keys("Down", "Enter")
			p.wait(EventSaid, 1)
			assert.Equal(t, 2, p.wait(EventAnswer, 2).N)
		})
	}
}

// While at work, Claude Code keeps submitted text for later, and Codex takes it into the current turn.
func TestCoder_submittedWhileItWorks(t *testing.T) {
	for kind, said := range map[string][]string{"claude": {"first", "two!"}, "codex": {"first", "first"}} {
		t.Run(kind, func(t *testing.T) {
			p := startInTmux(t, 80, 24, kind, "--reply", "{text}!")
			p.obey(":turn hold | say first")
			p.keys("one", "Enter")
			p.contains("to interrupt")
			p.keys("two", "Enter")
			p.wait(EventReceived, 2)
			p.obey(":go")
			p.wait(EventSaid, 2)
			assert.Equal(t, said, p.texts(EventSaid))
			assert.Equal(t, []string{"one", "two"}, p.texts(EventReceived))
		})
	}
}

func TestCoder_misbehaves(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		t.Run(kind, func(t *testing.T) {
			p := startInTmux(t, 80, 24, kind, "--reply", "none", "--transcript", "garbage")
			p.obey(":turn hold")
			p.keys("one", "Enter")
			p.contains("one")
			p.obey(":lie idle")
			eventually(t, "it shows an empty composer", func() bool {
				return !strings.Contains(strings.Join(p.screen(), "\n"), "to interrupt")
			})
			p.obey(":lie off")
			p.contains("to interrupt")
			p.keys("Escape")
			p.wait(EventReady, 2)
			p.obey(":swallow 1")
			p.keys("two", "Enter")
			p.wait(EventEnter, 1)
			p.keys("Enter")
			p.wait(EventReceived, 2)
			p.obey(":flicker 10ms 10ms")
			p.contains("to interrupt")
			p.obey(":lie blank")
			eventually(t, "it shows nothing", func() bool { return !strings.Contains(strings.Join(p.screen(), "\n"), "› Ask") })
			for _, wrong := range []string{":nothing", ":turn dance", ":flicker often", ":go"} {
				assert.Error(t, Control(p.control, wrong), wrong)
			}
			pattern := []string{".claude", "projects", "*", "*.jsonl"}
			if kind == "codex" {
				pattern = []string{".codex", "sessions", "*", "*", "*", "*.jsonl"}
			}
			for _, file := range p.files(pattern...) {
				assert.NotContains(t, p.read(file), `"type":"user"`)
				assert.Contains(t, p.read(file), "v9")
			}
		})
	}
}
