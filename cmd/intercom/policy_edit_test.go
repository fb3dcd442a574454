package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// `policy edit` opens init.lua in the person's editor, from a template if there is none, with the files that a language server
// needs beside it. Errors are shown afterwards, with an offer to edit again.
func TestL11_L13_edit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "config", "intercom")
	opened := filepath.Join(dir, "opened")
	// The editor records the file's text, and replaces it by the next of the given texts.
	editor := filepath.Join(dir, "editor")
	tmuxtest.Program(t, editor, `#!/bin/sh
cat "$2" >>"`+opened+`"
echo "-- opened $2" >>"`+opened+`"
test "$1" = --wait || exit 1
next=$(ls "`+dir+`"/next.* 2>/dev/null | head -n 1)
test -z "$next" || mv "$next" "$2"
`)
	edit := func(answers string, texts []string, words ...string) (shown string, code int) {
		t.Helper()
		require.NoError(t, os.RemoveAll(opened))
		for i, text := range texts {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "next."+string(rune('0'+i))), []byte(text), 0o600))
		}
		cmd := exec.Command(thisProgram(), append([]string{"policy", "edit"}, words...)...)
		cmd.Env = []string{
			"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
			"XDG_RUNTIME_DIR=" + dir, "EDITOR=" + editor + " --wait", "PATH=/usr/bin:/bin",
		}
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		defer terminal.Close()
		var seen strings.Builder
		buffer := make([]byte, 4096)
		_ = terminal.SetReadDeadline(time.Now().Add(20 * time.Second))
		for {
			n, err := terminal.Read(buffer)
			seen.Write(buffer[:n])
			if asked := strings.Count(seen.String(), "[y/N]"); asked > 0 && answers != "" && strings.HasSuffix(seen.String(), "[y/N] ") {
				_, err := io.WriteString(terminal, answers[:1])
				require.NoError(t, err)
				answers = answers[1:]
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait()
		return strings.ReplaceAll(seen.String(), "\r\n", "\n"), cmd.ProcessState.ExitCode()
	}
	given := func() string {
		data, err := os.ReadFile(opened)
		require.NoError(t, err)
		return string(data)
	}

	// An editor that writes nothing creates no file.
	shown, code := edit("", nil)
	require.Zero(t, code, shown)
	assert.NotContains(t, shown, "1 file")
	assert.Equal(t, initTemplate+"-- opened "+filepath.Join(config, "init.lua")+"\n", given())
	left, err := os.ReadDir(config)
	require.NoError(t, err)
	assert.Empty(t, left)

	shown, code = edit("", []string{initTemplate})
	require.Zero(t, code, shown)
	assert.Contains(t, shown, "1 file, no problems")
	assert.Equal(t, initTemplate+"-- opened "+filepath.Join(config, "init.lua")+"\n", given())
	annotations := filepath.Join(dir, "data", "intercom", "lua", "intercom.d.lua")
	data, err := os.ReadFile(annotations)
	require.NoError(t, err)
	assert.Equal(t, worker.Annotations(), string(data))
	var luarc struct {
		Version string   `json:"runtime.version"`
		Library []string `json:"workspace.library"`
	}
	data, err = os.ReadFile(filepath.Join(config, ".luarc.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &luarc))
	assert.Equal(t, "Lua 5.1", luarc.Version)
	assert.Equal(t, []string{filepath.Dir(annotations)}, luarc.Library)

	// Errors are shown and may be corrected at once. The person's .luarc.json stays; our annotations are written anew.
	require.NoError(t, os.WriteFile(filepath.Join(config, ".luarc.json"), []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile(annotations, []byte("old"), 0o600))
	shown, code = edit("y", []string{"x = 1", "-- fine"})
	assert.Zero(t, code, shown)
	assert.Contains(t, shown, `init.lua:1: global "x" cannot be set: use local x`)
	assert.Contains(t, shown, "1 file, no problems")
	assert.Equal(t, 2, strings.Count(given(), "-- opened "))
	data, err = os.ReadFile(filepath.Join(config, ".luarc.json"))
	require.NoError(t, err)
	assert.Equal(t, "{}", string(data))
	data, err = os.ReadFile(annotations)
	require.NoError(t, err)
	assert.Equal(t, worker.Annotations(), string(data))

	shown, code = edit("n", []string{"prnt(1)"}, "50-reviews")
	assert.Equal(t, 1, code, shown)
	assert.Contains(t, shown, `policies/50-reviews.lua:1: undefined global "prnt"; did you mean "print"?`)
	assert.Contains(t, given(), "-- opened "+filepath.Join(config, "policies", "50-reviews.lua"))
	shown, code = edit("", []string{"-- fine"}, "policies/50-reviews.lua", "--json")
	assert.Zero(t, code, shown)
	assert.Contains(t, shown, `"check":{"ok":true,"files":["init.lua","policies/50-reviews.lua"]`)
}

// C-c and C-\ are for the editor, and for the programs that it runs: the edit goes on, and counts.
func TestPolicyEdit_anInterruptIsTheEditors(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"C-c": "\x03", "C-\\": "\x1c"} {
		dir := t.TempDir()
		editor := filepath.Join(dir, "editor")
		tmuxtest.Program(t, editor, "#!/bin/sh\ntrap : INT QUIT\nsh -c 'echo editing; exec cat'\necho '-- fine' >\"$1\"\n")
		cmd := exec.Command(thisProgram(), "policy", "edit")
		cmd.Dir = dir // a program that C-\ ends may leave a core there
		cmd.Env = []string{
			"HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
			"XDG_RUNTIME_DIR=" + dir, "EDITOR=" + editor, "PATH=/usr/bin:/bin",
		}
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		defer terminal.Close()
		_ = terminal.SetReadDeadline(time.Now().Add(tmuxtest.Patience))
		shown, part := "", make([]byte, 4096)
		for pressed := false; err == nil; { // reading ends with an error when the program ends
			var n int
			n, err = terminal.Read(part)
			shown += string(part[:n])
			if !pressed && strings.Contains(shown, "editing") {
				pressed = true
				_, err = terminal.WriteString(key)
			}
		}
		_ = cmd.Wait()
		assert.Zero(t, cmd.ProcessState.ExitCode(), "%s: %s", name, shown)
		assert.Contains(t, shown, "1 file, no problems", name)
		data, err := os.ReadFile(filepath.Join(dir, "config", "intercom", "init.lua"))
		require.NoError(t, err, "%s: %s", name, shown)
		assert.Equal(t, "-- fine\n", string(data), name)
	}
}

// An editor is not killed because intercom is to end: it would lose the terminal, and its file. The edit counts.
func TestEdit_outlivesItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	editor, file := filepath.Join(dir, "editor"), filepath.Join(dir, "file")
	tmuxtest.Program(t, editor, "#!/bin/sh\necho fine >\"$1\"\n")
	cmd := exec.Command(filepath.Join(filepath.Dir(thisProgram()), "editslate"), file)
	cmd.Env = []string{"EDITOR=" + editor, "PATH=/usr/bin:/bin"}
	terminal, err := pty.Start(cmd)
	require.NoError(t, err)
	defer terminal.Close()
	_ = terminal.SetReadDeadline(time.Now().Add(tmuxtest.Patience))
	shown, _ := io.ReadAll(terminal) // ends with an error when the program ends
	require.NoError(t, cmd.Wait(), "%s", shown)
	assert.Equal(t, "fine\n", read(t, file))
}

// editsLate is a program that opens a file in the editor once its context has ended.
func editsLate() {
	ctx, end := context.WithCancel(context.Background())
	end()
	a := &app{env: env{Getenv: os.Getenv}}
	if err := a.edit(ctx, os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// The template has no effect, and the code that it shows works when it is uncommented.
func TestPolicyEdit_template(t *testing.T) {
	engine := scripting.New(scripting.Options{})
	var shown strings.Builder
	for line := range strings.Lines(initTemplate) {
		switch code, ok := strings.CutPrefix(line, "-- "); {
		case strings.TrimSpace(line) == "":
			shown.WriteString(line)
		case !ok:
			assert.Equal(t, "--", strings.TrimSpace(line)[:2])
		case strings.ContainsAny(code, "{}()=") || strings.HasPrefix(code, " ") && !strings.HasPrefix(code, "  intercom policy") || strings.HasPrefix(code, "end"):
			if !strings.HasPrefix(code, "init.lua:") {
				shown.WriteString(code)
			}
		}
	}
	require.Contains(t, shown.String(), "intercom.configure {")
	for _, text := range []string{initTemplate, shown.String()} {
		set, err := engine.Compile(t.Context(), policy.Files{Sources: []policy.Source{{Name: "init.lua", Text: text, Settings: true}}})
		require.NoError(t, err, text)
		assert.Empty(t, set.Problems)
		assert.Equal(t, text != initTemplate, len(set.Scripts[0].Hooks) > 0)
		set.Close()
	}
}

// Files count as in use only if the sidecar says so: not while it refuses them, nor after a rollback.
func TestUses(t *testing.T) {
	left := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	both := []policy.Kept{{Generation: "new"}, {Generation: "old", Until: left}}
	for name, c := range map[string]struct {
		status policy.Status
		want   bool
	}{
		"in use":       {policy.Status{Kept: both}, true},
		"refused":      {policy.Status{Kept: both, Error: "init_test.lua:1: a test failed"}, false},
		"rolled back":  {policy.Status{Kept: both, RolledBack: "g"}, false},
		"not yet":      {policy.Status{Kept: []policy.Kept{{Generation: "old"}}}, false},
		"another then": {policy.Status{Kept: []policy.Kept{{Generation: "old"}, {Generation: "new", Until: left}}}, false},
	} {
		assert.Equal(t, c.want, uses(c.status, "new"), name)
	}
}
