package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// recording is one screen of a program, in the form of those in sidecar/screen/testdata, with more that is known of
// that instant.
type recording struct {
	Agent   string `json:"agent"`
	Version string `json:"version"`
	Label   string `json:"label"` // what a person calls it
	What    string `json:"what"`

	Width         int    `json:"width"`
	Height        int    `json:"height"`
	CursorX       int    `json:"cursor_x"`
	CursorY       int    `json:"cursor_y"`
	CursorVisible bool   `json:"cursor_visible"`
	Alternate     bool   `json:"alternate"`
	InMode        bool   `json:"in_mode"`
	History       int    `json:"history"`
	Command       string `json:"command"`
	Title         string `json:"title"`

	At           time.Time `json:"at"`
	Tmux         string    `json:"tmux"`
	Dead         bool      `json:"dead"`
	InputOff     bool      `json:"input_off"`
	Synchronised bool      `json:"synchronised"`

	Rows []string `json:"rows"` // with escapes
}

// recorded is what `record --json` prints.
type recorded struct {
	Agent       string `json:"agent"`
	Version     string `json:"version,omitempty"`
	Label       string `json:"label"`
	What        string `json:"what"`
	Recording   string `json:"recording"`            // file of the screen
	Explanation string `json:"explanation"`          // file of what was made of it
	Transcript  string `json:"transcript,omitempty"` // copy of the agent's own, as it was
	Trouble     string `json:"trouble,omitempty"`    // why the transcript could not be copied
}

var labels = []string{
	string(message.Idle), string(message.Draft), string(message.Working), string(message.Blocked),
	string(message.History), string(message.Shell), string(message.Dead), string(message.Unknown),
}

func (a *app) record() *cobra.Command {
	var label, what string
	cmd := &cobra.Command{
		Use:    "record PANE DIR",
		Short:  "Record what a pane shows, for tests and bug reports",
		Hidden: true,
		Long: `Record one instant of a pane into the directory DIR, which is created if needed:
what it shows, with cursor, title and flags; what the sidecar makes of it; and
the agent's own transcript at that moment, if it has one. PANE is the id of a
pane or the name of a session, and need not be adopted.

  LABEL-WHAT.json           the screen, as sidecar/screen/testdata has them
  LABEL-WHAT.explain.json   what intercom explain says of it
  LABEL-WHAT.jsonl          the transcript

The label is your own word for what you see, whatever the sidecar makes of it:
idle (an empty composer is ready), draft, working, blocked (a dialog, a menu, a
question), history, shell, dead, unknown. Without --label it is the sidecar's.
Existing files are never overwritten.

Recordings hold what is on the screen and in the conversation: look at them
before you share them.`,
		Example: `  intercom record %7 recordings --label blocked --what 'trust dialog'`,
		Args:    between(2, 2, "a pane and a directory"),
		RunE: do(a, func(cmd *cobra.Command, args []string) (recorded, error) {
			if cmd.Flags().Changed("label") {
				if err := oneOf("--label", label, labels); err != nil {
					return recorded{}, err
				}
			}
			if err := checkWord(cmd, "what"); err != nil {
				return recorded{}, err
			}
			slug, err := fileWords(what)
			if err != nil {
				return recorded{}, err
			}
			c, err := a.paneClient(cmd.Context(), &args[0])
			if err != nil {
				return recorded{}, err
			}
			r, err := quickly(cmd.Context(), c, api.Record, api.ExplainRequest{Pane: args[0]})
			if err != nil {
				return recorded{}, aboutPane(err, args[0])
			}
			return keep(r, args[1], label, slug)
		}, func(r recorded) {
			for _, file := range []string{r.Recording, r.Explanation, r.Transcript} {
				if file != "" {
					a.say("%s", plainLine(file))
				}
			}
			if r.Trouble != "" {
				a.warn(r.Trouble)
			}
			a.note("they hold what is on the screen and in the conversation: look at them before you share them")
		}),
	}
	cmd.Flags().StringVar(&label, "label", "", "`WORD` for its state; by default the sidecar's")
	cmd.Flags().StringVar(&what, "what", "", "`WORDS` for what it shows; by default the time")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.complete(cmd, sessionWords, args), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	_ = cmd.RegisterFlagCompletionFunc("label", cobra.FixedCompletions(labels, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9.+_-]*$`) })

// fileWords turns words into a part of a file name: in lower case, with dashes between.
func fileWords(what string) (string, error) {
	slug := strings.ToLower(strings.Join(strings.Fields(what), "-"))
	if slug != "" && (!fileName().MatchString(slug) || len(slug) > 100) {
		return "", api.Errorf(api.CodeUsage, "--what %q: not the name of a file", what).WithHint("a few words of a-z 0-9 . + _ - make one: --what 'trust dialog'")
	}
	return slug, nil
}

// keep writes a recording into dir.
func keep(r api.Recording, dir, label, what string) (recorded, error) {
	e := r.Explanation
	kept := recorded{
		Agent: cmp.Or(e.Agent, r.Command), Version: e.Version,
		Label: cmp.Or(label, string(e.State), string(message.Unknown)), What: cmp.Or(what, r.At.UTC().Format("20060102-150405.000")),
	}
	base := filepath.Join(dir, kept.Label+"-"+kept.What)
	kept.Recording, kept.Explanation = base+".json", base+".explain.json"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return kept, api.Errorf(api.CodeFailed, "%w", err).WithHint("name a directory that exists or can be created")
	}
	for _, file := range []string{kept.Recording, kept.Explanation, base + ".jsonl"} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return kept, api.Errorf(api.CodeFailed, "file %q already exists: nothing was written", file).WithHint("choose another name with --what")
		}
	}
	// Copy the transcript first: it grows, and should be as it was at that instant.
	if e.Transcript != "" {
		kept.Transcript = base + ".jsonl"
		if err := copyNow(e.Transcript, kept.Transcript); err != nil {
			kept.Transcript, kept.Trouble = "", fmt.Sprintf("without the transcript %q: %v", e.Transcript, err)
		}
	}
	rows := r.Rows
	if rows == nil {
		rows = []string{}
	}
	err := writeNewJSON(kept.Recording, recording{
		Agent: kept.Agent, Version: kept.Version, Label: kept.Label, What: kept.What,
		Width: r.Width, Height: r.Height, CursorX: r.CursorX, CursorY: r.CursorY, CursorVisible: r.CursorVisible,
		Alternate: r.Alternate, InMode: r.InMode, History: r.History, Command: r.Command, Title: r.Title,
		At: r.At, Tmux: r.Tmux, Dead: r.Dead, InputOff: r.InputOff, Synchronised: r.Synchronised, Rows: rows,
	})
	if err != nil {
		return kept, err
	}
	return kept, writeNewJSON(kept.Explanation, e)
}

// copyNow copies a file up to its present length.
func copyNow(from, to string) error {
	in, err := foreign.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	if err = errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// writeNewJSON writes a value as JSON into a file that must not exist yet.
func writeNewJSON(path string, value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(value); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}
