package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/atomicfile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

//go:embed stub.py
var stubs embed.FS

// stubWords maps the scripts of the ai-talk document to the commands of ours that they run.
var stubWords = map[string][]string{
	"listen.py":      {"talk", "listen"},
	"listen-once.py": {"talk", "listen-once"},
	"check.py":       {"talk", "check"},
	"send.py":        {"talk", "send"},
	"discover.py":    {"talk", "discover"},
}

func (a *app) compat() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compat",
		Short:   "Install scripts under the names that documents use",
		Example: `  intercom compat install .`,
		Args:    a.onlyCommands,
		RunE:    showHelp,
	}
	cmd.AddCommand(a.compatInstall())
	return cmd
}

// compatInstalled is what `compat install --json` prints.
type compatInstalled struct {
	Program string   `json:"program"`
	Scripts []string `json:"scripts"`
}

func (a *app) compatInstall() *cobra.Command {
	return &cobra.Command{
		Use:   "install DIR",
		Short: "Write scripts/*.py, which run intercom talk",
		Long: `Write DIR/scripts/listen.py, check.py, send.py, discover.py and listen-once.py,
so that the command lines of the ai-talk document run as they are written there:
uv run scripts/listen.py start --port 9001. They need only Python's standard
library, and run this program in their place.

A file of another content is not overwritten.`,
		Example: `  intercom compat install .`,
		Args:    between(1, 1, "a directory"),
		RunE: do(a, func(_ *cobra.Command, args []string) (r compatInstalled, err error) {
			if r.Program, err = a.program(); err != nil {
				return r, err
			}
			if r.Program, err = filepath.Abs(r.Program); err != nil {
				return r, err
			}
			dir := filepath.Join(args[0], "scripts")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return r, api.Errorf(api.CodeFailed, "%w", err)
			}
			for _, name := range []string{"check.py", "discover.py", "listen-once.py", "listen.py", "send.py"} {
				path := filepath.Join(dir, name)
				if err := writeStub(path, r.Program, stubWords[name]); err != nil {
					return r, err
				}
				r.Scripts = append(r.Scripts, path)
			}
			return r, nil
		}, func(r compatInstalled) {
			for _, path := range r.Scripts {
				a.say("%s", plainLine(path))
			}
		}),
	}
}

// maxStub is how many bytes to read of a file that may be one of our scripts.
const maxStub = 64 << 10

// stubMark distinguishes our scripts from those of others.
const stubMark = "# Written by intercom compat install."

// writeStub writes one script. It does not replace a file that is not ours.
func writeStub(path, program string, words []string) error {
	form, err := stubs.ReadFile("stub.py")
	if err != nil {
		return err
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = strconv.QuoteToASCII(word)
	}
	text := strings.NewReplacer("@program@", strconv.QuoteToASCII(program), "@words@", strings.Join(quoted, ", ")).Replace(string(form))
	read, err := foreign.Read(path, maxStub)
	have := string(read)
	switch {
	case err == nil && !strings.Contains(have, stubMark):
		return api.Errorf(api.CodeFailed, "%q already exists, and intercom did not write it", path).WithHint("remove it, or name another directory")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return api.Errorf(api.CodeFailed, "%w", err)
	}
	return atomicfile.Write(path, []byte(text), 0o755)
}
